// Looks at what the pods of a node take of it, and ends those that take too much.
#pragma once

#include <memory>
#include <optional>
#include <vector>

#include "cluster/kubelet/node_context.hpp"
#include "cluster/kubelet/pod_table.hpp"
#include "cluster/kubelet/status.hpp"

namespace ddptwin::kubelet {

class PodWorker;

// Every 10 s from the start of the kubelet, for as long as there is something to look at: a pod
// with a limit on disk, or memory that is short, or was within the last 5 min; where the runtime
// does not tell of memory, any pod. A node with nothing of that has no timer for it. Pods that are
// over a limit of their own go at once; of those that share short memory one goes, and when it is
// gone the next look follows. The node says so itself, in its condition MemoryPressure.
// Upstream's looks as often, at figures of volumes that are up to a minute old. Source: upstream
// eviction_manager.go, synchronize and waitForPodsCleanup; spec/kubernetes.md §2.12.
class Evictor {
 public:
  using Workers = PodTable<std::shared_ptr<PodWorker>>;

  // Both outlive it.
  Evictor(NodeContext& node, const Workers& workers) : node_(node), workers_(workers) {}

  // The Node is known, and none of its pods yet.
  void begin();
  // A pod has been taken in.
  void heed(const PodWorker& worker);
  void memory_is_short();
  // Why the node does not take such a pod now; nothing: it does.
  std::optional<PodVerdict> refuse(const PodSpec& spec) const;

 private:
  enum class Memory : std::uint8_t {
    plenty,   // and the runtime tells when it is so no more
    watched,  // it does not tell
    low,      // until it has not been short for 5 min
  };
  // What a look has found about the memory.
  struct Finding {
    std::int64_t available = 0;
    bool is_short = false;
  };

  std::vector<SharedText> asked_for() const;
  void wait();
  void look();
  void judge(const std::vector<PodUsage>& usage);
  bool evict_over_limits(const std::vector<PodUsage>& usage);
  std::optional<Finding> weigh(const std::vector<PodUsage>& usage);
  void evict_for_memory(const std::vector<PodUsage>& usage, std::int64_t available);
  void evict(PodWorker& worker, PodVerdict verdict);
  void await_end(int looks_left);
  void say_pressure();

  NodeContext& node_;
  const Workers& workers_;
  Timer timer_{};
  bool asked_ = false;  // the runtime, which has not answered yet
  Memory memory_ = Memory::plenty;
  bool is_told_of_ = true;              // whether the runtime tells
  std::optional<Time> short_at_{};      // when it was so last
  bool said_ = false, saying_ = false;  // that it is under pressure
  std::vector<SharedText> ending_{};    // whom the last look has evicted
};

}  // namespace ddptwin::kubelet
