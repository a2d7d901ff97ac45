// What a run has shown so far, read from the trace alone, and whether a State holds in it.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/trace.hpp"
#include "scenario/judge/troubles.hpp"
#include "scenario/language/scenario.hpp"
#include "scenario/systems/state_watch.hpp"

namespace ddptwin::scenario {

// One object, also after its end.
struct SeenObject {
  ObjectPtr last{};
  bool gone = false;
  int created = 0;                 // how many objects of this name there have been
  std::optional<Time> ended_at{};  // a job or pod that has come to its end, well or badly
  std::uint64_t record = 0;        // the last about it
};

class Observer {
 public:
  Observer();
  Observer(const Observer&) = delete;
  Observer& operator=(const Observer&) = delete;

  void on_record(const Record& record);

  bool holds(const State& state) const;
  // What there is of the selection, for a failure's message: "pod/a: Running, 1 restart".
  std::string describe(const Selection& of) const;
  // Whether there ever was anything of it.
  bool ever(const Selection& of) const;
  // The last record about what the state is about: its objects, and where it asks for them their
  // lines, their Events and what moved their watched phases. What decided the state's value, if
  // that is looked at after each; 0: none.
  std::uint64_t latest(const State& state) const;
  // A number that changes whenever the state's value could.
  std::uint64_t stamp(const State& state) const;

  // By "namespace/name"; in the order of their keys.
  using Objects = std::map<std::string, SeenObject, std::less<>>;
  const Objects& objects(const KindInfo& kind) const;
  // By "namespace/pod/container".
  const SeenLogs& logs() const { return logs_; }
  // The objects of a selection that exist now.
  std::vector<ObjectPtr> select(const Selection& of) const;
  // Those too that are gone.
  std::vector<const SeenObject*> select_ever(const Selection& of) const;
  bool fulfils(const SeenObject& seen, const State& state) const;
  // How many jobs and pods have ended or gone: what is to come depends on it.
  std::uint64_t ends() const { return ends_; }
  const Troubles& troubles() const { return troubles_; }
  // Of a kind whose phases are watched: which it is in; empty: nothing is known of it.
  std::string_view watched_state(const Object& object) const;
  // The same, where it is worth telling of an object nobody asked about: its kind is there for
  // what is watched, or that has been seen of it. A StatefulSet of web servers forms no group.
  std::string_view told_state(const Object& object) const;

  // Pods are processes here, with this machine's tools where an image has no description.
  void watch_host() { on_host_ = true; }
  bool on_host() const { return on_host_; }

 private:
  bool on_host_ = false;
  void take(const Record& record);

  std::map<std::string, Objects, std::less<>> objects_{};  // by resource name
  std::map<std::string, std::uint64_t, std::less<>> changes_{};
  SeenLogs logs_{};
  std::uint64_t log_lines_ = 0;
  std::uint64_t ends_ = 0;
  Troubles troubles_{logs_};
  std::vector<std::unique_ptr<StateWatch>> watches_{};  // of the systems that have one
};

// "Running, 1 restart, exit 137" of a pod, "Created, Running" of a job, or "exists".
std::string summary_of(const Object& object);
// With it, whether it is gone or on its way.
std::string state_of(const SeenObject& seen);

}  // namespace ddptwin::scenario
