#include "cluster/kubelet/pod_worker.hpp"

#include <algorithm>

#include "cluster/kubelet/container_stop.hpp"
#include "cluster/kubelet/phase.hpp"
#include "cluster/kubelet/restart_policy.hpp"
#include "cluster/kubelet/sync_pass.hpp"
#include "cluster/kubelet/volumes.hpp"
#include "core/concat.hpp"

namespace ddptwin::kubelet {
namespace {

// What another look at the runtime may find different.
bool same_state(const Cow<PodRuntimeState>& left, const Cow<PodRuntimeState>& right) {
  if (left.same_as(right)) return true;
  const PodRuntimeState &a = *left, &b = *right;
  const auto same_sandbox = [](const SandboxState& x, const SandboxState& y) {
    return x.id == y.id && x.ready == y.ready;
  };
  const auto same_container = [](const ContainerInstance& x, const ContainerInstance& y) {
    return x.id == y.id && x.stage == y.stage && x.created_at == y.created_at;
  };
  return std::equal(a.containers.begin(), a.containers.end(), b.containers.begin(),
                    b.containers.end(), same_container) &&
         (a.sandboxes.same_as(b.sandboxes) ||
          std::equal(a.sandboxes.begin(), a.sandboxes.end(), b.sandboxes.begin(), b.sandboxes.end(),
                     same_sandbox));
}

bool same(const Cow<StringMap>& left, const Cow<StringMap>& right) {
  return left.same_as(right) || *left == *right;
}

// Of a pod with gates: whether its Ready is not what its containers and gates say, whoever has said
// otherwise of which (upstream NeedToReconcilePodReadiness).
bool is_readiness_off(const Pod& pod) {
  if (pod.spec->rest->readinessGates.empty()) return false;
  const PodCondition* said = pod.status.condition("Ready");
  if (said == nullptr) return false;
  PodStatus right = pod.status;
  refresh_readiness(pod, right);
  const PodCondition& ready = *right.condition("Ready");
  return ready.status != said->status || ready.message != said->message;
}

// Whether each of those containers has the instances that it had.
bool have_same_instances(const std::vector<Container>& containers,
                         const Cow<PodRuntimeState>& before, const Cow<PodRuntimeState>& now) {
  if (before.same_as(now)) return true;
  const ContainerInstances &were = before->containers, &are = now->containers;
  return std::all_of(containers.begin(), containers.end(), [&](const Container& container) {
    const auto is_of_it = [&](const ContainerInstance& one) { return one.name == container.name; };
    auto old = were.begin();
    for (const ContainerInstance& instance : are) {
      if (!is_of_it(instance)) continue;
      old = std::find_if(old, were.end(), is_of_it);
      if (old == were.end() || !(*old == instance)) return false;
      ++old;
    }
    return std::none_of(old, were.end(), is_of_it);
  });
}

bool is_deleted(const Pod& pod) { return pod.metadata.deletionTimestamp.has_value(); }

}  // namespace

PodWorker::PodWorker(NodeContext& node, std::shared_ptr<const Pod> pod)
    : PodHost(node, std::move(pod)), writer_(*this), mounts_(*this) {
  // What happened while no kubelet was there was told to nobody.
  node_.inventory.refresh_sandbox(uid());
  refresh_containers();
  node_.view.route(uid(), [this](const RuntimeEvent& event) { runtime_event(event); });
}

PodWorker::~PodWorker() { node_.view.unroute(uid()); }

void PodWorker::refresh_containers() {
  const Cow<PodRuntimeState> known = node_.inventory.state(uid());
  for (const ContainerInstance& instance : known->containers)
    if (const Container* container = find_container(*pod_->spec, instance.name))
      node_.inventory.refresh(uid(), instance.id, *container);
}

void PodWorker::take(PodEvent event) {
  const PodTransition* row = find_transition(stage_, event);
  DDPTWIN_ASSERT(row != nullptr);
  if (row->to != stage_) node_.record(*pod_, {}, row->reason);
  stage_ = row->to;
}

void PodWorker::admit() {
  const bool complete = is_terminal_phase(pod_->status.phase);
  take(is_deleted(*pod_) ? PodEvent::deleted : complete ? PodEvent::completed : PodEvent::admitted);
  look_again_after(node_.clocks.first_look);
}

void PodWorker::reject(PodVerdict verdict) {
  node_.event(*pod_, "Warning", verdict.reason, verdict.message);
  tell(rejected_status(*pod_, verdict));
  take(PodEvent::rejected);
  writer_.finish();
}

bool PodWorker::was_rejected() const {
  return is_terminal_phase(pod_->status.phase) && pod_->status.containerStatuses.empty() &&
         node_.inventory.state(uid())->sandboxes.empty();
}

bool PodWorker::occupies() const {
  if (removed_ || stage_ >= PodStage::ended) return false;
  if (!is_terminal_phase(pod_->status.phase)) return true;
  // To a process that has just begun a pod that is long over comes as one that is to be ended.
  const PodRuntimeState& state = *node_.inventory.state(uid());
  return state.any_running() || state.sandbox_ready();
}

void PodWorker::let_be() {
  tell(PodStatus(pod_->status));
  take(PodEvent::rejected);
  writer_.finish();
}

void PodWorker::pod_changed(std::shared_ptr<const Pod> pod) {
  const std::shared_ptr<const Pod> before = std::exchange(pod_, std::move(pod));
  const bool is_described_alike = same(before->metadata.labels, pod_->metadata.labels) &&
                                  same(before->metadata.annotations, pod_->metadata.annotations);
  const bool own_write_only = before->metadata.generation == pod_->metadata.generation &&
                              is_described_alike && is_deleted(*before) == is_deleted(*pod_);
  // Upstream's volume manager mounts anew with the pass that follows, within 200 ms, and not with
  // the next look (pkg/kubelet/volumemanager, ReprocessPod).
  if (!is_described_alike && stage_ == PodStage::active && shows_itself(*pod_)) mounts_.refresh();
  writer_.compare();
  if (is_deleted(*pod_)) {
    const bool again = is_deleted(*before);
    take(PodEvent::deleted);
    if (stage_ == PodStage::finished) return writer_.poke();
    if (again) return;
    if (pass_) pass_->hasten();
  }
  if (!own_write_only || is_readiness_off(*pod_)) want_pass();
}

void PodWorker::pod_removed(std::shared_ptr<const Pod> last) {
  pod_ = std::move(last);
  removed_ = true;
  writer_.compare_no_more();
  take(PodEvent::removed);
  if (stage_ == PodStage::finished) return;
  if (!is_deleted(*pod_) && !(setbacks_ && setbacks_->grace)) setbacks().grace = 0;
  if (pass_) pass_->hasten();
  want_pass();
}

void PodWorker::evict(PodVerdict verdict, std::optional<std::int64_t> grace) {
  if (stage_ >= PodStage::ending) return;
  setbacks().verdict = std::move(verdict);
  setbacks().grace = grace;
  take(PodEvent::evicted);
  if (pass_) pass_->hasten();
  want_pass();
}

void PodWorker::runtime_event(const RuntimeEvent& event) {
  if (event.kind == RuntimeEvent::Kind::log_line) {
    Record record;
    record.kind = RecordKind::log;
    record.actor = "container";
    const std::string subject = key_of(pod_->metadata) + "/" + event.container_name;
    record.subject = subject;
    record.text = event.line;
    node_.trace.write(std::move(record));
    return;
  }
  if (event.kind == RuntimeEvent::Kind::node_is_short) return node_.is_short(event.resource);
  if (event.kind == RuntimeEvent::Kind::sandbox_died) {
    node_.inventory.sandbox_lost(uid());
    refresh_containers();
  } else if (const Container* container = find_container(*pod_->spec, event.container_name)) {
    node_.inventory.refresh(uid(), event.container, *container);
    node_.record(*pod_, event.container_name, "exited");
  }
  ask_relist();
}

void PodWorker::ask_relist() {
  relist_asked_ = true;
  relist_context_ = node_.loop.context();
  node_.relist();
}

void PodWorker::relisted() {
  if (wanted_ || !same_state(seen_, node_.inventory.state(uid()))) want_pass();
}

void PodWorker::volumes_changed() {
  if (stage_ != PodStage::active || setbacks().volume_update.pending()) return;
  setbacks().volume_update =
      node_.loop.after(node_.lane, node_.clocks.volume_update, [this] { mounts_.refresh(); });
}

void PodWorker::claims_changed() {
  if (stage_ == PodStage::active) mounts_.look_at_claims();
}

void PodWorker::probe_failed(const Container& container, std::string message) {
  node_.event(*pod_, "Warning", "Unhealthy", std::move(message), &container);
}

// The pass that follows ends it, and follows from this.
void PodWorker::tell_of_kill(ProbeKind kind, const ContainerId& id) const {
  for (const ContainerInstance& one : node_.inventory.state(uid())->containers)
    if (one.id == id && one.stage == ContainerStage::running)
      node_.record(*pod_, one.name.str(),
                   kind == ProbeKind::startup ? "failed its startup probe, is to be ended"
                                              : "failed its liveness probe, is to be ended");
}

void PodWorker::probe_changed(ProbeKind kind, const ContainerId& id, ProbeResult result) {
  if (kind != ProbeKind::readiness && result == ProbeResult::failure) tell_of_kill(kind, id);
  const PodStatus* told = writer_.told();
  if (told != nullptr && kind != ProbeKind::liveness) {
    PodStatus status = *told;
    for (auto* list : {&status.initContainerStatuses, &status.containerStatuses})
      for (ContainerStatus& seen : list->edit()) {
        if (seen.rest->containerID != concat({"containerd://", id})) continue;
        const bool good = result == ProbeResult::success && seen.state.running;
        if (kind == ProbeKind::startup)
          seen.started = good;
        else
          seen.ready = good && seen.started.value_or(false);
      }
    refresh_readiness(*pod_, status);
    tell_amended(std::move(status));
  }
  want_pass();
}

void PodWorker::want_pass() {
  wanted_ = true;
  wanted_context_ = node_.loop.context();
  if (busy_ || stage_ == PodStage::finished || stage_ == PodStage::fresh) return;
  if (node_.loop.now() < fresh_at_) return ask_relist();
  run_pass();
}

// The last address stays when the sandbox is lost.
void PodWorker::remember_addresses(const PodRuntimeState& before) {
  if (!seen_->ips.same_as(before.ips) && *seen_->ips != *before.ips) seen_.edit().ips = before.ips;
}

void PodWorker::run_pass() {
  wanted_ = false;
  busy_ = true;
  again_.cancel();
  const Cow<PodRuntimeState> before = std::exchange(seen_, node_.inventory.state(uid()));
  if (!seen_->sandbox_ready()) remember_addresses(*before);
  switch (stage_) {
    case PodStage::active:
      return sync();
    case PodStage::ending:
      return end_containers();
    case PodStage::ended:
      return write_last_status();
    case PodStage::fresh:
    case PodStage::finished:
      break;
  }
  busy_ = false;
}

void PodWorker::end_pass(bool changed, std::optional<Duration> retry) {
  busy_ = false;
  pass_.reset();
  fresh_at_ = node_.next_tick(node_.clocks.relist);
  if (changed) ask_relist();
  if (wanted_) {  // meanwhile, and not by what this pass has done
    const ContextScope of_who_wants_it(node_.loop, wanted_context_);
    ask_relist();
  }
  if (retry) look_again_after(*retry);
}

void PodWorker::look_again_after(Duration delay) {
  again_ = node_.loop.after(node_.lane, delay, [this] {
    again_ = {};  // so that who cancels it need not look for it in the loop
    want_pass();
  });
}

RestartAll PodWorker::restart_all_idle() {
  return facts().restart_all_rule ? RestartAll::idle : RestartAll::absent;
}

void PodWorker::check_deadline() {
  if (!pod_->spec->activeDeadlineSeconds || stage_ > PodStage::ending) return;
  const PodStatus* told = writer_.told();
  const std::optional<Time> since = told != nullptr && told->rest->startTime
                                        ? told->rest->startTime
                                        : pod_->status.rest->startTime;
  const Time now = node_.loop.now();
  const Time end = since.value_or(now.floor_seconds()) +
                   std::chrono::seconds(*pod_->spec->activeDeadlineSeconds);
  if (now < end) {
    Setbacks& own = setbacks();
    if (own.deadline.pending() && own.deadline_at == end) return;
    own.deadline_at = end;  // the specification's deadline may be brought forward
    own.deadline = node_.loop.at(node_.lane, end, [this] { want_pass(); });
    return;
  }
  std::optional<PodVerdict>& verdict = setbacks().verdict;
  if (verdict && verdict->reason != "DeadlineExceeded") return;
  verdict = PodVerdict{
      "DeadlineExceeded", "Pod was active on the node longer than the specified deadline", {}};
  node_.event(*pod_, "Normal", verdict->reason, verdict->message);
}

const SpecFacts& PodWorker::facts() {
  if (!facts_ || !facts_of_.same_as(pod_->spec)) {
    facts_ = node_.view.facts().of(pod_->spec);
    facts_of_ = pod_->spec;
  }
  return *facts_;
}

// What pod_status() makes of the same it makes of its own answer. Conditions of others that the API
// server shows are those of the status told, where it shows that very list; a phase that it shows
// counts where the pod has ended by it, its reason and message where the kubelet has none.
bool PodWorker::status_stays(const PodStatus& told, bool all_stopped,
                             RestartAll restart_all) const {
  const PodStatus& server = pod_->status;
  return shown_.is_whole && shown_.all_stopped == all_stopped &&
         shown_.restart_all == restart_all && shown_.sandbox_ready == seen_->sandbox_ready() &&
         has_same_addresses() && told.observedGeneration == pod_->metadata.generation &&
         told.conditions.same_as(server.conditions) && told.rest->hostIP == node_.host().ip &&
         told.rest->nominatedNodeName == server.rest->nominatedNodeName &&
         (told.phase == server.phase || (!shown_.had_ended && !is_terminal_phase(server.phase))) &&
         (!told.rest->reason.empty() || server.rest->reason.empty()) &&
         (!told.rest->message.empty() || server.rest->message.empty());
}

std::optional<PodStatus> PodWorker::compute_status(bool all_stopped, RestartAll restart_all) {
  static const Setbacks none;
  check_deadline();
  const Setbacks& met = setbacks_ ? *setbacks_ : none;
  const PodStatus* told = writer_.told();
  const bool only_seen = !setbacks_ || (met.failures.empty() && met.removed_counts.empty());
  const PodSpec& spec = *pod_->spec;
  const bool comparable = told != nullptr && shown_.is_known && shown_.spec.same_as(pod_->spec);
  const auto stay = [&](const std::vector<Container>& containers) {
    return comparable && only_seen && have_same_instances(containers, shown_.state, seen_);
  };
  const bool init_containers_stay = stay(spec.initContainers);
  const bool containers_stay = stay(spec.containers);
  const bool is_plain = only_seen && !met.verdict && !(probes() && !probes()->empty());
  if (init_containers_stay && containers_stay && is_plain &&
      status_stays(*told, all_stopped, restart_all))
    return std::nullopt;
  const HostAddresses& host = node_.host();
  const StatusInputs inputs{
      StatusSources{*pod_, facts(), *seen_, told != nullptr ? *told : pod_->status, met.failures,
                    met.removed_counts, init_containers_stay, containers_stay},
      host,
      all_stopped,
      restart_all,
      met.verdict ? &*met.verdict : nullptr,
      comparable && has_same_addresses() && told->rest->hostIP == host.ip,
      node_.loop.now(),
      node_.view.conditions(),
      [this](const Container& container, const ContainerStatus& status) {
        return probes() ? probes()->readiness(container, status) : Readiness{true, true};
      },
  };
  if (only_seen)
    shown_ = Shown{.is_known = true,
                   .is_whole = is_plain,
                   .sandbox_ready = seen_->sandbox_ready(),
                   .all_stopped = all_stopped,
                   .had_ended = is_terminal_phase(pod_->status.phase),
                   .restart_all = restart_all,
                   .spec = pod_->spec,
                   .state = seen_};
  else
    shown_ = {};
  return pod_status(inputs);
}

void PodWorker::start_probes() {
  if (!facts().has_probes || probes()) return;
  setbacks().probes = std::make_unique<PodProbes>(*this);
  probes()->start();
}

// Status first, then what is to be done. Where that is nothing the look is over.
void PodWorker::sync() {
  const ProbeLookup lookup = [this](ProbeKind kind, const ContainerId& id) {
    return probes() ? probes()->result(kind, id) : std::nullopt;
  };
  PodActions actions = plan_actions(*pod_, *seen_, lookup);
  tell_computed(false, actions.restart_all ? RestartAll::under_way : restart_all_idle());
  if (is_terminal_phase(told_status()->phase)) {
    take(PodEvent::completed);
    wanted_ = true;
    wanted_context_ = node_.loop.context();
    return end_pass(true, std::nullopt);
  }
  if (actions.empty() && mounts_.mounted()) {
    start_probes();
    return end_pass(false, std::nullopt);
  }
  pass_ = std::make_shared<SyncPass>(*this, std::move(actions));
  const std::shared_ptr<SyncPass> pass = pass_;  // it may end inside the call
  pass->begin();
}

// All that runs is stopped, whatever the last look saw: a start that was under way is over.
void PodWorker::end_containers() {
  tell_computed(false, restart_all_idle());
  if (probes()) probes()->stop_liveness_and_startup();
  mounts_.give_up();
  if (setbacks_) setbacks_->deadline.cancel();
  std::vector<StopRequest> requests;
  for (const ContainerInstance& instance : node_.inventory.state(uid())->containers) {
    if (instance.stage != ContainerStage::running) continue;
    StopRequest& request = requests.emplace_back();
    request.id = instance.id;
    request.name = instance.name;
    if (setbacks_) request.grace = setbacks_->grace;
  }
  stop_containers(node_.shared_from_this(), pod_, std::move(requests), true,
                  [this, alive = weak_from_this()] {
                    if (!alive.expired()) on_containers_ended();
                  });
}

void PodWorker::on_containers_ended() {
  const PodRuntimeState& state = *node_.inventory.state(uid());
  if (state.sandboxes.empty()) return on_sandbox_stopped();
  node_.runtime.stop_sandbox(state.sandboxes.front().id,
                             [this, alive = weak_from_this()](Result<void>) {
                               if (alive.expired()) return;
                               node_.inventory.sandbox_lost(uid());
                               on_sandbox_stopped();
                             });
}

void PodWorker::on_sandbox_stopped() {
  if (probes()) probes()->stop();
  const Cow<PodRuntimeState> before = std::exchange(seen_, node_.inventory.state(uid()));
  remember_addresses(*before);
  tell_computed(true, restart_all_idle());
  take(PodEvent::stopped);
  wanted_ = true;
  wanted_context_ = node_.loop.context();
  end_pass(true, std::nullopt);
}

void PodWorker::write_last_status() {
  std::optional<PodStatus> fresh = compute_status(true, restart_all_idle());
  // A status that stays is of this generation: to tell it again would tell nothing.
  if (fresh || !is_final(*pod_, *writer_.told())) {
    PodStatus status = fresh ? std::move(*fresh) : *writer_.told();
    make_final(*pod_, status);
    tell(std::move(status));
  }
  shown_ = {};
  take(PodEvent::cleaned);
  writer_.finish();
  node_.images.forget(uid());
  if (!node_.restarts.empty()) node_.restarts.forget(concat({uid(), "/"}));
  end_pass(false, std::nullopt);
  if (removed_) ask_relist();
}

}  // namespace ddptwin::kubelet
