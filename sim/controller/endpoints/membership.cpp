#include "controller/endpoints/membership.hpp"

#include <algorithm>
#include <map>
#include <tuple>

#include "objects/codec.hpp"
#include "objects/pod_phase.hpp"

namespace ddptwin::controller::endpoints {
namespace {

bool is_sidecar(const Container& container) { return container.restartPolicy == "Always"; }

// What endpoint controllers look at, and no more: a pod that fails while it is Ready, or was not
// before, goes unnoticed until something else wakes its service. Every update of a terminating pod
// counts (upstream compares two pointers). Source: tests/recordings/pytorchjob/evicted-never.
bool is_relevant(const Change& change) {
  const auto before = as<Pod>(change.before), after = as<Pod>(change.after);
  if (!before || !after) return true;
  const auto named = [](const Pod& pod) {
    return std::tie(pod.spec->hostname, pod.spec->subdomain);
  };
  return before->metadata.deletionTimestamp || after->metadata.deletionTimestamp ||
         is_ready(*before) != is_ready(*after) ||
         !equal(before->status.podIPs, after->status.podIPs) ||
         *before->metadata.labels != *after->metadata.labels || named(*before) != named(*after);
}

}  // namespace

bool is_selecting(const Service& service) {
  return service.spec->type_ != "ExternalName" && !service.spec->selector.empty();
}

bool is_headless(const Service& service) { return service.spec->clusterIP == "None"; }

std::vector<PodPtr> selected_pods(const Service& service, const Cache& cache) {
  return cache.select<Pod>(service.metadata.namespace_, service.spec->selector);
}

bool is_member(const Pod& pod, Terminating terminating) {
  if (is_terminal_phase(pod.status.phase)) return false;
  if (pod.status.podIP.empty() && pod.status.podIPs.empty()) return false;
  return terminating == Terminating::kept || !pod.metadata.deletionTimestamp;
}

bool is_ready(const Pod& pod) {
  const auto* ready = pod.status.condition("Ready");
  return ready != nullptr && ready->status == "True";
}

std::optional<std::int32_t> port_in_pod(const ServicePort& port, const Pod& pod) {
  if (!port.targetPort) return port.port;
  if (!port.targetPort->is_text)
    return port.targetPort->number != 0 ? port.targetPort->number : port.port;
  const auto named = [&](const Container& container) -> std::optional<std::int32_t> {
    for (const ContainerPort& candidate : container.ports)
      if (candidate.name == port.targetPort->text && candidate.protocol == port.protocol)
        return candidate.containerPort;
    return std::nullopt;
  };
  for (const Container& container : pod.spec->containers)
    if (const auto number = named(container)) return number;
  for (const Container& container : pod.spec->initContainers)
    if (is_sidecar(container))
      if (const auto number = named(container)) return number;
  return std::nullopt;
}

std::string hostname_in(const Pod& pod, const Service& service) {
  return pod.spec->subdomain == service.metadata.name ? pod.spec->hostname : std::string();
}

ObjectReference reference_to(const Pod& pod) {
  return {.kind = "Pod",
          .namespace_ = pod.metadata.namespace_,
          .name = pod.metadata.name,
          .uid = pod.metadata.uid};
}

StringMap endpoint_labels(const Service& service, std::string_view managed_by_key,
                          std::string_view manager) {
  StringMap labels = *service.metadata.labels;
  labels.insert_or_assign(std::string(managed_by_key), std::string(manager));
  if (is_headless(service))
    labels.insert_or_assign(std::string(headless_label), std::string());
  else if (const auto found = labels.find(headless_label); found != labels.end())
    labels.erase(found);
  return labels;
}

std::vector<Reaction::Wake> services_of(const Change& pod_change, const Cache& cache) {
  std::vector<Reaction::Wake> wake;
  if (!is_relevant(pod_change)) return wake;
  // By name, as all Services of the namespace come; a change of labels may concern two sets.
  std::map<std::string_view, ObjectPtr> services;
  const auto add = [&](const StringMap& labels) {
    for (ObjectPtr& service :
         cache.services_selecting(pod_change.object().metadata.namespace_, labels)) {
      const std::string_view name = service->metadata.name;
      services.emplace(name, std::move(service));
    }
  };
  if (pod_change.before) add(*pod_change.before->metadata.labels);
  if (pod_change.after && (!pod_change.before || *pod_change.before->metadata.labels !=
                                                     *pod_change.after->metadata.labels))
    add(*pod_change.after->metadata.labels);
  for (const auto& [name, service] : services)
    if (is_selecting(static_cast<const Service&>(*service)))
      wake.push_back({key_of(service->metadata), {}});
  return wake;
}

}  // namespace ddptwin::controller::endpoints
