// What T9k promises is broken by one story and kept by another that comes near.
#include <fmt/format.h>

#include <functional>
#include <memory>

#include "objects/pytorchtrainingjob.hpp"
#include "objects/t9k_scheduling.hpp"
#include "scenario/invariants/tape_test_fixture.hpp"
#include "scenario/systems/t9k/parts.hpp"

namespace ddptwin::scenario::invariants::t9k_rows_test {
namespace {

constexpr const char* job_key = "PyTorchTrainingJob/j";

void write(Tape& tape, const std::function<void(PyTorchTrainingJob&)>& edit,
           std::string_view actor = t9k_actor) {
  std::shared_ptr<PyTorchTrainingJob> job;
  if (const auto before = tape.stored(job_key)) {
    job = std::static_pointer_cast<PyTorchTrainingJob>(before->clone());
  } else {
    job = std::make_shared<PyTorchTrainingJob>();
    job->metadata.name = "j";
    job->metadata.namespace_ = "default";
    job->metadata.uid = "uid-t";
    job->metadata.generation = 1;
    PyTorchTrainingJobReplicas& group = job->spec.edit().replicaSpecs.emplace_back();
    group.type_ = "worker";
    group.replicas = 2;
    group.restartPolicy = "OnFailure";
    group.template_.spec.edit().containers = {{.name = "pytorch", .image = "train"}};
  }
  edit(*job);
  tape.store(job, actor);
}

void nothing(PyTorchTrainingJob&) {}

// The status of a job of two workers, in that phase.
void say(PyTorchTrainingJob& job, const std::string& phase, int restarts = 0) {
  PyTorchTrainingJobStatus status = job.status.value_or(PyTorchTrainingJobStatus());
  status.phase = phase;
  status.backoffCount = restarts;
  status.tasks = {{.type_ = "worker", .restartCount = restarts}};
  status.tasks[0].replicas.resize(2);
  for (int i = 0; i < restarts && i < 2; ++i)
    status.tasks[0].replicas[static_cast<std::size_t>(i)].lastRestartedUID = fmt::format("u{}", i);
  status.aggregate.running = 2;
  job.status = status;
}

void hold(PyTorchTrainingJob& job, const std::string& type, Time since = Time(1h)) {
  job.status->conditions.push_back(
      {.type_ = type, .status = "True", .reason = "-", .lastTransitionTime = since});
}

struct Edit {
  const char* restart = "Never";
  const char* world = "2";
  const char* address = "j-worker-0";
  std::string rank{};
  bool marked = false, right_mark = true;
};

void pod(Tape& tape, int index, const std::string& phase, const Edit& edit = {}, int uid = 0) {
  auto made = std::make_shared<Pod>();
  made->metadata.name = fmt::format("j-worker-{}", index);
  made->metadata.namespace_ = "default";
  made->metadata.uid = fmt::format("uid-{}-{}", index, uid);
  OwnerReference owner;
  owner.apiVersion = "batch.tensorstack.dev/v1beta1";
  owner.kind = "PyTorchTrainingJob";
  owner.name = "j";
  owner.uid = "uid-t";
  owner.controller = true;
  made->metadata.ownerReferences.edit().push_back(owner);
  StringMap labels{{"replica-type", "worker"}, {"replica-index", std::to_string(index)}};
  if (edit.right_mark ? index == 0 : edit.marked) labels.insert_or_assign("job-role", "master");
  made->metadata.labels = labels;
  PodSpec& spec = made->spec.edit();
  spec.restartPolicy = edit.restart;
  Container container{.name = "pytorch", .image = "train"};
  for (const auto& [name, value] :
       {std::pair<const char*, std::string>{"MASTER_ADDR", edit.address},
        {"MASTER_PORT", "23456"},
        {"WORLD_SIZE", edit.world},
        {"RANK", edit.rank.empty() ? std::to_string(index) : edit.rank}}) {
    EnvVar& variable = container.env.emplace_back();
    variable.name = name;
    variable.value = value;
  }
  spec.containers = std::vector{container};
  made->status.phase = phase;
  tape.store(made, t9k_actor);
}

void fails(Tape& tape, int index, int code) {
  const auto before = tape.stored(fmt::format("Pod/j-worker-{}", index));
  auto now = std::static_pointer_cast<Pod>(before->clone());
  now->status.phase = "Failed";
  ContainerStatus status;
  status.name = "pytorch";
  status.state.terminated.edit().exitCode = code;
  now->status.containerStatuses = std::vector{status};
  tape.store(now, "kubelet");
}

void remove(Tape& tape, int index) { tape.remove(fmt::format("worker-{}", index), t9k_actor); }

void set_policy(PyTorchTrainingJob& job, const char* policy) {
  job.spec.edit().replicaSpecs[0].restartPolicy = policy;
}

// A worker fails and is made again, with so many restarts counted before.
void replaced(Tape& tape, const char* policy, int code, int counted) {
  write(tape, [policy, counted](PyTorchTrainingJob& job) {
    set_policy(job, policy);
    say(job, "Running", counted);
  });
  pod(tape, 1, "Running");
  fails(tape, 1, code);
  remove(tape, 1);
  pod(tape, 1, "Pending", {}, 1);
}

void ends(Tape& tape, const char* clean_up, bool running) {
  write(tape, [clean_up](PyTorchTrainingJob& job) {
    job.spec.edit().runPolicy.cleanUpPolicy = clean_up;
  });
  pod(tape, 0, "Succeeded");
  if (running) pod(tape, 1, "Running");
  write(tape, [](PyTorchTrainingJob& job) {
    say(job, "Succeeded");
    hold(job, "Completed");
  });
}

}  // namespace

std::vector<Case> cases() {
  using Job = PyTorchTrainingJob;
  return {
      {"t9k-budget", [](Tape& tape) { write(tape, [](Job& job) { say(job, "Running", 4); }); },
       [](Tape& tape) { write(tape, [](Job& job) { say(job, "Running", 3); }); }},
      {"t9k-budget",
       [](Tape& tape) {
         write(tape, [](Job& job) {
           say(job, "Running", 2);
           job.status->tasks[0].restartCount = 1;
         });
       },
       [](Tape& tape) { write(tape, [](Job& job) { say(job, "Running", 2); }); }},
      {"t9k-budget",
       [](Tape& tape) {
         write(tape, [](Job& job) { say(job, "Running", 2); });
         write(tape, [](Job& job) { say(job, "Running", 1); });
       },
       [](Tape& tape) {
         write(tape, [](Job& job) { say(job, "Running", 1); });
         write(tape, [](Job& job) { say(job, "Running", 2); });
       }},
      {"t9k-counts-once",
       [](Tape& tape) {
         write(tape, [](Job& job) { say(job, "Running", 1); });
         write(tape, [](Job& job) {
           say(job, "Running", 2);
           job.status->tasks[0].replicas[1].lastRestartedUID.clear();
         });
       },
       [](Tape& tape) {
         write(tape, [](Job& job) { say(job, "Running", 1); });
         write(tape, [](Job& job) { say(job, "Running", 2); });
       }},
      {"t9k-restarts-are-counted", [](Tape& tape) { replaced(tape, "OnFailure", 1, 0); },
       [](Tape& tape) { replaced(tape, "OnFailure", 1, 1); }},
      {"t9k-policy", [](Tape& tape) { replaced(tape, "Never", 137, 1); },
       [](Tape& tape) { replaced(tape, "OnFailure", 1, 1); }},
      {"t9k-policy", [](Tape& tape) { replaced(tape, "ExitCode", 139, 1); },
       [](Tape& tape) { replaced(tape, "ExitCode", 138, 1); }},
      {"t9k-sums",
       [](Tape& tape) {
         write(tape, [](Job& job) {
           say(job, "Running");
           job.status->aggregate.pending = 1;
         });
       },
       [](Tape& tape) { write(tape, [](Job& job) { say(job, "Running"); }); }},
      {"t9k-tells-of-all",
       [](Tape& tape) {
         write(tape, [](Job& job) {
           say(job, "Running");
           job.status->tasks[0].replicas.resize(1);
           job.status->aggregate.running = 1;
         });
         for (const int index : {0, 1}) pod(tape, index, "Running");
         tape.come_to_rest();
       },
       [](Tape& tape) {
         write(tape, [](Job& job) { say(job, "Running"); });
         for (const int index : {0, 1}) pod(tape, index, "Running");
         tape.come_to_rest();
       }},
      {"t9k-phase", [](Tape& tape) { write(tape, [](Job& job) { say(job, "Succeeded"); }); },
       [](Tape& tape) {
         write(tape, [](Job& job) {
           say(job, "Succeeded");
           hold(job, "Completed");
         });
       }},
      {"t9k-passages",
       [](Tape& tape) {
         write(tape, [](Job& job) { say(job, "Running"); });
         write(tape, [](Job& job) { say(job, "Pending"); });
       },
       [](Tape& tape) {
         write(tape, [](Job& job) { say(job, "Pending"); });
         write(tape, [](Job& job) { say(job, "Running"); });
       }},
      {"t9k-conditions",
       [](Tape& tape) {
         write(tape, [](Job& job) {
           say(job, "Running");
           hold(job, "Running");
         });
         write(tape, [](Job& job) { job.status->conditions[0].lastTransitionTime = Time(2h); });
       },
       [](Tape& tape) {
         write(tape, [](Job& job) {
           say(job, "Running");
           hold(job, "Running");
         });
         write(tape, [](Job& job) {
           job.status->conditions[0].status = "False";
           job.status->conditions[0].lastTransitionTime = Time(2h);
         });
       }},
      {"t9k-fails-for-a-reason",
       [](Tape& tape) {
         write(tape, [](Job& job) { say(job, "Running"); });
         for (const int index : {0, 1}) pod(tape, index, "Running");
         fails(tape, 1, 1);
         write(tape, [](Job& job) {
           say(job, "Failed");
           hold(job, "Failed");
         });
       },
       [](Tape& tape) {
         write(tape, [](Job& job) { say(job, "Running"); });
         for (const int index : {0, 1}) pod(tape, index, "Running");
         fails(tape, 0, 1);
         write(tape, [](Job& job) {
           say(job, "Failed");
           hold(job, "Failed");
         });
       }},
      {"t9k-master-is-marked",
       [](Tape& tape) {
         write(tape, &nothing);
         pod(tape, 1, "Pending", {.marked = true, .right_mark = false});
       },
       [](Tape& tape) {
         write(tape, &nothing);
         pod(tape, 0, "Pending");
       }},
      {"t9k-pods-never-restart",
       [](Tape& tape) {
         write(tape, &nothing);
         pod(tape, 0, "Pending", {.restart = "OnFailure"});
       },
       [](Tape& tape) {
         write(tape, &nothing);
         pod(tape, 0, "Pending");
       }},
      {"t9k-ranks",
       [](Tape& tape) {
         write(tape, &nothing);
         pod(tape, 0, "Pending");
         pod(tape, 1, "Pending", {.address = "j-worker-1"});
       },
       [](Tape& tape) {
         write(tape, &nothing);
         pod(tape, 0, "Pending");
         pod(tape, 1, "Pending");
       }},
      {"t9k-ranks",
       [](Tape& tape) {
         write(tape, &nothing);
         pod(tape, 1, "Pending", {.rank = "0"});
       },
       [](Tape& tape) {
         write(tape, &nothing);
         pod(tape, 1, "Pending");
       }},
      {"t9k-paused",
       [](Tape& tape) {
         write(tape, [](Job& job) {
           say(job, "Paused");
           hold(job, "Paused");
         });
         pod(tape, 0, "Pending");
       },
       [](Tape& tape) {
         write(tape, [](Job& job) { say(job, "Resuming"); });
         pod(tape, 0, "Pending");
       }},
      {"t9k-clean-up",
       [](Tape& tape) {
         ends(tape, "Unfinished", true);
         tape.come_to_rest();
       },
       [](Tape& tape) {
         ends(tape, "Unfinished", false);
         tape.come_to_rest();
       }},
      {"t9k-keeps",
       [](Tape& tape) {
         ends(tape, "None", true);
         remove(tape, 1);
       },
       [](Tape& tape) {
         ends(tape, "Unfinished", true);
         remove(tape, 1);
       }},
      {"t9k-gang",
       [](Tape& tape) {
         write(tape, [](Job& job) { job.spec.edit().scheduler.emplace().t9kScheduler.emplace(); });
         for (const int index : {0, 1}) pod(tape, index, "Pending");
         tape.edit_pod("worker-0", [](Pod& one) { one.spec.edit().nodeName = "node"; });
         tape.come_to_rest();
       },
       [](Tape& tape) {
         write(tape, [](Job& job) { job.spec.edit().scheduler.emplace().t9kScheduler.emplace(); });
         for (const int index : {0, 1}) pod(tape, index, "Pending");
         for (const char* name : {"worker-0", "worker-1"})
           tape.edit_pod(name, [](Pod& one) { one.spec.edit().nodeName = "node"; });
         tape.come_to_rest();
       }},
  };
}

}  // namespace ddptwin::scenario::invariants::t9k_rows_test
