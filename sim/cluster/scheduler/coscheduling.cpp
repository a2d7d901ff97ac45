#include "cluster/scheduler/coscheduling.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace ddptwin::scheduler {
namespace {

// An entry that is over is forgotten when it is asked for.
bool holds(std::map<std::string, Time>& until, const std::string& key, Time now) {
  const auto found = until.find(key);
  if (found == until.end()) return false;
  if (now < found->second) return true;
  until.erase(found);
  return false;
}

std::string_view format_name(Quantity::Format format) {
  switch (format) {
    case Quantity::Format::binary_si:
      return "BinarySI";
    case Quantity::Format::decimal_exponent:
      return "DecimalExponent";
    case Quantity::Format::decimal_si:
      break;
  }
  return "DecimalSI";
}

// Go's %v of a Quantity that lies in a map: its fields, for its String() is a pointer's.
std::string go_fields(const std::string& name, const Quantity& gap, const Quantity& left) {
  const bool in_thousandths =
      (name == "cpu" && !left.zero()) || gap.nanos() % Quantity::of(1).nanos() != 0;
  return in_thousandths
             ? fmt::format("{{{{{} -3}} {{<nil>}}  {}}}", gap.milli_value(),
                           format_name(gap.format()))
             : fmt::format("{{{{{} 0}} {{<nil>}}  {}}}", gap.value(), format_name(gap.format()));
}

}  // namespace

std::string Coscheduling::group_of(const Pod& pod) {
  const Text* name = pod.metadata.label(coscheduling_label);
  if (name == nullptr || name->empty()) return {};
  return fmt::format("{}/{}", pod.metadata.namespace_.view(), name->view());
}

void Coscheduling::put_group(std::shared_ptr<const CoschedulingGroup> group) {
  std::string key = key_of(group->metadata);
  groups_.insert_or_assign(std::move(key), std::move(group));
}

void Coscheduling::drop_group(const std::string& key) {
  groups_.erase(key);
  failed_.erase(key);
  backed_off_.erase(key);
  permitted_.erase(key);
}

void Coscheduling::see_pod(const PodPtr& before, const PodPtr& after) {
  const Pod& pod = after ? *after : *before;
  const std::string name = pod.metadata.name.str();
  const auto leave = [&](const std::string& key) {
    if (key.empty()) return;
    if (const auto found = pods_.find(key); found != pods_.end()) {
      found->second.erase(name);
      if (found->second.empty()) pods_.erase(found);
    }
  };
  const std::string was = before ? group_of(*before) : std::string();
  const std::string is = after ? group_of(*after) : std::string();
  if (was != is) leave(was);
  if (after) {
    if (is.empty()) return;
    pods_[is][name] = after;
    if (!after->spec->nodeName.empty()) has_[is].insert(name);
    return;
  }
  if (!before->spec->nodeName.empty()) unreserve(*before);
}

std::vector<std::string> Coscheduling::remembered() const {
  std::vector<std::string> keys;
  const auto add = [&keys](const auto& table) {
    for (const auto& [key, row] : table) keys.push_back(key);
  };
  add(groups_);
  add(failed_);
  add(backed_off_);
  add(permitted_);
  const auto pod_of = [](const std::string& group, const std::string& name) {
    return group.substr(0, group.find('/') + 1) + name;
  };
  for (const auto& [group, members] : pods_)
    for (const auto& [name, pod] : members) keys.push_back(pod_of(group, name));
  for (const auto& [group, names] : has_)
    for (const std::string& name : names) keys.push_back(pod_of(group, name));
  return keys;
}

const CoschedulingGroup* Coscheduling::find(const std::string& key) const {
  const auto found = groups_.find(key);
  return found == groups_.end() ? nullptr : found->second.get();
}

int Coscheduling::assigned(const std::string& key) const {
  const auto found = has_.find(key);
  return found == has_.end() ? 0 : static_cast<int>(found->second.size());
}

