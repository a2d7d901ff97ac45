// ResourceQuota admission: what does not fit into its namespace's quotas is refused, what fits is
// counted at once (spec/kubernetes.md §3.6; upstream: plugin/resourcequota).
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "cluster/pods/quota_usage.hpp"
#include "cluster/store/namespace_limits.hpp"
#include "cluster/store/store.hpp"
#include "cluster/store/store_errors.hpp"
#include "objects/resource_quota.hpp"
#include "objects/volume_claims.hpp"

namespace ddptwin {
namespace {

using QuotaNames = std::vector<std::string>;
using QuotaPtr = std::shared_ptr<const ResourceQuota>;

constexpr std::string_view quota_actor = "kube-apiserver";

// The amounts of these names, "pods=1,requests.cpu=500m".
std::string quota_amounts(const ResourceList& list, const QuotaNames& names) {
  QuotaNames texts;
  for (const std::string& name : names)
    if (const auto found = list.find(name); found != list.end())
      texts.push_back(fmt::format("{}={}", name, found->second.str()));
  return fmt::format("{}", fmt::join(texts, ","));
}

// What an update takes more than what it replaces; what is given back is the controller's to see.
ResourceList more_than(ResourceList now, const ResourceList& before) {
  for (auto& [name, amount] : now)
    if (const auto was = before.find(name); was != before.end())
      amount = was->second < amount ? amount -= was->second : Quantity();
  return now;
}

class QuotaCheck {
 public:
  QuotaCheck(const AdmissionRequest& request)
      : request_(request), usage_(quota::usage_of(*request.object, request.now)) {}

  // The quota as it will be, null where it stays; or the refusal.
  Result<std::shared_ptr<ResourceQuota>> after(const QuotaPtr& quota) const;

 private:
  tl::unexpected<Error> refuse(std::string why) const {
    return fail(forbidden_error(request_.kind, request_.object->metadata.name, std::move(why)));
  }
  ResourceList taken_of(const ResourceQuota& quota) const {
    if (request_.old == nullptr || !quota::is_in_scope(quota, *request_.old)) return usage_;
    return more_than(usage_, quota::usage_of(*request_.old, request_.now));
  }

  const AdmissionRequest& request_;
  ResourceList usage_;
};

Result<std::shared_ptr<ResourceQuota>> QuotaCheck::after(const QuotaPtr& quota) const {
  const ResourceList& hard = *quota->status.hard;
  const QuotaNames limited = quota::measured(request_.kind, hard);
  if (limited.empty() || !quota::is_in_scope(*quota, *request_.object)) return nullptr;
  const Text& name = quota->metadata.name;
  if (const Pod* pod = as<Pod>(*request_.object))
    if (const std::string missing = quota::unsaid(*pod, limited); !missing.empty())
      return refuse(fmt::format("failed quota: {}: must specify {}", name, missing));
  const ResourceList& used = *quota->status.used;
  if (std::any_of(limited.begin(), limited.end(),
                  [&](const std::string& one) { return !used.contains(one); }))
    return refuse(
        fmt::format("status unknown for quota: {}, resources: {}", name, fmt::join(limited, ",")));
  const ResourceList taken = taken_of(*quota);
  ResourceList sum = used;
  QuotaNames exceeded;
  for (const auto& [resource, amount] : taken) {
    const auto limit = hard.find(resource);
    if (limit == hard.end() || amount.zero()) continue;
    Quantity& now = sum[resource] += amount;
    if (limit->second < now) exceeded.push_back(resource);
  }
  if (!exceeded.empty())
    return refuse(fmt::format("exceeded quota: {}, requested: {}, used: {}, limited: {}", name,
                              quota_amounts(taken, exceeded), quota_amounts(used, exceeded),
                              quota_amounts(hard, exceeded)));
  if (sum == used) return nullptr;
  auto counted = std::make_shared<ResourceQuota>(*quota);
  counted->status.used = std::move(sum);
  return counted;
}

Result<std::vector<std::string>> check_quotas(Store& store, const AdmissionRequest& request) {
  if (!request.subresource.empty() || !quota::is_counted(request.kind))
    return std::vector<std::string>();
  const QuotaCheck check(request);
  // All or none: nothing is counted before every quota has agreed.
  std::vector<std::shared_ptr<ResourceQuota>> counted;
  for (const auto& [key, object] : store.objects(ResourceQuota::info())) {
    if (object->metadata.namespace_ != request.object->metadata.namespace_) continue;
    TRY(auto after, check.after(as<ResourceQuota>(object)));
    if (after != nullptr) counted.push_back(std::move(after));
  }
  if (!request.dry_run)
    for (auto& quota : counted)
      TRY_VOID(store.call(api::update(std::move(quota), "status"), quota_actor));
  return std::vector<std::string>();
}

}  // namespace

void add_quota_admission(Store& store) {
  const AdmissionHook check = [&store](const auto& request) {
    return check_quotas(store, request);
  };
  store.add_admission(AdmissionPhase::validating, check, nullptr, api::Verb::create);
  // Whose type or size can change what they take.
  for (const KindInfo* kind : {&Service::info(), &PersistentVolumeClaim::info()})
    store.add_admission(AdmissionPhase::validating, check, kind, api::Verb::update);
}

}  // namespace ddptwin
