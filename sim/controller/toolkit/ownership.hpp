// Whose an object is: what controllers of kube-controller-manager adopt and let go
// (upstream: BaseControllerRefManager; spec/kubernetes.md §4).
#pragma once

#include <functional>
#include <memory>
#include <vector>

#include "controller/controller.hpp"

namespace ddptwin::controller {

// The reference of what `owner` makes: controller and blockOwnerDeletion are true.
OwnerReference controller_reference(const Object& owner);
bool is_controlled_by(const Object& object, const Object& owner);

// What a controller finds of its owner's dependants, and the calls that make it so.
struct Claimed {
  std::vector<ObjectPtr> own{};  // owned by now, or to be adopted by `steps`
  std::vector<Step> steps{};     // to adopt or to let go; NotFound is tolerated
};

struct ClaimRules {
  const Object& owner;
  // Whether an object may be the owner's: its labels, mostly.
  std::function<bool(const Object&)> matches;
  const Rule* adopt;
  const Rule* release;           // null: whatever is owned stays, matching or not
  std::string_view finalizer{};  // comes and goes with the reference; empty: none
};

// Goes through candidates in their order. An owner that is being deleted adopts and lets go nobody.
Claimed claim(const std::vector<ObjectPtr>& candidates, const ClaimRules& rules);

}  // namespace ddptwin::controller
