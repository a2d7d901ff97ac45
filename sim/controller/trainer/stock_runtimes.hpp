// The ClusterTrainingRuntimes that Trainer's manifests install (spec/trainjob.md §1.4; upstream:
// manifests/base/runtimes, with the images' tags of manifests/overlays/runtimes).
#pragma once

#include <memory>
#include <vector>

#include "controller/trainer/profile.hpp"
#include "objects/training_runtime.hpp"

namespace ddptwin::controller::trainer {

// As they are sent: what the definition fills in is still missing.
std::vector<std::shared_ptr<ClusterTrainingRuntime>> stock_runtimes(const Profile& profile);

}  // namespace ddptwin::controller::trainer
