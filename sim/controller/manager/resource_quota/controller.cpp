#include "controller/manager/resource_quota/controller.hpp"

#include "cluster/pods/quota_usage.hpp"
#include "objects/resource_quota.hpp"

namespace ddptwin::controller {
namespace {

constexpr Rule write_quota_status{"write_quota_status", "spec/kubernetes.md §3.6"};
constexpr Rule quota_is_counted{"quota_is_counted", "spec/kubernetes.md §3.6"};
constexpr Duration full_resync = 5min;  // --resource-quota-sync-period

// Whether the change gives something back to a quota (upstream: DefaultUpdateFilter).
bool gives_back(const Change& change, Time now) {
  if (change.after == nullptr) return true;
  if (change.before == nullptr) return false;
  if (const Pod* pod = as<Pod>(*change.after))
    return quota::takes_resources(static_cast<const Pod&>(*change.before), now) &&
           !quota::takes_resources(*pod, now);
  if (const Service* service = as<Service>(*change.after)) {
    const ServiceSpec& was = *static_cast<const Service&>(*change.before).spec;
    return was.type_ != service->spec->type_ || was.ports.size() != service->spec->ports.size();
  }
  return false;
}

Reaction observe_quota(const Change& change) {
  if (change.after == nullptr) return {};
  const auto& now = static_cast<const ResourceQuota&>(*change.after);
  const bool limits_the_same =
      change.before != nullptr && change.before != change.after &&
      *static_cast<const ResourceQuota&>(*change.before).spec.hard == *now.spec.hard;
  return limits_the_same ? Reaction() : Reaction::to_wake(parts_of(now));
}

// Of all that there is, by the names that are limited.
ResourceList count_usage(const ResourceQuota& quota, const Cache& cache, Time now) {
  ResourceList used;
  const ResourceList& hard = *quota.spec.hard;
  for (const KindInfo* kind : cache.kinds()) {
    const auto names = quota::measured(*kind, hard);
    if (names.empty()) continue;
    for (const std::string& name : names) used.try_emplace(name);
    for (const ObjectPtr& object : cache.list(*kind, quota.metadata.namespace_)) {
      if (!quota::is_in_scope(quota, *object)) continue;
      const ResourceList taken = quota::usage_of(*object, now);
      for (const std::string& name : names)
        if (const auto found = taken.find(name); found != taken.end()) used[name] += found->second;
    }
  }
  // What nobody here counts stays as it was said.
  for (const auto& [name, amount] : *quota.status.used)
    if (hard.contains(name)) used.try_emplace(name, amount);
  return used;
}

}  // namespace

std::vector<Watched> ResourceQuotaController::watches(const KindRegistry& kinds) const {
  std::vector<Watched> watched{{&ResourceQuota::info(), full_resync}};
  for (const KindInfo* kind : kinds.all())
    if (kind != &ResourceQuota::info() && quota::is_counted(*kind)) watched.push_back({kind, {}});
  return watched;
}

Reaction ResourceQuotaController::observe(const Change& change, const Cache& cache, Expectations&,
                                          Time now) {
  const Object& object = change.object();
  Reaction reaction;
  if (&object.kind() == &ResourceQuota::info()) reaction = observe_quota(change);
  if (!gives_back(change, now)) return reaction;
  for (const auto& quota : cache.list<ResourceQuota>(object.metadata.namespace_))
    if (!quota::measured(object.kind(), *quota->status.hard).empty())
      reaction.wake.push_back(parts_of(*quota));
  return reaction;
}

Plan ResourceQuotaController::plan(const Key& key, const Observed& seen, Time now) const {
  Plan plan;
  const KeyParts parts = split_key(key);
  const auto quota = seen.cache.find<ResourceQuota>(parts.namespace_, parts.name);
  if (!quota) return plan;
  plan.about = quota;
  Step& step = plan.steps.emplace_back();
  step.rule = &quota_is_counted;
  ResourceList used = count_usage(*quota, seen.cache, now);
  if (*quota->status.hard == *quota->spec.hard && *quota->status.used == used) return plan;
  auto counted = std::make_shared<ResourceQuota>(*quota);
  counted->status.hard = quota->spec.hard;
  counted->status.used = std::move(used);
  step.rule = &write_quota_status;
  step.request = api::update(std::move(counted), "status");
  return plan;
}

}  // namespace ddptwin::controller
