// One look at an active pod, carried out.
#pragma once

#include <memory>
#include <vector>

#include "cluster/kubelet/pod_worker.hpp"

namespace ddptwin::kubelet {

// Volumes, then what plan_actions() decided: kills, sandbox, init containers, containers, one after
// the other. The worker owns it; its answers come to nothing once the worker is gone.
// Source: upstream SyncPod of kubelet.go and kuberuntime_manager.go.
class SyncPass : public std::enable_shared_from_this<SyncPass> {
 public:
  SyncPass(PodWorker& worker, PodActions actions);

  void begin();
  // The pod is to end: what waits for volumes waits no longer.
  void hasten();

 private:
  template <class F>
  auto guarded(F then);

  void with_volumes(PodMounts::Sources sources);
  void act();
  void restart_all();
  void remove_all();
  void kill_pod();
  void after_kill_pod();
  void kill_some();
  void create_sandbox();
  void on_sandbox(Result<SandboxStatus> status);
  void start_next();
  void on_started(const std::string& name, bool gate, StartOutcome outcome);
  void finish(bool changed, bool failed = false);

  std::weak_ptr<PodHost> alive_;  // the worker, for what comes back later
  PodWorker& worker_;
  NodeContext& node_;
  Cow<PodRuntimeState> seen_;
  PodActions actions_{};
  PodMounts::Sources volumes_{};
  std::size_t next_ = 0;
  std::shared_ptr<const Pod> pod_;  // as of the beginning
  bool changed_ = false, failed_ = false, mounting_ = false;
  std::optional<Time> until_{};  // the first back-off to end
};

}  // namespace ddptwin::kubelet
