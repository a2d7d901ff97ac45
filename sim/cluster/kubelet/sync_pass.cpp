#include "cluster/kubelet/sync_pass.hpp"

#include <algorithm>

#include "cluster/kubelet/container_config.hpp"
#include "cluster/kubelet/container_stop.hpp"
#include "cluster/kubelet/phase.hpp"
#include "cluster/kubelet/restart_policy.hpp"

namespace ddptwin::kubelet {
namespace {

constexpr std::int64_t restart_all_grace = 2;  // seconds

std::vector<StopRequest> stop_running(const PodRuntimeState& state) {
  std::vector<StopRequest> requests;
  for (const ContainerInstance& instance : state.containers) {
    if (instance.stage != ContainerStage::running) continue;
    StopRequest& request = requests.emplace_back();
    request.id = instance.id;
    request.name = instance.name;
  }
  return requests;
}

}  // namespace

SyncPass::SyncPass(PodWorker& worker, PodActions actions)
    : alive_(worker.weak_from_this()),
      worker_(worker),
      node_(worker.node_),
      seen_(worker.seen_),
      actions_(std::move(actions)),
      pod_(worker.pod_) {}

// The callback, unless the worker has ended by then.
template <class F>
auto SyncPass::guarded(F then) {
  return [self = shared_from_this(), then = std::move(then)](auto&&... answer) mutable {
    if (!self->alive_.expired()) then(std::forward<decltype(answer)>(answer)...);
  };
}

void SyncPass::begin() {
  if (actions_.restart_all) return restart_all();
  if (std::optional<PodMounts::Sources> sources = worker_.mounts_.mounted())
    return with_volumes(std::move(*sources));
  mounting_ = true;
  worker_.mounts_.wait(guarded([this](Result<PodMounts::Sources> sources) {
    mounting_ = false;
    if (!sources) return finish(false, true);
    with_volumes(std::move(*sources));
  }));
}

void SyncPass::hasten() {
  if (!mounting_) return;
  mounting_ = false;
  worker_.mounts_.give_up();
  const auto self = shared_from_this();
  finish(false);
}

void SyncPass::with_volumes(PodMounts::Sources sources) {
  volumes_ = std::move(sources);
  worker_.start_probes();
  act();
}

void SyncPass::act() {
  if (actions_.create_sandbox && !seen_->sandboxes.empty())
    node_.event(*pod_, "Normal", "SandboxChanged",
                "Pod sandbox changed, it will be killed and re-created.");
  const bool first = seen_->sandboxes.empty();
  if (actions_.kill_pod && !first) return kill_pod();
  if (actions_.kill_pod) return after_kill_pod();
  kill_some();
}

void SyncPass::restart_all() {
  std::vector<StopRequest> requests = stop_running(*seen_);
  for (StopRequest& request : requests) {
    request.message = "killing";
    request.grace = restart_all_grace;
  }
  stop_containers(node_.shared_from_this(), pod_, std::move(requests), false,
                  guarded([this] { remove_all(); }));
}

// Each counts as restarted once more, though the runtime begins again at attempt 0.
void SyncPass::remove_all() {
  for (const auto* list : {&pod_->spec->initContainers, &pod_->spec->containers})
    for (const Container& container : *list)
      if (const ContainerInstance* last = seen_->find(container.name))
        worker_.setbacks().removed_counts[container.name] +=
            static_cast<std::int32_t>(last->attempt) + 1;
  node_.inventory.remove_containers(pod_->metadata.uid);
  if (worker_.setbacks_) worker_.setbacks_->failures.clear();
  worker_.wanted_ = true;
  worker_.wanted_context_ = node_.loop.context();
  finish(true);
}

void SyncPass::kill_pod() {
  changed_ = true;
  stop_containers(node_.shared_from_this(), pod_,
                  stop_running(*node_.inventory.state(pod_->metadata.uid)), true, guarded([this] {
                    node_.runtime.stop_sandbox(seen_->sandboxes.front().id,
                                               guarded([this](Result<void>) {
                                                 node_.inventory.sandbox_lost(pod_->metadata.uid);
                                                 after_kill_pod();
                                               }));
                  }));
}

void SyncPass::after_kill_pod() {
  if (!actions_.create_sandbox) return finish(true);
  create_sandbox();
}

void SyncPass::kill_some() {
  std::vector<StopRequest> requests;
  for (const KillOrder& order : actions_.kills) {
    StopRequest& request = requests.emplace_back();
    request.id = order.id;
    request.name = order.name;
    request.message = order.message;
    request.because = order.because;
    changed_ = true;
  }
  if (requests.empty()) return start_next();
  stop_containers(node_.shared_from_this(), pod_, std::move(requests), false,
                  guarded([this] { start_next(); }));
}

void SyncPass::create_sandbox() {
  Notices notices;
  const MakePodContext context = [this] { return node_.pod_context(pod_); };
  Result<SandboxOrder> order =
      sandbox_order(*pod_, node_.options.settings, context, actions_.sandbox_attempt, &notices);
  node_.notices(*pod_, notices);
  if (!order) return on_sandbox(fail(std::move(order).error()));
  node_.runtime.run_sandbox(std::move(*order), guarded([this](Result<SandboxStatus> status) {
                              on_sandbox(std::move(status));
                            }));
}

void SyncPass::on_sandbox(Result<SandboxStatus> status) {
  if (!status) {
    const Error& error = status.error();
    node_.event(
        *pod_, "Warning", "FailedCreatePodSandBox",
        "Failed to create pod sandbox: " + (error.where.empty() ? error.message : rpc_text(error)));
    return finish(changed_, true);
  }
  changed_ = true;
  SandboxState sandbox;
  sandbox.id = status->id;
  sandbox.attempt = actions_.sandbox_attempt;
  sandbox.ready = true;
  sandbox.ip = status->ip;
  sandbox.created_at = node_.loop.now();
  node_.inventory.add_sandbox(pod_->metadata.uid, std::move(sandbox));
  node_.record(*pod_, {}, "sandbox " + status->ip);
  // The one condition is told at once, all else with the next look.
  if (const PodStatus* told = worker_.writer_.told()) {
    PodStatus ready = *told;
    ready.conditions =
        with_ready_sandbox(told->conditions, node_.loop.now(), node_.view.conditions());
    worker_.tell_amended(std::move(ready));
  }
  start_next();
}

void SyncPass::start_next() {
  const std::size_t inits = actions_.init_starts.size();
  const std::size_t all = inits + actions_.starts.size();
  if (next_ == all) return finish(changed_, failed_);
  const bool init = next_ < inits;
  const std::size_t place = init ? actions_.init_starts[next_] : actions_.starts[next_ - inits];
  ++next_;
  StartRequest request;
  request.pod = pod_;
  request.init = init;
  request.container = &(init ? pod_->spec->initContainers : pod_->spec->containers)[place];
  request.seen = seen_;
  const SandboxState& sandbox = node_.inventory.state(pod_->metadata.uid)->sandboxes.front();
  request.sandbox = sandbox.id;
  request.sandbox_attempt = sandbox.attempt;
  request.volumes = volumes_;
  const Container& container = *request.container;  // pod_ holds it
  start_container(
      node_.shared_from_this(), std::move(request),
      guarded([this, &container, gate = init && !is_sidecar(container)](StartOutcome outcome) {
        on_started(container.name, gate, std::move(outcome));
      }));
}

// A plain init container that does not start holds back all that come after it.
void SyncPass::on_started(const std::string& name, bool gate, StartOutcome outcome) {
  if (!outcome.failure) {
    if (worker_.setbacks_) worker_.setbacks_->failures.erase(name);
    changed_ = true;
    return start_next();
  }
  changed_ = changed_ || !outcome.until;
  if (outcome.until)
    until_ = until_ ? std::min(*until_, *outcome.until) : *outcome.until;
  else
    failed_ = true;
  worker_.setbacks().failures[name] = std::move(*outcome.failure);
  if (gate) return finish(changed_, failed_);
  start_next();
}

void SyncPass::finish(bool changed, bool failed) {
  const KubeletClocks& clocks = node_.clocks;
  std::optional<Duration> retry;
  if (failed) retry = clocks.sync_retry;
  if (until_) {
    const Duration left = std::clamp<Duration>(*until_ - node_.loop.now(), 0s, clocks.resync);
    retry = retry ? std::min(*retry, left) : left;
  }
  if (retry) retry = node_.stretched(*retry);
  worker_.end_pass(changed, retry);
}

}  // namespace ddptwin::kubelet
