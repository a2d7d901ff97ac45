#include "scenario/explore/coverage.hpp"

#include <algorithm>

#include "cluster/kubelet/lifecycle.hpp"
#include "controller/manager/endpoints/rules.hpp"
#include "scenario/systems/system.hpp"

namespace ddptwin::scenario {
Coverage::Coverage() : acted_(fault_rows().size()) {}

void Coverage::on_record(const Record& record) {
  if (record.kind == RecordKind::rule) {
    if (all_rules().contains(record.rule)) rules_.insert(record.rule);
  } else if (record.kind == RecordKind::container) {
    // The table's own text outlives the record's.
    const auto found = all_transitions().find(record.text);
    if (found != all_transitions().end()) transitions_.insert(*found);
  }
}

void Coverage::add_fault(FaultKind kind, std::int64_t times) {
  acted_[static_cast<std::size_t>(kind)] += times;
}

void Coverage::merge(const Coverage& other) {
  rules_.insert(other.rules_.begin(), other.rules_.end());
  transitions_.insert(other.transitions_.begin(), other.transitions_.end());
  for (std::size_t i = 0; i < acted_.size(); ++i) acted_[i] += other.acted_[i];
}

std::size_t Coverage::faults() const {
  return static_cast<std::size_t>(
      std::count_if(acted_.begin(), acted_.end(), [](std::int64_t times) { return times > 0; }));
}

const std::set<std::string_view>& Coverage::all_rules() {
  static const std::set<std::string_view> names = [] {
    std::set<std::string_view> found;
    for (const System* system : systems())
      for (const controller::Rule* rule : system->rules()) found.insert(rule->name);
    namespace endpoints = controller::endpoints::rules;
    for (const controller::Rule* rule :
         {&endpoints::create_endpoints, &endpoints::update_endpoints, &endpoints::delete_endpoints,
          &endpoints::create_slice, &endpoints::update_slice, &endpoints::delete_slice,
          &endpoints::own_write_unseen})
      found.insert(rule->name);
    return found;
  }();
  return names;
}

const std::set<std::string_view>& Coverage::all_transitions() {
  static const std::set<std::string_view> names = [] {
    std::set<std::string_view> found;
    for (const kubelet::PodTransition& row : kubelet::pod_transitions)
      if (row.from != row.to) found.insert(row.reason);
    return found;
  }();
  return names;
}

}  // namespace ddptwin::scenario
