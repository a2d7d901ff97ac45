#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "scenario/invariants/facts.hpp"
#include "scenario/invariants/tape_test_fixture.hpp"

namespace ddptwin::scenario::invariants::replicas_test {
namespace {

void job_with_pods(Tape& tape, const Tape::EditJob& edit = {}) {
  tape.job(1, 2, edit);
  tape.condition("Created");
  for (const std::string pod : {"master-0", "worker-0", "worker-1"}) tape.pod(pod);
}

constexpr const char* over_quota =
    "pods \"j-worker-1\" is forbidden: exceeded quota: team, requested: requests.cpu=1, used: "
    "requests.cpu=2, limited: requests.cpu=2";

void variable(Pod& pod, const std::string& name, const std::string& value) {
  for (EnvVar& one : pod.spec.edit().containers.edit().front().env)
    if (one.name == name) one.value = value;
}

void scale(Tape& tape, int workers) {
  tape.change("user", [workers](PyTorchJob& job) {
    job.spec.edit().pytorchReplicaSpecs->at("Worker").replicas = workers;
    ++job.metadata.generation;
  });
}

void limit(PyTorchJob& job) { job.spec.edit().runPolicy.backoffLimit = 2; }

// The worker fails and is made anew, so many times.
void recreate(Tape& tape, int times, Duration apart) {
  for (int i = 0; i < times; ++i) {
    tape.run("worker-0");
    tape.exit("worker-0", 137);
    tape.terminate("worker-0", operator_actor);
    tape.remove("worker-0", "kubelet");
    tape.wait(apart);
    tape.pod("worker-0");
  }
}

void restarts(Pod& pod, int count) {
  ContainerStatus status;
  status.name = "pytorch";
  status.restartCount = count;
  pod.status.containerStatuses = {status};
}

void no_limit(PyTorchJob& job) { job.spec.edit().runPolicy.backoffLimit = 0; }
void never_again(PyTorchJob& job) {
  no_limit(job);
  job.spec.edit().pytorchReplicaSpecs->at("Worker").restartPolicy = "Never";
}

// The worker's kubelet ends it for that, and it is made anew, so many times.
void evict(Tape& tape, int times, const std::string& why) {
  for (int i = 0; i < times; ++i) {
    tape.run("worker-0");
    tape.edit_pod("worker-0", [&why](Pod& pod) {
      pod.spec.edit().nodeName = "node-1";
      pod.status.phase = "Failed";
      pod.status.rest.edit().reason = "Evicted";
      pod.status.rest.edit().message = why;
    });
    tape.terminate("worker-0", operator_actor);
    tape.remove("worker-0", "kubelet");
    tape.wait(10s);
    tape.pod("worker-0");
  }
}

void disrupted(Pod& pod) {
  PodCondition target;
  target.type_ = "DisruptionTarget";
  target.status = "True";
  target.reason = "PreemptionByScheduler";
  pod.status.conditions = {target};
  pod.spec.edit().nodeName = "node-1";
}

// One of three goes, preempted or by the user's hand, and the others restart in place with it.
void peers_fail(Tape& tape, bool preempted) {
  job_with_pods(tape, &limit);
  int rank = 0;
  for (const std::string pod : {"master-0", "worker-0", "worker-1"}) {
    tape.run(pod);
    tape.write(RecordKind::container, "kubelet", "default/j-" + pod + "/pytorch", "started");
    tape.say(pod, "joined rank " + std::to_string(rank++) + " world_size 3");
  }
  if (preempted) tape.edit_pod("worker-0", &disrupted, "kube-scheduler");
  tape.terminate("worker-0", preempted ? "kube-scheduler" : "user");
  if (preempted) tape.event("worker-0", "Normal", "Preempted", "Preempted by pod", "urgent");
  for (const std::string pod : {"worker-0", "master-0", "worker-1"})
    tape.write(RecordKind::container, "kubelet", "default/j-" + pod + "/pytorch", "exited");
  tape.remove("worker-0", "kubelet");
  for (const std::string pod : {"master-0", "worker-1"})
    tape.edit_pod(pod, [](Pod& one) { restarts(one, 1); });
}

void peers_fail_again(Tape& tape) {
  tape.wait(10s);
  tape.edit_pod("worker-1", [](Pod& pod) { restarts(pod, 2); });
}

void without_workers(Tape& tape) {
  tape.change("user", [](PyTorchJob& job) {
    job.spec.edit().pytorchReplicaSpecs->erase("Worker");
    ++job.metadata.generation;
  });
}

void foreign(Pod& pod) { pod.metadata.ownerReferences = {}; }

void kill(Tape& tape) {
  job_with_pods(tape);
  tape.run("worker-0");
  tape.write(RecordKind::container, "kubelet", "default/j-worker-0/pytorch", "started");
  tape.kill("worker-0");
  tape.wait(1s);
}

// The container has failed with 1, and in place again with this.
void failed_twice(Pod& pod, int code) {
  ContainerStatus status;
  status.name = "pytorch";
  status.restartCount = 1;
  status.lastState.edit().terminated.emplace().exitCode = 1;
  status.state.terminated.emplace().exitCode = code;
  pod.status.containerStatuses = {status};
}

void started_unseen(Tape& tape) {
  job_with_pods(tape);
  tape.edit_pod("worker-0", [](Pod& pod) {
    ContainerStatus status;
    status.name = "pytorch";
    status.state.terminated.emplace().exitCode = 1;
    pod.status.phase = "Running";
    pod.status.containerStatuses = {status};
  });
  tape.write(RecordKind::container, "kubelet", "default/j-worker-0/pytorch", "started");
  tape.kill("worker-0");
  tape.wait(1s);
}

void restarted_unseen(Tape& tape) {
  job_with_pods(tape);
  tape.run("worker-0");
  tape.write(RecordKind::container, "kubelet", "default/j-worker-0/pytorch", "started");
  tape.edit_pod("worker-0", [](Pod& pod) {
    failed_twice(pod, 0);
    ContainerState& state = pod.status.containerStatuses.edit().front().state;
    state = {};
    state.running.emplace();
  });
  tape.kill("worker-0");
  tape.wait(1s);
}

}  // namespace

std::vector<Case> cases() {
  return {
      {"no-duplicates",
       [](Tape& tape) {
         job_with_pods(tape);
         tape.pod("worker-0", [](Pod& pod) { pod.metadata.name = "j-worker-0-again"; });
       },
       [](Tape& tape) {
         job_with_pods(tape);
         tape.exit("worker-0", 1);
         tape.pod("worker-0", [](Pod& pod) { pod.metadata.name = "j-worker-0-again"; });
       }},
      {"environment",
       [](Tape& tape) {
         tape.job(1, 1);
         tape.pod("master-0", [](Pod& pod) { variable(pod, "RANK", "1"); });
       },
       [](Tape& tape) { job_with_pods(tape); }},
      {"environment",
       [](Tape& tape) {
         tape.job(1, 1);
         tape.pod("master-0", [](Pod& pod) { variable(pod, "WORLD_SIZE", "3"); });
       },
       [](Tape& tape) {
         tape.job(1, 1);
         scale(tape, 2);
         tape.pod("master-0", [](Pod& pod) { variable(pod, "WORLD_SIZE", "2"); });
       }},
      {"environment",
       [](Tape& tape) {
         tape.job(1, 1);
         tape.pod("master-0", [](Pod& pod) { variable(pod, "MASTER_ADDR", "localhost"); });
       },
       [](Tape& tape) {
         tape.job(0, 1);  // without a Master nothing is given
         tape.pod("worker-0", [](Pod& pod) { variable(pod, "MASTER_ADDR", "localhost"); });
       }},
      {"distinct-ranks",
       [](Tape& tape) {
         tape.job(1, 2);
         tape.pod("worker-0");
         tape.pod("worker-1", [](Pod& pod) { variable(pod, "RANK", "1"); });
       },
       [](Tape& tape) { job_with_pods(tape); }},
      {"world-agrees",
       [](Tape& tape) {
         tape.job(1, 0);
         tape.pod("master-0", [](Pod& pod) { variable(pod, "WORLD_SIZE", "2"); });
         tape.come_to_rest();
       },
       [](Tape& tape) {
         job_with_pods(tape);
         scale(tape, 3);
         tape.come_to_rest();
       }},
      {"world-agrees-after-scaling",
       [](Tape& tape) {
         job_with_pods(tape);
         scale(tape, 3);
         tape.pod("worker-2");
         tape.come_to_rest();
       },
       [](Tape& tape) {
         job_with_pods(tape);
         tape.come_to_rest();
       }},
      {"creation-order",
       [](Tape& tape) {
         tape.job(1, 2);
         tape.pod("worker-1");
       },
       [](Tape& tape) {
         job_with_pods(tape);
         for (const std::string name : {"master-0", "worker-0", "worker-1"}) tape.service(name);
       }},
      {"creation-order",
       [](Tape& tape) {
         tape.job(1, 2);
         tape.pod("worker-0");
         tape.service("worker-0");
       },
       [](Tape& tape) {
         job_with_pods(tape);
         tape.remove("worker-0", "user");
         tape.pod("worker-0");
       }},
      {"count",
       [](Tape& tape) {
         job_with_pods(tape);
         tape.remove("worker-0", "user");
         tape.come_to_rest();
       },
       [](Tape& tape) {
         job_with_pods(tape);
         tape.come_to_rest();
       }},
      // One pod is forbidden by a quota: another one that is missing is the operator's fault.
      {"count",
       [](Tape& tape) {
         tape.job(1, 2);
         tape.pod("master-0");
         tape.write(RecordKind::api_refused, operator_actor, "create pods default/j-worker-1",
                    over_quota);
         tape.condition("Created");
         tape.come_to_rest();
       },
       [](Tape& tape) {
         tape.job(1, 2);
         for (const std::string pod : {"master-0", "worker-0"}) tape.pod(pod);
         tape.write(RecordKind::api_refused, operator_actor, "create pods default/j-worker-1",
                    over_quota);
         tape.condition("Created");
         tape.come_to_rest();
       }},
      // Once it came, the quota is no excuse for its loss.
      {"count",
       [](Tape& tape) {
         tape.job(1, 2);
         for (const std::string pod : {"master-0", "worker-0"}) tape.pod(pod);
         tape.write(RecordKind::api_refused, operator_actor, "create pods default/j-worker-1",
                    over_quota);
         tape.pod("worker-1");
         tape.condition("Created");
         tape.remove("worker-1", "user");
         tape.come_to_rest();
       },
       [](Tape& tape) {
         tape.job(1, 2);
         for (const std::string pod : {"master-0", "worker-0"}) tape.pod(pod);
         tape.write(RecordKind::api_refused, operator_actor, "create pods default/j-worker-1",
                    over_quota);
         tape.pod("worker-1");
         tape.condition("Created");
         tape.come_to_rest();
       }},
      {"count",
       [](Tape& tape) {
         job_with_pods(tape);
         scale(tape, 1);
         tape.come_to_rest();
       },
       [](Tape& tape) {
         job_with_pods(tape);
         scale(tape, 1);
         tape.remove("worker-1", operator_actor);
         tape.come_to_rest();
       }},
      {"owned",
       [](Tape& tape) {
         tape.job(1, 1);
         tape.pod("worker-0", &foreign);
         tape.terminate("worker-0", operator_actor);
       },
       [](Tape& tape) {
         tape.job(1, 1);
         tape.pod("worker-0", &foreign);
         tape.terminate("worker-0", "user");
       }},
      {"owned-services",
       [](Tape& tape) {
         tape.job(1, 1);
         tape.service("worker-0");
         tape.remove_service("worker-0", true);
       },
       [](Tape& tape) {
         tape.job(1, 1);
         tape.service("worker-0");
         tape.remove_service("worker-0", false);
       }},
      {"no-needless-restart",
       [](Tape& tape) {
         job_with_pods(tape);
         tape.run("worker-0");
         tape.terminate("worker-0", operator_actor);
       },
       [](Tape& tape) {
         job_with_pods(tape);
         tape.exit("worker-0", 137);
         tape.terminate("worker-0", operator_actor);
         scale(tape, 1);
         tape.terminate("worker-1", operator_actor);
         tape.terminate("master-0", "user");
       }},
      {"no-needless-restart",
       [](Tape& tape) {
         job_with_pods(
             tape, [](PyTorchJob& job) { job.spec.edit().runPolicy.activeDeadlineSeconds = 60; });
         tape.terminate("master-0", operator_actor);
       },
       [](Tape& tape) {
         job_with_pods(tape, [](PyTorchJob& job) { job.spec.edit().runPolicy.suspend = true; });
         tape.terminate("master-0", operator_actor);
       }},
      {"no-needless-restart",
       [](Tape& tape) {
         job_with_pods(tape);
         recreate(tape, 1, 1s);
         tape.wait(6s);
         tape.terminate("worker-0", operator_actor);
       },
       [](Tape& tape) {
         job_with_pods(tape);
         recreate(tape, 1, 1s);
         tape.terminate("worker-0", operator_actor);  // a stale pass, and the name
       }},
      {"backoff-limit",
       [](Tape& tape) {
         job_with_pods(tape, &limit);
         recreate(tape, 3, 10s);
       },
       [](Tape& tape) {
         job_with_pods(tape, &limit);
         recreate(tape, 2, 10s);
       }},
      // Evicted for its own disk, and for its node's memory.
      {"backoff-limit",
       [](Tape& tape) {
         job_with_pods(tape, &limit);
         evict(tape, 3, "Pod ephemeral local storage usage exceeds the total limit of containers");
       },
       [](Tape& tape) {
         job_with_pods(tape, &limit);
         evict(tape, 9, "The node was low on resource: memory.");
       }},
      // Peers that fail of themselves, and with the one that was preempted.
      {"backoff-limit",
       [](Tape& tape) {
         peers_fail(tape, false);
         peers_fail_again(tape);
       },
       [](Tape& tape) {
         peers_fail(tape, true);
         tape.wait(10s);
         tape.edit_pod("worker-1", [](Pod& pod) { restarts(pod, 1); });
       }},
      {"disruptions",
       [](Tape& tape) {
         job_with_pods(tape, &no_limit);
         evict(tape, 1, "The node was low on resource: memory.");
         tape.finish("Failed");
       },
       [](Tape& tape) {
         job_with_pods(tape, &no_limit);
         tape.run("worker-0");
         tape.exit("worker-0", 137);
         tape.finish("Failed");
       }},
      {"disruptions",
       [](Tape& tape) {
         peers_fail(tape, true);
         tape.finish("Failed");
       },
       [](Tape& tape) {
         job_with_pods(tape, &never_again);
         evict(tape, 1, "The node was low on resource: memory.");
         tape.finish("Failed");
       }},
      {"type-removed",
       [](Tape& tape) {
         job_with_pods(tape);
         without_workers(tape);
         tape.come_to_rest();
       },
       [](Tape& tape) {
         job_with_pods(tape);
         without_workers(tape);
         for (const std::string pod : {"worker-0", "worker-1"}) tape.remove(pod, operator_actor);
         tape.come_to_rest();
       }},
      {"type-removed",
       [](Tape& tape) {
         job_with_pods(tape);
         tape.service("worker-0");
         without_workers(tape);
         for (const std::string pod : {"worker-0", "worker-1"}) tape.remove(pod, operator_actor);
         tape.come_to_rest();
       },
       [](Tape& tape) {
         tape.job(1, 0);  // there have never been any
         tape.pod("master-0");
         tape.come_to_rest();
       }},
      {"type-removed",
       [](Tape& tape) {
         tape.job(1, 1);
         tape.counts("Worker", 1, 0, 0);
         without_workers(tape);
         tape.come_to_rest();
       },
       [](Tape& tape) {
         tape.job(1, 1);
         tape.counts("Worker", 0, 0, 1);
         without_workers(tape);
         tape.come_to_rest();
       }},
      {"backoff-limit-in-place",
       [](Tape& tape) {
         job_with_pods(tape, &limit);
         tape.run("worker-0");
         tape.edit_pod("worker-0", [](Pod& pod) { restarts(pod, 2); });
         tape.come_to_rest();
       },
       [](Tape& tape) {
         job_with_pods(tape, &limit);
         tape.run("worker-0");
         tape.edit_pod("worker-0", [](Pod& pod) { restarts(pod, 1); });
         tape.come_to_rest();
       }},
      {"exit-code",
       [](Tape& tape) {
         kill(tape);
         tape.exit("worker-0", 1);
       },
       [](Tape& tape) {
         kill(tape);
         tape.exit("worker-0", 137);
         tape.exit("worker-0", 137);
       }},
      {"exit-code",
       [](Tape& tape) {
         kill(tape);
         tape.exit("worker-0", 143);
       },
       [](Tape& tape) {
         job_with_pods(tape);
         tape.run("worker-0");
         // It had ended before the signal came; its status tells so later.
         tape.write(RecordKind::container, "kubelet", "default/j-worker-0/pytorch", "started");
         tape.write(RecordKind::container, "kubelet", "default/j-worker-0/pytorch", "exited");
         tape.kill("worker-0");
         tape.exit("worker-0", 0);
       }},
      {"exit-code",
       [](Tape& tape) {
         kill(tape);
         tape.exit("worker-0", 0);
       },
       [](Tape& tape) {
         kill(tape);
         tape.miss("worker-0");
         tape.exit("worker-0", 0);
       }},
      // The second finds nobody, for the first has been there.
      {"exit-code",
       [](Tape& tape) {
         kill(tape);
         tape.write(RecordKind::container, "kubelet", "default/j-worker-0/pytorch", "exited");
         tape.kill("worker-0");
         tape.miss("worker-0");
         tape.exit("worker-0", 0);
       },
       [](Tape& tape) {
         kill(tape);
         tape.write(RecordKind::container, "kubelet", "default/j-worker-0/pytorch", "exited");
         tape.kill("worker-0");
         tape.miss("worker-0");
         tape.exit("worker-0", 137);
       }},
      // The first start has no record: the kubelet went down in the middle of it.
      {"exit-code",
       [](Tape& tape) {
         started_unseen(tape);
         tape.edit_pod("worker-0", [](Pod& pod) { failed_twice(pod, 1); });
       },
       [](Tape& tape) {
         started_unseen(tape);
         tape.edit_pod("worker-0", [](Pod& pod) { failed_twice(pod, 137); });
       }},
      // Neither its end nor its second start has one.
      {"exit-code",
       [](Tape& tape) {
         restarted_unseen(tape);
         tape.edit_pod("worker-0", [](Pod& pod) { failed_twice(pod, 1); });
       },
       [](Tape& tape) {
         restarted_unseen(tape);
         tape.edit_pod("worker-0", [](Pod& pod) { failed_twice(pod, 137); });
       }},
  };
}

namespace {

using testing::HasSubstr;

TEST(Budget, names_what_is_not_counted) {
  Tape tape;
  peers_fail(tape, true);
  for (int i = 2; i < 8; ++i) {
    tape.wait(10s);
    tape.edit_pod("worker-1", [i](Pod& pod) { restarts(pod, i); });
    tape.say("worker-1", "joined rank 2 world_size 3");
    tape.write(RecordKind::container, "kubelet", "default/j-worker-1/pytorch", "exited");
  }
  const Violation* violation = tape.watch().violation("backoff-limit");
  ASSERT_NE(violation, nullptr);
  EXPECT_THAT(
      violation->text,
      HasSubstr("for failures of its own, with backoffLimit 2; "
                "disruptions are not counted: j-worker-0 was preempted on node-1 by pod/urgent"));
}

TEST(Budget, says_who_ended_the_pods_of_a_job_that_failed_for_it) {
  Tape tape;
  job_with_pods(tape, &no_limit);
  evict(tape, 1, "The node was low on resource: memory.");
  tape.finish("Failed");
  const Violation* violation = tape.watch().violation("disruptions");
  ASSERT_NE(violation, nullptr);
  EXPECT_THAT(violation->text,
              HasSubstr("j-worker-0 was ended on node-1 (Evicted): The node was low on resource"));
}

}  // namespace
}  // namespace ddptwin::scenario::invariants::replicas_test
