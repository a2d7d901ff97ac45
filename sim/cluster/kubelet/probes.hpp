// The probes of one pod: when each runs, and what its answers add up to.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "cluster/kubelet/pod_host.hpp"
#include "cluster/kubelet/prober.hpp"
#include "cluster/kubelet/status.hpp"

namespace ddptwin::kubelet {

// A worker for each probe of the specification, as upstream's prober: its ticks count from start(),
// a startup probe holds the others back, a result changes after the threshold. No timer runs for
// containers without probes. Source: spec/kubernetes.md §2.7.
class PodProbes {
 public:
  explicit PodProbes(PodHost& host);
  ~PodProbes();

  void start();  // once
  void stop_liveness_and_startup();
  void stop();

  // None is at work: every container counts as started and ready once it runs.
  bool empty() const { return workers_.empty(); }
  std::optional<ProbeResult> result(ProbeKind kind, const ContainerId& id) const;
  // For the status: whether a running container counts as started and as ready. A readiness probe
  // that has not succeeded is run at once.
  Readiness readiness(const Container& container, const ContainerStatus& status);

 private:
  struct Worker;

  Worker* find(ProbeKind kind, std::string_view container) const;
  void add(ProbeKind kind, const Container& container, const Rare<Probe>& probe);
  void schedule(Worker& worker, Duration delay);
  void tick(Worker& worker);
  void look(Worker& worker);
  void adopt(Worker& worker, const ContainerId& id);
  void run(Worker& worker);
  void answered(Worker& worker, const ContainerId& id, const Result<ProbeAnswer>& answer);
  void set(Worker& worker, ProbeResult result);

  std::vector<std::unique_ptr<Worker>> workers_{};
  PodHost& host_;
};

}  // namespace ddptwin::kubelet
