#include "controller/manager/claim_protection/controller.hpp"

#include <algorithm>

#include "objects/finalizers.hpp"
#include "objects/pod_phase.hpp"
#include "objects/volume_claims.hpp"

namespace ddptwin::controller {
namespace {

constexpr Rule claim_is_unused{"claim_is_unused", "spec/kubernetes.md §4"};
constexpr Rule claim_is_in_use{"claim_is_in_use", "spec/kubernetes.md §4"};

bool refers_to(const Pod& pod, std::string_view claim) {
  return std::any_of(pod.spec->volumes.begin(), pod.spec->volumes.end(), [&](const Volume& v) {
    return v.persistentVolumeClaim && v.persistentVolumeClaim->claimName == claim;
  });
}

// No kubelet starts a pod whose claim is being deleted, so one that is not placed does not use it.
bool uses(const Pod& pod, std::string_view claim) {
  return !pod.spec->nodeName.empty() && refers_to(pod, claim);
}

// The claims of a pod that may have let go of them.
void wake_claims(const Pod& pod, const Cache& cache, Reaction& reaction) {
  for (const Volume& volume : pod.spec->volumes) {
    if (!volume.persistentVolumeClaim) continue;
    if (const auto claim = cache.find(PersistentVolumeClaim::info(), pod.metadata.namespace_,
                                      volume.persistentVolumeClaim->claimName))
      reaction.wake.push_back(parts_of(*claim));
  }
}

}  // namespace

std::vector<Watched> ClaimProtectionController::watches(const KindRegistry&) const {
  return {{&PersistentVolumeClaim::info(), {}}, {&Pod::info(), {}}};
}

Reaction ClaimProtectionController::observe(const Change& change, const Cache& cache, Expectations&,
                                            Time) {
  Reaction reaction;
  const Object& object = change.object();
  if (const Pod* pod = as<Pod>(object)) {
    const bool may_matter =
        !change.after || is_terminal_phase(pod->status.phase) || pod->spec->nodeName.empty();
    if (may_matter) wake_claims(*pod, cache, reaction);
  } else if (change.after && object.metadata.deletionTimestamp &&
             has_finalizer(object, claim_protection_finalizer)) {
    reaction.wake.push_back(parts_of(object));
  }
  return reaction;
}

Plan ClaimProtectionController::plan(const Key& key, const Observed& seen, Time) const {
  Plan plan;
  const KeyParts parts = split_key(key);
  const auto claim = seen.cache.find<PersistentVolumeClaim>(parts.namespace_, parts.name);
  if (!claim || !claim->metadata.deletionTimestamp ||
      !has_finalizer(*claim, claim_protection_finalizer))
    return plan;
  plan.about = claim;
  Step& step = plan.steps.emplace_back();
  for (const auto& pod : seen.cache.list<Pod>(parts.namespace_))
    if (uses(*pod, claim->metadata.name)) {
      step.rule = &claim_is_in_use;
      step.text = pod->metadata.name;
      return plan;
    }
  auto freed = std::make_shared<PersistentVolumeClaim>(*claim);
  std::erase(freed->metadata.finalizers.edit(), std::string(claim_protection_finalizer));
  step.rule = &claim_is_unused;
  step.request = api::update(std::move(freed));
  return plan;
}

}  // namespace ddptwin::controller
