#include "controller/manager/node_lifecycle/taints.hpp"

#include <algorithm>
#include <array>

#include "cluster/pods/placement.hpp"

namespace ddptwin::node_lifecycle {
namespace {

constexpr std::string_view no_schedule = "NoSchedule";
constexpr std::string_view no_execute = "NoExecute";

struct ConditionTaint {
  std::string_view condition, status, key;
};
constexpr std::array condition_taints{
    ConditionTaint{"Ready", "False", not_ready_taint},
    ConditionTaint{"Ready", "Unknown", unreachable_taint},
    ConditionTaint{"MemoryPressure", "True", "node.kubernetes.io/memory-pressure"},
    ConditionTaint{"DiskPressure", "True", "node.kubernetes.io/disk-pressure"},
    ConditionTaint{"NetworkUnavailable", "True", "node.kubernetes.io/network-unavailable"},
    ConditionTaint{"PIDPressure", "True", "node.kubernetes.io/pid-pressure"},
};

// What kubelets post, and the controller when they do so no longer.
constexpr std::array<std::string_view, 4> posted_conditions{"Ready", "MemoryPressure",
                                                            "DiskPressure", "PIDPressure"};

struct LabelRow {
  const char* from;
  const char* to;
};
constexpr std::array mirrored_labels{
    LabelRow{"kubernetes.io/arch", "beta.kubernetes.io/arch"},
    LabelRow{"kubernetes.io/os", "beta.kubernetes.io/os"},
};

bool is_own(const Taint& taint) {
  return taint.effect == no_schedule &&
         (taint.key == taint_unschedulable ||
          std::any_of(condition_taints.begin(), condition_taints.end(),
                      [&taint](const ConditionTaint& row) { return row.key == taint.key; }));
}

std::vector<std::string_view> wanted_keys(const Node& node) {
  std::vector<std::string_view> keys;
  for (const Condition& condition : node.status.conditions)
    for (const ConditionTaint& row : condition_taints)
      if (row.condition == condition.type_ && row.status == condition.status)
        keys.push_back(row.key);
  if (node.spec.unschedulable) keys.push_back(taint_unschedulable);
  return keys;
}

const Condition* find_condition(const Node& node, std::string_view type) {
  for (const Condition& condition : node.status.conditions)
    if (condition.type_ == type) return &condition;
  return nullptr;
}

}  // namespace

Readiness readiness_of(const Node& node) {
  const Condition* ready = find_condition(node, "Ready");
  if (ready == nullptr || ready->status == "Unknown") return Readiness::unknown;
  return ready->status == "True" ? Readiness::ready : Readiness::not_ready;
}

bool mirror_no_schedule(Node& node, Time now) {
  const std::vector<std::string_view> wanted = wanted_keys(node);
  const auto is_wanted = [&wanted](const Taint& taint) {
    return std::find(wanted.begin(), wanted.end(), taint.key) != wanted.end();
  };
  std::vector<Taint>& taints = node.spec.taints;
  bool changed = std::erase_if(taints, [&is_wanted](const Taint& taint) {
                   return is_own(taint) && !is_wanted(taint);
                 }) > 0;
  for (const std::string_view key : wanted) {
    const auto is_it = [key](const Taint& taint) {
      return taint.key == key && taint.effect == no_schedule;
    };
    if (std::any_of(taints.begin(), taints.end(), is_it)) continue;
    taints.push_back({std::string(key), {}, std::string(no_schedule), now});
    changed = true;
  }
  return changed;
}

std::string_view no_execute_key(Readiness readiness) {
  switch (readiness) {
    case Readiness::ready:
      return {};
    case Readiness::not_ready:
      return not_ready_taint;
    case Readiness::unknown:
      return unreachable_taint;
  }
  return {};
}

bool has_no_execute(const Node& node, std::string_view key) {
  return std::any_of(node.spec.taints.begin(), node.spec.taints.end(), [key](const Taint& taint) {
    return taint.key == key && taint.effect == no_execute;
  });
}

bool put_no_execute(Node& node, std::string_view key, Time now) {
  bool changed = std::erase_if(node.spec.taints, [key](const Taint& taint) {
                   return taint.effect == no_execute && taint.key != key &&
                          (taint.key == not_ready_taint || taint.key == unreachable_taint);
                 }) > 0;
  if (!key.empty() && !has_no_execute(node, key)) {
    node.spec.taints.push_back({std::string(key), {}, std::string(no_execute), now});
    changed = true;
  }
  return changed;
}

void make_unknown(Node& node, Time now) {
  for (const std::string_view type : posted_conditions) {
    if (const Condition* found = find_condition(node, type); found != nullptr) {
      if (found->status == "Unknown") continue;
      // An edit may copy the list.
      const std::ptrdiff_t place = found - node.status.conditions->data();
      Condition& condition = node.status.conditions.edit()[static_cast<std::size_t>(place)];
      condition.reason = "NodeStatusUnknown";
      condition.message = "Kubelet stopped posting node status.";
      condition.status = "Unknown";
      condition.lastTransitionTime = now;
      continue;
    }
    Condition& condition = node.status.conditions.edit().emplace_back();
    condition.type_ = type;
    condition.status = "Unknown";
    condition.reason = "NodeStatusNeverUpdated";
    condition.message = "Kubelet never posted node status.";
    condition.lastHeartbeatTime = node.metadata.creationTimestamp;
    condition.lastTransitionTime = now;
  }
}

bool is_all_unknown(const Node& node) {
  return std::all_of(posted_conditions.begin(), posted_conditions.end(),
                     [&node](std::string_view type) {
                       const Condition* found = find_condition(node, type);
                       return found != nullptr && found->status == "Unknown";
                     });
}

bool mirror_labels(Node& node) {
  bool changed = false;
  for (const LabelRow& row : mirrored_labels) {
    const auto from = node.metadata.labels->find(row.from);
    if (from == node.metadata.labels->end()) continue;
    const auto to = node.metadata.labels->find(row.to);
    if (to != node.metadata.labels->end() && to->second == from->second) continue;
    const auto value = from->second;
    node.metadata.labels.edit()[row.to] = value;
    changed = true;
  }
  return changed;
}

}  // namespace ddptwin::node_lifecycle
