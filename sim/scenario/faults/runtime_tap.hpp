// Knows which containers run, by name, and tells when one starts and what it prints: a PodRuntime
// between the kubelets and theirs.
#pragma once

#include <functional>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "runtime/runtime.hpp"

namespace ddptwin::scenario {

struct RunningContainer {
  ContainerId id{};
  std::string namespace_{}, pod{}, name{}, node{};
  bool is_of(std::string_view wanted) const;  // "pod" or "namespace/pod"
};

// Passes everything on, unchanged and in its order. What it tells is told on the container's lane,
// in the midst of the kubelet's own work: a listener acts later.
class RuntimeTap final : public PodRuntime {
 public:
  using OnStart = std::function<void(const RunningContainer&)>;
  // `recorded`: somebody who listens has written it to the trace; no kubelet may be there to do so.
  using OnLine =
      std::function<void(const RunningContainer&, const std::string& line, bool recorded)>;
  using Records = std::function<std::uint64_t()>;  // how many the trace has

  // `next` outlives the tap.
  RuntimeTap(PodRuntime& next, OnStart on_start, OnLine on_line, Records records);

  // The node's machine ends: of what runs there nobody will know how it ended (as containerd says
  // of a container whose task it does not find: 255, Unknown).
  void lose(const std::string& node);
  // And nothing is left of its pods' sandboxes, but of one with a container that was made and has
  // not begun: there a kubelet would make no new one for a pod that never restarts
  // (computePodActions), and it would hang for ever.
  void end_sandboxes(const std::string& node);

  // In the order of their ids.
  const std::map<ContainerId, RunningContainer>& running() const { return running_; }

  void run_sandbox(SandboxOrder order, Done<SandboxStatus> done) override;
  void stop_sandbox(const SandboxId& id, Done<void> done) override;
  void remove_sandbox(const SandboxId& id) override;
  bool is_ready(const SandboxId& id) const override;
  std::optional<ImageStatus> image(const std::string& reference) override;
  void pull_image(const std::string& reference, const SandboxMetadata& sandbox,
                  Done<ImageStatus> done) override;
  void create_container(const SandboxId& sandbox, ContainerOrder order,
                        Done<ContainerId> done) override;
  void start_container(const ContainerId& id, Done<void> done) override;
  void stop_container(const ContainerId& id, std::int64_t grace_period, Done<void> done) override;
  void remove_container(const ContainerId& id) override;
  void exec(const ContainerId& id, std::vector<std::string> command, Duration timeout,
            Done<ExecResult> done) override;
  const ContainerReport* report(const ContainerId& id) const override;
  std::string log_tail(const ContainerId& id, std::size_t lines, std::size_t bytes) const override;
  void update_volume(const std::string& pod_uid,
                     std::shared_ptr<const VolumeSource> source) override;
  void usage(std::vector<SharedText> pod_uids, Done<std::vector<PodUsage>> done) override;
  NodeWatch watch_node(const std::string& node, NodeResource resource, std::int64_t bytes) override;
  void listen(std::function<void(const RuntimeEvent&)> listener) override;

 private:
  void on_event(const RuntimeEvent& event);

  PodRuntime& next_;
  OnStart on_start_;
  OnLine on_line_;
  Records records_;
  std::map<SandboxId, RunningContainer> sandboxes_{};     // its pod and node
  std::map<ContainerId, RunningContainer> containers_{};  // created, not yet removed
  std::map<ContainerId, RunningContainer> running_{};
  std::set<ContainerId> lost_{};
  mutable ContainerReport of_lost_{};  // what was told last of one of them
  std::vector<std::function<void(const RuntimeEvent&)>> listeners_{};
  std::shared_ptr<int> alive_ = std::make_shared<int>(0);
};

}  // namespace ddptwin::scenario
