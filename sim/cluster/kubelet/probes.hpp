// The probes of one pod: when each runs, and what its answers add up to.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "cluster/kubelet/plan.hpp"
#include "cluster/kubelet/prober.hpp"
#include "cluster/kubelet/status.hpp"

namespace ddptwin::kubelet {

// What the probes need of the pod's worker.
class ProbeHost {
 public:
  virtual ~ProbeHost() = default;
  virtual const std::shared_ptr<const Pod>& pod() const = 0;
  virtual const PodStatus* told_status() const = 0;  // as the kubelet has it; null: none yet
  virtual void probe_failed(const Container& container, std::string message) = 0;
  virtual void probe_changed(ProbeKind kind, const ContainerId& id, ProbeResult result) = 0;
};

// A worker for each probe of the specification, as upstream's prober: its ticks count from start(),
// a startup probe holds the others back, a result changes after the threshold. No timer runs for
// containers without probes. Source: spec/kubernetes.md §2.7.
class PodProbes {
 public:
  PodProbes(Loop& loop, Lane lane, Prober& prober, ProbeHost& host);
  ~PodProbes();

  void start();  // once; later calls do nothing
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
  bool started_ = false;
  Lane lane_;
  Loop& loop_;
  Prober& prober_;
  ProbeHost& host_;
};

}  // namespace ddptwin::kubelet
