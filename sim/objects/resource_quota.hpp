// v1 ResourceQuota: how much of a namespace's pods, resources and objects there may be
// (spec/kubernetes.md §3.6).
#pragma once

#include "objects/pod_spec.hpp"

namespace ddptwin {

// PriorityClass In (high, low): of which pods a quota counts.
struct ScopedResourceSelectorRequirement {
  std::string scopeName{};
  std::string operator_{};  // In, NotIn, Exists, DoesNotExist
  std::vector<std::string> values{};
  static const Type& type();
};
struct ScopeSelector {
  std::vector<ScopedResourceSelectorRequirement> matchExpressions{};
  static const Type& type();
};
struct ResourceQuotaSpec {
  Cow<ResourceList> hard{};
  std::vector<std::string> scopes{};
  std::optional<ScopeSelector> scopeSelector{};
  static const Type& type();
};
struct ResourceQuotaStatus {
  Cow<ResourceList> hard{};  // what admission goes by
  Cow<ResourceList> used{};
  static const Type& type();
};
struct ResourceQuota final : ObjectOf<ResourceQuota> {
  ResourceQuotaSpec spec{};
  ResourceQuotaStatus status{};
  Extra extra{};
  static const KindInfo& info();
  static const Type& type();
};

// All that is asked of what a quota counts: its scopes exist, and its selector's terms hold.
std::vector<ScopedResourceSelectorRequirement> scopes_of(const ResourceQuota& quota);

}  // namespace ddptwin
