// What the StatefulSet controller promises is broken by one story and kept by
// another that comes near.
#include <fmt/format.h>

#include <functional>
#include <memory>

#include "objects/apps_v1.hpp"
#include "objects/core_v1.hpp"
#include "scenario/invariants/tape_test_fixture.hpp"

namespace ddptwin::scenario::invariants::statefulset_rows_test {
namespace {

void set(Tape& tape, const std::function<void(StatefulSetSpec&)>& edit = {}) {
  std::shared_ptr<StatefulSet> made;
  if (const auto before = tape.stored("StatefulSet/s")) {
    made = std::static_pointer_cast<StatefulSet>(before->clone());
    ++made->metadata.generation;
  } else {
    made = std::make_shared<StatefulSet>();
    made->metadata.name = "s";
    made->metadata.namespace_ = "default";
    made->metadata.uid = "uid-s";
    made->metadata.generation = 1;
    made->spec.edit().replicas = 2;
    made->spec.edit().serviceName = "svc";
  }
  if (edit) edit(made->spec.edit());
  tape.store(made, "user");
}

std::shared_ptr<Pod> pod_of(int ordinal, const std::string& nums) {
  auto pod = std::make_shared<Pod>();
  const std::string name = fmt::format("s-{}", ordinal);
  pod->metadata.name = name;
  pod->metadata.namespace_ = "default";
  pod->metadata.uid = "uid-" + name;
  pod->metadata.labels.edit()["apps.kubernetes.io/pod-index"] = std::to_string(ordinal);
  pod->metadata.labels.edit()["controller-revision-hash"] = "one";
  OwnerReference owner;
  owner.apiVersion = "apps/v1";
  owner.kind = "StatefulSet";
  owner.name = "s";
  owner.uid = "uid-s";
  owner.controller = true;
  pod->metadata.ownerReferences.edit().push_back(owner);
  PodSpec& spec = pod->spec.edit();
  spec.rest.edit().hostname = name;
  spec.rest.edit().subdomain = "svc";
  Container container;
  container.name = "c";
  EnvVar told;
  told.name = "POD_NUMS";
  told.value = nums;
  container.env.push_back(told);
  spec.containers.edit().push_back(container);
  return pod;
}

using EditPod = std::function<void(Pod&)>;

void pod(Tape& tape, int ordinal, const EditPod& edit = {}, const std::string& nums = "2") {
  const auto made = pod_of(ordinal, nums);
  if (edit) edit(*made);
  tape.store(made, manager_actor);
}

void change(Tape& tape, int ordinal, const EditPod& edit) {
  const auto changed =
      std::static_pointer_cast<Pod>(tape.stored(fmt::format("Pod/s-{}", ordinal))->clone());
  edit(*changed);
  tape.store(changed, "kubelet");
}

void ready(Pod& pod) {
  pod.status.phase = "Running";
  PodCondition condition;
  condition.type_ = "Ready";
  condition.status = "True";
  pod.status.conditions.edit().push_back(condition);
}

void joins(Tape& tape, int ordinal, int world) {
  tape.write(RecordKind::log, "kubelet", fmt::format("default/s-{}/c", ordinal),
             fmt::format("joined rank {} world_size {}", ordinal, world));
}

void container(Tape& tape, int ordinal, const std::string& what) {
  tape.write(RecordKind::container, "kubelet", fmt::format("default/s-{}/c", ordinal), what);
}

// Both pods, Ready.
void both(Tape& tape) {
  set(tape);
  for (const int ordinal : {0, 1}) {
    pod(tape, ordinal);
    change(tape, ordinal, &ready);
    container(tape, ordinal, "started");
  }
}

}  // namespace

std::vector<Case> cases() {
  return {
      {"set-ranks-fit",
       [](Tape& tape) {
         set(tape, [](StatefulSetSpec& spec) { spec.podManagementPolicy = "Parallel"; });
         pod(tape, 2);
       },
       [](Tape& tape) {
         set(tape, [](StatefulSetSpec& spec) { spec.podManagementPolicy = "Parallel"; });
         set(tape, [](StatefulSetSpec& spec) { spec.replicas = 3; });
         pod(tape, 2);  // of the template that was for two
       }},
      {"set-told-alike",
       [](Tape& tape) {
         set(tape);
         pod(tape, 0);
         change(tape, 0, &ready);
         pod(tape, 1, {}, "3");
       },
       [](Tape& tape) {
         set(tape);
         pod(tape, 0);
         change(tape, 0, &ready);
         const auto newer = [](Pod& made) {
           made.metadata.labels.edit()["controller-revision-hash"] = "two";
         };
         pod(tape, 1, newer, "3");
       }},
      {"set-names-stay",
       [](Tape& tape) {
         set(tape);
         pod(tape, 0, [](Pod& made) { made.spec.edit().rest.edit().hostname = "s-1"; });
       },
       [](Tape& tape) {
         set(tape, [](StatefulSetSpec& spec) { spec.ordinals = StatefulSetOrdinals{3}; });
         pod(tape, 3);
       }},
      {"set-names-stay",
       [](Tape& tape) {
         set(tape);
         pod(tape, 0, [](Pod& made) { made.spec.edit().rest.edit().subdomain = "other"; });
       },
       [](Tape& tape) {
         set(tape);
         pod(tape, 0);
       }},
      {"set-made-in-order",
       [](Tape& tape) {
         set(tape);
         pod(tape, 0);
         pod(tape, 1);
       },
       [](Tape& tape) {
         both(tape);
         change(tape, 0, [](Pod& made) { made.status.conditions.edit().clear(); });
         set(tape, [](StatefulSetSpec& spec) { spec.replicas = 3; });
         pod(tape, 2);  // from a cache that still shows the first one Ready
       }},
      {"set-made-in-order",
       [](Tape& tape) {
         set(tape, [](StatefulSetSpec& spec) { spec.ordinals = StatefulSetOrdinals{5}; });
         pod(tape, 6);
       },
       [](Tape& tape) {
         set(tape, [](StatefulSetSpec& spec) { spec.podManagementPolicy = "Parallel"; });
         pod(tape, 1);
       }},
      {"set-one-group",
       [](Tape& tape) {
         both(tape);
         joins(tape, 0, 2);
         joins(tape, 1, 4);
       },
       [](Tape& tape) {
         both(tape);
         joins(tape, 0, 2);
         joins(tape, 1, 2);
         container(tape, 1, "exited");
         container(tape, 1, "started");
         joins(tape, 1, 2);
       }},
      {"set-environment-stays",
       [](Tape& tape) {
         both(tape);
         change(tape, 0, [](Pod& made) {
           made.spec.edit().containers.edit().front().env.front().value = "3";
         });
       },
       [](Tape& tape) {
         both(tape);
         change(tape, 0, [](Pod& made) { made.spec.edit().nodeName = "n"; });
       }},
  };
}

}  // namespace ddptwin::scenario::invariants::statefulset_rows_test
