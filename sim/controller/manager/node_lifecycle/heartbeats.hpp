// Which nodes are heard of: what a cluster tells by a Lease for each node, which its kubelet renews
// (spec/kubernetes.md §2.12). Nobody writes Leases here, for a run of a day would be full of them.
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>

#include "core/time.hpp"

namespace ddptwin {

// A node that nobody calls silent is heard of all the time.
class NodeHeartbeats {
 public:
  using Listener = std::function<void(const std::string& node)>;

  // A kubelet renews its Lease every ten seconds, from its node's making on.
  static constexpr Duration period = std::chrono::seconds(10);
  // The last heartbeat of a node that was made then and falls silent now.
  static Time last_of(Time made, Time now);

  // Nothing is heard of the node after `last`. Of one that is silent already this changes nothing.
  void stop(const std::string& node, Time last);
  void resume(const std::string& node);
  // When a silent node was last heard of; nothing: it is not silent.
  std::optional<Time> silent_since(std::string_view node) const;
  // Hears of each node that falls silent. One listener, who outlives what it is told.
  void listen(Listener listener) { listener_ = std::move(listener); }

 private:
  std::map<std::string, Time, std::less<>> silent_{};
  Listener listener_{};
};

}  // namespace ddptwin
