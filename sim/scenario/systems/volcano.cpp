// Volcano as a row: its scheduler, the controller of its PodGroups, its queues
// (spec/kubernetes.md §3.5, spec/trainjob.md §8).
#include "cluster/scheduler/volcano.hpp"

#include <array>

#include "controller/volcano/controller.hpp"
#include "controller/volcano/rules.hpp"
#include "objects/pod_groups.hpp"
#include "scenario/systems/system.hpp"

namespace ddptwin {
namespace {

constexpr std::string_view only_version = "v1.15.1";
constexpr char volcano_name[] = "volcano";
constexpr char manager_actor_of_volcano[] = "vc-controller-manager";

std::vector<std::string_view> volcano_versions() { return {only_version}; }
std::string_view find_volcano_version(std::string_view text) {
  return text == only_version || text == "v1.15" ? only_version : std::string_view();
}
std::string_view default_volcano_version() { return only_version; }

// Its scheduler makes the queue that everybody is in who names none
// (pkg/scheduler/cache/cache.go, newDefaultAndRootQueue).
std::shared_ptr<const VolcanoQueue> standard_queue() {
  auto queue = std::make_shared<VolcanoQueue>();
  queue->metadata.name = scheduler::volcano::default_queue;
  VolcanoQueueSpec spec;
  spec.weight = 1;
  spec.reclaimable = true;
  queue->spec = std::move(spec);
  return queue;
}

void install_volcano(Installer& into, const InstalledSystem&) {
  into.host(manager_actor_of_volcano,
            [] { return std::make_unique<controller::VolcanoGroupController>(); });
  into.provide(standard_queue());
  into.schedule(volcano_name, [](Loop& loop, api::ApiClient& client, Trace& trace) {
    return std::make_unique<VolcanoScheduler>(loop, client, trace);
  });
}

std::string_view group_of(const Pod& pod) {
  const auto name =
      pod.metadata.annotations->find(std::string_view("scheduling.k8s.io/group-name"));
  return name == pod.metadata.annotations->end() ? std::string_view() : name->second.view();
}
int least_of(const Object& group) { return as<VolcanoGroup>(group)->spec->minMember.value_or(0); }

constexpr std::array volcano_schedulers{scenario::SchedulerRow{
    .name = volcano_name, .group = &VolcanoGroup::info, .group_of = &group_of, .least = &least_of}};
constexpr std::array<std::string_view, 5> group_phases{"Pending", "Inqueue", "Running", "Unknown",
                                                       "Completed"};
constexpr std::array<std::string_view, 2> group_conditions{"Scheduled", "Unschedulable"};
constexpr std::array group_words{scenario::StatusWords{
    .info = &VolcanoGroup::info, .phases = group_phases, .conditions = group_conditions}};
constexpr std::array volcano_controllers{SystemController{"vc-controller-manager", "pod"}};
constexpr std::array<KindOf, 2> volcano_kinds{&VolcanoGroup::info, &VolcanoQueue::info};

}  // namespace

constinit const System volcano_system{
    .name = volcano_name,
    .title = "Volcano scheduler",
    .versions = &volcano_versions,
    .find_version = &find_volcano_version,
    .default_version = &default_volcano_version,
    .controllers = volcano_controllers,
    .rules = &controller::volcano::rules::all,
    .serves = volcano_kinds,
    .states = group_words,
    .schedulers = volcano_schedulers,
    .on_request = true,
    .install = &install_volcano,
};

}  // namespace ddptwin
