// Looks at what the pods of a node take of it, and ends those that take too much.
#pragma once

#include <array>
#include <memory>
#include <optional>
#include <vector>

#include "cluster/kubelet/eviction.hpp"
#include "cluster/kubelet/node_context.hpp"
#include "cluster/kubelet/pod_table.hpp"
#include "cluster/kubelet/status.hpp"

namespace ddptwin::kubelet {

class PodWorker;

// Every 10 s from the start of the kubelet, for as long as there is something to look at: a pod
// with a limit on disk, or a signal (eviction.hpp) of which the node is short, or was within the
// last 5 min; where the runtime does not tell of one, any pod. A node with nothing of that has no
// timer for it. Pods that are over a limit of their own go at once; of those that share what is
// short one goes, and when it is gone the next look follows. The node says so itself, in the
// condition of the signal. Upstream's looks as often, at figures of volumes that are up to a minute
// old; before a pod goes for the disk it removes containers that have ended, which the twin does
// not count, and images, of which it knows no sizes. Source: upstream eviction_manager.go,
// synchronize and waitForPodsCleanup; spec/kubernetes.md §2.12.
class Evictor {
 public:
  using Workers = PodTable<std::shared_ptr<PodWorker>>;

  // Both outlive it.
  Evictor(NodeContext& node, const Workers& workers);

  // The Node is known, and none of its pods yet.
  void begin();
  // A pod has been taken in.
  void heed(const PodWorker& worker);
  void is_short(NodeResource what);
  // Why the node does not take such a pod now; nothing: it does.
  std::optional<PodVerdict> refuse(const PodSpec& spec) const;

 private:
  enum class State : std::uint8_t {
    plenty,   // and the runtime tells when it is so no more
    watched,  // it does not tell
    low,      // until it has not been short for 5 min
  };
  // One of signals(), and how it is with it.
  struct Watched {
    const Signal* signal = nullptr;
    State state = State::plenty;
    bool is_told_of = true;             // whether the runtime tells
    std::optional<Time> short_at{};     // when it was so last
    bool said = false, saying = false;  // that the node is under pressure
  };
  // What a look has found to be short.
  struct Finding {
    const Signal* signal = nullptr;
    std::int64_t least = 0, available = 0;
  };

  std::vector<SharedText> asked_for() const;
  void wait();
  void look();
  void judge(const std::vector<PodUsage>& usage);
  bool evict_over_limits(const std::vector<PodUsage>& usage);
  std::optional<Finding> weigh(Watched& watched, const std::vector<PodUsage>& usage);
  void rest(Watched& watched, std::int64_t limit);
  void evict_for(const Finding& found, const std::vector<PodUsage>& usage);
  void evict(PodWorker& worker, PodVerdict verdict);
  void await_end(int looks_left);
  void say_pressure(Watched& watched);
  std::optional<std::int64_t> capacity_of(const Signal& signal) const;
  bool any(State state) const;

  NodeContext& node_;
  const Workers& workers_;
  Timer timer_{};
  bool asked_ = false;  // the runtime, which has not answered yet
  std::array<Watched, signal_count> watched_{};
  std::vector<SharedText> ending_{};  // whom the last look has evicted
};

}  // namespace ddptwin::kubelet
