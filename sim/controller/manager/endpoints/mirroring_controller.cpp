#include "controller/manager/endpoints/mirroring_controller.hpp"

#include <algorithm>
#include <array>

#include "controller/manager/endpoints/membership.hpp"
#include "controller/manager/endpoints/rules.hpp"
#include "controller/manager/endpoints/slices.hpp"

namespace ddptwin::controller {
namespace {

using namespace endpoints;

constexpr std::string_view mirror_manager = "endpointslicemirroring-controller.k8s.io";
constexpr std::string_view skip_label = "endpointslice.kubernetes.io/skip-mirror";
// Said of the Endpoints alone, and wrong of its mirror.
constexpr std::array<std::string_view, 2> annotations_not_copied{
    "endpoints.kubernetes.io/last-change-trigger-time",
    "kubectl.kubernetes.io/last-applied-configuration"};

bool may_be_mirrored(const Endpoints& endpoints) {
  const Text* skip = endpoints.metadata.label(skip_label);
  return (skip == nullptr || *skip != "true") &&
         !endpoints.metadata.annotations->contains(leader_annotation);
}

// Those that somebody wrote by hand, for a Service that has none made for it; null where there are
// none. Most Services have a selector.
std::shared_ptr<const Endpoints> mirrored(const KeyParts& key, const Cache& cache) {
  const auto service = cache.find<Service>(key.namespace_, key.name);
  if (service == nullptr || !service->spec->selector.empty()) return nullptr;
  auto endpoints = cache.find<Endpoints>(key.namespace_, key.name);
  return endpoints != nullptr && may_be_mirrored(*endpoints) ? endpoints : nullptr;
}

Cow<std::vector<SlicePort>> ports_of(const EndpointSubset& subset) {
  std::vector<SlicePort> ports;
  for (const EndpointPort& port : subset.ports)
    ports.push_back({.name = port.name,
                     .protocol = port.protocol,
                     .port = port.port,
                     .appProtocol = port.appProtocol});
  return ports;
}

Endpoint endpoint_of(const EndpointAddress& address, bool ready) {
  Endpoint endpoint{.addresses = {address.ip}, .conditions = {.ready = ready}};
  if (!address.hostname.empty()) endpoint.hostname = address.hostname.str();
  endpoint.targetRef = address.targetRef;
  endpoint.nodeName = address.nodeName;
  return endpoint;
}

void add(SliceGroups& groups, const Cow<std::vector<SlicePort>>& ports,
         const EndpointAddress& address, bool ready) {
  const bool is_v6 = address.ip.view().find(':') != std::string_view::npos;
  const std::string_view family = is_v6 ? "IPv6" : "IPv4";
  auto group = std::find_if(groups.begin(), groups.end(), [&](const SliceGroup& g) {
    return g.address_type == family && same_ports(g.ports, ports);
  });
  if (group == groups.end()) group = groups.insert(groups.end(), {family, ports, {}});
  group->endpoints.push_back(endpoint_of(address, ready));
}

SliceGroups groups_of(const Endpoints& endpoints) {
  SliceGroups groups;
  for (const EndpointSubset& subset : endpoints.subsets) {
    const Cow<std::vector<SlicePort>> ports = ports_of(subset);
    for (const EndpointAddress& address : subset.addresses) add(groups, ports, address, true);
    for (const EndpointAddress& address : subset.notReadyAddresses)
      add(groups, ports, address, false);
  }
  return groups;
}

SliceShape shape_of(const Endpoints& endpoints) {
  Amended labels(endpoints.metadata.labels), annotations(endpoints.metadata.annotations);
  labels.set(slice_manager_label, mirror_manager);
  labels.set(service_name_label, endpoints.metadata.name);
  for (const std::string_view name : annotations_not_copied) annotations.drop(name);
  return {.owner = endpoints,
          .owners = owners_of(endpoints),
          .labels = labels.made(),
          .annotations = annotations.made(),
          .endpoints_max = EndpointSliceMirroringController::endpoints_per_slice_max};
}

}  // namespace

std::vector<Watched> EndpointSliceMirroringController::watches(const KindRegistry&) const {
  return {{&Service::info(), {}}, {&Endpoints::info(), {}}, {&EndpointSlice::info(), {}}};
}

Reaction EndpointSliceMirroringController::observe(const Change& change, const Cache&,
                                                   Expectations&, Time) {
  const Object& object = change.object();
  if (as<EndpointSlice>(object) == nullptr) return Reaction::to_wake(parts_of(object));
  return on_slice(change, mirror_manager,
                  [this](const KeyParts& key) { return written_.find(key); });
}

Plan EndpointSliceMirroringController::plan(const Key& key, const Observed& seen, Time) const {
  const KeyParts parts = split_key(key);
  const auto endpoints = mirrored(parts, seen.cache);
  ExistingSlices mirrors = slices_of(parts, mirror_manager, seen.cache);
  if (endpoints == nullptr) {
    written_.erase(parts);
    return {.steps = delete_slices(mirrors, seen.cache)};
  }
  const endpoints::SliceTracker* tracker = written_.find(parts);
  if (tracker != nullptr && tracker->is_ahead_of(mirrors)) return wait_for_own_write();
  return {.about = endpoints,
          .steps = reconcile_slices(shape_of(*endpoints), groups_of(*endpoints), std::move(mirrors),
                                    seen.cache)};
}

}  // namespace ddptwin::controller
