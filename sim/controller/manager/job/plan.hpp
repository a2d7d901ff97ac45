// The page of decisions of the Job controller (spec/trainjob.md §6.3).
#pragma once

#include <set>

#include "controller/controller.hpp"
#include "controller/manager/job/policies.hpp"

namespace ddptwin::controller::job {

// All that a plan depends on beside the time.
struct View {
  std::shared_ptr<const Job> job{};  // as cached; null: gone
  std::vector<ObjectPtr> pods{};     // all of the namespace, by name
  bool expectations_met = true;
  std::string expectation_key{};
  // Pods whose finalizer was taken away, as far as the cache does not show it yet.
  const std::set<std::string>* released = nullptr;
  BackOffRecord back_off{};
};

struct Planned {
  Plan plan{};
  // What the record becomes once the counts are written.
  std::optional<BackOffRecord> back_off{};
};
Planned plan(const View& seen, Time now);

// Whether an object's labels are the Job's.
bool is_selected(const Job& job, const Object& object);
// By a controller of another cluster (spec.managedBy).
bool is_managed_elsewhere(const Job& job);

}  // namespace ddptwin::controller::job
