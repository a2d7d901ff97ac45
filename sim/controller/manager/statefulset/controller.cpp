#include "controller/manager/statefulset/controller.hpp"

#include "controller/manager/statefulset/plan.hpp"

namespace ddptwin::controller {

using namespace statefulset;
namespace {

// The set that controls the object, by the cache; null where it is another of that name.
std::shared_ptr<const StatefulSet> set_of(const Object& object, const Cache& cache) {
  const OwnerReference* owner = object.metadata.controller();
  if (owner == nullptr || owner->kind != "StatefulSet") return nullptr;
  auto set = cache.find<StatefulSet>(object.metadata.namespace_, owner->name);
  return set && set->metadata.uid == owner->uid ? set : nullptr;
}

void wake_set_of(const Object& object, const Cache& cache, Reaction& reaction) {
  if (const auto set = set_of(object, cache))
    if (const ObjectPtr kept =
            cache.find(StatefulSet::info(), set->metadata.namespace_, set->metadata.name))
      reaction.wake.push_back(parts_of(*kept));
}

// Who might adopt it.
void wake_selecting(const Object& object, const Cache& cache, Reaction& reaction) {
  for (const ObjectPtr& one : cache.list(StatefulSet::info(), object.metadata.namespace_))
    if (is_selected(static_cast<const StatefulSet&>(*one), object))
      reaction.wake.push_back(parts_of(*one));
}

Reaction pod_changed(const Change& change, const Cache& cache) {
  Reaction reaction;
  const Object& now = change.object();
  if (!change.before || !change.after) {
    if (now.metadata.controller() != nullptr)
      wake_set_of(now, cache, reaction);
    else if (change.after && !now.metadata.deletionTimestamp)
      wake_selecting(now, cache, reaction);
    return reaction;
  }
  const Object& before = *change.before;
  if (before.metadata.resourceVersion == now.metadata.resourceVersion) return reaction;
  const OwnerReference *was = before.metadata.controller(), *is = now.metadata.controller();
  const bool moved = (was == nullptr) != (is == nullptr) || (was != nullptr && was->uid != is->uid);
  if (moved && was != nullptr) wake_set_of(before, cache, reaction);
  if (is != nullptr)
    wake_set_of(now, cache, reaction);
  else if (moved || *before.metadata.labels != *now.metadata.labels)
    wake_selecting(now, cache, reaction);
  return reaction;
}

}  // namespace

std::vector<Watched> StatefulSetController::watches(const KindRegistry&) const {
  return {{&StatefulSet::info(), {}},
          {&Pod::info(), {}},
          {&ControllerRevision::info(), {}},
          {&PersistentVolumeClaim::info(), {}}};
}

// Revisions and claims are looked at only: upstream waits for neither.
Reaction StatefulSetController::observe(const Change& change, const Cache& cache, Expectations&,
                                        Time) {
  if (as<Pod>(change.object()) != nullptr) return pod_changed(change, cache);
  if (as<StatefulSet>(change.object()) == nullptr) return {};
  return Reaction::to_wake(parts_of(change.object()));
}

Plan StatefulSetController::plan(const Key& key, const Observed& seen, Time now) const {
  const KeyParts parts = split_key(key);
  View view;
  view.set = seen.cache.find<StatefulSet>(parts.namespace_, parts.name);
  if (view.set) {
    view.pods = seen.cache.list(Pod::info(), parts.namespace_);
    view.revisions = seen.cache.list(ControllerRevision::info(), parts.namespace_);
    view.claim = [&](std::string_view name) {
      return seen.cache.find<PersistentVolumeClaim>(parts.namespace_, name);
    };
  }
  return statefulset::plan(view, now);
}

}  // namespace ddptwin::controller
