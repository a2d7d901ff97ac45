// Which pods the pod garbage collector takes away (spec/kubernetes.md §7).
#include <algorithm>
#include <ostream>
#include <set>

#include "bare_store.hpp"
#include "cluster/pod_gc.hpp"
#include "objects/core_v1.hpp"
#include "property.hpp"

namespace ddptwin::property {
namespace {

namespace gen = rc::gen;

constexpr Duration round = 20s;

struct PodFate {
  std::string phase{};
  int seconds = 0;  // after it the next pod is made
  bool taken_away = false;
};

void showValue(const PodFate& pod, std::ostream& out) {
  out << pod.phase << (pod.taken_away ? ", taken away" : "") << ", then " << pod.seconds << " s";
}

rc::Gen<PodFate> any_fate() {
  return gen::build<PodFate>(
      gen::set(&PodFate::phase,
               gen::element<std::string>("Pending", "Running", "Succeeded", "Failed")),
      gen::set(&PodFate::seconds, gen::element(0, 1, 2)),
      gen::set(&PodFate::taken_away, gen::weightedElement<bool>({{5, false}, {1, true}})));
}

// A cluster whose pods have phases and no kubelet.
class Pods {
 public:
  explicit Pods(std::size_t threshold) : collector_(base_.loop, base_.client, {threshold}) {}

  void start() { collector_.start(); }
  void rest(Duration duration) { base_.rest(duration); }
  std::shared_ptr<const Pod> make(const std::string& name, const std::string& phase) {
    auto pod = std::make_shared<Pod>();
    pod->metadata.name = name;
    pod->metadata.namespace_ = "default";
    Container container;
    container.name = "c";
    container.image = "busybox";
    pod->spec.edit().containers.edit().push_back(std::move(container));
    const auto made = base_.store.call(api::create(pod), "test");
    RC_ASSERT(made.has_value());
    auto with_phase = std::static_pointer_cast<Pod>(made->object->clone());
    with_phase->status.phase = phase;
    RC_ASSERT(base_.store.call(api::update(with_phase, "status"), "test").has_value());
    return base_.store.find<Pod>("default", name);
  }
  void remove(const Pod& pod) {
    api::DeleteOptions now;
    now.grace_period_seconds = 0;
    RC_ASSERT(base_.store.call(api::remove(pod, now), "test").has_value());
  }
  std::set<std::string> names() const {
    std::set<std::string> out;
    for (const auto& [key, pod] : base_.store.objects(Pod::info())) out.insert(pod->metadata.name);
    return out;
  }

 private:
  BareStore base_{};
  PodGarbageCollector collector_;
};

TEST(PodGarbageProperties, OfFinishedPodsBeyondTheThresholdTheOldestGo) {
  holds([] {
    const auto threshold = *gen::inRange<std::size_t>(0, 4).as("threshold");
    // All of them before its first look.
    const auto fates = *gen::resize(9, gen::container<std::vector<PodFate>>(any_fate())).as("pods");
    Pods pods(threshold);
    pods.start();
    std::set<std::string> unfinished;
    std::vector<std::shared_ptr<const Pod>> finished;  // the oldest first
    for (std::size_t i = 0; i < fates.size(); ++i) {
      const auto pod = pods.make("p" + std::to_string(i), fates[i].phase);
      pods.rest(std::chrono::seconds(fates[i].seconds));
      if (fates[i].taken_away)
        pods.remove(*pod);
      else if (fates[i].phase == "Succeeded" || fates[i].phase == "Failed")
        finished.push_back(pod);
      else
        unfinished.insert(pod->metadata.name);
    }
    pods.rest(2 * round);
    std::set<std::string> left = pods.names();
    for (const std::string& name : unfinished) RC_ASSERT(left.erase(name) == 1U);
    const std::size_t wanted =
        threshold == 0 ? finished.size() : std::min(threshold, finished.size());
    RC_ASSERT(left.size() == wanted);
    // Of those that were made in one second any may go.
    for (std::size_t gone = 0; gone < finished.size(); ++gone)
      for (std::size_t stays = 0; stays < gone; ++stays)
        if (!left.contains(finished[gone]->metadata.name) &&
            left.contains(finished[stays]->metadata.name))
          RC_ASSERT(finished[gone]->metadata.creationTimestamp ==
                    finished[stays]->metadata.creationTimestamp);
  });
}

}  // namespace
}  // namespace ddptwin::property
