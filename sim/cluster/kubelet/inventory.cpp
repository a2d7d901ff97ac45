#include "cluster/kubelet/inventory.hpp"

namespace ddptwin::kubelet {
namespace {

constexpr std::size_t instances_kept = 2;
constexpr std::size_t message_bytes_max = 4096;
constexpr std::size_t log_lines_max = 80, log_bytes_max = 2048;

// What the container left behind, by its terminationMessagePolicy (spec/kubernetes.md §2.3).
Text last_words(const PodRuntime& runtime, const ContainerReport& report,
                const Container& container) {
  if (!report.termination_log.empty()) return report.termination_log->substr(0, message_bytes_max);
  if (report.exit_code != 0 && container.terminationMessagePolicy == "FallbackToLogsOnError") {
    std::string text = runtime.log_tail(report.id, log_lines_max, log_bytes_max);
    if (!text.empty()) return text;
  }
  return *report.message;
}

constexpr ContainerStage stage_of(ContainerPhase phase) {
  switch (phase) {
    case ContainerPhase::created:
      return ContainerStage::created;
    case ContainerPhase::running:
      return ContainerStage::running;
    case ContainerPhase::exited:
      break;
  }
  return ContainerStage::exited;
}

}  // namespace

Cow<PodRuntimeState>* Inventory::find_pod(const SharedText& uid) {
  const auto at = pods_.find(uid);
  return at == pods_.end() ? nullptr : &at->second;
}

void Inventory::add_sandbox(const SharedText& uid, SandboxState sandbox) {
  PodRuntimeState& pod = pods_[uid].edit();
  pod.ips = {};
  if (!sandbox.ip.empty()) pod.ips.edit().push_back(sandbox.ip);
  for (const SandboxState& old : pod.sandboxes) runtime_.remove_sandbox(old.id);
  pod.sandboxes = {};
  pod.sandboxes.edit().push_back(std::move(sandbox));
}

void Inventory::sandbox_lost(const SharedText& uid) {
  Cow<PodRuntimeState>* pod = find_pod(uid);
  if (pod != nullptr && !(*pod)->sandboxes.empty())
    pod->edit().sandboxes.edit().front().ready = false;
}

void Inventory::refresh_sandbox(const SharedText& uid) {
  const Cow<PodRuntimeState>* pod = find_pod(uid);
  if (pod == nullptr || (*pod)->sandboxes.empty()) return;
  const SandboxState& now = (*pod)->sandboxes.front();
  if (now.ready && !runtime_.is_ready(now.id)) sandbox_lost(uid);
}

void Inventory::add_container(const SharedText& uid, ContainerInstance instance) {
  ContainerInstances& list = pods_[uid].edit().containers;
  const Text name = instance.name;
  list.insert(list.begin(), std::move(instance));
  std::size_t seen = 0;
  for (auto at = list.begin(); at != list.end();) {
    const bool surplus = at->name == name && ++seen > instances_kept;
    if (surplus) runtime_.remove_container(at->id);
    at = surplus ? list.erase(at) : at + 1;
  }
}

void Inventory::refresh(const SharedText& uid, const ContainerId& id, const Container& container) {
  Cow<PodRuntimeState>* pod = find_pod(uid);
  if (pod == nullptr) return;
  const ContainerReport* report = runtime_.report(id);
  if (report == nullptr) return;
  for (ContainerInstance& instance : pod->edit().containers) {
    if (instance.id != id) continue;
    instance.stage = stage_of(report->phase);
    instance.started_at = report->started_at;
    instance.finished_at = report->finished_at;
    if (instance.stage != ContainerStage::exited) return;
    instance.exit_code = report->exit_code;
    instance.reason = report->reason;
    Text words = last_words(runtime_, *report, container);
    if (instance.message != words) instance.message = std::move(words);
    return;
  }
}

void Inventory::remove_containers(const SharedText& uid) {
  Cow<PodRuntimeState>* pod = find_pod(uid);
  if (pod == nullptr) return;
  for (const ContainerInstance& instance : (*pod)->containers)
    runtime_.remove_container(instance.id);
  pod->edit().containers.clear();
}

void Inventory::remove_pod(const SharedText& uid) {
  const auto pod = pods_.find(uid);
  if (pod == pods_.end()) return;
  remove_containers(uid);
  for (const SandboxState& sandbox : pod->second->sandboxes) runtime_.remove_sandbox(sandbox.id);
  pods_.erase(pod);
}

const Cow<PodRuntimeState>& Inventory::state(const SharedText& uid) const {
  static const Cow<PodRuntimeState> nothing{};
  const auto at = pods_.find(uid);
  return at == pods_.end() ? nothing : at->second;
}

}  // namespace ddptwin::kubelet
