// The page of decisions of the TrainJob controller (spec/trainjob.md §2.1).
#pragma once

#include "controller/controller.hpp"
#include "controller/trainer/plugins.hpp"
#include "controller/trainer/profile.hpp"

namespace ddptwin::controller::trainer {

// All that a plan depends on beside the time.
struct View {
  std::shared_ptr<const TrainJob> job{};        // null: gone
  ObjectPtr runtime{};                          // that its runtimeRef names; null: there is none
  std::shared_ptr<const ConfigMap> snapshot{};  // of that runtime
  Existing there{};                             // what it has made
  Random random;                                // of keys
};

Plan plan(const View& seen, const Profile& profile, Time now);

}  // namespace ddptwin::controller::trainer
