// What JobSet's pod webhooks do to the pods of a JobSet: the label of their priority, and exclusive
// placement, a Job a topology domain (spec/trainjob.md §5.10). The first pod of a Job draws its
// domain by affinities; the others follow it there, and are refused until it has a node.
#pragma once

#include <functional>
#include <memory>
#include <vector>

#include "controller/jobset/profile.hpp"
#include "core/result.hpp"
#include "objects/core_v1.hpp"

namespace ddptwin::controller::jobset {

// What the webhook's client sees of the cluster.
struct Surroundings {
  std::function<std::vector<std::shared_ptr<const Pod>>(std::string_view namespace_)> pods;
  std::function<std::shared_ptr<const Node>(std::string_view name)> node;
};

// At CREATE, before and after the pod's validation. Pods of others are left as they are.
Status place(Pod& pod, const Surroundings& around, const Profile& profile);
Status review_placement(const Pod& pod, const Surroundings& around);

}  // namespace ddptwin::controller::jobset
