#include "controller/trainer/controller.hpp"

#include "controller/trainer/names.hpp"
#include "controller/trainer/plan.hpp"
#include "controller/trainer/snapshot.hpp"
#include "objects/pod_groups.hpp"

namespace ddptwin::controller {
namespace {

void wake_job_of(const ObjectPtr& object, Reaction& reaction) {
  if (!object) return;
  const OwnerReference* owner = object->metadata.controller();
  if (owner != nullptr && owner->kind == TrainJob::info().kind &&
      owner->apiVersion == TrainJob::info().api_version())
    reaction.wake.push_back(KeyParts{object->metadata.namespace_, owner->name});
}

}  // namespace

std::vector<Watched> TrainJobController::watches(const KindRegistry&) const {
  return {{&TrainJob::info(), {}},
          {&TrainingRuntime::info(), {}},
          {&ClusterTrainingRuntime::info(), {}},
          {&JobSet::info(), {}},
          {&ConfigMap::info(), {}},
          {&Secret::info(), {}},
          {&CoschedulingGroup::info(), {}},
          {&VolcanoGroup::info(), {}}};
}

Reaction TrainJobController::observe(const Change& change, const Cache&, Expectations&, Time) {
  if (as<TrainJob>(change.object()) != nullptr) return Reaction::to_wake(parts_of(change.object()));
  Reaction reaction;
  wake_job_of(change.before, reaction);
  if (change.after != change.before) wake_job_of(change.after, reaction);
  return reaction;
}

Plan TrainJobController::plan(const Key& key, const Observed& seen, Time now) const {
  const KeyParts parts = split_key(key);
  const std::string name(parts.name);
  trainer::View view{.random = seen.random};
  view.job = seen.cache.find<TrainJob>(parts.namespace_, parts.name);
  if (!view.job) return trainer::plan(view, profile_, now);
  if (const KindInfo* kind = trainer::runtime_kind_of(*view.job))
    view.runtime = seen.cache.find(*kind, kind->namespaced ? parts.namespace_ : std::string_view(),
                                   view.job->spec->runtimeRef.name);
  view.snapshot =
      seen.cache.find<ConfigMap>(parts.namespace_, name + std::string(trainer::snapshot_suffix));
  trainer::Existing& there = view.there;
  there.set = seen.cache.find<JobSet>(parts.namespace_, parts.name);
  there.coscheduling_group =
      seen.cache.find(CoschedulingGroup::info(), parts.namespace_, parts.name);
  there.volcano_group = seen.cache.find(VolcanoGroup::info(), parts.namespace_, parts.name);
  there.ssh_secret = seen.cache.find(Secret::info(), parts.namespace_,
                                     name + std::string(trainer::ssh_secret_suffix));
  there.hostfile = seen.cache.find(ConfigMap::info(), parts.namespace_,
                                   name + std::string(trainer::hostfile_suffix));
  there.status_server = seen.cache.find(ConfigMap::info(), parts.namespace_,
                                        name + std::string(trainer::status_server_suffix));
  return trainer::plan(view, profile_, now);
}

}  // namespace ddptwin::controller
