#include "cluster/kubelet/mounts.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "cluster/kubelet/container_config.hpp"

namespace ddptwin::kubelet {

std::optional<PodMounts::Sources> PodMounts::mounted() {
  if (!begun_) {
    begun_ = true;
    for (const Volume& volume : pod_->spec->volumes) attempt(volume);
  }
  return all_sources();
}

void PodMounts::wait(Done done) {
  done_ = std::move(done);
  limit_ = node_.loop.after(node_.lane, node_.options.clocks.mount_timeout, [this] { time_out(); });
}

void PodMounts::give_up() {
  done_ = nullptr;
  limit_.cancel();
  for (auto& [name, slot] : slots_) slot.timer.cancel();
}

void PodMounts::attempt(const Volume& wanted) {
  Slot& slot = slots_[wanted.name];
  Result<std::shared_ptr<const VolumeSource>> source = volume(node_.pod_context(pod_), wanted);
  if (source) {
    slot.source = std::move(*source);
    return;
  }
  node_.event(*pod_, "Warning", "FailedMount", source.error().message);
  const KubeletClocks& clocks = node_.options.clocks;
  slot.delay = slot.delay == Duration{0} ? clocks.mount_retry
                                         : std::min(slot.delay * 2, clocks.mount_retry_max);
  slot.timer = node_.loop.after(node_.lane, slot.delay, [this, wanted] {
    attempt(wanted);
    settle();
  });
}

std::optional<PodMounts::Sources> PodMounts::all_sources() const {
  Sources sources;
  for (const Volume& volume : pod_->spec->volumes) {
    const auto slot = slots_.find(volume.name);
    if (slot == slots_.end() || !slot->second.source) return std::nullopt;
    sources.push_back(slot->second.source);
  }
  return sources;
}

void PodMounts::settle() {
  if (!done_) return;
  std::optional<Sources> all = all_sources();
  if (!all) return;
  limit_.cancel();
  Done done = std::exchange(done_, nullptr);
  done(std::move(*all));
}

void PodMounts::time_out() {
  std::vector<std::string_view> missing;
  for (const auto& [name, slot] : slots_)
    if (!slot.source) missing.push_back(name);
  std::string text = fmt::format(
      "unmounted volumes=[{}], unattached volumes=[], failed to process volumes=[]: context "
      "deadline exceeded",
      fmt::join(missing, " "));
  node_.event(*pod_, "Warning", "FailedMount", "Unable to attach or mount volumes: " + text);
  Done done = std::exchange(done_, nullptr);
  if (done) done(fail(Reason::timeout, std::move(text)));
}

void PodMounts::refresh() {
  const PodContext context = node_.pod_context(pod_);
  for (const Volume& wanted : pod_->spec->volumes) {
    const auto slot = slots_.find(wanted.name);
    if (slot == slots_.end() || !slot->second.source) continue;
    Result<std::shared_ptr<const VolumeSource>> source = volume(context, wanted);
    if (!source) continue;
    slot->second.source = std::move(*source);
    if (slot->second.source->kind == VolumeSource::Kind::files)
      node_.runtime.update_volume(pod_->metadata.uid.str(), slot->second.source);
  }
}

}  // namespace ddptwin::kubelet
