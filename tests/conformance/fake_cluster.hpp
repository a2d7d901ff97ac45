// The smallest cluster that a plan can be tried on: objects in a map, one pass of the controller at
// a time, no loop, no watch delay. What is stored and what is cached differ only as upstream makes
// them differ (spec/pytorchjob.md Q23).
#pragma once

#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "controller/training_operator/controller.hpp"

namespace ddptwin::conformance {

using Objects = std::map<std::pair<std::string, std::string>, ObjectPtr>;  // by kind and key

class FakeCluster final : public controller::Cache {
 public:
  explicit FakeCluster(controller::pytorchjob::Settings settings);

  // What the outside world does. Each is seen by the controller at once.
  void put(std::shared_ptr<Object> object);  // creates it or replaces it
  void drop(const KindInfo& kind, std::string_view name);
  // The user's deletion: a pod that runs gets a deletionTimestamp, whatever else there is goes.
  void request_deletion(const KindInfo& kind, std::string_view name);
  ObjectPtr stored(const KindInfo& kind, std::string_view name) const;
  std::vector<ObjectPtr> all(const KindInfo& kind) const;
  void restart_controller();

  // One pass over the job; what it did, a line each.
  std::vector<std::string> pass(const std::string& job);

  Time now{};
  // Deleted pods that run stay, being deleted, until drop().
  bool graceful = false;
  controller::Expectations expectations{};
  controller::pytorchjob::PyTorchJobController controller;
  std::set<std::string_view> rules{};  // every rule that was taken
  std::vector<std::string> panics{};   // in the watch handler
  const KindRegistry& registry() const { return kinds_; }

  ObjectPtr find(const KindInfo& kind, std::string_view namespace_,
                 std::string_view name) const override;
  std::vector<ObjectPtr> list(const KindInfo& kind, std::string_view namespace_) const override;
  std::vector<const KindInfo*> kinds() const override;

 private:
  Result<ObjectPtr> call(const api::Request& request);
  Result<ObjectPtr> remove(const api::Request& request);
  Result<ObjectPtr> update_status(const Object& sent);
  void changed(const ObjectPtr& before, const ObjectPtr& after);
  void expect(const controller::Step& step, controller::Expected::When when);
  bool is_alive(const api::Target& target) const;
  // False: the rest of the plan is dropped.
  bool carry_out(const controller::Step& step, std::vector<std::string>& log);

  KindRegistry kinds_{};
  Objects stored_{};
  Objects cached_{};
  int revision_ = 0;
};

inline constexpr std::string_view test_namespace = "ns";

}  // namespace ddptwin::conformance
