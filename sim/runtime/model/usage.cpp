#include <algorithm>

#include "runtime/model/state.hpp"

namespace ddptwin::model {
namespace {

// Of all attempts of that name.
std::int64_t logs_of(const ModelPod& pod, const std::string& name) {
  std::int64_t bytes = 0;
  for (const ModelContainer* one : pod.containers)
    if (one->config.name == name) bytes += one->log_size.on_disk();
  return bytes;
}

}  // namespace

RuntimeEvent event_of(const ModelContainer& container, RuntimeEvent::Kind kind) {
  RuntimeEvent event;
  event.kind = kind;
  event.pod_uid = container.pod->config.uid;
  event.container = container.id;
  event.container_name = container.config.name;
  return event;
}

PodUsage usage_of(const ModelPod& pod, const Files& files) {
  PodUsage usage{.pod_uid = pod.config.uid};
  for (const ModelContainer* one : pod.containers) {
    const std::string& name = one->config.name;
    if (one->report.phase == ContainerPhase::running)
      usage.containers.push_back({name, files.bytes_of_container(*one), logs_of(pod, name),
                                  static_cast<std::int64_t>(one->memory)});
    for (const RuntimeMount& mount : one->config.mounts) {
      const bool on_disk =
          mount.source != nullptr && mount.source->kind == VolumeSource::Kind::empty_dir;
      if (on_disk)
        usage.volumes[mount.source->name] =
            files.bytes_of_volume(pod.config.uid.str(), mount.source->name);
    }
  }
  return usage;
}

std::int64_t disk_use(const std::string& node, const std::vector<std::unique_ptr<ModelPod>>& pods,
                      const Files& files) {
  std::int64_t sum = 0;
  for (const auto& pod : pods)
    if (pod != nullptr && !pod->stopping && pod->config.node == node)
      sum += usage_of(*pod, files).on_disk();
  return sum;
}

}  // namespace ddptwin::model
