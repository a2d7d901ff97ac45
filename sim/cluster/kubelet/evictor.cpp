#include "cluster/kubelet/evictor.hpp"

#include <algorithm>
#include <boost/json.hpp>

#include "cluster/kubelet/eviction.hpp"
#include "cluster/kubelet/pod_worker.hpp"
#include "objects/codec.hpp"

namespace ddptwin::kubelet {
namespace {

constexpr std::int64_t grace = 1;          // seconds; upstream immediateEvictionGracePeriodSeconds
constexpr Duration pressure_lasts = 5min;  // upstream's default evictionPressureTransitionPeriod
constexpr Duration end_look = 1s;          // upstream podCleanupPollFreq
constexpr int end_looks = 30;              // upstream podCleanupTimeout
constexpr std::string_view pressure_type = "MemoryPressure";

std::optional<std::int64_t> memory_of_node(const std::shared_ptr<const Node>& node) {
  if (!node) return std::nullopt;
  const auto found = node->status.capacity.find("memory");
  if (found == node->status.capacity.end()) return std::nullopt;
  return found->second.value();
}

bool says_pressure(const Node& node) {
  return std::any_of(
      node.status.conditions.begin(), node.status.conditions.end(),
      [](const Condition& one) { return one.type_ == pressure_type && one.status == "True"; });
}

}  // namespace

void Evictor::begin() {
  const std::shared_ptr<const Node> node = node_.view.node(node_.options.node_name);
  const std::optional<std::int64_t> memory = memory_of_node(node);
  if (!memory) return;
  // What an earlier process has said is looked at anew.
  said_ = says_pressure(*node);
  const MemoryWatch watch =
      node_.runtime.watch_memory(node_.options.node_name, *memory - free_memory_min);
  is_told_of_ = watch != MemoryWatch::silent;
  if (!is_told_of_) memory_ = Memory::watched;
  if (watch == MemoryWatch::is_short || said_) memory_is_short();
}

void Evictor::heed(const PodWorker& worker) {
  if (!worker.may_run()) return;
  if (memory_ != Memory::plenty || has_disk_limits(*worker.pod()->spec)) wait();
}

void Evictor::memory_is_short() {
  memory_ = Memory::low;
  wait();
}

std::optional<PodVerdict> Evictor::refuse(const PodSpec& spec) const {
  return short_at_ ? refuse_under_pressure(spec) : std::nullopt;
}

void Evictor::wait() {
  if (asked_ || timer_.pending()) return;
  timer_ = node_.loop.at(node_.lane, node_.next_tick(node_.clocks.eviction), [this] {
    timer_ = {};
    look();
  });
}

// Of memory all count, whatever becomes of them.
std::vector<SharedText> Evictor::asked_for() const {
  std::vector<SharedText> uids;
  for (const auto& [uid, worker] : workers_) {
    const bool limited = worker->may_be_evicted() && has_disk_limits(*worker->pod()->spec);
    if (limited || (memory_ != Memory::plenty && worker->may_run())) uids.push_back(uid);
  }
  return uids;
}

void Evictor::look() {
  std::vector<SharedText> uids = asked_for();
  if (uids.empty() && memory_ != Memory::low) return;
  asked_ = true;
  node_.runtime.usage(std::move(uids), [this, alive = node_.weak_from_this()](
                                           const Result<std::vector<PodUsage>>& usage) {
    if (alive.expired()) return;  // so has this
    asked_ = false;
    if (usage) judge(*usage);
    if (!ending_.empty()) return await_end(end_looks);
    if (memory_ == Memory::low || !asked_for().empty()) wait();
  });
}

void Evictor::judge(const std::vector<PodUsage>& usage) {
  const std::optional<Finding> found = weigh(usage);
  if (evict_over_limits(usage)) return;
  if (found && found->is_short) evict_for_memory(usage, found->available);
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

// What is short, and for how long the node says so.
std::optional<Evictor::Finding> Evictor::weigh(const std::vector<PodUsage>& usage) {
  const std::optional<std::int64_t> memory =
      memory_of_node(node_.view.node(node_.options.node_name));
  if (memory_ == Memory::plenty || !memory) return std::nullopt;
  std::int64_t used = 0;
  for (const PodUsage& one : usage) used += memory_of(one);
  const Finding found{std::max<std::int64_t>(*memory - used, 0), *memory - used < free_memory_min};
  const Time now = node_.loop.now();
  if (found.is_short) {
    short_at_ = now;
    memory_ = Memory::low;
  } else if (short_at_ && now - *short_at_ >= pressure_lasts) {
    short_at_.reset();
  }
  say_pressure();
  if (!short_at_ && !said_ && !saying_) memory_ = is_told_of_ ? Memory::plenty : Memory::watched;
  return found;
}

void Evictor::evict_for_memory(const std::vector<PodUsage>& usage, std::int64_t available) {
  ObjectReference node;
  node.kind = "Node";
  node.name = node_.options.node_name;
  node.uid = node_.options.node_name;
  node_.events.event(std::move(node), "Warning", "EvictionThresholdMet",
                     "Attempting to reclaim memory");
  struct Candidate {
    std::shared_ptr<PodWorker> worker;
    std::shared_ptr<const Pod> pod;
    MemoryUser user;
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
  const auto first = std::min_element(
      ranked.begin(), ranked.end(),
      [](const Candidate& a, const Candidate& b) { return goes_first(a.user, b.user); });
  evict(*first->worker, low_on_memory(first->user, available));
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
void Evictor::say_pressure() {
  const bool pressure = short_at_.has_value();
  const std::shared_ptr<const Node> node = node_.view.node(node_.options.node_name);
  if (pressure == said_ || saying_ || !node) return;
  saying_ = true;
  Condition condition;
  condition.type_ = pressure_type;
  condition.status = pressure ? "True" : "False";
  condition.reason = pressure ? "KubeletHasInsufficientMemory" : "KubeletHasSufficientMemory";
  condition.message = pressure ? "kubelet has insufficient memory available"
                               : "kubelet has sufficient memory available";
  condition.lastHeartbeatTime = condition.lastTransitionTime = node_.loop.now().floor_seconds();
  const Json body = {{"status", {{"conditions", boost::json::array{to_json(condition)}}}}};
  node_.client.call(api::patch(*node, api::PatchType::strategic, body, "status"),
                    [this, pressure, alive = node_.weak_from_this()](const auto& answer) {
                      if (alive.expired()) return;
                      saying_ = false;
                      if (answer) said_ = pressure;
                    });
}

}  // namespace ddptwin::kubelet
