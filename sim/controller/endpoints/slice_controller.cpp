#include "controller/endpoints/slice_controller.hpp"

#include <algorithm>

#include "controller/endpoints/membership.hpp"
#include "controller/endpoints/rules.hpp"
#include "controller/endpoints/slices.hpp"

namespace ddptwin::controller {
namespace {

using namespace endpoints;

const Text slice_manager = "endpointslice-controller.k8s.io";
// Upstream's endpointSliceChangeMinSyncDelay.
constexpr Duration slice_change_delay = 1s;
constexpr std::string_view zone_label = "topology.kubernetes.io/zone";

bool is_of_family(std::string_view ip, std::string_view address_type) {
  const bool v6 = ip.find(':') != std::string_view::npos;
  return v6 == (address_type == "IPv6");
}

std::vector<std::string> addresses_of(const Pod& pod, std::string_view address_type) {
  std::vector<std::string> addresses;
  addresses.reserve(1);
  for (const IpEntry& entry : pod.status.rest->podIPs)
    if (is_of_family(entry.ip, address_type)) addresses.push_back(entry.ip.str());
  if (pod.status.rest->podIPs.empty() && is_of_family(pod.status.rest->podIP, address_type))
    addresses.push_back(pod.status.rest->podIP.str());
  return addresses;
}

// All but its addresses. What `known` says too is the same memory.
void fill(Endpoint& endpoint, const Pod& pod, const Service& service, const Cache& cache,
          const Endpoint& known) {
  const bool serving = is_ready(pod);
  const bool terminating = pod.metadata.deletionTimestamp.has_value();
  endpoint.conditions = {
      .ready = service.spec->publishNotReadyAddresses || (serving && !terminating),
      .serving = serving,
      .terminating = terminating};
  if (const std::string_view hostname = hostname_in(pod, service); !hostname.empty())
    endpoint.hostname = text_like(hostname, known.hostname);
  endpoint.targetRef = endpoints::reference_to(pod, known.targetRef);
  if (pod.spec->nodeName.empty()) return;
  endpoint.nodeName = text_like(pod.spec->nodeName, known.nodeName);
  if (const auto node = cache.find<Node>("", pod.spec->nodeName))
    if (const Text* zone = node->metadata.label(zone_label))
      endpoint.zone = text_like(*zone, known.zone);
}

std::vector<SlicePort> ports_of(const Pod& pod, const Service& service) {
  std::vector<SlicePort> ports;
  for (const ServicePort& port : service.spec->ports)
    if (const auto number = port_in_pod(port, pod))
      ports.push_back({.name = port.name,
                       .protocol = port.protocol,
                       .port = *number,
                       .appProtocol = port.appProtocol});
  return ports;
}

// The garbage collector takes those of an earlier Service of that name, which the controller is not
// told: they are not used again.
bool is_owned_by(const EndpointSlice& slice, const Service& service, const ServiceFacts& facts) {
  if (slice.metadata.ownerReferences.same_as(facts.owners)) return true;
  const std::vector<OwnerReference>& owners = *slice.metadata.ownerReferences;
  return std::any_of(owners.begin(), owners.end(), [&](const OwnerReference& owner) {
    return owner.uid == service.metadata.uid && owner.kind == "Service" && owner.apiVersion == "v1";
  });
}

ExistingSlices take_unowned(ExistingSlices& slices, const Service& service,
                            const ServiceFacts& facts) {
  const auto owned_end = std::stable_partition(
      slices.begin(), slices.end(),
      [&](const EndpointSlice* slice) { return is_owned_by(*slice, service, facts); });
  ExistingSlices unowned(owned_end, slices.end());
  slices.erase(owned_end, slices.end());
  return unowned;
}

// Those of one family, behind those that are there.
void add_groups(SliceGroups& groups, const Service& service, const api::LabelQuery& pods,
                const Cache& cache, std::string_view address_type, KnownEndpoints known_endpoints) {
  const auto first = static_cast<std::ptrdiff_t>(groups.size());
  cache.each<Pod>(pods, [&](const Pod& pod) {
    if (!is_member(pod, Terminating::kept)) return;
    std::vector<std::string> addresses = addresses_of(pod, address_type);
    if (addresses.empty()) return;
    std::vector<SlicePort> ports = ports_of(pod, service);
    const auto known =
        std::find_if(groups.begin() + first, groups.end(), [&](const SliceGroup& group) {
          return std::equal(group.ports.begin(), group.ports.end(), ports.begin(), ports.end(),
                            same_port);
        });
    SliceGroup& group = known != groups.end()
                            ? *known
                            : groups.emplace_back(SliceGroup{address_type, std::move(ports), {}});
    Endpoint& endpoint = group.endpoints.emplace_back(Endpoint{.addresses = std::move(addresses)});
    fill(endpoint, pod, service, cache, known_endpoints.of(pod));
  });
  // Kept for the next endpoint, and so that the service can be seen to have none.
  if (static_cast<std::ptrdiff_t>(groups.size()) == first) groups.push_back({address_type, {}, {}});
}

}  // namespace

StringMap EndpointSliceController::labels_of(const Service& service) {
  Amended labels = endpoint_labels(service, slice_manager_label, slice_manager);
  labels.set(service_name_label, service.metadata.name);
  return labels.made();
}

std::vector<Watched> EndpointSliceController::watches(const KindRegistry&) const {
  return {{&Service::info(), {}},
          {&Pod::info(), {}},
          {&Node::info(), {}},
          {&EndpointSlice::info(), {}}};
}

Reaction EndpointSliceController::observe(const Change& change, const Cache& cache, Expectations&,
                                          Time) {
  const Object& object = change.object();
  if (as<Pod>(object) != nullptr) return services_of(change, cache);
  if (as<Node>(object) != nullptr) return {};
  if (as<Service>(object) != nullptr) return Reaction::to_wake(parts_of(object));
  Reaction reaction = on_slice(change, slice_manager, tracker_);
  reaction.wake_after = slice_change_delay;
  return reaction;
}

// Nothing is deleted with the service: the garbage collector does that through the owner.
Plan EndpointSliceController::plan(const Key& key, const Observed& seen, Time) const {
  const KeyParts parts = split_key(key);
  const auto service = seen.cache.find<Service>(parts.namespace_, parts.name);
  if (!service) {
    known_.forget(key);
    tracker_.forget(key);
    return {};
  }
  const ServiceFacts* known = known_.of(key, *service);
  if (known == nullptr || service->metadata.deletionTimestamp) return {};
  const ServiceFacts& facts = *known;
  ExistingSlices existing = slices_of(parts, slice_manager, seen.cache, facts.labels);
  if (tracker_.is_ahead_of(key, existing)) return wait_for_own_write();
  const ExistingSlices of_earlier_service = take_unowned(existing, *service, facts);
  static const std::vector<std::string> one_family{"IPv4"};
  const std::vector<std::string>& families = service->spec->ipFamilies;
  SliceGroups wanted;
  for (const std::string& family : families.empty() ? one_family : families)
    add_groups(wanted, *service, facts.pods, seen.cache, family, KnownEndpoints(existing));
  const SliceShape shape{.owner = *service,
                         .owners = facts.owners,
                         .labels = facts.labels,
                         .endpoints_max = endpoints_per_slice_max};
  Plan plan{.about = service,
            .steps = reconcile_slices(shape, std::move(wanted), std::move(existing), seen.cache)};
  for (Step& step : delete_slices(of_earlier_service, seen.cache))
    plan.steps.push_back(std::move(step));
  return plan;
}

}  // namespace ddptwin::controller
