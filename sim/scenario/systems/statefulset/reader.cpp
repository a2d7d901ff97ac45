// A StatefulSet as judges see it (spec/kubernetes.md §4). A DDPSet is judged by
// the set that it becomes: all that it promises of pods it promises of these.
#include "scenario/systems/actors.hpp"
#include "scenario/systems/statefulset/parts.hpp"

namespace ddptwin::scenario {
namespace {

Workload read_statefulset(const Object& object) {
  const StatefulSet& set = *as<StatefulSet>(object);
  const StatefulSetSpec& spec = *set.spec;
  Workload told;
  Workload::Group group;
  group.wanted = spec.replicas.value_or(1);
  group.first = spec.ordinals ? spec.ordinals->start : 0;
  group.restart = "Always";
  group.full_at_rest = false;  // one that is not Ready holds up those behind it
  group.init_containers = spec.template_.spec->initContainers.size();
  told.groups.push_back(group);
  told.endless = true;
  told.told = set.status.observedGeneration > 0;
  return told;
}

}  // namespace

constinit const WorkloadReader statefulset_reader{
    .system = manager_actor,
    .info = &StatefulSet::info,
    .read = &read_statefulset,
    .actor = manager_actor,
    .shares_actor = true,
    .pods_by = manager_actor,
    .controller = "statefulset-controller",
    .index_label = "apps.kubernetes.io/pod-index",
};

}  // namespace ddptwin::scenario
