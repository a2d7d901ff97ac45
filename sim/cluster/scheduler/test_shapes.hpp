// Pods and nodes for the tests of this folder.
#pragma once

#include "cluster/scheduler/decision.hpp"

namespace ddptwin::scheduler::test {

inline ResourceList amounts(const std::map<std::string, std::string>& texts) {
  ResourceList list;
  for (const auto& [name, text] : texts) list.emplace(name, *Quantity::parse(text));
  return list;
}

inline std::shared_ptr<Node> node(const std::string& name,
                                  const std::map<std::string, std::string>& allocatable = {},
                                  const StringMap& labels = {}) {
  auto object = std::make_shared<Node>();
  object->metadata.name = name;
  StringMap& all = object->metadata.labels.edit();
  all = labels;
  all.emplace("kubernetes.io/hostname", name);
  object->status.allocatable = amounts(allocatable);
  for (const auto& [resource, amount] :
       amounts({{"cpu", "4"}, {"memory", "16Gi"}, {"pods", "110"}}))
    object->status.allocatable.edit().emplace(resource, amount);
  return object;
}

inline std::shared_ptr<Pod> pod(const std::string& name,
                                const std::map<std::string, std::string>& requests = {},
                                std::int32_t priority = 0) {
  auto object = std::make_shared<Pod>();
  object->metadata.namespace_ = "default";
  object->metadata.name = name;
  PodSpec& spec = object->spec.edit();
  spec.rest.edit().schedulerName = "default-scheduler";
  spec.restartPolicy = "Always";
  spec.terminationGracePeriodSeconds = 30;
  spec.priority = priority;
  spec.containers = {{.name = "c", .image = "i", .resources = {.requests = amounts(requests)}}};
  return object;
}

inline std::shared_ptr<Pod> placed(std::shared_ptr<Pod> pod, const std::string& node) {
  pod->spec.edit().nodeName = node;
  return pod;
}

}  // namespace ddptwin::scheduler::test
