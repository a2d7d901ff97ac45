#include "scenario/faults/runtime_tap.hpp"

#include <algorithm>

namespace ddptwin::scenario {
namespace {

constexpr std::int32_t unknown_exit_code = 255;  // containerd's unknownExitCode

}  // namespace

bool RunningContainer::is_of(std::string_view wanted) const {
  const std::size_t slash = wanted.find('/');
  if (slash == wanted.npos) return wanted == pod;
  return wanted.substr(0, slash) == namespace_ && wanted.substr(slash + 1) == pod;
}

RuntimeTap::RuntimeTap(PodRuntime& next, OnStart on_start, OnLine on_line, Records records)
    : next_(next),
      on_start_(std::move(on_start)),
      on_line_(std::move(on_line)),
      records_(std::move(records)) {
  next_.listen([this, alive = std::weak_ptr<int>(alive_)](const RuntimeEvent& event) {
    if (!alive.expired()) on_event(event);
  });
}

void RuntimeTap::on_event(const RuntimeEvent& event) {
  if (event.kind == RuntimeEvent::Kind::container_exited) running_.erase(event.container);
  const std::uint64_t before = records_();
  for (const auto& listener : listeners_) listener(event);
  if (event.kind != RuntimeEvent::Kind::log_line) return;
  // A container may print before its start is answered.
  const auto known = containers_.find(event.container);
  if (known != containers_.end()) on_line_(known->second, event.line, records_() != before);
}

void RuntimeTap::run_sandbox(SandboxOrder order, Done<SandboxStatus> done) {
  RunningContainer pod;
  pod.namespace_ = order.namespace_;
  pod.pod = order.name;
  pod.node = order.node();
  next_.run_sandbox(std::move(order),
                    [this, alive = std::weak_ptr<int>(alive_), pod = std::move(pod),
                     done = std::move(done)](Result<SandboxStatus> status) mutable {
                      if (!alive.expired() && status) sandboxes_[status->id] = std::move(pod);
                      done(std::move(status));
                    });
}

void RuntimeTap::stop_sandbox(const SandboxId& id, Done<void> done) {
  next_.stop_sandbox(id, std::move(done));
}

bool RuntimeTap::is_ready(const SandboxId& id) const { return next_.is_ready(id); }

void RuntimeTap::remove_sandbox(const SandboxId& id) {
  sandboxes_.erase(id);
  next_.remove_sandbox(id);
}

std::optional<ImageStatus> RuntimeTap::image(const std::string& reference) {
  return next_.image(reference);
}

void RuntimeTap::pull_image(const std::string& reference, const SandboxMetadata& sandbox,
                            Done<ImageStatus> done) {
  next_.pull_image(reference, sandbox, std::move(done));
}

void RuntimeTap::create_container(const SandboxId& sandbox, ContainerOrder order,
                                  Done<ContainerId> done) {
  RunningContainer container;
  if (const auto at = sandboxes_.find(sandbox); at != sandboxes_.end()) container = at->second;
  container.name = order.name();
  next_.create_container(
      sandbox, std::move(order),
      [this, alive = std::weak_ptr<int>(alive_), container = std::move(container),
       done = std::move(done)](Result<ContainerId> id) mutable {
        if (!alive.expired() && id) {
          container.id = *id;
          containers_[*id] = std::move(container);
        }
        done(std::move(id));
      });
}

void RuntimeTap::start_container(const ContainerId& id, Done<void> done) {
  next_.start_container(id, [this, alive = std::weak_ptr<int>(alive_), id,
                             done = std::move(done)](Result<void> result) mutable {
    const bool known = !alive.expired() && result && containers_.contains(id);
    // It may have ended already.
    const ContainerReport* report = known ? next_.report(id) : nullptr;
    if (report && report->phase == ContainerPhase::running) {
      running_[id] = containers_[id];
      on_start_(running_[id]);
    }
    done(std::move(result));
  });
}

void RuntimeTap::stop_container(const ContainerId& id, std::int64_t grace_period, Done<void> done) {
  next_.stop_container(id, grace_period, std::move(done));
}

void RuntimeTap::remove_container(const ContainerId& id) {
  containers_.erase(id);
  running_.erase(id);
  lost_.erase(id);
  next_.remove_container(id);
}

void RuntimeTap::exec(const ContainerId& id, std::vector<std::string> command, Duration timeout,
                      Done<ExecResult> done) {
  next_.exec(id, std::move(command), timeout, std::move(done));
}

const ContainerReport* RuntimeTap::report(const ContainerId& id) const {
  const ContainerReport* report = next_.report(id);
  if (report == nullptr || report->phase != ContainerPhase::exited || !lost_.contains(id))
    return report;
  of_lost_ = *report;
  of_lost_.exit_code = unknown_exit_code;
  of_lost_.reason = "Unknown";
  return &of_lost_;
}

void RuntimeTap::lose(const std::string& node) {
  for (const auto& [id, container] : running_)
    if (container.node == node) lost_.insert(id);
}

void RuntimeTap::end_sandboxes(const std::string& node) {
  const auto begins_still = [this](const RunningContainer& pod) {
    return std::any_of(containers_.begin(), containers_.end(), [&](const auto& entry) {
      const ContainerReport* report = next_.report(entry.first);
      return entry.second.namespace_ == pod.namespace_ && entry.second.pod == pod.pod &&
             report != nullptr && report->phase == ContainerPhase::created;
    });
  };
  std::vector<SandboxId> ids;
  for (const auto& [id, pod] : sandboxes_)
    if (pod.node == node && !begins_still(pod)) ids.push_back(id);
  for (const SandboxId& id : ids) next_.stop_sandbox(id, [](const Result<void>&) {});
}

std::string RuntimeTap::log_tail(const ContainerId& id, std::size_t lines,
                                 std::size_t bytes) const {
  return next_.log_tail(id, lines, bytes);
}

void RuntimeTap::update_volume(const std::string& pod_uid,
                               std::shared_ptr<const VolumeSource> source) {
  next_.update_volume(pod_uid, std::move(source));
}

void RuntimeTap::usage(std::vector<SharedText> pod_uids, Done<std::vector<PodUsage>> done) {
  next_.usage(std::move(pod_uids), std::move(done));
}

NodeWatch RuntimeTap::watch_node(const std::string& node, NodeResource resource,
                                 std::int64_t bytes) {
  return next_.watch_node(node, resource, bytes);
}

void RuntimeTap::listen(std::function<void(const RuntimeEvent&)> listener) {
  listeners_.push_back(std::move(listener));
}

}  // namespace ddptwin::scenario
