#include "controller/manager/volume_binder/protection.hpp"

#include "controller/manager/volume_binder/rules.hpp"
#include "objects/finalizers.hpp"
#include "objects/volumes.hpp"

namespace ddptwin::controller::volume_binder {

std::vector<Watched> Protection::watches(const KindRegistry&) const {
  return {{&PersistentVolume::info(), {}}};
}

Reaction Protection::observe(const Change& change, const Cache&, Expectations&, Time) {
  const Object& object = change.object();
  if (!change.after || !object.metadata.deletionTimestamp) return {};
  return Reaction::to_wake(parts_of(object));
}

Plan Protection::plan(const Key& key, const Observed& seen, Time) const {
  Plan plan;
  const auto volume = seen.cache.find<PersistentVolume>({}, split_key(key).name);
  if (!volume || !volume->metadata.deletionTimestamp || volume->status.phase == "Bound")
    return plan;
  if (!has_finalizer(*volume, volume_protection_finalizer)) return plan;
  auto freed = std::make_shared<PersistentVolume>(*volume);
  std::erase(freed->metadata.finalizers.edit(), std::string(volume_protection_finalizer));
  plan.about = volume;
  Step& step = plan.steps.emplace_back();
  step.rule = &rules::volume_is_unused;
  step.request = api::update(std::move(freed));
  return plan;
}

}  // namespace ddptwin::controller::volume_binder
