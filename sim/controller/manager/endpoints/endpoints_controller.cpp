#include "controller/manager/endpoints/endpoints_controller.hpp"

#include <algorithm>

#include "controller/manager/endpoints/membership.hpp"
#include "controller/manager/endpoints/rules.hpp"
#include "objects/codec.hpp"

namespace ddptwin::controller {
namespace {

using namespace endpoints;

using EndpointsFacts = ServiceFacts<EndpointPort>;

const Text managed_by = "endpoints.kubernetes.io/managed-by";
const Text endpoints_manager = "endpoint-controller";

// The pod's address in what there is, so that what both have in common is the same memory; null
// where there is none. Addresses that this controller has written lie in the order of their IPs.
const EndpointAddress* known_address(const Endpoints* endpoints, const Pod& pod) {
  if (endpoints == nullptr) return nullptr;
  const auto comes_before = [](const EndpointAddress& address, const Text& ip) {
    return address.ip < ip;
  };
  const Text& ip = pod.status.rest->podIP;
  for (const EndpointSubset& subset : endpoints->subsets)
    for (const auto* list : {&subset.addresses, &subset.notReadyAddresses}) {
      const auto at = std::lower_bound(list->begin(), list->end(), ip, comes_before);
      if (at != list->end() && at->targetRef && at->targetRef->uid == pod.metadata.uid) return &*at;
    }
  return nullptr;
}

EndpointAddress address_of(const Pod& pod, const Service& service, const EndpointAddress* known) {
  EndpointAddress address{.ip = pod.status.rest->podIP, .hostname = hostname_in(pod, service)};
  if (!pod.spec->nodeName.empty()) address.nodeName = pod.spec->nodeName;
  address.targetRef =
      endpoints::reference_to(pod, known != nullptr ? known->targetRef : Rare<ObjectReference>());
  return address;
}

// Ports and the addresses behind them.
struct PortGroup {
  Cow<std::vector<EndpointPort>> ports{};
  std::vector<EndpointAddress> ready{};
  std::vector<EndpointAddress> not_ready{};
};

using PortGroups = boost::container::small_vector<PortGroup, 1>;

void add_member(PortGroups& groups, const Cow<std::vector<EndpointPort>>& ports,
                EndpointAddress address, bool ready) {
  auto group = std::find_if(groups.begin(), groups.end(), [&](const PortGroup& one) {
    return one.ports.same_as(ports) || *one.ports == *ports;
  });
  if (group == groups.end()) group = groups.insert(groups.end(), PortGroup{ports, {}, {}});
  (ready ? group->ready : group->not_ready).push_back(std::move(address));
}

// Each port by itself, unless all pods have the same ones.
PortGroups port_groups(const EndpointsFacts& facts, const Endpoints* known, const Cache& cache) {
  const bool all_count = facts.publishes_not_ready;
  const auto terminating = all_count ? Terminating::kept : Terminating::left_out;
  PortGroups groups;
  cache.each<Pod>(facts.pods, [&](const Pod& pod) {
    if (!is_member(pod, terminating)) return;
    EndpointAddress address = address_of(pod, *facts.of, known_address(known, pod));
    const bool ready = all_count || is_ready(pod);
    if (facts.ports) return add_member(groups, *facts.ports, std::move(address), ready);
    for (const ServicePort& port : facts.of->spec->ports)
      if (const auto number = port_in_pod(port, pod))
        add_member(groups, std::vector{shown_port<EndpointPort>(port, *number)}, address, ready);
  });
  return groups;
}

// By their text (upstream RepackSubsets).
void sort_by_ip(std::vector<EndpointAddress>& addresses) {
  if (addresses.size() < 2) return;
  std::stable_sort(addresses.begin(), addresses.end(),
                   [](const EndpointAddress& a, const EndpointAddress& b) { return a.ip < b.ip; });
}

// Ports with the same addresses behind them share a subset.
std::vector<EndpointSubset> subsets_of(PortGroups&& groups) {
  std::vector<EndpointSubset> subsets;
  for (PortGroup& group : groups) {
    sort_by_ip(group.ready);
    sort_by_ip(group.not_ready);
    auto subset = std::find_if(subsets.begin(), subsets.end(), [&](const EndpointSubset& s) {
      return equal(s.addresses, group.ready) && equal(s.notReadyAddresses, group.not_ready);
    });
    if (subset == subsets.end()) {
      subsets.push_back(
          {std::move(group.ready), std::move(group.not_ready), std::move(group.ports)});
    } else {
      std::vector<EndpointPort>& ports = subset->ports.edit();
      ports.insert(ports.end(), group.ports.begin(), group.ports.end());
    }
  }
  return subsets;
}

Step delete_step(const KeyParts& key) {
  api::Request request;
  request.verb = api::Verb::remove;
  request.target = {&Endpoints::info(), std::string(key.namespace_), std::string(key.name), {}};
  return {.rule = &rules::delete_endpoints,
          .request = std::move(request),
          .tolerated = Reason::not_found};
}

}  // namespace

StringMap EndpointsController::labels_of(const Service& service) {
  return endpoint_labels(service, managed_by, endpoints_manager).made();
}

std::vector<Watched> EndpointsController::watches(const KindRegistry&) const {
  return {{&Service::info(), {}}, {&Pod::info(), {}}, {&Endpoints::info(), {}}};
}

// Endpoints are looked at when they go: somebody may have deleted what the service still needs. And
// when they are there as the process begins: their service may have gone while none ran (upstream's
// checkLeftoverEndpoints). Those of a leader election never had one. Who makes Endpoints first and
// their service then keeps them.
Reaction EndpointsController::observe(const Change& change, const Cache& cache, Expectations&,
                                      Time) {
  const Object& object = change.object();
  if (as<Pod>(object) != nullptr) return services_of(change, cache);
  const bool is_left_over =
      change.listed && !object.metadata.annotations->contains(leader_annotation);
  if (as<Endpoints>(object) != nullptr && change.after && !is_left_over) return {};
  return Reaction::to_wake(parts_of(object));
}

Plan EndpointsController::plan(const Key& key, const Observed& seen, Time) const {
  const KeyParts parts = split_key(key);
  const auto service = seen.cache.find<Service>(parts.namespace_, parts.name);
  // Whether the cache knows them or not: they may have been made a moment ago.
  Plan plan;
  if (!service) {
    known_.erase(parts);
    plan.steps.push_back(delete_step(parts));
    return plan;
  }
  const auto current = seen.cache.find<Endpoints>(parts.namespace_, parts.name);
  EndpointsFacts& facts = known_.of(*service);
  if (!reader_.read(service, facts)) return plan;
  std::vector<EndpointSubset> subsets = subsets_of(port_groups(facts, current.get(), seen.cache));
  if (current && same_texts(facts.labels, current->metadata.labels) &&
      equal(current->subsets, subsets))
    return plan;
  auto wanted = std::make_shared<Endpoints>();
  if (current) {
    wanted->metadata = current->metadata;
    wanted->extra = current->extra;
  } else {
    wanted->metadata.namespace_ = service->metadata.namespace_;
    wanted->metadata.name = service->metadata.name;
  }
  wanted->metadata.labels = facts.labels;
  wanted->subsets = std::move(subsets);
  Step& step = plan.steps.emplace_back();
  step.rule = current ? &rules::update_endpoints : &rules::create_endpoints;
  step.request = current ? api::update(std::move(wanted)) : api::create(std::move(wanted));
  return plan;
}

}  // namespace ddptwin::controller
