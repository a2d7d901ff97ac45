// `onSuccess: scaleToZero` of a scenario, as somebody outside of the cluster does it: each
// StatefulSet whose pods have done what they are for is scaled once.
#pragma once

#include <set>
#include <string>
#include <vector>

#include "scenario/judge/observer.hpp"

namespace ddptwin::scenario {

class ScaleToZero {
 public:
  // The calls that are due now.
  std::vector<api::Request> due(const Observer& observer);

 private:
  std::set<std::string, std::less<>> done_{};  // uids
};

}  // namespace ddptwin::scenario
