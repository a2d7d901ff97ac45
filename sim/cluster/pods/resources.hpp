// What resource requests and limits become for Linux (spec/kubernetes.md §2.10; upstream kubelet/cm
// and kubelet/qos).
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "objects/core_v1.hpp"

namespace ddptwin::kubelet {

enum class QosClass : std::uint8_t { guaranteed, burstable, best_effort };
QosClass qos_class(const PodSpec& spec);
std::string_view to_string(QosClass qos);  // Guaranteed, ...

std::int64_t cpu_shares(std::int64_t milli_cpu);
std::int64_t cpu_quota(std::int64_t milli_cpu);  // per period of 100 ms; 0: none

// Of the pod as a whole: containers together against the largest init step, sidecars added, or the
// pod's own resources where it has them.
Cow<ResourceList> pod_requests(const PodSpec& spec);
Cow<ResourceList> pod_limits(const PodSpec& spec);
// Whether these and the class of both are the same, at a glance: what they are made of is the same
// memory. Such are the pods of one job.
bool surely_ask_the_same(const PodSpec& left, const PodSpec& right);
// In bytes, as its cgroup has it: nothing where one of its containers, initialising or not, has no
// limit of its own and the pod has none either (upstream cm.ResourceConfigForPod).
std::optional<std::int64_t> pod_memory_limit(const PodSpec& spec);

// CRI LinuxContainerResources as JSON.
RawJson container_resources(const PodSpec& spec, const Node* node, const Container& container);
RawJson sandbox_resources(const PodSpec& spec);
RawJson overhead_resources(const PodSpec& spec);  // empty without an overhead
// The container's memory limit in bytes, its own or the pod's.
std::optional<std::int64_t> memory_limit(const PodSpec& spec, const Container& container);
// `node`: whose memory the requests are measured by; null: none is known.
std::int64_t oom_score_adj(const PodSpec& spec, const Node* node, const Container& container);

}  // namespace ddptwin::kubelet
