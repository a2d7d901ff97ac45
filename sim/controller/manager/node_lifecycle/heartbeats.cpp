#include "controller/manager/node_lifecycle/heartbeats.hpp"

namespace ddptwin {

Time NodeHeartbeats::last_of(Time made, Time now) {
  if (now <= made) return now;
  return made + (now - made) / period * period;
}

void NodeHeartbeats::stop(const std::string& node, Time last) {
  if (silent_.emplace(node, last).second && listener_) listener_(node);
}

void NodeHeartbeats::resume(const std::string& node) { silent_.erase(node); }

std::optional<Time> NodeHeartbeats::silent_since(std::string_view node) const {
  const auto found = silent_.find(node);
  if (found == silent_.end()) return std::nullopt;
  return found->second;
}

}  // namespace ddptwin
