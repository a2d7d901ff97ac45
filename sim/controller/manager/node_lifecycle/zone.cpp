#include "controller/manager/node_lifecycle/zone.hpp"

#include <algorithm>

namespace ddptwin::node_lifecycle {
namespace {

constexpr Duration usual_interval = std::chrono::seconds(10);
constexpr Duration secondary_interval = std::chrono::seconds(100);
constexpr std::size_t large_zone = 50;  // more nodes than that
constexpr double unhealthy_share = 0.55;
constexpr int few_nodes = 2;

std::string label_of(const Node& node, const char* key) {
  const auto found = node.metadata.labels->find(key);
  return found == node.metadata.labels->end() ? std::string() : found->second.str();
}

}  // namespace

ZoneState state_of(const ZoneCount& count) {
  if (count.ready == 0 && count.not_ready > 0) return ZoneState::full_disruption;
  const double share = static_cast<double>(count.not_ready) / (count.ready + count.not_ready);
  if (count.not_ready > few_nodes && share >= unhealthy_share) return ZoneState::partial_disruption;
  return ZoneState::normal;
}

std::string zone_of(const Node& node) {
  return label_of(node, "topology.kubernetes.io/region") + "/" +
         label_of(node, "topology.kubernetes.io/zone");
}

void EvictionQueue::set_state(ZoneState state, std::size_t nodes) {
  state_ = state;
  if (state != ZoneState::partial_disruption)
    interval_ = usual_interval;
  else if (nodes > large_zone)
    interval_ = secondary_interval;
  else
    interval_.reset();
}

void EvictionQueue::add(const std::string& node, std::uint64_t context) {
  if (taken_.insert(node).second) waiting_.push_back({node, context});
}

void EvictionQueue::remove(const std::string& node) {
  taken_.erase(node);
  std::erase_if(waiting_, [&node](const Entry& one) { return one.node == node; });
}

std::optional<EvictionQueue::Entry> EvictionQueue::take(Time now) {
  if (waiting_.empty() || !interval_ || turn_ > now) return std::nullopt;
  turn_ = now + *interval_;
  Entry entry = std::move(waiting_.front());
  waiting_.pop_front();
  return entry;
}

void EvictionQueue::put_back(Entry entry) {
  if (taken_.contains(entry.node)) waiting_.push_front(std::move(entry));
}

std::optional<Time> EvictionQueue::next_turn(Time now) const {
  if (waiting_.empty() || !interval_) return std::nullopt;
  return std::max(turn_, now);
}

}  // namespace ddptwin::node_lifecycle
