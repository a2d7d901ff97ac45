// What the counters mean for the job (spec/pytorchjob.md §4.9).
#include "controller/training_operator/pass.hpp"

namespace ddptwin::controller::pytorchjob {
namespace {

// Workers say "namespace/name" where the Master says "name".
std::string worker_subject(const Pass& pass) {
  return "PyTorchJob " + pass.job.metadata.namespace_ + "/" + pass.name();
}

template <class Subject>
void set_running(Pass& pass, const Rule& rule, const Subject& subject) {
  if (is_so(pass.status, condition::running, true, reason::running)) return;
  pass.condition({condition::running, true, reason::running, subject() + " is running."}, &rule);
}

void succeed(Pass& pass, const Rule& rule, const std::string& message) {
  pass.event(rule, normal, reason::succeeded, message);
  if (!pass.status.completionTime) pass.status.completionTime = pass.now;
  pass.condition({condition::succeeded, true, reason::succeeded, message});
}

// True: the job has succeeded and the other types are not looked at.
bool judge_master(Pass& pass, const ReplicaStatus& counters, int open) {
  if (counters.active > 0)
    set_running(pass, rules::master_is_running, [&] { return "PyTorchJob " + pass.name(); });
  if (open != 0) return false;
  succeed(pass, rules::master_succeeded,
          "PyTorchJob " + pass.name() + " is successfully completed.");
  return true;
}

void judge_workers(Pass& pass, const ReplicaStatus& counters, int open) {
  // Elastic: the first worker that succeeds ends the job (§7).
  if (open == 0 || (pass.job.spec->elasticPolicy && counters.succeeded > 0))
    succeed(pass, rules::workers_succeeded, worker_subject(pass) + " successfully completed.");
  else if (counters.active > 0)
    set_running(pass, rules::workers_are_running, [&] { return worker_subject(pass); });
}

void judge_failures(Pass& pass, const std::string& type, const std::string& policy, int failed) {
  const std::string because =
      " because " + std::to_string(failed) + " " + type + " replica(s) failed.";
  if (policy != "Never") {
    const std::string message = "PyTorchJob " + pass.name() + " is restarting" + because;
    pass.event(rules::replicas_restart, warning, reason::restarting, message);
    pass.condition({condition::restarting, true, reason::restarting, message});
    return;
  }
  const std::string message = "PyTorchJob " + pass.name() + " is failed" + because;
  pass.event(rules::replicas_failed, normal, reason::failed, message);
  if (!pass.status.completionTime) pass.status.completionTime = pass.now;
  pass.condition({condition::failed, true, reason::failed, message});
}

}  // namespace

void update_status(Pass& pass) {
  if (!pass.status.startTime) {
    pass.status.startTime = pass.now;
    pass.note(rules::started);
  }
  const bool by_master = has_master(pass.job);
  for (const ReplicaNames* names : pass.types(pass.seen.status_worker_first)) {
    const std::string& type = names->type;
    const ReplicaSpec& spec = pass.seen.facts->spec_of(*names);
    const int replicas = spec.replicas.value_or(1);
    ReplicaStatus& counters = (*pass.status.replicaStatuses)[type];
    counters.selector = names->selector;
    // Compared with ==: more successes than replicas, during a scale-down, are no success.
    const int open = replicas - counters.succeeded;
    if (by_master) {
      if (type == master_type && judge_master(pass, counters, open)) return;
    } else if (type == worker_type) {
      judge_workers(pass, counters, open);
    }
    if (counters.failed > 0 && replicas > counters.succeeded + counters.active)
      judge_failures(pass, type, spec.restartPolicy, counters.failed);
  }
}

}  // namespace ddptwin::controller::pytorchjob
