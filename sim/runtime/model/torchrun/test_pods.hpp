// Pods with torchrun in them, for tests: no kubelet, no store, only processes, network and names on
// a virtual loop. Process 1 of each pod holds the container, so that an agent's end is not the
// pod's, as in the measurements of spec/ddp-semantics.md §4.4.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "core/virtual_loop.hpp"
#include "runtime/model/kernel.hpp"

namespace ddptwin::torchrun {

class Pods {
 public:
  struct Line {
    Duration at{};
    std::string pod{};
    std::string text{};
  };
  struct End {
    Duration at{};
    model::ExitStatus status{};
  };

  Pods(const model::TorchProfile& torch, std::uint64_t seed);
  ~Pods();

  // What the script that torchrun starts does, unless it is a program that needs no description
  // (`described` is false); before add().
  model::Workload workload{};
  bool described = true;
  std::vector<std::string> command{"torchrun", "train.py"};

  // pod-0, pod-1, ... with addresses in that order, whose names resolve.
  void add(int count);
  // A new agent in the pod: the command with these variables.
  void start(int pod, const model::Environment& environment);
  // All agents of the pod and their workers are killed, as with the pod.
  void kill_pod(int pod);
  void signal_agent(int pod, int number);
  void signal_worker(int pod, int number, int local_rank = 0);

  Duration now() const { return loop_.now() - begin_; }
  void run(Duration duration) { loop_.run_until(loop_.now() + duration); }
  // When it came true, looking every 10 ms; nothing after `limit`.
  std::optional<Duration> until(const std::function<bool()>& holds, Duration limit);

  bool agent_runs(int pod) const;
  // Of the pod's last agent.
  const std::optional<End>& agent_end(int pod) const;
  // The living worker of a local rank; null: none. A worker is a process with a RANK.
  const model::Process* worker(int pod, int local_rank = 0) const;
  int workers(int pod) const;  // living ones, orphans too
  std::string worker_env(int pod, std::string_view name, int local_rank = 0) const;

  const std::vector<Line>& lines() const { return lines_; }
  // The first line of the pod since then that has the text in it.
  std::optional<Duration> line(int pod, std::string_view text, Duration since = {}) const;
  bool printed(int pod, std::string_view text, Duration since = {}) const {
    return line(pod, text, since).has_value();
  }
  std::string log(int pod) const;
  model::Network& network() { return kernel_->network(); }
  static std::string ip(int pod) { return "10.77.0." + std::to_string(10 + pod); }

 private:
  class Holder;
  struct Pod {
    model::ModelPod state{};
    model::ModelContainer container{};
    model::ProcessId holder = 0;
    model::ProcessId agent = 0;
    std::optional<End> end{};
  };
  const Pod& pod(int number) const { return *pods_.at(static_cast<std::size_t>(number)); }

  Time begin_;
  VirtualLoop loop_;
  Image image_{};
  std::vector<std::unique_ptr<Pod>> pods_{};
  std::vector<Line> lines_{};
  std::unique_ptr<model::Kernel> kernel_;
};

}  // namespace ddptwin::torchrun
