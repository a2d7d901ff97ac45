#include "cluster/kubelet/evictor.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <boost/json.hpp>

#include "cluster/kubelet/pod_worker.hpp"
#include "objects/codec.hpp"

namespace ddptwin::kubelet {
namespace {

constexpr std::int64_t grace = 1;          // seconds; upstream immediateEvictionGracePeriodSeconds
constexpr Duration pressure_lasts = 5min;  // upstream's default evictionPressureTransitionPeriod
constexpr Duration end_look = 1s;          // upstream podCleanupPollFreq
constexpr int end_looks = 30;              // upstream podCleanupTimeout

bool says(const Node& node, std::string_view type) {
  return std::any_of(
      node.status.conditions.begin(), node.status.conditions.end(),
      [type](const Condition& one) { return one.type_ == type && one.status == "True"; });
}

}  // namespace

Evictor::Evictor(NodeContext& node, const Workers& workers) : node_(node), workers_(workers) {
  for (std::size_t i = 0; i < signal_count; ++i) watched_[i].signal = &signals()[i];
}

// Nothing: the node does not say.
std::optional<std::int64_t> Evictor::capacity_of(const Signal& signal) const {
  const std::shared_ptr<const Node> node = node_.view.node(node_.options.node_name);
  if (!node) return std::nullopt;
  const auto found = node->status.capacity.find(signal.resource);
  if (found == node->status.capacity.end()) return std::nullopt;
  return found->second.value();
}

// Whether any is not in plenty, or low.
bool Evictor::any(State state) const {
  return std::any_of(watched_.begin(), watched_.end(),
                     [state](const Watched& one) { return one.state >= state; });
}

void Evictor::begin() {
  for (Watched& one : watched_) {
    const std::optional<std::int64_t> capacity = capacity_of(*one.signal);
    if (!capacity) continue;
    // What an earlier process has said is looked at anew.
    one.said = says(*node_.view.node(node_.options.node_name), one.signal->condition);
    const NodeWatch watch = node_.runtime.watch_node(node_.options.node_name, one.signal->what,
                                                     *capacity - one.signal->least(*capacity));
    one.is_told_of = watch != NodeWatch::silent;
    if (!one.is_told_of) one.state = State::watched;
    if (watch == NodeWatch::is_short || one.said) is_short(one.signal->what);
  }
}

void Evictor::heed(const PodWorker& worker) {
  if (!worker.may_run()) return;
  if (any(State::watched) || has_disk_limits(*worker.pod()->spec)) wait();
}

void Evictor::is_short(NodeResource what) {
  for (Watched& one : watched_)
    if (one.signal->what == what) one.state = State::low;
  wait();
}

std::optional<PodVerdict> Evictor::refuse(const PodSpec& spec) const {
  std::vector<const Signal*> pressures;
  for (const Watched& one : watched_)
    if (one.short_at) pressures.push_back(one.signal);
  return refuse_under(pressures, spec);
}

void Evictor::wait() {
  if (asked_ || timer_.pending()) return;
  timer_ = node_.loop.at(node_.lane, node_.next_tick(node_.clocks.eviction), [this] {
    timer_ = {};
    look();
  });
}

// Of what they share all count, whatever becomes of them.
std::vector<SharedText> Evictor::asked_for() const {
  std::vector<SharedText> uids;
  for (const auto& [uid, worker] : workers_) {
    const bool limited = worker->may_be_evicted() && has_disk_limits(*worker->pod()->spec);
    if (limited || (any(State::watched) && worker->may_run())) uids.push_back(uid);
  }
  return uids;
}

void Evictor::look() {
  std::vector<SharedText> uids = asked_for();
  if (uids.empty() && !any(State::low)) return;
  asked_ = true;
  node_.runtime.usage(std::move(uids), [this, alive = node_.weak_from_this()](
                                           const Result<std::vector<PodUsage>>& usage) {
    if (alive.expired()) return;  // so has this
    asked_ = false;
    if (usage) judge(*usage);
    if (!ending_.empty()) return await_end(end_looks);
    if (any(State::low) || !asked_for().empty()) wait();
  });
}

void Evictor::judge(const std::vector<PodUsage>& usage) {
  std::optional<Finding> first;
  for (Watched& one : watched_) {
    const std::optional<Finding> found = weigh(one, usage);
    if (!first) first = found;
  }
  if (evict_over_limits(usage)) return;
  if (first) evict_for(*first, usage);
}

bool Evictor::evict_over_limits(const std::vector<PodUsage>& usage) {
  for (const PodUsage& one : usage) {
    const auto at = workers_.find(one.pod_uid);
    if (at == workers_.end() || !at->second->may_be_evicted()) continue;
    const std::shared_ptr<const Pod> pod = at->second->pod();
    std::optional<PodVerdict> verdict = over_disk_limit(*pod->spec, one);
    if (verdict && !is_critical(*pod->spec)) evict(*at->second, std::move(*verdict));
  }
  return !ending_.empty();
}

void Evictor::evict(PodWorker& worker, PodVerdict verdict) {
  const std::shared_ptr<const Pod> pod = worker.pod();
  const ContextScope of_this_pod(node_.loop);
  node_.event(*pod, "Warning", verdict.reason, verdict.message);
  ending_.push_back(pod->metadata.uid);
  worker.evict(std::move(verdict), grace);
}

// Whether it is short, and for how long the node says so.
std::optional<Evictor::Finding> Evictor::weigh(Watched& watched,
                                               const std::vector<PodUsage>& usage) {
  const Signal& signal = *watched.signal;
  const std::optional<std::int64_t> capacity = capacity_of(signal);
  if (watched.state == State::plenty || !capacity) return std::nullopt;
  std::int64_t used = 0;
  for (const PodUsage& one : usage) used += signal.of_pod(one);
  const std::int64_t least = signal.least(*capacity);
  const bool is_short = *capacity - used < least;
  const Time now = node_.loop.now();
  if (is_short) {
    watched.short_at = now;
    watched.state = State::low;
  } else if (watched.short_at && now - *watched.short_at >= pressure_lasts) {
    watched.short_at.reset();
  }
  say_pressure(watched);
  if (!watched.short_at && !watched.said && !watched.saying) rest(watched, *capacity - least);
  if (!is_short) return std::nullopt;
  return Finding{&signal, least, std::max<std::int64_t>(*capacity - used, 0)};
}

// It is not short, as far as the node knows.
void Evictor::rest(Watched& watched, std::int64_t limit) {
  watched.state = watched.is_told_of ? State::plenty : State::watched;
  if (watched.is_told_of && node_.runtime.watch_node(node_.options.node_name, watched.signal->what,
                                                     limit) == NodeWatch::is_short)
    watched.state = State::low;
}

void Evictor::evict_for(const Finding& found, const std::vector<PodUsage>& usage) {
  ObjectReference node;
  node.kind = "Node";
  node.name = node_.options.node_name;
  node.uid = node_.options.node_name;
  node_.events.event(std::move(node), "Warning", "EvictionThresholdMet",
                     fmt::format("Attempting to reclaim {}", found.signal->resource));
  struct Candidate {
    std::shared_ptr<PodWorker> worker;
    std::shared_ptr<const Pod> pod;
    PodUser user;
  };
  std::vector<Candidate> ranked;
  for (const PodUsage& one : usage) {
    const auto at = workers_.find(one.pod_uid);
    if (at == workers_.end() || !at->second->may_be_evicted()) continue;
    const std::shared_ptr<const Pod> pod = at->second->pod();
    if (is_critical(*pod->spec)) continue;
    ranked.push_back({at->second, pod, {&*pod->spec, &one}});
  }
  if (ranked.empty()) return;
  const auto first = std::min_element(ranked.begin(), ranked.end(),
                                      [&found](const Candidate& a, const Candidate& b) {
                                        return goes_first(*found.signal, a.user, b.user);
                                      });
  evict(*first->worker, low_on(*found.signal, first->user, found.least, found.available));
}

// Then the next look follows at once.
void Evictor::await_end(int looks_left) {
  const bool ended = std::all_of(ending_.begin(), ending_.end(), [this](const SharedText& uid) {
    const auto at = workers_.find(uid);
    return at == workers_.end() || !at->second->may_run();
  });
  if (ended || looks_left == 0) {
    ending_.clear();
    return look();
  }
  timer_ = node_.loop.after(node_.lane, end_look, [this, looks_left] {
    timer_ = {};
    await_end(looks_left - 1);
  });
}

// The taint follows from it (controller/manager/node_lifecycle).
void Evictor::say_pressure(Watched& watched) {
  const bool pressure = watched.short_at.has_value();
  const std::shared_ptr<const Node> node = node_.view.node(node_.options.node_name);
  if (pressure == watched.said || watched.saying || !node) return;
  watched.saying = true;
  const Signal::Words& words = pressure ? watched.signal->under : watched.signal->without;
  Condition condition;
  condition.type_ = watched.signal->condition;
  condition.status = pressure ? "True" : "False";
  condition.reason = words.reason;
  condition.message = words.message;
  condition.lastHeartbeatTime = condition.lastTransitionTime = node_.loop.now().floor_seconds();
  const Json body = {{"status", {{"conditions", boost::json::array{to_json(condition)}}}}};
  node_.client.call(api::patch(*node, api::PatchType::strategic, body, "status"),
                    [&watched, pressure, alive = node_.weak_from_this()](const auto& answer) {
                      if (alive.expired()) return;
                      watched.saying = false;
                      if (answer) watched.said = pressure;
                    });
}

}  // namespace ddptwin::kubelet
