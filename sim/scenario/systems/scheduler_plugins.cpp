// scheduler-plugins as a row: a second kube-scheduler with the plugin Coscheduling, and the
// controller of its PodGroups (spec/kubernetes.md §3.5).
#include <array>

#include "cluster/scheduler/scheduler.hpp"
#include "controller/scheduler_plugins/controller.hpp"
#include "controller/scheduler_plugins/rules.hpp"
#include "core/numbers.hpp"
#include "objects/pod_groups.hpp"
#include "scenario/systems/system.hpp"

namespace ddptwin {
namespace {

constexpr std::string_view only_version = "v0.34.7";
// By its chart (manifests/install/charts/as-a-second-scheduler/values.yaml).
constexpr char scheduler_name[] = "scheduler-plugins-scheduler";
constexpr char controller_actor[] = "scheduler-plugins-controller";

std::vector<std::string_view> plugins_versions() { return {only_version}; }
std::string_view find_plugins_version(std::string_view text) {
  return text == only_version || text == "v0.34" ? only_version : std::string_view();
}
std::string_view default_plugins_version() { return only_version; }

// ---- flags -------------------------------------------------------------------------------------

// An argument of the plugin, and where its value goes; false: it cannot be taken.
struct PluginFlag {
  SystemFlag told;
  bool (*read)(std::string_view value, CoschedulingArgs& to);
};

template <bool (*read)(std::string_view, CoschedulingArgs&)>
constexpr PluginFlag flag_of(std::string_view name, std::string_view shape, std::string_view help) {
  return {{name, shape, help,
           [](std::string_view value) {
             CoschedulingArgs nowhere;
             return read(value, nowhere);
           }},
          read};
}

bool read_seconds(std::string_view value, Duration& to) {
  constexpr std::int64_t longest = 1'000'000;
  const auto seconds = whole_number<std::int64_t>(value);
  if (!seconds || *seconds < 0 || *seconds > longest) return false;
  to = std::chrono::seconds(*seconds);
  return true;
}
bool read_permit_wait(std::string_view value, CoschedulingArgs& to) {
  return read_seconds(value, to.permit_wait) && to.permit_wait > Duration::zero();
}
bool read_backoff(std::string_view value, CoschedulingArgs& to) {
  return read_seconds(value, to.backoff);
}
bool read_percentage(std::string_view value, CoschedulingArgs& to) {
  const auto percentage = whole_number<int>(value);
  to.reject_percentage = percentage.value_or(0);
  return percentage && *percentage >= 0 && *percentage <= 100;
}

constexpr std::array plugin_flags{
    flag_of<&read_permit_wait>("permitWaitingTimeSeconds", "a whole number of seconds",
                               "so long pods that have a place wait for the rest of their gang, "
                               "where the PodGroup has no scheduleTimeoutSeconds; default: 60"),
    flag_of<&read_backoff>("podGroupBackoffSeconds", "a whole number of seconds",
                           "so long nobody of a gang is tried again after it was rejected; "
                           "default: 0"),
    flag_of<&read_percentage>("podGroupRejectPercentage", "0 to 100",
                              "where no larger part of a gang is without a place, those that have "
                              "one are not rejected because of it; default: 10"),
};
constexpr auto told_flags = [] {
  std::array<SystemFlag, plugin_flags.size()> told{};
  for (std::size_t i = 0; i < told.size(); ++i) told[i] = plugin_flags[i].told;
  return told;
}();

// ---- installation ------------------------------------------------------------------------------

void install_plugins(Installer& into, const InstalledSystem& told) {
  SchedulerProfile profile{.name = scheduler_name, .coscheduling = CoschedulingArgs()};
  for (const PluginFlag& flag : plugin_flags)
    if (const auto value = told.flags.find(flag.told.name); value != told.flags.end())
      flag.read(value->second, *profile.coscheduling);
  into.host(controller_actor,
            [] { return std::make_unique<controller::CoschedulingGroupController>(); });
  into.schedule(scheduler_name, [profile](Loop& loop, api::ApiClient& client, Trace& trace) {
    return std::make_unique<Scheduler>(loop, client, trace, profile);
  });
}

// ---- what is seen of it ------------------------------------------------------------------------

std::string_view group_of(const Pod& pod) {
  const Text* name = pod.metadata.label("scheduling.x-k8s.io/pod-group");
  return name == nullptr ? std::string_view() : name->view();
}
int least_of(const Object& group) {
  return as<CoschedulingGroup>(group)->spec->minMember.value_or(0);
}

constexpr std::array plugins_schedulers{scenario::SchedulerRow{.name = scheduler_name,
                                                               .group = &CoschedulingGroup::info,
                                                               .group_of = &group_of,
                                                               .least = &least_of}};
constexpr std::array<std::string_view, 5> group_phases{"Pending", "Scheduling", "Running",
                                                       "Finished", "Failed"};
constexpr std::array group_words{
    scenario::StatusWords{.info = &CoschedulingGroup::info, .phases = group_phases}};
constexpr std::array plugins_controllers{SystemController{"PodGroupController", "podgroup"}};
constexpr std::array<KindOf, 1> plugins_kinds{&CoschedulingGroup::info};

}  // namespace

constinit const System scheduler_plugins_system{
    .name = "scheduler-plugins",
    .title = "scheduler of scheduler-plugins",
    .versions = &plugins_versions,
    .find_version = &find_plugins_version,
    .default_version = &default_plugins_version,
    .controllers = plugins_controllers,
    .rules = &controller::scheduler_plugins::rules::all,
    .serves = plugins_kinds,
    .states = group_words,
    .schedulers = plugins_schedulers,
    .flags = told_flags,
    .on_request = true,
    .install = &install_plugins,
};

}  // namespace ddptwin
