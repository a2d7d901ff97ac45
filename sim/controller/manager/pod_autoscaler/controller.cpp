#include "controller/manager/pod_autoscaler/controller.hpp"

#include "controller/manager/pod_autoscaler/look.hpp"

namespace ddptwin::controller {

using namespace pod_autoscaler;

std::vector<Watched> PodAutoscalerController::watches(const KindRegistry& kinds) const {
  std::vector<Watched> watched{{&HorizontalPodAutoscaler::info(), {}}, {&Pod::info(), {}}};
  for (const KindInfo* kind : kinds.all())
    if (kind->scale) watched.push_back({kind, {}});
  return watched;
}

// Whatever changes of it, it waits for its turn; so does one that comes under a name that was.
Reaction PodAutoscalerController::observe(const Change& change, const Cache&, Expectations&, Time) {
  if (as<HorizontalPodAutoscaler>(change.object()) == nullptr) return {};
  Reaction reaction = Reaction::to_wake(parts_of(change.object()));
  reaction.wake_after = sync_period;
  return reaction;
}

Plan PodAutoscalerController::plan(const Key& key, const Observed& seen, Time now) const {
  const KeyParts parts = split_key(key);
  scaling_.erase(key);
  auto about = seen.cache.find<HorizontalPodAutoscaler>(parts.namespace_, parts.name);
  if (!about) {
    memory_.erase(key);
    return {};
  }
  Look look(about, seen.cache, metrics_, memory_, now);
  Plan plan = std::move(look).run();
  if (const auto scaling = look.scaling())
    scaling_.insert_or_assign(key,
                              Scaling{Behavior::of(*about), scaling->first, scaling->second, now});
  return plan;
}

void PodAutoscalerController::accepted(const Key& key, const Step& step, const api::Response&) {
  const auto found = scaling_.find(key);
  if (step.rule != &looks::scale_target || found == scaling_.end()) return;
  const Scaling& done = found->second;
  note_change(memory_[key], done.behavior, done.before, done.after, done.at);
  scaling_.erase(found);
}

void PodAutoscalerController::reset() {
  memory_.clear();
  scaling_.clear();
}

}  // namespace ddptwin::controller
