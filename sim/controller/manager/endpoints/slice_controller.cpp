#include "controller/manager/endpoints/slice_controller.hpp"

#include <algorithm>

#include "controller/manager/endpoints/membership.hpp"
#include "controller/manager/endpoints/rules.hpp"
#include "controller/manager/endpoints/slices.hpp"

namespace ddptwin::controller {
namespace {

using namespace endpoints;

const Text slice_manager = "endpointslice-controller.k8s.io";
// Upstream's endpointSliceChangeMinSyncDelay.
constexpr Duration slice_change_delay = 1s;
constexpr std::string_view zone_label = "topology.kubernetes.io/zone";

using SliceFacts = ServiceFacts<SlicePort>;

bool is_of_family(std::string_view ip, std::string_view address_type) {
  const bool v6 = ip.find(':') != std::string_view::npos;
  return v6 == (address_type == "IPv6");
}

auto addresses_of(const Pod& pod, std::string_view address_type) {
  decltype(Endpoint::addresses) addresses;
  for (const IpEntry& entry : pod.status.rest->podIPs)
    if (is_of_family(entry.ip, address_type)) addresses.push_back(entry.ip);
  if (pod.status.rest->podIPs.empty() && is_of_family(pod.status.rest->podIP, address_type))
    addresses.push_back(pod.status.rest->podIP);
  return addresses;
}

// All but its addresses. What `known` says too is the same memory.
void fill(Endpoint& endpoint, const Pod& pod, const SliceFacts& facts, const Cache& cache,
          const Endpoint& known) {
  const bool serving = is_ready(pod);
  const bool terminating = pod.metadata.deletionTimestamp.has_value();
  endpoint.conditions = {.ready = facts.publishes_not_ready || (serving && !terminating),
                         .serving = serving,
                         .terminating = terminating};
  if (const std::string_view hostname = hostname_in(pod, *facts.of); !hostname.empty())
    endpoint.hostname = text_like(hostname, known.hostname);
  endpoint.targetRef = endpoints::reference_to(pod, known.targetRef);
  if (pod.spec->nodeName.empty()) return;
  endpoint.nodeName = pod.spec->nodeName;
  if (const auto node = cache.find<Node>("", pod.spec->nodeName))
    if (const Text* zone = node->metadata.label(zone_label))
      endpoint.zone = text_like(*zone, known.zone);
}

Cow<std::vector<SlicePort>> ports_of(const Pod& pod, const SliceFacts& facts) {
  if (facts.ports) return *facts.ports;
  std::vector<SlicePort> ports;
  for (const ServicePort& port : facts.of->spec->ports)
    if (const auto number = port_in_pod(port, pod))
      ports.push_back(shown_port<SlicePort>(port, *number));
  return ports;
}

// The garbage collector takes those of an earlier Service of that name, which the controller is not
// told: they are not used again.
bool is_owned_by(const EndpointSlice& slice, const SliceFacts& facts) {
  if (slice.metadata.ownerReferences.same_as(facts.owners)) return true;
  const std::vector<OwnerReference>& owners = *slice.metadata.ownerReferences;
  return std::any_of(owners.begin(), owners.end(), [&](const OwnerReference& owner) {
    return owner.uid == facts.of->metadata.uid && owner.kind == "Service" &&
           owner.apiVersion == "v1";
  });
}

ExistingSlices take_unowned(ExistingSlices& slices, const SliceFacts& facts) {
  const auto owned_end =
      std::stable_partition(slices.begin(), slices.end(),
                            [&](const EndpointSlice* slice) { return is_owned_by(*slice, facts); });
  ExistingSlices unowned(owned_end, slices.end());
  slices.erase(owned_end, slices.end());
  return unowned;
}

// Those of one family, behind those that are there.
void add_groups(SliceGroups& groups, const SliceFacts& facts, const Cache& cache,
                std::string_view address_type, KnownEndpoints known_endpoints) {
  const auto first = static_cast<std::ptrdiff_t>(groups.size());
  cache.each<Pod>(facts.pods, [&](const Pod& pod) {
    if (!is_member(pod, Terminating::kept)) return;
    auto addresses = addresses_of(pod, address_type);
    if (addresses.empty()) return;
    Cow<std::vector<SlicePort>> ports = ports_of(pod, facts);
    const auto known =
        std::find_if(groups.begin() + first, groups.end(), [&](const SliceGroup& group) {
          return group.ports.same_as(ports) || *group.ports == *ports;
        });
    SliceGroup& group = known != groups.end()
                            ? *known
                            : groups.emplace_back(SliceGroup{address_type, std::move(ports), {}});
    Endpoint& endpoint = group.endpoints.emplace_back(Endpoint{.addresses = std::move(addresses)});
    fill(endpoint, pod, facts, cache, known_endpoints.of(pod));
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
  Reaction reaction = on_slice(change, slice_manager, [this](const KeyParts& key) {
    Known* known = known_.find(key);
    return known != nullptr ? &known->written : nullptr;
  });
  reaction.wake_after = slice_change_delay;
  return reaction;
}

// Nothing is deleted with the service: the garbage collector does that through the owner.
Plan EndpointSliceController::plan(const Key& key, const Observed& seen, Time) const {
  const KeyParts parts = split_key(key);
  const auto service = seen.cache.find<Service>(parts.namespace_, parts.name);
  if (!service) {
    known_.erase(parts);
    return {};
  }
  Known& known = known_.of(*service);
  if (!reader_.read(service, known.facts) || service->metadata.deletionTimestamp) return {};
  const SliceFacts& facts = known.facts;
  ExistingSlices existing = slices_of(parts, slice_manager, seen.cache, facts.labels);
  if (known.written.is_ahead_of(existing)) return wait_for_own_write();
  const ExistingSlices of_earlier_service = take_unowned(existing, facts);
  SliceGroups wanted;
  for (const std::string& family : facts.families)
    add_groups(wanted, facts, seen.cache, family, KnownEndpoints(existing));
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
