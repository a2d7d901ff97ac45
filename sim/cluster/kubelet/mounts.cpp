#include "cluster/kubelet/mounts.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "cluster/kubelet/container_config.hpp"

namespace ddptwin::kubelet {

std::optional<PodMounts::Sources> PodMounts::mounted() {
  const std::vector<Volume>& volumes = host_.pod()->spec->volumes;
  if (volumes.empty()) return Sources();
  if (!work_) {
    work_ = std::make_unique<Work>();
    for (const Volume& volume : volumes) attempt(volume);
  }
  return all_sources();
}

void PodMounts::wait(Done done) {
  const NodeContext& node = host_.node();
  work_->done = std::move(done);
  work_->limit = node.loop.after(node.lane, node.clocks.mount_timeout, [this] { time_out(); });
}

void PodMounts::give_up() {
  if (!work_) return;
  work_->done = nullptr;
  work_->limit.cancel();
  for (auto& [name, slot] : work_->slots) slot.timer.cancel();
}

void PodMounts::attempt(const Volume& wanted) {
  NodeContext& node = host_.node();
  const std::shared_ptr<const Pod>& pod = host_.pod();
  Slot& slot = work_->slots[wanted.name];
  slot.timer.cancel();
  Result<std::shared_ptr<const VolumeSource>> source = volume(node.pod_context(pod), wanted);
  if (source) {
    slot.source = std::move(*source);
    return;
  }
  if (!wanted.persistentVolumeClaim)
    node.event(*pod, "Warning", "FailedMount", source.error().message);
  if (slot.delay == Duration{0}) slot.delay = node.clocks.mount_retry;
  slot.timer = node.loop.after(node.lane, slot.delay, [this, wanted] { try_again(wanted); });
}

void PodMounts::try_again(const Volume& wanted) {
  Duration& delay = work_->slots[wanted.name].delay;
  delay = std::min(delay * 2, host_.node().clocks.mount_retry_max);
  attempt(wanted);
  settle();
}

std::optional<PodMounts::Sources> PodMounts::all_sources() const {
  Sources sources;
  for (const Volume& volume : host_.pod()->spec->volumes) {
    const auto slot = work_->slots.find(volume.name);
    if (slot == work_->slots.end() || !slot->second.source) return std::nullopt;
    sources.push_back(slot->second.source);
  }
  return sources;
}

void PodMounts::settle() {
  if (!work_->done) return;
  std::optional<Sources> all = all_sources();
  if (!all) return;
  work_->limit.cancel();
  Done done = std::exchange(work_->done, nullptr);
  done(std::move(*all));
}

void PodMounts::time_out() {
  std::vector<std::string_view> missing;
  for (const auto& [name, slot] : work_->slots)
    if (!slot.source) missing.push_back(name);
  std::string text = fmt::format(
      "unmounted volumes=[{}], unattached volumes=[], failed to process volumes=[]: context "
      "deadline exceeded",
      fmt::join(missing, " "));
  host_.node().event(*host_.pod(), "Warning", "FailedMount",
                     "Unable to attach or mount volumes: " + text);
  Done done = std::exchange(work_->done, nullptr);
  if (done) done(fail(Reason::timeout, std::move(text)));
}

void PodMounts::look_at_claims() {
  if (!work_) return;
  for (const Volume& wanted : host_.pod()->spec->volumes) {
    const auto slot = work_->slots.find(wanted.name);
    if (!wanted.persistentVolumeClaim || slot == work_->slots.end() || slot->second.source)
      continue;
    attempt(wanted);
  }
  settle();
}

void PodMounts::refresh() {
  if (!work_) return;
  NodeContext& node = host_.node();
  const std::shared_ptr<const Pod>& pod = host_.pod();
  const PodContext context = node.pod_context(pod);
  for (const Volume& wanted : pod->spec->volumes) {
    const auto slot = work_->slots.find(wanted.name);
    if (slot == work_->slots.end() || !slot->second.source) continue;
    Result<std::shared_ptr<const VolumeSource>> source = volume(context, wanted);
    if (!source) continue;
    slot->second.source = std::move(*source);
    if (slot->second.source->kind == VolumeSource::Kind::files)
      node.runtime.update_volume(pod->metadata.uid.str(), slot->second.source);
  }
}

}  // namespace ddptwin::kubelet
