// One pod on its node, from the first sight of it to the end of its object.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "cluster/kubelet/admission.hpp"
#include "cluster/kubelet/container_start.hpp"
#include "cluster/kubelet/lifecycle.hpp"
#include "cluster/kubelet/mounts.hpp"
#include "cluster/kubelet/node_context.hpp"
#include "cluster/kubelet/plan.hpp"
#include "cluster/kubelet/probes.hpp"
#include "cluster/kubelet/status.hpp"
#include "cluster/kubelet/status_writer.hpp"

namespace ddptwin::kubelet {

class SyncPass;

// Looks at its pod whenever something happened: the pod changed, the runtime changed, a probe
// changed its mind, a delay is over. One look (a pass) at a time, each on a state of the runtime
// that is newer than the pass before. The stages are those of lifecycle.hpp. Source: upstream
// pod_workers.go and kubelet.go (SyncPod, SyncTerminatingPod, SyncTerminatedPod).
//
// Its first lines are what is read each time: among many pods each line of it has left the caches
// by then.
class PodWorker final : public PodHost {
 public:
  PodWorker(NodeContext& node, std::shared_ptr<const Pod> pod);
  ~PodWorker() override;

  // The first decision about the pod. A pod whose phase is terminal, or that is being deleted, is
  // ended.
  void admit();
  void reject(PodVerdict verdict);
  // A pod that an earlier kubelet process has refused is left as it is.
  bool was_rejected() const;
  void let_be();

  void pod_changed(std::shared_ptr<const Pod> pod);
  void pod_removed(std::shared_ptr<const Pod> last);
  // The kubelet ends the pod itself; `grace` in seconds, absent: the pod's own.
  void evict(PodVerdict verdict, std::optional<std::int64_t> grace);
  void runtime_event(const RuntimeEvent& event);
  // Whether it has asked for a look at the runtime since the last call, and the context in which.
  bool take_relist() { return std::exchange(relist_asked_, false); }
  std::uint64_t relist_context() const { return relist_context_; }
  // The runtime has been looked at.
  void relisted();
  // A ConfigMap or Secret that its volumes show has changed.
  void volumes_changed();
  void claims_changed();

  PodStage stage() const { return stage_; }
  // Nothing is left to do and the object is gone.
  bool is_over() const { return stage_ == PodStage::finished && removed_; }
  // Holds resources of the node: until nothing of it runs any more, or its object is gone, by
  // force too. Source: upstream filterOutInactivePods of what podManager has,
  // isPodStatusCacheTerminal.
  bool occupies() const;
  // For as long as its pod stays as it is.
  PodClaim claim() { return {*pod_->spec, facts().resources->requests}; }

  const PodStatus* told_status() const override { return writer_.told(); }
  bool may_run() const override { return stage_ < PodStage::ended; }
  bool may_be_evicted() const { return stage_ < PodStage::ending; }
  void probe_failed(const Container& container, std::string message) override;
  void probe_changed(ProbeKind kind, const ContainerId& id, ProbeResult result) override;

 private:
  friend class SyncPass;

  const SharedText& uid() const { return pod_->metadata.uid; }
  void take(PodEvent event);
  void refresh_containers();
  void remember_addresses(const PodRuntimeState& before);
  void ask_relist();
  void want_pass();
  void run_pass();
  void end_pass(bool changed, std::optional<Duration> retry);
  void look_again_after(Duration delay);

  const SpecFacts& facts();
  // What is to be told() next; nothing where that is what was told last.
  std::optional<PodStatus> compute_status(bool all_stopped, RestartAll restart_all);
  void tell_computed(bool all_stopped, RestartAll restart_all) {
    if (std::optional<PodStatus> fresh = compute_status(all_stopped, restart_all))
      tell(std::move(*fresh));
  }
  // Whether a status worked out now would be that one.
  bool status_stays(const PodStatus& told, bool all_stopped, RestartAll restart_all) const;
  // Whether what was told last shows the addresses of the last look.
  bool has_same_addresses() const {
    return shown_.state.same_as(seen_) || shown_.state->ips.same_as(seen_->ips);
  }
  void tell(PodStatus&& status) { writer_.set(*pod_, std::move(status)); }
  // What was told last, but for what has changed since that status was worked out.
  void tell_amended(PodStatus&& status) {
    shown_.is_whole = false;
    tell(std::move(status));
  }
  void tell_of_kill(ProbeKind kind, const ContainerId& id) const;
  void check_deadline();
  RestartAll restart_all_idle();

  void sync();
  void end_containers();
  void on_containers_ended();
  void on_sandbox_stopped();
  void write_last_status();

  // What most pods have nothing of.
  struct Setbacks {
    std::optional<PodVerdict> verdict{};
    StartFailures failures{};
    RemovedCounts removed_counts{};
    std::optional<std::int64_t> grace{};  // of an eviction
    Timer deadline{}, volume_update{};
    Time deadline_at{};
    std::unique_ptr<PodProbes> probes{};  // null: it has none, or they have not begun
  };
  Setbacks& setbacks() {
    if (!setbacks_) setbacks_ = std::make_unique<Setbacks>();
    return *setbacks_;
  }
  PodProbes* probes() const { return setbacks_ ? setbacks_->probes.get() : nullptr; }
  void start_probes();

  PodStage stage_ = PodStage::fresh;
  bool removed_ = false;
  bool wanted_ = false, busy_ = false, relist_asked_ = false;
  std::uint64_t relist_context_ = 0, wanted_context_ = 0;  // of the newest of each
  Cow<PodRuntimeState> seen_{};                            // the runtime as of the last look
  Time fresh_at_{};  // from when on a pass sees what the one before has done
  Timer again_{};    // dropped when it fires
  StatusWriter writer_;

  // What the statuses of containers told last show, where no more than that went into them.
  struct Shown {
    bool is_known = false;
    // What else the whole status was worked out of, where it has been told as it was.
    bool is_whole = false;
    bool sandbox_ready = false, all_stopped = false;
    bool had_ended = false;  // by the phase that the API server showed
    RestartAll restart_all = RestartAll::absent;
    Cow<PodSpec> spec{};
    Cow<PodRuntimeState> state{};
  };
  Shown shown_{};
  std::shared_ptr<const SpecFacts> facts_{};
  Cow<PodSpec> facts_of_{};
  std::unique_ptr<Setbacks> setbacks_{};

  std::shared_ptr<SyncPass> pass_{};
  PodMounts mounts_;
};

}  // namespace ddptwin::kubelet
