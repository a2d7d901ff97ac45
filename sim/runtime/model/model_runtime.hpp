// PodRuntime whose containers are modelled: DDP workers, torchrun, and the small programs around
// them, as state machines on any loop (README.md). Nothing in it waits for a process or reads a
// clock.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "runtime/images/image.hpp"
#include "runtime/model/network.hpp"
#include "runtime/model/program.hpp"
#include "runtime/model/resolver.hpp"
#include "runtime/model/workload.hpp"
#include "runtime/process_choice.hpp"
#include "runtime/runtime.hpp"

namespace ddptwin {

class ModelRuntime final : public PodRuntime {
 public:
  struct Options {
    model::Model model{};    // which PyTorch, which machine
    model::Lookup lookup{};  // null: no name has an address but those of /etc/hosts
    // How many CPUs a node has, by its name; null: each as many as `model` says.
    std::function<int(const std::string& node)> cpus{};
    bool step_lines = true;  // false: steps and checkpoints print nothing, for speed
    // A connection of a pod failed and it is known why: called in the context of that, and what
    // the pod's container does goes on in the context that is left. Pods by "namespace/name", one
    // that is no more by its address.
    struct BrokenConnection {
      std::string from{}, to{};
      std::string_view how{};  // "is refused", "was closed"
    };
    std::function<void(const BrokenConnection&)> connection_broke{};
  };

  ModelRuntime(Loop& loop, Random random, Options options);
  ~ModelRuntime() override;
  ModelRuntime(const ModelRuntime&) = delete;

  // Makes the image known under a reference, or under all tags where that has none; an exact
  // reference goes first. What only a process could run in it is modelled by
  // `workload`.
  void add_image(const std::string& reference, Image image,
                 std::optional<model::Workload> workload = {});
  // No registry has it, whatever is known of its other tags.
  void add_missing_image(const std::string& reference);

  // A signal to a process of a container that runs (fault injection, `kill` steps). NotFound: there
  // is no such process.
  void signal_container(const ContainerId& id, int number, const ProcessChoice& choice,
                        Done<void> done);
  // Whether a signal would reach the main process: it may have ended a moment ago, and nobody has
  // heard of it yet.
  bool is_alive(const ContainerId& id) const;
  // The main process of a container that runs ends by itself with that code.
  void exit_container(const ContainerId& id, int code, Done<void> done);
  // The sandbox is lost with all that runs in it.
  void sandbox_dies(const SandboxId& id);

  // Links between pods, by their addresses.
  model::Network& network();
  // Of the sandbox that a pod has now; empty: none.
  std::string address_of(const std::string& pod_uid) const;
  // The sandbox that a pod has now; empty: none.
  SandboxId sandbox_of(const std::string& pod_uid) const;

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
  struct Parts;
  std::unique_ptr<Parts> parts_;
};

}  // namespace ddptwin
