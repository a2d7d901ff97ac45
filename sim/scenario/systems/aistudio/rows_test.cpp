// What AIStudio promises is broken by one story and kept by another that comes near.
#include <fmt/format.h>

#include <functional>
#include <memory>

#include "objects/ddptask.hpp"
#include "scenario/invariants/tape_test_fixture.hpp"
#include "scenario/systems/aistudio/parts.hpp"

namespace ddptwin::scenario::invariants::aistudio_rows_test {
namespace {

void write(Tape& tape, const std::function<void(DDPTask&)>& edit = {}) {
  std::shared_ptr<DDPTask> task;
  if (const auto before = tape.stored("DDPTask/j")) {
    task = std::static_pointer_cast<DDPTask>(before->clone());
  } else {
    task = std::make_shared<DDPTask>();
    task->metadata.name = "j";
    task->metadata.namespace_ = "default";
    task->metadata.uid = "uid-t";
    task->metadata.generation = 1;
    task->spec.edit().workers = 2;
  }
  if (edit) edit(*task);
  tape.store(task, aistudio_actor);
}

void say(Tape& tape, const std::string& phase, int attempt = 0,
         const std::string& why = "because") {
  write(tape, [&](DDPTask& task) {
    DDPTaskStatus status = task.status.value_or(DDPTaskStatus());
    status.phase = phase;
    status.attempt = attempt;
    status.reason = status.message = why;
    task.status = status;
  });
}

struct Edit {
  std::string rank{}, address = "j-worker-0", world = "2";
};

void pod(Tape& tape, int index, const Edit& edit = {}) {
  auto made = std::make_shared<Pod>();
  made->metadata.name = fmt::format("j-worker-{}", index);
  made->metadata.namespace_ = "default";
  made->metadata.uid = fmt::format("uid-{}", index);
  OwnerReference owner;
  owner.apiVersion = "aistudio.twin/v1";
  owner.kind = "DDPTask";
  owner.name = "j";
  owner.uid = "uid-t";
  owner.controller = true;
  made->metadata.ownerReferences.edit().push_back(owner);
  made->metadata.labels = StringMap{{"aistudio.twin/rank", std::to_string(index)}};
  Container container{.name = "worker", .image = "train"};
  for (const auto& [name, value] :
       {std::pair<const char*, std::string>{"MASTER_ADDR", edit.address},
        {"MASTER_PORT", "29500"},
        {"WORLD_SIZE", edit.world},
        {"RANK", edit.rank.empty() ? std::to_string(index) : edit.rank}}) {
    EnvVar& variable = container.env.emplace_back();
    variable.name = name;
    variable.value = value;
  }
  made->spec.edit().containers = std::vector{container};
  made->spec.edit().restartPolicy = "Never";
  made->status.phase = "Pending";
  tape.store(made, aistudio_actor);
}

void becomes(Tape& tape, int index, const std::function<void(Pod&)>& edit) {
  auto now =
      std::static_pointer_cast<Pod>(tape.stored(fmt::format("Pod/j-worker-{}", index))->clone());
  edit(*now);
  tape.store(now, "kubelet");
}

void is_placed(Tape& tape, int index) {
  becomes(tape, index, [](Pod& one) { one.spec.edit().nodeName = "node"; });
}

// `lost`: it has ended for that reason instead.
void begins(Tape& tape, int index, const char* lost = nullptr) {
  becomes(tape, index, [lost](Pod& one) {
    one.status.phase = lost == nullptr ? "Running" : "Failed";
    ContainerStatus status;
    status.name = "worker";
    if (lost == nullptr)
      status.state.running.emplace();
    else
      status.state.terminated.edit().reason = lost;
    one.status.containerStatuses = std::vector{status};
  });
}

void ends(Tape& tape, int index, int code) {
  becomes(tape, index, [code](Pod& one) {
    one.status.phase = code == 0 ? "Succeeded" : "Failed";
    ContainerStatus status;
    status.name = "worker";
    status.state.terminated.edit().exitCode = code;
    one.status.containerStatuses = std::vector{status};
  });
}

void run(Tape& tape) {
  write(tape);
  for (const int index : {0, 1}) pod(tape, index);
  for (const int index : {0, 1}) is_placed(tape, index);
  for (const int index : {0, 1}) begins(tape, index);
}

}  // namespace

std::vector<Case> cases() {
  return {
      {"aistudio-verdict",
       [](Tape& tape) {
         run(tape);
         ends(tape, 0, 0);
         ends(tape, 1, 7);
         say(tape, "Succeeded");
       },
       [](Tape& tape) {
         run(tape);
         ends(tape, 0, 0);
         ends(tape, 1, 0);
         say(tape, "Succeeded");
       }},
      {"aistudio-verdict",
       [](Tape& tape) {
         run(tape);
         ends(tape, 0, 0);
         say(tape, "Succeeded");
       },
       [](Tape& tape) {
         run(tape);
         ends(tape, 0, 0);
         say(tape, "Running");
       }},
      {"aistudio-failure",
       [](Tape& tape) {
         run(tape);
         say(tape, "Running");
         ends(tape, 1, 3);
         tape.come_to_rest();
       },
       [](Tape& tape) {
         run(tape);
         ends(tape, 1, 3);
         say(tape, "Failed");
         ends(tape, 0, 143);
         tape.come_to_rest();
       }},
      {"aistudio-ranks",
       [](Tape& tape) {
         write(tape);
         pod(tape, 1, {.rank = "0"});
       },
       [](Tape& tape) {
         write(tape);
         pod(tape, 1);
       }},
      {"aistudio-ranks",
       [](Tape& tape) {
         write(tape);
         pod(tape, 0, {.world = "8"});
       },
       [](Tape& tape) {
         write(tape);
         pod(tape, 0);
       }},
      {"aistudio-ranks",
       [](Tape& tape) {
         write(tape);
         pod(tape, 0);
         pod(tape, 1, {.address = "j-worker-1"});
       },
       [](Tape& tape) {
         write(tape);
         pod(tape, 0);
         pod(tape, 1);
       }},
      {"aistudio-check",
       [](Tape& tape) {
         write(tape);
         for (const int index : {0, 1}) pod(tape, index);
         is_placed(tape, 0);
         begins(tape, 0);
       },
       &run},
      {"aistudio-check",
       [](Tape& tape) {
         write(tape, [](DDPTask& task) {
           task.status.emplace().phase = "SelfChecking";
           task.status->selfCheck.state = "Failed";
         });
         for (const int index : {0, 1}) pod(tape, index);
         for (const int index : {0, 1}) is_placed(tape, index);
         begins(tape, 0);
       },
       // Who never began ends with the check that stopped it.
       [](Tape& tape) {
         write(tape, [](DDPTask& task) {
           task.status.emplace().phase = "Failed";
           task.status->selfCheck.state = "Failed";
         });
         for (const int index : {0, 1}) pod(tape, index);
         for (const int index : {0, 1}) is_placed(tape, index);
         begins(tape, 0, "ContainerStatusUnknown");
       }},
      {"aistudio-attempts", [](Tape& tape) { say(tape, "Queued", 1); },
       [](Tape& tape) { say(tape, "Queued", 0); }},
      {"aistudio-attempts",
       [](Tape& tape) {
         write(tape, [](DDPTask& task) {
           task.spec.edit().faultTolerance = {.enabled = true, .maxRetries = 5};
         });
         say(tape, "Queued", 0);
         say(tape, "Queued", 2);
       },
       [](Tape& tape) {
         write(tape, [](DDPTask& task) {
           task.spec.edit().faultTolerance = {.enabled = true, .maxRetries = 5};
         });
         say(tape, "Queued", 0);
         say(tape, "Queued", 1);
       }},
      {"aistudio-phases",
       [](Tape& tape) {
         say(tape, "Failed");
         say(tape, "Running");
       },
       [](Tape& tape) {
         say(tape, "Queued");
         say(tape, "Creating");
         say(tape, "Running");
         say(tape, "Failed");
       }},
      {"aistudio-none-runs",
       [](Tape& tape) {
         run(tape);
         ends(tape, 1, 3);
         say(tape, "Failed");
         tape.come_to_rest();
       },
       [](Tape& tape) {
         run(tape);
         ends(tape, 1, 3);
         say(tape, "Failed");
         ends(tape, 0, 143);
         tape.come_to_rest();
       }},
      {"aistudio-says-why", [](Tape& tape) { say(tape, "Failed", 0, ""); },
       [](Tape& tape) { say(tape, "Failed"); }},
      {"aistudio-says-why",
       [](Tape& tape) {
         say(tape, "Failed", 0, "worker 1");
         say(tape, "Failed", 0, "worker 0");
       },
       [](Tape& tape) {
         say(tape, "Running", 0, "worker 1");
         say(tape, "Failed", 0, "worker 0");
       }},
  };
}

}  // namespace ddptwin::scenario::invariants::aistudio_rows_test
