// The page of decisions of the platform (spec/statefulset-platform.md §2, §3).
#pragma once

#include "controller/controller.hpp"
#include "objects/apps_v1.hpp"
#include "objects/ddpset.hpp"

namespace ddptwin::controller::ddpset {

// All that a plan depends on: what is of these names, whoever made it. Null: there is none.
struct View {
  std::shared_ptr<const DDPSet> set{};
  std::shared_ptr<const Service> service{};
  std::shared_ptr<const StatefulSet> statefulset{};
};

Plan plan(const View& seen);

}  // namespace ddptwin::controller::ddpset
