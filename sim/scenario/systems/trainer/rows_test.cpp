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

using EditSpec = std::function<void(TrainJobSpec&)>;
void write(Tape& tape, const std::function<void(TrainJobStatus&)>& edit,
           const EditSpec& edit_spec = {}) {
  std::shared_ptr<TrainJob> job;
  if (const auto before = tape.stored("TrainJob/t")) {
    job = std::static_pointer_cast<TrainJob>(before->clone());
  } else {
    job = std::make_shared<TrainJob>();
    job->metadata.name = "t";
    job->metadata.namespace_ = "default";
    job->metadata.uid = "uid-t";
    job->metadata.generation = 1;
    job->metadata.creationTimestamp = virtual_start;
    job->spec.edit().runtimeRef.name = "torch-distributed";
  }
  if (edit_spec) edit_spec(job->spec.edit());
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

void end_set(Tape& tape, const std::string& how) {
  const auto set = std::static_pointer_cast<JobSet>(tape.stored("JobSet/t")->clone());
  JobSetStatus& status = set->status ? *set->status : set->status.emplace();
  status.conditions.push_back({.type_ = how, .status = "True", .reason = "Because"});
  status.terminalState = how;
  tape.store(set, jobset_actor);
}

void count_set(Tape& tape, int active) {
  const auto set = std::static_pointer_cast<JobSet>(tape.stored("JobSet/t")->clone());
  ReplicatedJobStatus one;
  one.name = "node";
  one.active = active;
  set->status.emplace().replicatedJobsStatus = {one};
  tape.store(set, jobset_actor);
}

void count_job(TrainJobStatus& status) {
  TrainJobJobStatus one;
  one.name = "node";
  one.active = 1;
  status.jobsStatus = {one};
}

void exceeded(TrainJobStatus& status) {
  status.conditions.push_back({.type_ = "Failed", .status = "True", .reason = "DeadlineExceeded"});
}

void suspended_spec(TrainJobSpec& spec) { spec.suspend = true; }
void two_nodes(TrainJobSpec& spec) { spec.trainer.emplace().numNodes = 2; }

// What it keeps of a runtime of so many nodes.
void snapshot(Tape& tape, const std::string& nodes) {
  auto map = std::make_shared<ConfigMap>();
  map->metadata.name = "t-runtime-snapshot";
  map->metadata.namespace_ = "default";
  map->metadata.uid = "uid-snapshot";
  map->metadata.ownerReferences.edit() = owned_by("trainer.kubeflow.org/v1alpha1", "TrainJob", "t");
  map->data.edit()["runtime"] = "spec: {mlPolicy: {numNodes: " + nodes + ", torch: {}}}";
  tape.store(map, trainer_actor);
}

// The first pod of its Job, told of so many nodes.
void pod(Tape& tape, const std::string& nodes, bool by_torch = true) {
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
  EnvVar address, rank;
  address.name = "PET_MASTER_ADDR";
  address.value = "t-node-0-0.t";
  rank.name = "PET_NODE_RANK";
  if (by_torch) rank.valueFrom.emplace();
  container.env.insert(container.env.end(), {address, rank});
  pod->spec.edit().containers.edit().push_back(container);
  tape.store(pod, manager_actor);
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
         tape.store(new_set("t"), trainer_actor);
       },
       [](Tape& tape) {
         write(tape, &nothing);
         tape.store(new_set("t"), trainer_actor);
         write(tape, &failed);
         end_set(tape, "Failed");
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
      {"trainjob-counts-nodes",  // the controller counted wrong wherever it counted
       [](Tape& tape) {
         write(tape, &nothing, [](TrainJobSpec& spec) { spec.trainer.emplace().numNodes = 3; });
         tape.store(new_set("t"), trainer_actor);
         pod(tape, "2");
       },
       [](Tape& tape) {
         write(tape, &nothing, &two_nodes);
         tape.store(new_set("t"), trainer_actor);
         snapshot(tape, "5");
         pod(tape, "2");
       }},
      {"trainjob-counts-nodes",
       [](Tape& tape) {
         write(tape, &nothing);
         snapshot(tape, "3");
         tape.store(new_set("t"), trainer_actor);
         pod(tape, "2");
       },
       [](Tape& tape) {
         write(tape, &nothing);
         snapshot(tape, "3");
         tape.store(new_set("t"), trainer_actor);
         pod(tape, "1:4");  // a range is no number
       }},
      {"trainjob-counts-nodes",
       [](Tape& tape) {
         write(tape, &nothing);
         tape.store(new_set("t"), trainer_actor);
         pod(tape, "4");
       },
       [](Tape& tape) {
         write(tape, &nothing);
         tape.store(new_set("t"), trainer_actor);
         pod(tape, "4", false);  // its user's own
       }},
      {"trainjob-hands-on-suspension",
       [](Tape& tape) {
         write(tape, &nothing, &suspended_spec);
         tape.store(new_set("t"), trainer_actor);
         tape.come_to_rest();
       },
       [](Tape& tape) {
         write(tape, &nothing, &suspended_spec);
         tape.store(new_set("t"), trainer_actor);
         change_set(tape, trainer_actor, [](JobSetSpec& spec) { spec.suspend = true; });
         tape.come_to_rest();
       }},
      {"trainjob-hands-on-suspension",
       [](Tape& tape) {
         write(tape, &nothing);
         tape.store(new_set("t"), trainer_actor);
         change_set(tape, "user", [](JobSetSpec& spec) { spec.suspend = true; });
         tape.come_to_rest();
       },
       [](Tape& tape) {
         write(tape, &nothing);
         tape.store(new_set("t"), trainer_actor);
         tape.come_to_rest();
       }},
      {"suspended",  // the pods of what a workload made are its own
       [](Tape& tape) {
         write(tape, &nothing, &suspended_spec);
         tape.store(new_set("t"), trainer_actor);
         pod(tape, "2");
         tape.come_to_rest();
       },
       [](Tape& tape) {
         write(tape, &nothing);
         tape.store(new_set("t"), trainer_actor);
         pod(tape, "2");
         tape.come_to_rest();
       }},
      {"trainjob-ends-as-its-set",
       [](Tape& tape) {
         write(tape, &nothing);
         tape.store(new_set("t"), trainer_actor);
         end_set(tape, "Failed");
         write(tape, &complete);
       },
       [](Tape& tape) {
         write(tape, &nothing);
         tape.store(new_set("t"), trainer_actor);
         end_set(tape, "Completed");
         write(tape, &complete);
       }},
      {"trainjob-ends-as-its-set",
       [](Tape& tape) {
         write(tape, &nothing);
         tape.store(new_set("t"), trainer_actor);
         write(tape, &failed);
       },
       [](Tape& tape) {
         write(tape, &nothing);
         tape.store(new_set("t"), trainer_actor);
         write(tape, &exceeded);
       }},
      {"one-end",
       [](Tape& tape) {
         write(tape, &nothing);
         tape.store(new_set("t"), trainer_actor);
         write(tape, &exceeded);
         end_set(tape, "Completed");
         write(tape, &complete);
       },
       [](Tape& tape) {
         write(tape, &nothing);
         tape.store(new_set("t"), trainer_actor);
         write(tape, &exceeded);
       }},
      {"trainjob-tells-its-jobs",
       [](Tape& tape) {
         write(tape, &nothing);
         tape.store(new_set("t"), trainer_actor);
         write(tape, &count_job);
         count_set(tape, 0);
         tape.come_to_rest();
       },
       [](Tape& tape) {
         write(tape, &nothing);
         tape.store(new_set("t"), trainer_actor);
         count_set(tape, 1);
         write(tape, &count_job);
         tape.come_to_rest();
       }},
      {"trainjob-deadline-ends-its-set",
       [](Tape& tape) {
         write(tape, &nothing);
         tape.store(new_set("t"), trainer_actor);
         write(tape, &exceeded);
         tape.come_to_rest();
       },
       [](Tape& tape) {
         write(tape, &nothing);
         tape.store(new_set("t"), trainer_actor);
         write(tape, &failed);
         tape.come_to_rest();
       }},
      {"times",  // a finished one that is suspended and resumed
       [](Tape& tape) {
         write(tape, [](TrainJobStatus& status) {
           status.conditions.push_back(
               {.type_ = "Complete", .status = "True", .lastTransitionTime = virtual_start - 1s});
         });
       },
       [](Tape& tape) {
         write(tape, [](TrainJobStatus& status) {
           status.conditions = {
               {.type_ = "Complete", .status = "True", .lastTransitionTime = virtual_start + 5s},
               {.type_ = "Suspended", .status = "False", .lastTransitionTime = virtual_start + 9s}};
         });
       }},
      {"start-time",  // and one that loses its deadline
       [](Tape& tape) {
         write(tape, [](TrainJobStatus& status) {
           status.conditions = {
               {.type_ = "Suspended", .status = "False", .lastTransitionTime = virtual_start + 1s}};
         });
         write(tape, [](TrainJobStatus& status) {
           status.conditions.front().lastTransitionTime = virtual_start + 2s;
         });
       },
       [](Tape& tape) {
         write(tape, &nothing, [](TrainJobSpec& spec) { spec.activeDeadlineSeconds = 5; });
         write(tape, &nothing, [](TrainJobSpec& spec) { spec.activeDeadlineSeconds = 0; });
       }},
  };
}

}  // namespace ddptwin::scenario::invariants::trainjob_rows_test
