// What the runtime of one node holds, by pod.
#pragma once

#include <string>

#include "cluster/kubelet/pod_table.hpp"
#include "cluster/kubelet/runtime_state.hpp"

namespace ddptwin::kubelet {

// Stands for the runtime's own lists of sandboxes and containers: it belongs to the node, not to
// the kubelet's process, and therefore survives a restart of the kubelet (spec/kubernetes.md §2.1).
// Of each container the last two instances are kept, as a kubelet's garbage collection does.
class Inventory {
 public:
  explicit Inventory(PodRuntime& runtime) : runtime_(runtime) {}

  void add_sandbox(const SharedText& uid, SandboxState sandbox);
  void sandbox_lost(const SharedText& uid);
  // Reads anew what the runtime says of the pod's sandbox.
  void refresh_sandbox(const SharedText& uid);
  void add_container(const SharedText& uid, ContainerInstance instance);
  // Reads anew what the runtime says of a container. `container`: its specification.
  void refresh(const SharedText& uid, const ContainerId& id, const Container& container);
  // Removes all containers of the pod from the runtime, the sandbox stays.
  void remove_containers(const SharedText& uid);
  void remove_pod(const SharedText& uid);

  // What a look at the runtime shows; empty of an unknown pod. Until another pod comes or goes; a
  // copy stays as it is.
  const Cow<PodRuntimeState>& state(const SharedText& uid) const;
  using Pods = PodTable<Cow<PodRuntimeState>>;
  const Pods& pods() const { return pods_; }

 private:
  // Null: there is none.
  Cow<PodRuntimeState>* find_pod(const SharedText& uid);

  PodRuntime& runtime_;
  Pods pods_{};
};

}  // namespace ddptwin::kubelet
