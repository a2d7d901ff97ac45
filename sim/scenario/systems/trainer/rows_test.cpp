// What the TrainJob controller promises is broken by one story and kept by another that comes near.
#include <fmt/format.h>

#include <functional>
#include <memory>
#include <string>

#include "objects/batch_v1.hpp"
#include "objects/core_v1.hpp"
#include "objects/trainjob.hpp"
#include "scenario/invariants/tape_test_fixture.hpp"

namespace ddptwin::scenario::invariants::trainjob_rows_test {
namespace {

void write(Tape& tape, const std::function<void(TrainJobStatus&)>& edit) {
  std::shared_ptr<TrainJob> job;
  if (const auto before = tape.stored("TrainJob/t")) {
    job = std::static_pointer_cast<TrainJob>(before->clone());
  } else {
    job = std::make_shared<TrainJob>();
    job->metadata.name = "t";
    job->metadata.namespace_ = "default";
    job->metadata.uid = "uid-t";
    job->metadata.generation = 1;
    job->spec.edit().runtimeRef.name = "torch-distributed";
  }
  edit(job->status ? *job->status : job->status.emplace());
  tape.store(job, trainer_actor);
}

void nothing(TrainJobStatus&) {}

void say(TrainJobStatus& status, const std::string& type, const std::string& is) {
  for (JobSetCondition& one : status.conditions)
    if (one.type_ == type) {
      one.status = is;
      return;
    }
  status.conditions.push_back({.type_ = type, .status = is, .reason = "Because"});
}

void complete(TrainJobStatus& status) { say(status, "Complete", "True"); }
void failed(TrainJobStatus& status) { say(status, "Failed", "True"); }
void resumed(TrainJobStatus& status) { say(status, "Suspended", "False"); }

std::vector<OwnerReference> owned_by(const char* version, const char* kind,
                                     const std::string& name) {
  OwnerReference owner;
  owner.apiVersion = version;
  owner.kind = kind;
  owner.name = name;
  owner.uid = "uid-" + name;
  owner.controller = true;
  return {owner};
}

// The JobSet of the TrainJob, of one Job of two pods.
std::shared_ptr<JobSet> new_set(const std::string& name) {
  auto set = std::make_shared<JobSet>();
  set->metadata.name = name;
  set->metadata.namespace_ = "default";
  set->metadata.uid = "uid-set-" + name;
  set->metadata.generation = 1;
  set->metadata.ownerReferences.edit() = owned_by("trainer.kubeflow.org/v1alpha1", "TrainJob", "t");
  ReplicatedJob node;
  node.name = "node";
  node.replicas = 1;
  JobSpec& job = node.template_.spec.edit();
  job.completions = job.parallelism = 2;
  job.template_.spec.edit().restartPolicy = "Never";
  set->spec.edit().replicatedJobs.push_back(node);
  return set;
}

void change_set(Tape& tape, std::string_view actor, const std::function<void(JobSetSpec&)>& edit) {
  const auto set = std::static_pointer_cast<JobSet>(tape.stored("JobSet/t")->clone());
  ++set->metadata.generation;
  edit(set->spec.edit());
  tape.store(set, actor);
}

void longer(JobSetSpec& spec) {
  spec.replicatedJobs.front().template_.spec.edit().activeDeadlineSeconds = 5;
}

// The first pod of its Job, told of so many nodes.
void pod(Tape& tape, const std::string& nodes) {
  auto job = std::make_shared<Job>();
  job->metadata.name = "t-node-0";
  job->metadata.namespace_ = "default";
  job->metadata.uid = "uid-t-node-0";
  job->metadata.ownerReferences.edit() = owned_by("jobset.x-k8s.io/v1alpha2", "JobSet", "set-t");
  tape.store(job, jobset_actor);
  auto pod = std::make_shared<Pod>();
  pod->metadata.name = "t-node-0-0-abcde";
  pod->metadata.namespace_ = "default";
  pod->metadata.uid = "uid-pod";
  pod->metadata.ownerReferences.edit() = owned_by("batch/v1", "Job", "t-node-0");
  auto& labels = pod->metadata.labels.edit();
  labels["jobset.sigs.k8s.io/replicatedjob-name"] = "node";
  labels["jobset.sigs.k8s.io/job-index"] = "0";
  labels["batch.kubernetes.io/job-completion-index"] = "0";
  Container container;
  container.name = "node";
  EnvVar variable;
  variable.name = "PET_NNODES";
  variable.value = nodes;
  container.env.push_back(variable);
  pod->spec.edit().containers.edit().push_back(container);
  tape.store(pod, manager_actor);
}

void plan(Tape& tape, const char* rule) {
  tape.rule(rule, "trainer-trainjob-controller", "default/t");
}

}  // namespace

std::vector<Case> cases() {
  return {
      {"trainjob-complete-stays",
       [](Tape& tape) {
         write(tape, &complete);
         write(tape, [](TrainJobStatus& status) { status.conditions.clear(); });
       },
       [](Tape& tape) {
         write(tape, &complete);
         write(tape, [](TrainJobStatus& status) { say(status, "Suspended", "True"); });
       }},
      {"trainjob-resumes-after-suspension",
       [](Tape& tape) {
         write(tape, &nothing);
         write(tape, &resumed);
       },
       [](Tape& tape) {
         write(tape, [](TrainJobStatus& status) { say(status, "Suspended", "True"); });
         write(tape, &resumed);
       }},
      {"trainjob-finished-makes-nothing",
       [](Tape& tape) {
         write(tape, &failed);
         plan(tape, "make_jobset");
       },
       [](Tape& tape) {
         write(tape, &nothing);
         plan(tape, "make_jobset");
         write(tape, &failed);
         plan(tape, "write_status");
       }},
      {"trainjob-names-its-set",
       [](Tape& tape) {
         write(tape, &nothing);
         tape.store(new_set("other"), trainer_actor);
       },
       [](Tape& tape) {
         write(tape, &nothing);
         tape.store(new_set("t"), trainer_actor);
       }},
      {"trainjob-leaves-running-sets",
       [](Tape& tape) {
         write(tape, &nothing);
         tape.store(new_set("t"), trainer_actor);
         change_set(tape, trainer_actor, &longer);
       },
       [](Tape& tape) {
         write(tape, &nothing);
         tape.store(new_set("t"), trainer_actor);
         change_set(tape, "user", &longer);
         change_set(tape, trainer_actor, [](JobSetSpec& spec) { spec.suspend = true; });
         change_set(tape, trainer_actor, &longer);
         change_set(tape, trainer_actor, [](JobSetSpec& spec) { spec.suspend = false; });
       }},
      {"trainjob-counts-nodes",
       [](Tape& tape) {
         write(tape, &nothing);
         tape.store(new_set("t"), trainer_actor);
         pod(tape, "3");
       },
       [](Tape& tape) {
         write(tape, &nothing);
         tape.store(new_set("t"), trainer_actor);
         pod(tape, "2");
       }},
  };
}

}  // namespace ddptwin::scenario::invariants::trainjob_rows_test
