// What the Job controller promises is broken by one story and kept by another that comes near.
#include <functional>
#include <memory>

#include "objects/batch_v1.hpp"
#include "objects/core_v1.hpp"
#include "objects/jobset.hpp"
#include "scenario/invariants/tape_test_fixture.hpp"

namespace ddptwin::scenario::invariants::job_rows_test {
namespace {

void write(Tape& tape, const std::function<void(Job&)>& edit) {
  std::shared_ptr<Job> job;
  if (const auto before = tape.stored("Job/b")) {
    job = std::static_pointer_cast<Job>(before->clone());
  } else {
    job = std::make_shared<Job>();
    job->metadata.name = "b";
    job->metadata.namespace_ = "default";
    job->metadata.uid = "uid-b";
    job->metadata.generation = 1;
    JobSpec& spec = job->spec.edit();
    spec.completions = spec.parallelism = 1;
    spec.template_.spec.edit().restartPolicy = "Never";
  }
  edit(*job);
  tape.store(job, manager_actor);
}

void say(Job& job, const std::string& type, const std::string& status = "True",
         const std::string& reason = "Because") {
  job.status.conditions.push_back({.type_ = type, .status = status, .reason = reason});
}

// A pod of the Job, which holds it as long as it is not counted.
void pod(Tape& tape, const std::string& phase, bool held = true) {
  auto pod = std::make_shared<Pod>();
  pod->metadata.name = "b-0";
  pod->metadata.namespace_ = "default";
  pod->metadata.uid = "uid-b-0";
  OwnerReference owner;
  owner.apiVersion = "batch/v1";
  owner.kind = "Job";
  owner.name = "b";
  owner.uid = "uid-b";
  owner.controller = true;
  pod->metadata.ownerReferences.edit().push_back(owner);
  if (held) pod->metadata.finalizers.edit().emplace_back(job_tracking_finalizer);
  pod->status.phase = phase;
  tape.store(pod, manager_actor);
}

void nothing(Job&) {}
void indexed(Job& job) { job.spec.edit().completionMode = "Indexed"; }

// A JobSet, whose Job the one that is written from then on is.
void write_for_a_set(Tape& tape) {
  auto set = std::make_shared<JobSet>();
  set->metadata.name = "s";
  set->metadata.namespace_ = "default";
  set->metadata.uid = "uid-s";
  set->metadata.generation = 1;
  tape.store(set, jobset_actor);
  write(tape, [](Job& job) {
    OwnerReference owner;
    owner.apiVersion = "jobset.x-k8s.io/v1alpha2";
    owner.kind = "JobSet";
    owner.name = "s";
    owner.uid = "uid-s";
    owner.controller = true;
    job.metadata.ownerReferences.edit().push_back(owner);
  });
}

}  // namespace

std::vector<Case> cases() {
  return {
      {"job-decides-first",
       [](Tape& tape) {
         write(tape, &nothing);
         write(tape, [](Job& job) { say(job, "Failed"); });
       },
       [](Tape& tape) {
         write(tape, &nothing);
         write(tape, [](Job& job) { say(job, "FailureTarget"); });
         write(tape, [](Job& job) { say(job, "Failed"); });
       }},
      {"job-decides-first",
       [](Tape& tape) {
         write(tape, [](Job& job) { say(job, "SuccessCriteriaMet", "True", "One"); });
         write(tape, [](Job& job) { say(job, "Complete", "True", "Another"); });
       },
       [](Tape& tape) {
         write(tape, [](Job& job) { say(job, "SuccessCriteriaMet"); });
         write(tape, [](Job& job) { say(job, "Complete"); });
       }},
      {"job-ends-last",
       [](Tape& tape) {
         write(tape, [](Job& job) { say(job, "FailureTarget"); });
         pod(tape, "Running");
         write(tape, [](Job& job) { say(job, "Failed"); });
       },
       [](Tape& tape) {
         write(tape, [](Job& job) { say(job, "FailureTarget"); });
         pod(tape, "Running");
         pod(tape, "Failed", false);
         write(tape, [](Job& job) { say(job, "Failed"); });
       }},
      {"job-numbers-grow",
       [](Tape& tape) {
         write(tape, [](Job& job) { job.status.failed = 2; });
         write(tape, [](Job& job) { job.status.failed = 1; });
       },
       [](Tape& tape) {
         write(tape, [](Job& job) { job.status.failed = 2; });
         write(tape, [](Job& job) { job.status.failed = 3; });
       }},
      {"job-numbers-grow",
       [](Tape& tape) {
         write(tape, &indexed);
         write(tape, [](Job& job) { job.status.succeeded = 1; });
         write(tape, [](Job& job) { job.status.succeeded = 0; });
       },
       [](Tape& tape) {
         write(tape, [](Job& job) {
           indexed(job);
           job.spec.edit().completions = 2;
         });
         write(tape, [](Job& job) { job.status.succeeded = 2; });
         write(tape, [](Job& job) {
           job.spec.edit().completions = 1;
           ++job.metadata.generation;
         });
         write(tape, [](Job& job) { job.status.succeeded = 1; });
       }},
      {"job-indexes-apart",
       [](Tape& tape) {
         write(tape, [](Job& job) {
           job.spec.edit().completions = 4;
           job.status.completedIndexes = "0,2";
           job.status.failedIndexes = "1-3";
         });
       },
       [](Tape& tape) {
         write(tape, [](Job& job) {
           job.spec.edit().completions = 4;
           job.status.completedIndexes = "0,2";
           job.status.failedIndexes = "1,3";
         });
       }},
      // The same of a Job that a JobSet has made: its own status, its own pods, its own deadline.
      {"job-decides-first",
       [](Tape& tape) {
         write_for_a_set(tape);
         write(tape, [](Job& job) { say(job, "Failed"); });
       },
       [](Tape& tape) {
         write_for_a_set(tape);
         write(tape, [](Job& job) { say(job, "FailureTarget"); });
         write(tape, [](Job& job) { say(job, "Failed"); });
       }},
      {"job-ends-last",
       [](Tape& tape) {
         write_for_a_set(tape);
         write(tape, [](Job& job) { say(job, "FailureTarget"); });
         pod(tape, "Running");
         write(tape, [](Job& job) { say(job, "Failed"); });
       },
       [](Tape& tape) {
         write_for_a_set(tape);
         write(tape, [](Job& job) { say(job, "FailureTarget"); });
         pod(tape, "Running");
         pod(tape, "Failed", false);
         write(tape, [](Job& job) { say(job, "Failed"); });
       }},
      {"job-counts-its-pods",
       [](Tape& tape) {
         write_for_a_set(tape);
         pod(tape, "Running");
         tape.come_to_rest();
       },
       [](Tape& tape) {
         write_for_a_set(tape);
         pod(tape, "Running");
         write(tape, [](Job& job) { job.status.active = 1; });
         tape.come_to_rest();
       }},
      {"deadline",
       [](Tape& tape) {
         write_for_a_set(tape);
         write(tape, [](Job& job) {
           job.spec.edit().activeDeadlineSeconds = 5;
           ++job.metadata.generation;
           job.status.startTime = virtual_start;
         });
         tape.wait(1min);
         tape.come_to_rest();
       },
       [](Tape& tape) {
         write_for_a_set(tape);
         write(tape, [](Job& job) {
           job.spec.edit().activeDeadlineSeconds = 5;
           ++job.metadata.generation;
           job.status.startTime = virtual_start;
         });
         tape.wait(6s);
         write(tape, [](Job& job) { say(job, "FailureTarget"); });
         write(tape, [](Job& job) { say(job, "Failed"); });
         tape.come_to_rest();
       }},
      {"terminal",
       [](Tape& tape) {
         write_for_a_set(tape);
         write(tape, [](Job& job) { say(job, "Complete"); });
         write(tape, [](Job& job) { job.status.conditions.clear(); });
       },
       [](Tape& tape) {
         write_for_a_set(tape);
         write(tape, [](Job& job) { say(job, "FailureTarget"); });
         write(tape, [](Job& job) { job.status.conditions.clear(); });
       }},
      {"job-resumes-after-suspension",
       [](Tape& tape) {
         write(tape, &nothing);
         write(tape, [](Job& job) { say(job, "Suspended", "False"); });
       },
       [](Tape& tape) {
         write(tape, [](Job& job) { say(job, "Suspended"); });
         write(tape, [](Job& job) { job.status.conditions.front().status = "False"; });
       }},
      {"job-lets-its-pods-go",
       [](Tape& tape) {
         write(tape, &nothing);
         pod(tape, "Succeeded");
         tape.come_to_rest();
       },
       [](Tape& tape) {
         write(tape, &nothing);
         pod(tape, "Succeeded", false);
         tape.come_to_rest();
       }},
      {"job-counts-its-pods",
       [](Tape& tape) {
         write(tape, &nothing);
         pod(tape, "Running");
         tape.come_to_rest();
       },
       [](Tape& tape) {
         write(tape, [](Job& job) { job.status.active = 1; });
         pod(tape, "Running");
         tape.come_to_rest();
       }},
  };
}

}  // namespace ddptwin::scenario::invariants::job_rows_test
