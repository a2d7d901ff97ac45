#include "cluster/pods/quota_usage.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <map>
#include <set>

#include "cluster/pods/resources.hpp"
#include "objects/kinds.hpp"
#include "objects/pod_phase.hpp"
#include "objects/volume_claims.hpp"

namespace ddptwin::quota {
namespace {

using Names = std::set<std::string, std::less<>>;

const Quantity one = Quantity::of(1);
constexpr std::string_view requests = "requests.", limits = "limits.", hugepages = "hugepages-";
constexpr std::string_view of_class = ".storageclass.storage.k8s.io/";

bool is_compute(std::string_view name) {
  return name == "cpu" || name == "memory" || name == "ephemeral-storage";
}
// A device of a domain of its own, as nvidia.com/gpu is (upstream: IsExtendedResourceName).
bool is_extended(std::string_view name) {
  return name.find('/') != std::string_view::npos &&
         name.find("kubernetes.io/") == std::string_view::npos && !name.starts_with(requests);
}

// "count/pods", "count/jobs.batch".
std::string count_of(const KindInfo& kind) { return "count/" + kind.resource(); }

// Kinds that are counted by their own name, too.
bool has_name_of_old(const KindInfo& kind) {
  static constexpr std::array<std::string_view, 6> kinds{"ConfigMap",     "Secret",
                                                         "ResourceQuota", "ReplicationController",
                                                         "Service",       "PersistentVolumeClaim"};
  return kind.group.empty() && std::find(kinds.begin(), kinds.end(), kind.kind) != kinds.end();
}

bool measures_pods(std::string_view resource) {
  if (resource == "pods" || is_compute(resource) || resource.starts_with(hugepages)) return true;
  if (resource.starts_with(limits)) return is_compute(resource.substr(limits.size()));
  if (!resource.starts_with(requests)) return false;
  const std::string_view name = resource.substr(requests.size());
  return is_compute(name) || name.starts_with(hugepages) || is_extended(name);
}

ResourceList resources_of(const ResourceList& asked, const ResourceList& limited) {
  ResourceList taken;
  for (const auto& [name, amount] : asked) {
    const bool has_own_name = is_compute(name) || name.starts_with(hugepages);
    if (has_own_name) taken[name] = amount;
    if (has_own_name || is_extended(name)) taken[fmt::format("{}{}", requests, name)] = amount;
  }
  for (const auto& [name, amount] : limited)
    if (is_compute(name)) taken[fmt::format("{}{}", limits, name)] = amount;
  return taken;
}

void add(ResourceList& to, std::string name, const Quantity& amount) {
  const auto [slot, fresh] = to.try_emplace(std::move(name), amount);
  if (!fresh) slot->second += amount;
}

ResourceList usage_of_pod(const Pod& pod, Time now) {
  if (!takes_resources(pod, now)) return {};
  ResourceList asked = *kubelet::pod_requests(pod.spec), limited = *kubelet::pod_limits(pod.spec);
  for (const auto& [name, amount] : *pod.spec->overhead) {
    add(asked, name, amount);
    // Where nothing is limited the overhead is no limit either.
    if (const auto found = limited.find(name); found != limited.end()) found->second += amount;
  }
  ResourceList taken = resources_of(asked, limited);
  taken["pods"] = one;
  return taken;
}

ResourceList usage_of_service(const Service& service) {
  const ServiceSpec& spec = *service.spec;
  const bool balances = spec.type_ == "LoadBalancer";
  ResourceList taken{{"services", one}};
  if (balances) taken["services.loadbalancers"] = one;
  if (spec.type_ == "NodePort" || (balances && spec.allocateLoadBalancerNodePorts.value_or(true)))
    taken["services.nodeports"] = Quantity::of(static_cast<std::int64_t>(spec.ports.size()));
  return taken;
}

ResourceList usage_of_claim(const PersistentVolumeClaim& claim) {
  ResourceList taken{{"persistentvolumeclaims", one}};
  const std::string class_ = claim.spec.storageClassName.value_or("");
  const auto add_of_class = [&](std::string_view name, const Quantity& amount) {
    if (!class_.empty()) taken[fmt::format("{}{}{}", class_, of_class, name)] = amount;
  };
  add_of_class("persistentvolumeclaims", one);
  const auto& asked = claim.spec.resources.requests;
  if (const auto storage = asked.find("storage"); storage != asked.end()) {
    taken["requests.storage"] = storage->second;
    add_of_class("requests.storage", storage->second);
  }
  return taken;
}

bool asks_across_namespaces(const PodSpec& spec) {
  if (!spec.affinity) return false;
  const auto term = [](const PodAffinityTerm& asked) {
    return !asked.namespaces.empty() || asked.namespaceSelector.has_value();
  };
  const auto any = [&](const auto& affinity) {
    if (!affinity) return false;
    const auto& must = affinity->requiredDuringSchedulingIgnoredDuringExecution;
    const auto& should = affinity->preferredDuringSchedulingIgnoredDuringExecution;
    return std::any_of(must.begin(), must.end(), term) ||
           std::any_of(should.begin(), should.end(), [&](const WeightedPodAffinityTerm& weighed) {
             return term(weighed.podAffinityTerm);
           });
  };
  return any(spec.affinity->podAffinity) || any(spec.affinity->podAntiAffinity);
}

bool has_priority_class(const Pod& pod, const ScopedResourceSelectorRequirement& asked) {
  const std::string& name = pod.spec->rest->priorityClassName;
  const bool listed =
      std::find(asked.values.begin(), asked.values.end(), name) != asked.values.end();
  if (asked.operator_ == "Exists") return !name.empty();
  if (asked.operator_ == "DoesNotExist") return name.empty();
  if (asked.operator_ == "In") return !name.empty() && listed;
  return asked.operator_ == "NotIn" && (name.empty() || !listed);
}

bool meets(const Pod& pod, const ScopedResourceSelectorRequirement& asked) {
  const std::string& scope = asked.scopeName;
  const auto& deadline = pod.spec->activeDeadlineSeconds;
  const bool ends = deadline.has_value() && *deadline >= 0;
  if (scope == "Terminating") return ends;
  if (scope == "NotTerminating") return !ends;
  const bool best_effort = kubelet::qos_class(pod.spec) == kubelet::QosClass::best_effort;
  if (scope == "BestEffort") return best_effort;
  if (scope == "NotBestEffort") return !best_effort;
  if (scope == "PriorityClass") return has_priority_class(pod, asked);
  return scope == "CrossNamespacePodAffinity" && asks_across_namespaces(pod.spec);
}

// What a container must say, for historical reasons of these alone.
bool must_be_said(std::string_view resource) {
  const std::string_view name = resource.starts_with(requests) ? resource.substr(requests.size())
                                : resource.starts_with(limits) ? resource.substr(limits.size())
                                                               : resource;
  return name == "cpu" || name == "memory";
}

}  // namespace

bool is_counted(const KindInfo& kind) { return kind.namespaced && kind.kind != "Event"; }

bool measures(const KindInfo& kind, std::string_view resource) {
  if (!is_counted(kind)) return false;
  if (resource == count_of(kind)) return true;
  if (&kind == &Pod::info()) return measures_pods(resource);
  if (has_name_of_old(kind) && resource == kind.plural) return true;
  if (&kind == &Service::info()) return resource.starts_with("services.");
  if (&kind == &PersistentVolumeClaim::info())
    return resource == "requests.storage" || resource.find(of_class) != std::string_view::npos;
  return false;
}

std::vector<std::string> measured(const KindInfo& kind, const ResourceList& limited) {
  std::vector<std::string> names;
  for (const auto& [name, amount] : limited)
    if (measures(kind, name)) names.push_back(name);
  return names;
}

bool is_in_scope(const ResourceQuota& quota, const Object& object) {
  const auto asked = scopes_of(quota);
  const Pod* pod = as<Pod>(object);
  return std::all_of(asked.begin(), asked.end(),
                     [&](const auto& scope) { return pod != nullptr && meets(*pod, scope); });
}

bool takes_resources(const Pod& pod, Time now) {
  if (is_terminal_phase(pod.status.phase)) return false;
  const auto& ends = pod.metadata.deletionTimestamp;
  const auto grace = pod.metadata.deletionGracePeriodSeconds;
  return !ends || !grace || now <= *ends + std::chrono::seconds(*grace);
}

ResourceList usage_of(const Object& object, Time now) {
  const KindInfo& kind = object.kind();
  ResourceList taken;
  if (const Pod* pod = as<Pod>(object)) taken = usage_of_pod(*pod, now);
  if (const Service* service = as<Service>(object)) taken = usage_of_service(*service);
  if (const auto* claim = as<PersistentVolumeClaim>(object)) taken = usage_of_claim(*claim);
  if (has_name_of_old(kind)) taken[kind.plural] = one;
  taken[count_of(kind)] = one;
  return taken;
}

std::string unsaid(const Pod& pod, const std::vector<std::string>& limited) {
  std::map<std::string, Names, std::less<>> missing;
  for (const auto* list : {&pod.spec->containers, &pod.spec->initContainers})
    for (const Container& container : *list) {
      const ResourceList said =
          resources_of(container.resources.requests, container.resources.limits);
      for (const std::string& name : limited)
        if (must_be_said(name) && !said.contains(name)) missing[name].insert(container.name);
    }
  std::vector<std::string> words;
  for (const auto& [name, containers] : missing)
    words.push_back(fmt::format("{} for: {}", name, fmt::join(containers, ",")));
  return fmt::format("{}", fmt::join(words, "; "));
}

}  // namespace ddptwin::quota
