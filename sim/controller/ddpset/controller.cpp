#include "controller/ddpset/controller.hpp"

#include "controller/ddpset/plan.hpp"

namespace ddptwin::controller {
namespace {

// Whose it is, and who waits for its name.
void wake_sets_of(const Object& object, const Cache& cache, Reaction& reaction) {
  const bool is_service = as<Service>(object) != nullptr;
  for (const ObjectPtr& one : cache.list(DDPSet::info(), object.metadata.namespace_)) {
    const DDPSet& set = static_cast<const DDPSet&>(*one);
    if (object.metadata.name == (is_service ? service_name_of(set) : set.metadata.name.str()))
      reaction.wake.push_back(parts_of(*one));
  }
}

}  // namespace

std::vector<Watched> DDPSetController::watches(const KindRegistry&) const {
  return {{&DDPSet::info(), {}}, {&Service::info(), {}}, {&StatefulSet::info(), {}}};
}

Reaction DDPSetController::observe(const Change& change, const Cache& cache, Expectations&, Time) {
  const Object& object = change.object();
  if (as<DDPSet>(object) != nullptr) return Reaction::to_wake(parts_of(object));
  Reaction reaction;
  wake_sets_of(object, cache, reaction);
  return reaction;
}

Plan DDPSetController::plan(const Key& key, const Observed& seen, Time) const {
  const KeyParts parts = split_key(key);
  ddpset::View view;
  view.set = seen.cache.find<DDPSet>(parts.namespace_, parts.name);
  if (view.set) {
    view.service = seen.cache.find<Service>(parts.namespace_, service_name_of(*view.set));
    view.statefulset = seen.cache.find<StatefulSet>(parts.namespace_, parts.name);
  }
  return ddpset::plan(view);
}

}  // namespace ddptwin::controller
