#include "controller/training_operator/controller.hpp"

#include <algorithm>

#include "controller/training_operator/plan.hpp"

namespace ddptwin::controller::pytorchjob {
namespace {

constexpr Duration resync_period = std::chrono::hours(10);

bool is_pod_group(const KindInfo& kind) { return kind.kind == "PodGroup"; }

// The reference to the job that the object says is its controller; null when it is of another kind.
const OwnerReference* job_named_by(const Object& object) {
  const OwnerReference* owner = object.metadata.controller();
  const bool is_job = owner != nullptr && owner->kind == "PyTorchJob" &&
                      owner->apiVersion.starts_with("kubeflow.org/");
  return is_job ? owner : nullptr;
}

// It exists in the cache, with the UID that the reference means.
bool is_live(const OwnerReference& owner, const Object& object, const Cache& cache) {
  const auto job = cache.find<PyTorchJob>(object.metadata.namespace_, owner.name);
  return job && job->metadata.uid == owner.uid;
}

// A new job is defaulted and gets its first condition in the cache alone (Q23).
Reaction job_appeared(const PyTorchJob& job, const JobFacts& facts, Time now) {
  Reaction reaction;
  if (!facts.is_defaulted) {
    reaction.panic = facts.is_defaulted.error().message;
    return reaction;
  }
  auto cached = std::make_shared<PyTorchJob>(job);
  cached->spec = facts.job.spec;
  if (!cached->status) cached->status.emplace();
  set_condition(*cached->status,
                {condition::created, true, reason::created,
                 "PyTorchJob " + job.metadata.name + " is created."},
                now);
  reaction.replace_cached = std::move(cached);
  reaction.wake.push_back(parts_of(job));
  return reaction;
}

// A replica's pod or Service has come or gone, as its job expected. Kubernetes makes no difference
// between the two kinds a replica has.
void lower_expectations(const Change& change, const KeyParts& owner, std::string_view type,
                        const TextTable<JobFacts>& known, Expectations& expectations) {
  const bool is_pod = as<Pod>(change.object()) != nullptr;
  const auto lower = [&](const std::string& key) {
    expectations.lower(key, change.after ? 1 : 0, change.after ? 0 : 1);
  };
  const Key job = joined_key(owner);
  const auto facts = known.find(job);
  const ReplicaNames* names = facts != known.end() ? facts->second.names_of(type) : nullptr;
  if (names != nullptr)
    lower(is_pod ? names->pods_key : names->services_key);
  else
    lower(expectation_key(job, type, is_pod ? "pods" : "services"));
}

Reaction dependent_changed(const Change& change, const Cache& cache,
                           const TextTable<JobFacts>& known, Expectations& expectations) {
  Reaction reaction;
  const Object& object = change.object();
  if (change.before && change.after) {
    if (change.before->metadata.resourceVersion == change.after->metadata.resourceVersion)
      return reaction;
    const auto wake_owner = [&](const Object& one) {
      const OwnerReference* owner = job_named_by(one);
      if (owner != nullptr && is_live(*owner, one, cache))
        reaction.wake.push_back({one.metadata.namespace_, owner->name});
    };
    // The queue takes a key once.
    if (!change.before->metadata.ownerReferences.same_as(change.after->metadata.ownerReferences))
      wake_owner(*change.before);
    wake_owner(*change.after);
    return reaction;
  }
  const Text* type = object.metadata.label(label::replica_type);
  if (type == nullptr || type->empty()) return reaction;
  const OwnerReference* owner = job_named_by(object);
  if (owner == nullptr) return reaction;
  const KeyParts key{object.metadata.namespace_, owner->name};
  lower_expectations(change, key, *type, known, expectations);
  reaction.wake.push_back(key);
  return reaction;
}

bool is_worker_first(TypeOrder order, Random& random) {
  return order == TypeOrder::worker_first || (order == TypeOrder::random && random.chance(0.5));
}

// One satisfied key of any type is enough (Q13); a job without types never is (Q31).
bool are_expectations_met(const std::vector<Cow<std::string>>& keys,
                          const Expectations& expectations, Time now) {
  for (const Cow<std::string>& key : keys)
    if (expectations.satisfied(*key, now)) return true;
  return false;
}

}  // namespace

std::vector<Watched> PyTorchJobController::watches(const KindRegistry& kinds) const {
  std::vector<Watched> watched{{.kind = &PyTorchJob::info(), .resync = resync_period},
                               {.kind = &Pod::info()},
                               {.kind = &Service::info()},
                               {.kind = &HorizontalPodAutoscaler::info()}};
  std::erase_if(watched, [&](const Watched& w) {
    return kinds.find(w.kind->api_version(), w.kind->kind) == nullptr;
  });
  if (const KindInfo* group = pod_group_kind(kinds, settings_); group != nullptr)
    watched.push_back({.kind = group});
  return watched;
}

Reaction PyTorchJobController::observe(const Change& change, const Cache& cache,
                                       Expectations& expectations, Time now) {
  const Object& object = change.object();
  if (const auto* job = as<PyTorchJob>(object)) {
    if (!change.before) return job_appeared(*job, facts(key_of(job->metadata), *job), now);
    return Reaction::to_wake(parts_of(object));
  }
  // The autoscaler is read, not watched for; a PodGroup has no replica type, so its coming and
  // going wakes nobody.
  if (as<HorizontalPodAutoscaler>(object) != nullptr) return {};
  if (is_pod_group(object.kind()) && !(change.before && change.after)) return {};
  return dependent_changed(change, cache, known_, expectations);
}

const JobFacts& PyTorchJobController::facts(const Key& key, const PyTorchJob& job) const {
  const auto [known, is_new] = known_.try_emplace(key, job);
  if (!is_new && !known->second.hold_for(job)) known->second = JobFacts(job);
  return known->second;
}

Plan PyTorchJobController::plan(const Key& key, const Observed& seen, Time now) const {
  const KeyParts parts = split_key(key);
  View view;
  view.job = seen.cache.find<PyTorchJob>(parts.namespace_, parts.name);
  if (!view.job) {
    known_.erase(key);
    return pytorchjob::plan(view, settings_, now);
  }
  const JobFacts& of_job = facts(key, *view.job);
  view.facts = &of_job;
  seen.cache.each<Pod>(of_job.labels, [&](const Pod& pod) {
    const OwnerReference* owner = pod.metadata.controller();
    if (owner != nullptr && owner->uid == view.job->metadata.uid) view.pods.push_back(&pod);
  });
  seen.cache.each<Service>(of_job.labels,
                           [&](const Service& service) { view.services.push_back(&service); });
  if (is_scaled(*of_job.job.spec))
    view.autoscaler = seen.cache.find<HorizontalPodAutoscaler>(parts.namespace_, parts.name);
  if (!settings_.gang_scheduler.empty())
    for (const KindInfo* kind : seen.cache.kinds())
      if (is_pod_group(*kind)) view.pod_group_kind = kind;
  if (view.pod_group_kind != nullptr)
    view.pod_group = seen.cache.find(*view.pod_group_kind, parts.namespace_, parts.name);
  view.expectations_met = are_expectations_met(of_job.expectation_keys, seen.expectations, now);
  Random random = seen.random;
  view.pods_worker_first = is_worker_first(settings_.pod_order, random);
  view.status_worker_first = is_worker_first(settings_.status_order, random);
  return pytorchjob::plan(view, settings_, now);
}

}  // namespace ddptwin::controller::pytorchjob
