// What runs went through: rules of controllers, transitions of the pod life cycle, kinds of faults.
#pragma once

#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "core/trace.hpp"
#include "scenario/language/fault.hpp"

namespace ddptwin::scenario {

// A sink of the trace, and a sum of such.
class Coverage {
 public:
  Coverage();
  void on_record(const Record& record);
  void add_fault(FaultKind kind, std::int64_t times);
  void merge(const Coverage& other);

  std::size_t rules() const { return rules_.size(); }
  std::size_t transitions() const { return transitions_.size(); }
  std::size_t faults() const;  // kinds that acted
  std::int64_t acted(FaultKind kind) const { return acted_[static_cast<std::size_t>(kind)]; }

  // Of the pod life cycle only those that change the stage are seen.
  static const std::set<std::string_view>& all_rules();
  static const std::set<std::string_view>& all_transitions();

 private:
  std::set<std::string_view> rules_{};
  std::set<std::string_view> transitions_{};
  std::vector<std::int64_t> acted_;
};

}  // namespace ddptwin::scenario
