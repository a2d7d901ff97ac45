// The agent of one node: keeps the pods that are bound to it as their specifications say.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "api/client.hpp"
#include "cluster/kubelet/options.hpp"
#include "cluster/kubelet/status.hpp"
#include "core/trace.hpp"
#include "runtime/runtime.hpp"

namespace ddptwin::kubelet {

// Watches its pods (field selector spec.nodeName), runs them over a PodRuntime and writes their
// statuses and Events, in the words and in the order of a kubelet v1.36 with default settings. A
// pod without a change costs nothing: no timer runs for it but those of its probes. Source:
// spec/kubernetes.md §2; README.md in this folder tells what is left out.
class Kubelet {
 public:
  Kubelet(Loop& loop, api::ApiClient& client, Trace& trace, PodRuntime& runtime,
          KubeletOptions options);
  ~Kubelet();

  void start();
  // The process ends: nothing is watched, written or restarted any more; what runs goes on.
  void stop();
  // A new process in place of the old one. It finds the runtime as it is; back-offs, probe results
  // and unwritten statuses are lost.
  void restart();

  // Ends a pod as an eviction does: phase Failed with that reason and message. False: no such pod.
  // `grace` in seconds; absent: the pod's own.
  bool evict(std::string_view namespace_, std::string_view name, PodVerdict verdict,
             std::optional<std::int64_t> grace = std::nullopt);

  // Ends all its pods, each within its own grace period or `grace` seconds, whichever is shorter,
  // as one that is told of its machine's shutdown (upstream pkg/kubelet/nodeshutdown, with one
  // period for pods of every priority).
  void shut_down(std::int64_t grace);

  const std::string& node_name() const;
  bool running() const;
  // The uids of which its process keeps something, in any order: none while it does not run, and at
  // rest none of pods that are gone.
  std::vector<std::string> remembered() const;
  std::size_t pod_count() const;  // that it knows, finished ones included

 private:
  class Process;
  struct Machine;  // what outlives the process: options, inventory of the runtime

  std::unique_ptr<Machine> machine_;
  std::unique_ptr<Process> process_;
};

}  // namespace ddptwin::kubelet
