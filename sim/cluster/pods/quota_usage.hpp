// What objects take of a namespace's quotas (spec/kubernetes.md §3.6; upstream: pkg/quota/v1 and
// its evaluators). API server and quota controller count alike.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "objects/core_v1.hpp"
#include "objects/resource_quota.hpp"

namespace ddptwin::quota {

// Whether objects of the kind are counted at all: those of namespaces, but for events.
bool is_counted(const KindInfo& kind);
// Whether an amount of that name says how much of the kind there may be: "pods", "limits.cpu",
// "count/jobs.batch".
bool measures(const KindInfo& kind, std::string_view resource);
// Of the resources that a quota limits those that measure the kind, sorted.
std::vector<std::string> measured(const KindInfo& kind, const ResourceList& limited);
// Whether the object is one of those that the quota's scopes name. Without scopes each is.
bool is_in_scope(const ResourceQuota& quota, const Object& object);
// What the object takes, by the names that quotas have for it. A pod that has ended, or should have
// by now, takes nothing but its place among the objects.
ResourceList usage_of(const Object& object, Time now);
// Whether a pod takes resources: it has not ended, and its grace is not over (upstream:
// QuotaV1Pod).
bool takes_resources(const Pod& pod, Time now);
// What a pod must say of each container where these are limited, and does not:
// "limits.memory for: c; requests.cpu for: c,d". Empty: nothing is missing.
std::string unsaid(const Pod& pod, const std::vector<std::string>& limited);

}  // namespace ddptwin::quota
