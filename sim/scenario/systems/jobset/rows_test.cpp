// What the JobSet controller promises is broken by one story and kept by another that comes near.
#include <fmt/format.h>

#include <functional>
#include <memory>
#include <string>

#include "objects/batch_v1.hpp"
#include "objects/core_v1.hpp"
#include "objects/jobset.hpp"
#include "scenario/invariants/tape_test_fixture.hpp"

namespace ddptwin::scenario::invariants::jobset_rows_test {
namespace {

// A set of one Job of one pod, which may be restarted once.
std::shared_ptr<JobSet> new_set() {
  auto set = std::make_shared<JobSet>();
  set->metadata.name = "s";
  set->metadata.namespace_ = "default";
  set->metadata.uid = "uid-s";
  set->metadata.generation = 1;
  JobSetSpec& spec = set->spec.edit();
  ReplicatedJob workers;
  workers.name = "workers";
  workers.replicas = 1;
  JobSpec& job = workers.template_.spec.edit();
  job.completions = job.parallelism = 1;
  job.template_.spec.edit().restartPolicy = "Never";
  spec.replicatedJobs.push_back(workers);
  spec.failurePolicy.emplace().maxRestarts = 1;
  return set;
}

void write(Tape& tape, const std::function<void(JobSetStatus&)>& edit) {
  const auto before = tape.stored("JobSet/s");
  const auto set = before ? std::static_pointer_cast<JobSet>(before->clone()) : new_set();
  edit(set->status ? *set->status : set->status.emplace());
  tape.store(set, jobset_actor);
}

void say(JobSetStatus& status, const std::string& type, const std::string& is = "True") {
  status.conditions.push_back({.type_ = type, .status = is, .reason = "Because"});
}

std::vector<OwnerReference> owned_by(const char* version, const char* kind, const char* name) {
  OwnerReference owner;
  owner.apiVersion = version;
  owner.kind = kind;
  owner.name = name;
  owner.uid = fmt::format("uid-{}", name);
  owner.controller = true;
  return {owner};
}

// The pod of its Job, of that run of the set.
void pod(Tape& tape, int run) {
  auto job = std::make_shared<Job>();
  job->metadata.name = "s-workers-0";
  job->metadata.namespace_ = "default";
  job->metadata.uid = "uid-s-workers-0";
  job->metadata.ownerReferences.edit() = owned_by("jobset.x-k8s.io/v1alpha2", "JobSet", "s");
  tape.store(job, jobset_actor);
  auto pod = std::make_shared<Pod>();
  pod->metadata.name = fmt::format("s-workers-0-0-{}", run);
  pod->metadata.namespace_ = "default";
  pod->metadata.uid = fmt::format("uid-{}", pod->metadata.name.str());
  pod->metadata.ownerReferences.edit() = owned_by("batch/v1", "Job", "s-workers-0");
  auto& labels = pod->metadata.labels.edit();
  labels["jobset.sigs.k8s.io/restart-attempt"] = std::to_string(run);
  labels["jobset.sigs.k8s.io/replicatedjob-name"] = "workers";
  labels["jobset.sigs.k8s.io/job-index"] = "0";
  labels["batch.kubernetes.io/job-completion-index"] = "0";
  pod->status.phase = "Running";
  tape.store(pod, manager_actor);
}

// A Job of it, of that run, which has succeeded or not.
void job_of(Tape& tape, const std::string& replicated_job, int run, bool succeeded = false) {
  const std::string name = fmt::format("s-{}-{}", replicated_job, run);
  std::shared_ptr<Job> job = std::make_shared<Job>();
  if (const auto before = tape.stored("Job/" + name))
    job = std::static_pointer_cast<Job>(before->clone());
  job->metadata.name = name;
  job->metadata.namespace_ = "default";
  job->metadata.uid = "uid-" + name;
  job->metadata.ownerReferences.edit() = owned_by("jobset.x-k8s.io/v1alpha2", "JobSet", "s");
  auto& labels = job->metadata.labels.edit();
  labels["jobset.sigs.k8s.io/restart-attempt"] = std::to_string(run);
  labels["jobset.sigs.k8s.io/replicatedjob-name"] = replicated_job;
  if (succeeded) {
    job->status.conditions.push_back({.type_ = "SuccessCriteriaMet", .status = "True"});
    tape.store(std::static_pointer_cast<Job>(job->clone()), manager_actor);
    job->status.conditions.push_back({.type_ = "Complete", .status = "True"});
  }
  tape.store(job, succeeded ? manager_actor : jobset_actor);
}

// Its workers need an init Job.
void write_in_order(Tape& tape) {
  const auto set = new_set();
  ReplicatedJob init = set->spec->replicatedJobs.front();
  init.name = "init";
  std::vector<ReplicatedJob>& jobs = set->spec.edit().replicatedJobs;
  jobs.front().dependsOn.emplace().push_back({.name = "init", .status = "Complete"});
  jobs.insert(jobs.begin(), init);
  tape.store(set, jobset_actor);
}

void nothing(JobSetStatus&) {}

void restarted(JobSetStatus& status) { status.restarts = status.restartsCountTowardsMax = 1; }

ReplicatedJobStatus of_workers(int ready, int failed) {
  return {.name = "workers", .ready = ready, .failed = failed};
}

}  // namespace

std::vector<Case> cases() {
  return {
      {"jobset-finished-makes-nothing",
       [](Tape& tape) {
         write(tape, [](JobSetStatus& status) {
           say(status, "Failed");
           status.terminalState = "Failed";
         });
         tape.wait(std::chrono::seconds(2));
         job_of(tape, "workers", 0);
       },
       [](Tape& tape) {
         write(tape, [](JobSetStatus& status) {
           say(status, "Failed");
           status.terminalState = "Failed";
         });
         job_of(tape, "workers", 0);  // by a cache that is behind
       }},
      {"jobset-waits-for-dependencies",
       [](Tape& tape) {
         write_in_order(tape);
         job_of(tape, "init", 0);
         job_of(tape, "workers", 0);
       },
       [](Tape& tape) {
         write_in_order(tape);
         job_of(tape, "init", 0);
         job_of(tape, "init", 0, true);
         job_of(tape, "workers", 0);
       }},
      {"jobset-waits-for-dependencies",  // of a run before it does not count
       [](Tape& tape) {
         write_in_order(tape);
         job_of(tape, "init", 0, true);
         job_of(tape, "workers", 1);
       },
       [](Tape& tape) {
         write_in_order(tape);
         job_of(tape, "init", 1, true);
         job_of(tape, "workers", 1);
       }},
      {"one-end",
       [](Tape& tape) {
         write(tape, [](JobSetStatus& status) {
           say(status, "Failed");
           say(status, "Completed");
         });
       },
       [](Tape& tape) { write(tape, [](JobSetStatus& status) { say(status, "Completed"); }); }},
      {"jobset-end-told-alike",
       [](Tape& tape) { write(tape, [](JobSetStatus& status) { say(status, "Failed"); }); },
       [](Tape& tape) {
         write(tape, [](JobSetStatus& status) {
           say(status, "Failed");
           status.terminalState = "Failed";
         });
       }},
      {"jobset-end-told-alike",
       [](Tape& tape) {
         write(tape, [](JobSetStatus& status) {
           say(status, "Completed");
           status.terminalState = "Failed";
         });
       },
       [](Tape& tape) {
         write(tape, [](JobSetStatus& status) {
           say(status, "Completed");
           status.terminalState = "Completed";
         });
       }},
      // Once more than it may be; a restart of its rules' own does not count.
      {"jobset-counts-restarts",
       [](Tape& tape) {
         write(tape, &restarted);
         write(tape,
               [](JobSetStatus& status) { status.restarts = status.restartsCountTowardsMax = 2; });
       },
       [](Tape& tape) {
         write(tape, &restarted);
         write(tape, [](JobSetStatus& status) { status.restarts = 2; });
       }},
      {"jobset-counts-restarts",
       [](Tape& tape) {
         write(tape, &restarted);
         write(tape, [](JobSetStatus& status) { status.restarts = 0; });
       },
       [](Tape& tape) {
         write(tape, &nothing);
         write(tape, &restarted);
       }},
      {"jobset-counters-fit",
       [](Tape& tape) {
         write(tape,
               [](JobSetStatus& status) { status.replicatedJobsStatus = {of_workers(1, 1)}; });
       },
       [](Tape& tape) {
         write(tape,
               [](JobSetStatus& status) { status.replicatedJobsStatus = {of_workers(0, 1)}; });
       }},
      {"jobset-resumes-after-suspension",
       [](Tape& tape) {
         write(tape, &nothing);
         write(tape, [](JobSetStatus& status) { say(status, "Suspended", "False"); });
       },
       [](Tape& tape) {
         write(tape, [](JobSetStatus& status) { say(status, "Suspended"); });
         write(tape, [](JobSetStatus& status) { status.conditions.front().status = "False"; });
       }},
      {"jobset-pods-of-this-run",
       [](Tape& tape) {
         write(tape, &nothing);
         pod(tape, 1);
       },
       [](Tape& tape) {
         write(tape, &restarted);
         pod(tape, 1);
       }},
      {"jobset-old-runs-end",
       [](Tape& tape) {
         write(tape, &restarted);
         pod(tape, 0);
         tape.come_to_rest();
       },
       [](Tape& tape) {
         write(tape, &restarted);
         pod(tape, 1);
         tape.come_to_rest();
       }},
  };
}

}  // namespace ddptwin::scenario::invariants::jobset_rows_test
