// The page of decisions of the StatefulSet controller (spec/kubernetes.md §4).
#pragma once

#include <functional>

#include "controller/manager/statefulset/claims.hpp"
#include "controller/manager/statefulset/revisions.hpp"

namespace ddptwin::controller::statefulset {

// All that a plan depends on beside the time.
struct View {
  std::shared_ptr<const StatefulSet> set{};           // as cached; null: gone
  std::vector<ObjectPtr> pods{};                      // all of the namespace, by name
  std::vector<ObjectPtr> revisions{};                 // likewise
  std::function<ClaimPtr(std::string_view)> claim{};  // of the namespace; null: there is none
};

Plan plan(const View& seen, Time now);

// Whether an object's labels are the set's. A selector that cannot be read selects nothing.
bool is_selected(const StatefulSet& set, const Object& object);

}  // namespace ddptwin::controller::statefulset
