#include "controller/training_operator/plan.hpp"

#include "controller/training_operator/cleanup.hpp"
#include "controller/training_operator/validation.hpp"

namespace ddptwin::controller::pytorchjob {
namespace {

void report_invalid(Pass& pass, Error error) {
  pass.event(rules::invalid_job, warning, "PyTorchJobFailedValidation",
             "PyTorchJob failed validation because " + error.message);
  pass.plan.error = std::move(error);
  pass.over = true;
}

// True: the job is none of this pass's business.
bool is_left_alone(Pass& pass) {
  const PyTorchJob& job = *pass.seen.job;
  if (pass.profile().validates_in_reconcile)
    if (auto valid = validate(job); !valid) {
      report_invalid(pass, valid.error());
      return true;
    }
  if (pass.profile().managed_by && is_managed_elsewhere(job.spec->runPolicy)) {
    pass.note(rules::managed_elsewhere);
    return true;
  }
  if (!pass.seen.expectations_met) {
    pass.note(rules::expectations_unmet);
    return true;
  }
  if (job.metadata.deletionTimestamp) {
    pass.note(rules::job_is_being_deleted);
    return true;
  }
  return false;
}

void reset_expectations(Pass& pass) {
  const std::vector<Cow<std::string>>& keys = pass.seen.facts->expectation_keys;
  Step& step = pass.add(rules::reset_expectations);
  step.expected.reserve(keys.size());
  for (const Cow<std::string>& key : keys)
    step.expected.push_back({.when = Expected::When::reset, .key = key});
}

// The pods of a job that succeeded count as succeeded, whether they have ended or not (Q25).
void settle_counters(Pass& pass) {
  if (!pass.status.is_true(condition::succeeded) || !pass.status.replicaStatuses) return;
  for (auto& [type, counters] : *pass.status.replicaStatuses) {
    if (counters.active == 0) continue;
    pass.note(rules::settle_counters, type);
    counters.succeeded += counters.active;
    counters.active = 0;
  }
}

void finish(Pass& pass) {
  clean_up(pass);
  if (pass.over) return;
  settle_counters(pass);
  pass.write_status();
}

void converge(Pass& pass) {
  const JobFacts& facts = *pass.seen.facts;
  const AllLabelled<Pod> pods = labelled(pass.seen.pods, facts.pod_labels);
  const AllLabelled<Service> services = labelled(pass.seen.services, facts.service_labels);
  for (const ReplicaNames* names : pass.types(pass.seen.pods_worker_first)) {
    pass.replicas_made.clear();
    pass.variables_made.clear();
    reconcile_pods(pass, *names, pods);
    if (pass.over) return;
    reconcile_services(pass, *names, services);
  }
  update_status(pass);
  pass.write_status();
}

// §4.2, Main.
void reconcile(Pass& pass) {
  reset_expectations(pass);
  if (is_finished(pass.status)) return finish(pass);
  if (is_suspended(pass.job)) {
    suspend(pass);
    if (!pass.over) pass.write_status();
    return;
  }
  if (pass.status.is_true(condition::suspended)) resume(pass);
  report_abnormal_pods(pass);
  if (enforce_limits(pass)) return;
  if (sync_pod_group(pass)) return;
  converge(pass);
}

// On the status as it was read: the wake-up for a job that is to go (§4.2 step 7).
void await_expiry(Pass& pass) {
  static const JobStatus none{};
  const JobStatus& read = pass.seen.job->status ? *pass.seen.job->status : none;
  const auto left = time_to_expiry(pass.job.spec->runPolicy, read, pass.now);
  if (!left) return pass.abort(rules::ttl_without_end, left.error());
  if (!*left) return;
  pass.note(rules::await_ttl, format_go_duration(**left));
  if (**left > Duration::zero())
    pass.plan.requeue_after = **left;
  else
    pass.plan.requeue = true;
}

}  // namespace

bool is_managed_elsewhere(const RunPolicy& policy) {
  return policy.managedBy && *policy.managedBy != "kubeflow.org/training-operator";
}

Plan plan(const View& seen, const Settings& settings, Time now) {
  if (!seen.job) {
    Plan nothing;
    nothing.steps.push_back(Step{.rule = &rules::job_is_gone});
    return nothing;
  }
  Pass pass{.seen = seen,
            .settings = settings,
            .now = now,
            .job = seen.facts->job,
            .status = seen.job->status.value_or(JobStatus{})};
  pass.plan.about = seen.job;
  pass.plan.steps.reserve(16);  // most plans have fewer, and a step is big to move
  if (is_left_alone(pass)) return std::move(pass.plan);
  if (!seen.facts->is_defaulted) pass.panic(seen.facts->is_defaulted.error().message);
  if (!pass.over) reconcile_autoscaler(pass);
  if (!pass.over) reconcile(pass);
  if (!pass.over) await_expiry(pass);
  return std::move(pass.plan);
}

}  // namespace ddptwin::controller::pytorchjob
