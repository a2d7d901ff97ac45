#include "cluster/kubelet/container_stop.hpp"

#include <algorithm>

#include "cluster/kubelet/restart_policy.hpp"

namespace ddptwin::kubelet {
namespace {

std::int64_t grace_period(const Pod& pod, const Container& container, const StopRequest& request) {
  if (request.grace) return *request.grace;
  if (pod.metadata.deletionGracePeriodSeconds) return *pod.metadata.deletionGracePeriodSeconds;
  const Rare<Probe>& probe =
      request.because == ProbeKind::startup ? container.startupProbe : container.livenessProbe;
  if (request.because && probe && probe->terminationGracePeriodSeconds)
    return *probe->terminationGracePeriodSeconds;
  return pod.spec->terminationGracePeriodSeconds.value_or(grace_min);
}

// Whose turn it is: 0 all but sidecars, then the sidecars from the last to the first.
std::size_t turn_of(const PodSpec& spec, const std::string& name) {
  std::size_t turn = 0;
  for (const Container& container : spec.initContainers) {
    if (!is_sidecar(container)) continue;
    if (turn > 0) ++turn;
    if (container.name == name) turn = 1;
  }
  return turn;
}

class StopJob : public std::enable_shared_from_this<StopJob> {
 public:
  StopJob(std::shared_ptr<NodeContext> node, std::shared_ptr<const Pod> pod, bool ordered,
          Callback done)
      : node_(node), pod_(std::move(pod)), ordered_(ordered), done_(std::move(done)) {}

  void begin(std::vector<StopRequest> requests) {
    for (StopRequest& request : requests) {
      const Container* container = find_container(*pod_->spec, request.name);
      if (container == nullptr) continue;
      Item& item = items_.emplace_back();
      item.container = container;
      item.grace = grace_period(*pod_, *container, request);
      item.turn = ordered_ ? turn_of(*pod_->spec, request.name) : 0;
      item.request = std::move(request);
    }
    left_ = items_.size();
    if (left_ == 0) return done_();
    const std::shared_ptr<NodeContext> node = node_.lock();
    for (std::size_t i = 0; node && i < items_.size(); ++i) {
      const ContextScope of_this_container(node->loop);
      begin(i);
    }
  }

 private:
  struct Item {
    StopRequest request{};
    const Container* container = nullptr;  // a part of pod_
    std::int64_t grace = 0;                // what is left
    std::size_t turn = 0;
    Time since{};  // of what it waits for now
    bool hooked = false, waiting = false, ended = false;
    Timer timer{};
  };

  const std::optional<LifecycleHandler>& hook_of(const Item& item) const {
    static const std::optional<LifecycleHandler> none;
    return item.container->lifecycle ? item.container->lifecycle->preStop : none;
  }

  void begin(std::size_t index) {
    Item& item = items_[index];
    const std::shared_ptr<NodeContext> node = node_.lock();
    std::string message = item.request.message;
    if (message.empty()) message = "Stopping container " + item.request.name;
    node->event(*pod_, "Normal", "Killing", std::move(message), item.container);
    item.since = node->loop.now();
    const auto& hook = hook_of(item);
    if (!hook || item.grace <= 0) return wait_for_turn(index);
    Duration limit = std::chrono::seconds(item.grace);
    if (hook->sleep) limit = std::min<Duration>(limit, std::chrono::seconds(hook->sleep->seconds));
    item.timer = node->loop.after(node->lane, limit,
                                  [self = shared_from_this(), index] { self->hook_over(index); });
    if (hook->sleep) return;
    const std::string ip = first_ip(*node);
    node->prober.hook(ProbeSubject{*pod_, *item.container, item.request.id, ip}, *hook,
                      [self = shared_from_this(), index](Result<void> result) {
                        self->hook_answered(index, result);
                      });
  }

  std::string first_ip(const NodeContext& node) const {
    const std::vector<std::string>& ips = node.inventory.state(pod_->metadata.uid)->ips;
    return ips.empty() ? std::string() : ips.front();
  }

  // It may answer long after it was given up.
  void hook_answered(std::size_t index, const Result<void>& result) {
    const std::shared_ptr<NodeContext> node = node_.lock();
    if (!node) return;
    if (!result)
      node->event(*pod_, "Warning", "FailedPreStopHook", "PreStopHook failed",
                  items_[index].container);
    hook_over(index);
  }

  void hook_over(std::size_t index) {
    Item& item = items_[index];
    if (item.hooked) return;
    item.hooked = true;
    item.timer.cancel();
    spend(item);
    wait_for_turn(index);
  }

  void spend(Item& item) {
    const std::shared_ptr<NodeContext> node = node_.lock();
    if (!node) return;
    const Time now = node->loop.now();
    item.grace -= std::chrono::floor<std::chrono::seconds>(now - item.since).count();
    item.since = now;
  }

  bool is_turn(const Item& item) const {
    return std::all_of(items_.begin(), items_.end(),
                       [&](const Item& other) { return other.turn >= item.turn || other.ended; });
  }

  void wait_for_turn(std::size_t index) {
    Item& item = items_[index];
    const std::shared_ptr<NodeContext> node = node_.lock();
    if (!node) return;
    if (is_turn(item) || item.grace <= 0) return stop(index);
    item.waiting = true;
    item.timer = node->loop.after(node->lane, std::chrono::seconds(item.grace),
                                  [self = shared_from_this(), index] { self->turn_came(index); });
  }

  void turn_came(std::size_t index) {
    Item& item = items_[index];
    if (!item.waiting) return;
    item.waiting = false;
    item.timer.cancel();
    spend(item);
    stop(index);
  }

  void stop(std::size_t index) {
    Item& item = items_[index];
    const std::shared_ptr<NodeContext> node = node_.lock();
    if (!node) return;
    node->record(*pod_, item.request.name, "stop");
    node->runtime.stop_container(
        item.request.id, std::max(item.grace, grace_min),
        [self = shared_from_this(), index](Result<void>) { self->ended(index); });
  }

  void ended(std::size_t index) {
    const std::shared_ptr<NodeContext> node = node_.lock();
    if (!node) return;
    Item& item = items_[index];
    item.ended = true;
    node->inventory.refresh(pod_->metadata.uid, item.request.id, *item.container);
    for (std::size_t i = 0; i < items_.size(); ++i) {
      const ContextScope of_this_container(node->loop);
      if (items_[i].waiting && is_turn(items_[i])) turn_came(i);
    }
    if (--left_ == 0) done_();
  }

  std::weak_ptr<NodeContext> node_;  // gone when the kubelet's process is
  std::shared_ptr<const Pod> pod_;
  bool ordered_;
  Callback done_;
  std::vector<Item> items_{};
  std::size_t left_ = 0;
};

}  // namespace

void stop_containers(const std::shared_ptr<NodeContext>& node, std::shared_ptr<const Pod> pod,
                     std::vector<StopRequest> requests, bool ordered, Callback done) {
  if (requests.empty()) return done();
  const auto job = std::make_shared<StopJob>(node, std::move(pod), ordered, std::move(done));
  job->begin(std::move(requests));
}

}  // namespace ddptwin::kubelet
