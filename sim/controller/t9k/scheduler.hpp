// T9k's scheduler: queues with quota and priority, groups of pods that are placed together or not
// at all, preemption between queues (spec/t9k.md §14).
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "controller/controller.hpp"
#include "objects/t9k_scheduling.hpp"

namespace ddptwin::controller {

namespace t9k {

// All that one round looks at.
struct SchedulingView {
  std::vector<std::shared_ptr<const Node>> nodes{};
  std::vector<std::shared_ptr<const Pod>> pods{};  // of the whole cluster
  std::vector<std::shared_ptr<const T9kPodGroup>> groups{};
  std::vector<std::shared_ptr<const T9kQueue>> queues{};
  std::string expectation_key{};  // of placements that are asked for and not seen yet
};

// One round over all queues. Pure.
Plan schedule(const SchedulingView& seen, Time now);

// "1h", "1d12h", "500ms"; nothing: it is no duration.
std::optional<Duration> queue_duration(std::string_view text);

// Why a queue takes no pod at all; nothing: it takes them. PROPOSED (G28): over its quota it does,
// and they wait.
std::optional<std::string> refusal_of_queue(std::string_view name, const T9kQueue* queue);

}  // namespace t9k

class T9kSchedulerController final : public Controller {
 public:
  std::string_view name() const override { return "t9k-scheduler"; }
  std::vector<Watched> watches(const KindRegistry& kinds) const override;
  Reaction observe(const Change& change, const Cache& cache, Expectations& expectations,
                   Time now) override;
  Plan plan(const Key& key, const Observed& seen, Time now) const override;
};

}  // namespace ddptwin::controller
