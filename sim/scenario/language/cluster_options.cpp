#include "scenario/language/cluster_options.hpp"

#include <algorithm>
#include <filesystem>
#include <memory>
#include <system_error>

#include "cluster/kubelet/host_paths.hpp"
#include "objects/autoscaling.hpp"
#include "objects/volumes.hpp"
#include "scenario/systems/system.hpp"

namespace ddptwin::scenario {
namespace {

bool is_autoscaled(const Object& object) {
  const auto all = systems();
  return std::any_of(all.begin(), all.end(), [&object](const System* system) {
    return system->is_autoscaled != nullptr && system->is_autoscaled(object);
  });
}

}  // namespace

std::vector<const KindInfo*> kinds_of(const Scenario& scenario) {
  std::vector<const KindInfo*> kinds;
  const auto take = [&kinds](const KindInfo& kind) {
    if (std::find(kinds.begin(), kinds.end(), &kind) == kinds.end()) kinds.push_back(&kind);
  };
  const auto add = [&take](const std::vector<Manifest>& manifests) {
    for (const Manifest& manifest : manifests) {
      take(manifest.object->kind());
      if (is_autoscaled(*manifest.object)) take(HorizontalPodAutoscaler::info());
    }
  };
  add(scenario.manifests);
  for (const Step& step : scenario.steps)
    if (const Apply* apply = std::get_if<Apply>(&step.action)) add(apply->manifests);
  if (!scenario.claim_folders.empty()) {
    take(PersistentVolumeClaim::info());
    take(PersistentVolume::info());
  }
  return kinds;
}

namespace {

bool is_default(const Manifest& manifest) {
  const StorageClass* one = as<StorageClass>(*manifest.object);
  return one != nullptr && (marks_default(*one) || one->metadata.name == default_class_name);
}

bool brings_default_class(const Scenario& scenario) {
  const auto in = [](const std::vector<Manifest>& manifests) {
    return std::any_of(manifests.begin(), manifests.end(), &is_default);
  };
  return in(scenario.manifests) ||
         std::any_of(scenario.steps.begin(), scenario.steps.end(), [&in](const Step& step) {
           const Apply* apply = std::get_if<Apply>(&step.action);
           return apply != nullptr && in(apply->manifests);
         });
}

// Of this machine, in virtual time too: a run there is to end as a real one would.
kubelet::PathKind machine_path(const std::string& path) {
  using kubelet::PathKind;
  std::error_code error;
  const auto status = std::filesystem::status(path, error);
  switch (status.type()) {
    case std::filesystem::file_type::directory:
      return PathKind::directory;
    case std::filesystem::file_type::regular:
      return PathKind::file;
    case std::filesystem::file_type::socket:
      return PathKind::socket;
    case std::filesystem::file_type::character:
      return PathKind::char_device;
    case std::filesystem::file_type::block:
      return PathKind::block_device;
    default:
      return PathKind::absent;
  }
}

}  // namespace

WorldOptions cluster_options(const Scenario& scenario, std::uint64_t seed) {
  WorldOptions world;
  world.seed = seed;
  world.scheduler = true;
  world.systems = scenario.systems;
  world.flags = scenario.flags;
  world.kinds = kinds_of(scenario);
  world.default_class = !brings_default_class(scenario);
  world.nodes = scenario.nodes;
  for (const auto& [key, one] : scenario.claim_folders)
    world.kubelet.settings.edit().claim_folders.emplace(key, one.folder);
  world.kubelet.host_paths = std::make_shared<kubelet::HostPaths>(&machine_path);
  world.dns.domain = scenario.domain;
  world.dns.outside_names = scenario.outside_names;
  world.dns.host.servers = {"192.168.255.254"};  // of the nodes' network
  // A kubelet looks at its runtime once a second; this one hears of every change from the runtime
  // itself, so that a run in real time takes no longer than its programs.
  world.kubelet.clocks.edit().first_look = Duration::zero();
  world.kubelet.clocks.edit().relist = std::chrono::milliseconds(1);
  world.kubelet.clocks.edit().status_delay = std::chrono::milliseconds(1);
  return world;
}

}  // namespace ddptwin::scenario
