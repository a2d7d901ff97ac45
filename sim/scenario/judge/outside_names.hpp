// Names outside the cluster that somebody asked its DNS for, and that the twin has none of.
#pragma once

#include <map>
#include <set>
#include <string>
#include <vector>

#include "core/trace.hpp"
#include "scenario/judge/observer.hpp"

namespace ddptwin::scenario {

// A real cluster's DNS asks others for them; here they do not exist unless the scenario says what
// they are. Read from the trace: what a search list makes of a name of the cluster is none.
class OutsideNames {
 public:
  // Both outlive it.
  OutsideNames(const Scenario& scenario, const Observer& observer)
      : scenario_(scenario), observer_(observer) {}

  void on_record(const Record& record);
  // A sentence about each name, in their order.
  std::vector<std::string> notes() const;

 private:
  bool is_outside(std::string_view name) const;

  const Scenario& scenario_;
  const Observer& observer_;
  std::map<std::string, std::set<std::string>> asked_{};  // by whom: "pod/trainer-0", or an address
};

}  // namespace ddptwin::scenario
