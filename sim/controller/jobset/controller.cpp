#include "controller/jobset/controller.hpp"

#include "controller/jobset/names.hpp"
#include "controller/jobset/plan.hpp"

namespace ddptwin::controller {
namespace {

bool is_of_a_jobset(const OwnerReference* owner) {
  return owner != nullptr && owner->kind == JobSet::info().kind &&
         owner->apiVersion == JobSet::info().api_version();
}

void wake_set_of(const ObjectPtr& object, Reaction& reaction) {
  if (!object) return;
  const OwnerReference* owner = object->metadata.controller();
  if (is_of_a_jobset(owner))
    reaction.wake.push_back(KeyParts{object->metadata.namespace_, owner->name});
}

}  // namespace

std::vector<Watched> JobSetController::watches(const KindRegistry&) const {
  return {{&JobSet::info(), {}},
          {&Job::info(), {}},
          {&Service::info(), {}},
          {&PersistentVolumeClaim::info(), {}}};
}

Reaction JobSetController::observe(const Change& change, const Cache&, Expectations&, Time) {
  const Object& object = change.object();
  if (as<JobSet>(object) != nullptr) return Reaction::to_wake(parts_of(object));
  Reaction reaction;
  if (as<PersistentVolumeClaim>(object) != nullptr) return reaction;
  wake_set_of(change.before, reaction);
  if (change.after != change.before) wake_set_of(change.after, reaction);
  return reaction;
}

Plan JobSetController::plan(const Key& key, const Observed& seen, Time now) const {
  const KeyParts parts = split_key(key);
  jobset::View view;
  view.set = seen.cache.find<JobSet>(parts.namespace_, parts.name);
  if (!view.set) return jobset::plan(view, profile_, now);
  for (auto& job : seen.cache.list<Job>(parts.namespace_)) {
    const OwnerReference* owner = job->metadata.controller();
    const bool is_its = is_of_a_jobset(owner) &&
                        (profile_.finds_jobs_by_uid ? owner->uid == view.set->metadata.uid
                                                    : owner->name == view.set->metadata.name);
    if (is_its) view.jobs.push_back(std::move(job));
  }
  view.has_service = seen.cache.find(Service::info(), parts.namespace_,
                                     jobset::subdomain_of(*view.set)) != nullptr;
  if (!view.set->spec->volumeClaimPolicies.empty())
    for (const ObjectPtr& claim : seen.cache.list(PersistentVolumeClaim::info(), parts.namespace_))
      view.claims.insert(claim->metadata.name.str());
  return jobset::plan(view, profile_, now);
}

}  // namespace ddptwin::controller