std::string Coscheduling::pre_filter(const Pod& pod, const ClusterView& view, Time now) {
  const std::string key = group_of(pod);
  const CoschedulingGroup* group = key.empty() ? nullptr : find(key);
  if (group == nullptr) return {};
  if (holds(backed_off_, key, now)) return fmt::format("podGroup {} failed recently", key);
  const int least = group->spec->minMember.value_or(0);
  static const Names none;  // of a group whose pods are gone while one of them is still in hand
  const auto known = pods_.find(key);
  const Names& members = known == pods_.end() ? none : known->second;
  int missing = least - static_cast<int>(members.size());
  if (missing > 0)
    return fmt::format(
        "pre-filter pod {} cannot find enough sibling pods, current pods number: {}, minMember of "
        "group: {}",
        pod.metadata.name.view(), members.size(), least);
  for (const auto& [name, member] : members) {
    if (!member->spec->schedulingGates.empty()) ++missing;
    if (missing > 0)
      return fmt::format("pre-filter pod {} cannot proceed due to gated pods in the same PodGroup",
                         pod.metadata.name.view());
  }
  if (!group->spec->minResources || holds(permitted_, key, now)) return {};
  if (std::string gap = resource_gap(key, *group, view); !gap.empty()) return gap;
  permitted_.emplace(key, now + args_.permit_wait);
  return {};
}

// What all nodes together lack, the group's own pods left out of account. Room on many nodes is no
// room on one: the filters look at that.
std::string Coscheduling::resource_gap(const std::string& key, const CoschedulingGroup& group,
                                       const ClusterView& view) const {
  ResourceList wanted = *group.spec->minResources;
  wanted.insert_or_assign("pods", Quantity::of(group.spec->minMember.value_or(0)));
  std::string told;
  for (const auto& [name, amount] : wanted) {
    Quantity left;
    for (const NodeInfo* node : view.nodes()) {
      const ResourceList& all = *node->node->status.allocatable;
      if (const auto has = all.find(name); has != all.end()) left += has->second;
      for (const auto& [pod_key, pod] : node->pods) {
        if (group_of(*pod.pod) == key) continue;
        const auto takes = pod.needs->request.find(name);
        if (takes != pod.needs->request.end()) left -= takes->second;
      }
    }
    if (amount <= left) continue;
    Quantity gap = amount;
    gap -= left;
    told += fmt::format("{}{}:{}", told.empty() ? "" : " ", name, go_fields(name, gap, left));
  }
  return told.empty() ? told : fmt::format("resource gap: map[{}]", told);
}

Coscheduling::Permission Coscheduling::permit(const Pod& pod) {
  const std::string key = group_of(pod);
  if (key.empty()) return {};
  const CoschedulingGroup* group = find(key);
  if (group == nullptr) return {.permit = Permit::no_group};
  has_[key].insert(pod.metadata.name.str());
  const int there = assigned(key);
  if (there >= group->spec->minMember.value_or(0)) {
    failed_.erase(key);
    return {.permit = Permit::ready};
  }
  const auto own = group->spec->scheduleTimeoutSeconds;
  return {.permit = Permit::wait,
          .first = there == 1,
          .wait = own ? Duration(std::chrono::seconds(*own)) : args_.permit_wait};
}

void Coscheduling::unreserve(const Pod& pod) {
  const auto found = has_.find(group_of(pod));
  if (found == has_.end()) return;
  found->second.erase(pod.metadata.name.str());
  if (found->second.empty()) has_.erase(found);
}

bool Coscheduling::rejects_group(const Pod& pod, Time now) {
  const std::string key = group_of(pod);
  const CoschedulingGroup* group = key.empty() ? nullptr : find(key);
  if (group == nullptr) return false;
  const int least = group->spec->minMember.value_or(0), missing = least - assigned(key);
  if (missing <= 0 || missing * 100 <= args_.reject_percentage * least) return false;
  const auto members = pods_.find(key);
  if (args_.backoff > Duration::zero() && members != pods_.end() &&
      static_cast<int>(members->second.size()) >= least)
    backed_off_.emplace(key, now + args_.backoff);
  note_failure(pod, now);
  return true;
}

void Coscheduling::note_failure(const Pod& pod, Time now) {
  const std::string key = group_of(pod);
  if (key.empty() || find(key) == nullptr) return;
  permitted_.erase(key);
  failed_.insert_or_assign(key, now);
}

std::vector<std::string> Coscheduling::siblings(const Pod& pod) const {
  std::vector<std::string> names;
  const auto found = pods_.find(group_of(pod));
  if (found == pods_.end()) return names;
  for (const auto& [name, member] : found->second)
    if (name != pod.metadata.name.view()) names.push_back(name);
  return names;
}

Time Coscheduling::turn_of(const Pod& pod, Time otherwise) const {
  const std::string key = group_of(pod);
  if (key.empty()) return otherwise;
  if (const auto failed = failed_.find(key); failed != failed_.end()) return failed->second;
  const CoschedulingGroup* group = find(key);
  return group == nullptr || !group->metadata.creationTimestamp
             ? otherwise
             : *group->metadata.creationTimestamp;
}

}  // namespace ddptwin::scheduler
