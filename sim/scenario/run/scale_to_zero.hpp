// `onSuccess: scaleToZero` of a scenario, as somebody outside of the cluster does it: each
// StatefulSet whose pods have done what they are for is scaled once.
#pragma once

#include <chrono>
#include <set>
#include <string>
#include <vector>

#include "scenario/judge/observer.hpp"

namespace ddptwin::scenario {

class ScaleToZero {
 public:
  // After which one that the API has refused is tried again.
  static constexpr Duration patience = std::chrono::seconds(1);

  struct Call {
    ObjectPtr set{};
    api::Request request{};
  };
  // The calls that are due now.
  std::vector<Call> due(const Observer& observer);
  void refused(const Object& set);
  // Those that were refused are due again.
  void try_again();

 private:
  using Uids = std::set<std::string, std::less<>>;
  Uids done_{}, refused_{};
};

}  // namespace ddptwin::scenario
