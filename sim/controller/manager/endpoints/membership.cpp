#include "controller/manager/endpoints/membership.hpp"

#include <algorithm>
#include <boost/container/small_vector.hpp>
#include <iterator>

#include "objects/codec.hpp"
#include "objects/pod_phase.hpp"

namespace ddptwin::controller::endpoints {
namespace {

bool same_readiness(const Pod& a, const Pod& b) {
  return a.status.conditions.same_as(b.status.conditions) || is_ready(a) == is_ready(b);
}

// What endpoint controllers look at, and no more: a pod that fails while it is Ready, or was not
// before, goes unnoticed until something else wakes its service. Every update of a terminating pod
// counts (upstream compares two pointers). Source: tests/recordings/pytorchjob/evicted-never.
bool is_relevant(const Change& change) {
  if (!change.before || !change.after) return true;
  const Pod *before = as<Pod>(*change.before), *after = as<Pod>(*change.after);
  const auto same_name = [](const Cow<PodSpec>& a, const Cow<PodSpec>& b) {
    return a.same_as(b) || a->rest.same_as(b->rest) ||
           (a->rest->hostname == b->rest->hostname && a->rest->subdomain == b->rest->subdomain);
  };
  return before->metadata.deletionTimestamp || after->metadata.deletionTimestamp ||
         !same_readiness(*before, *after) ||
         !equal(before->status.rest->podIPs, after->status.rest->podIPs) ||
         !same_texts(before->metadata.labels, after->metadata.labels) ||
         !same_name(before->spec, after->spec);
}

}  // namespace

bool is_selecting(const Service& service) { return !api::endpoint_selector(service).empty(); }

bool is_headless(const Service& service) { return service.spec->clusterIP == "None"; }

template <class Port>
bool ServiceReader<Port>::read(const std::shared_ptr<const Service>& service,
                               ServiceFacts<Port>& facts) {
  if (facts.of == service) return true;
  const Service& now = *service;
  if (facts.of && facts.of->metadata.labels.same_as(now.metadata.labels) &&
      facts.of->spec.same_as(now.spec) && facts.of->metadata.uid == now.metadata.uid) {
    facts.of = service;
    return true;
  }
  facts = {};
  if (!is_selecting(now)) return false;
  static const std::vector<std::string> one_family{"IPv4"};
  const std::vector<std::string>& families = now.spec->ipFamilies;
  facts.of = service;
  facts.publishes_not_ready = now.spec->publishNotReadyAddresses;
  facts.ports = ports_of(*now.spec);
  facts.families = families_(families.empty() ? one_family : families);
  facts.labels = labels_of_(now);
  if (owners_of_ != nullptr) facts.owners = owners_of_(now);
  facts.pods = {now.metadata.namespace_, now.spec->selector};
  return true;
}

template <class Port>
std::optional<Cow<std::vector<Port>>> ServiceReader<Port>::ports_of(const ServiceSpec& spec) {
  std::vector<Port> ports;
  ports.reserve(spec.ports.size());
  for (const ServicePort& port : spec.ports)
    if (const auto number = port_in_all(port))
      ports.push_back(shown_port<Port>(port, *number));
    else
      return std::nullopt;
  return ports_(std::move(ports));
}

template class ServiceReader<SlicePort>;
template class ServiceReader<EndpointPort>;

bool same_texts(const Cow<StringMap>& a, const Cow<StringMap>& b) {
  return a.same_as(b) || *a == *b;
}

bool is_member(const Pod& pod, Terminating terminating) {
  if (is_terminal_phase(pod.status.phase)) return false;
  if (pod.status.rest->podIP.empty() && pod.status.rest->podIPs.empty()) return false;
  return terminating == Terminating::kept || !pod.metadata.deletionTimestamp;
}

bool is_ready(const Pod& pod) {
  const auto* ready = pod.status.condition("Ready");
  return ready != nullptr && ready->status == "True";
}

std::optional<std::int32_t> port_in_all(const ServicePort& port) {
  if (!port.targetPort) return port.port;
  if (port.targetPort->is_text) return std::nullopt;
  return port.targetPort->number != 0 ? port.targetPort->number : port.port;
}

std::optional<std::int32_t> port_in_pod(const ServicePort& port, const Pod& pod) {
  if (const auto number = port_in_all(port)) return number;
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

std::string_view hostname_in(const Pod& pod, const Service& service) {
  if (pod.spec->rest->subdomain != service.metadata.name) return {};
  return pod.spec->rest->hostname;
}

Rare<ObjectReference> reference_to(const Pod& pod, const Rare<ObjectReference>& known) {
  const ObjectMeta& meta = pod.metadata;
  if (known) {
    // All members, so that one that is added does not compile until it is compared.
    const auto& [kind, namespace_, name, uid, api_version, version, field_path] = *known;
    if (uid == meta.uid && name == meta.name && namespace_ == meta.namespace_ && kind == "Pod" &&
        api_version.empty() && version.empty() && field_path.empty())
      return known;
  }
  Rare<ObjectReference> reference;
  ObjectReference& made = reference.emplace();
  made.kind = "Pod";
  made.namespace_ = meta.namespace_;
  made.name = meta.name;
  made.uid = meta.uid;
  return reference;
}

Rare<std::string> text_like(std::string_view text, const Rare<std::string>& known) {
  if (known && *known == text) return known;
  Rare<std::string> made;
  made.emplace() = text;
  return made;
}

Amended endpoint_labels(const Service& service, const Text& managed_by_key, const Text& manager) {
  Amended labels(service.metadata.labels);
  labels.set(managed_by_key, manager);
  if (is_headless(service))
    labels.set(headless_label, "");
  else
    labels.drop(headless_label);
  return labels;
}

Reaction services_of(const Change& pod_change, const Cache& cache) {
  Reaction reaction;
  if (!is_relevant(pod_change)) return reaction;
  const ObjectPtr &before = pod_change.before, &after = pod_change.after;
  using Services = boost::container::small_vector<const Service*, 4>;
  const auto selecting = [&](const ObjectPtr& pod) {
    Services found;
    cache.each_selecting(pod->metadata.namespace_, pod->metadata.labels,
                         [&](const Service& service) { found.push_back(&service); });
    return found;
  };
  Services services = selecting(before ? before : after);
  // By name, as all Services of the namespace come; a change of labels may concern two sets.
  if (before && after && !same_texts(before->metadata.labels, after->metadata.labels)) {
    Services others = selecting(after), all;
    std::set_union(
        services.begin(), services.end(), others.begin(), others.end(), std::back_inserter(all),
        [](const Service* a, const Service* b) { return a->metadata.name < b->metadata.name; });
    services = std::move(all);
  }
  for (const Service* service : services) reaction.wake.push_back(parts_of(*service));
  return reaction;
}

}  // namespace ddptwin::controller::endpoints
