// What the parts of a pod's worker need of it.
#pragma once

#include <memory>
#include <string>
#include <utility>

#include "cluster/kubelet/plan.hpp"
#include "objects/core_v1.hpp"

namespace ddptwin::kubelet {

struct NodeContext;

// The worker itself, seen from its probes, its volumes and the writer of its status. What is to
// come back to it later holds it weakly.
class PodHost : public std::enable_shared_from_this<PodHost> {
 public:
  PodHost(NodeContext& node, std::shared_ptr<const Pod> pod) : pod_(std::move(pod)), node_(node) {}
  virtual ~PodHost() = default;

  // As of the last sight of it.
  const std::shared_ptr<const Pod>& pod() const { return pod_; }
  NodeContext& node() const { return node_; }
  virtual const PodStatus* told_status() const = 0;  // as the kubelet has it; null: none yet
  // Whether containers of the pod may still run.
  virtual bool may_run() const = 0;
  virtual void probe_failed(const Container& container, std::string message) = 0;
  virtual void probe_changed(ProbeKind kind, const ContainerId& id, ProbeResult result) = 0;

 protected:
  std::shared_ptr<const Pod> pod_;
  NodeContext& node_;
};

}  // namespace ddptwin::kubelet
