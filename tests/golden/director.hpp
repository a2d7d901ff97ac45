// Performs a recording's steps against the twin in virtual time and compares after each.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "compare.hpp"
#include "core/virtual_loop.hpp"
#include "late_watches.hpp"
#include "recording.hpp"
#include "scenario/world/world.hpp"

namespace ddptwin {
class ScriptRuntime;
}

namespace ddptwin::golden {

class ApiCalls;

// Where the first difference lies.
struct Difference {
  int step = 0;
  std::string what{};  // "changed v1/Pod/p", "result", "gone", "events"
  Mismatch mismatch{};
  // "events: (no such event) -> Warning | FailedCreatePod | ..."
  std::string text() const;
};

struct ReplayOptions {
  std::uint64_t seed = 1;
  // In which order ready lanes run; `fifo` is what the quiet machine of the recordings did.
  VirtualLoop::Order order = VirtualLoop::Order::fifo;
  bool late_watches = false;  // events of watches come late now and then, as the seed says
  bool verbose = false;       // prints every trace record
  // Whether upstream itself may come out so; such a difference is none. Null: nothing is.
  std::function<bool(const Difference&)> tolerated{};
};

class Director {
 public:
  Director(const Recording& recording, ReplayOptions options);
  ~Director();

  // Nothing: the twin equals the recording. An error: a verb or kind that the twin lacks.
  Result<std::optional<Difference>> replay();

 private:
  struct Snapshot {
    std::map<std::string, Json> objects{};
  };

  Result<Json> perform(const Step& step);
  Result<Json> apply(const Json& argument);
  Result<Json> patch(const boost::json::object& argument);
  Result<Json> remove(const boost::json::object& argument);
  Result<Json> get(const boost::json::object& argument);
  Result<Json> status(const boost::json::object& argument);
  Status play(const Step& step);
  Status play_container(const boost::json::object& action);
  Result<Json> cri(const boost::json::object& argument);
  bool is_of_the_case(const Object& event) const;
  void on_record(const Record& record);
  // Null where it has gone since, or another has its name.
  std::shared_ptr<const Pod> same_pod(const std::string& key, const std::string& uid) const;
  void end_containers(const Pod& pod, std::int32_t code);
  void finish_delete(const std::string& key, const std::string& uid, std::int32_t code);
  void write_pod_status(const Pod& pod, const PodStatus& status);
  void bind(const Pod& pod, const std::string& node);
  std::vector<std::shared_ptr<const Pod>> pods_named(const Json& patterns) const;
  Result<const KindInfo*> kind_named(const boost::json::object& argument) const;

  Snapshot snapshot() const;
  std::optional<Difference> compare(const Step& step, const std::optional<Json>& result,
                                    const Snapshot& before, const Snapshot& after);
  std::optional<Difference> compare_events(const Step& step) const;
  std::optional<Difference> judged(Difference difference) const;

  const Recording& recording_;
  ReplayOptions options_;
  VirtualLoop loop_;
  LateWatches late_watches_;
  Symbols symbols_;
  std::unique_ptr<ScriptRuntime> runtime_;
  std::unique_ptr<World> world_;
  Lane lane_;
  std::map<std::string, Timer> deletions_{};  // by uid: scripted ends of terminating pods
  std::vector<ObjectPtr> step_events_{};
  std::map<std::string, int> told_{};  // events so far, by what they are about and who told them
  std::unique_ptr<ApiCalls> api_calls_;
  int started_pods_ = 0;
};

}  // namespace ddptwin::golden
