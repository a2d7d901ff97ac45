// Every watch of every component is late now and then, as a controller's cache lags behind its own
// writes on a machine that has other things to do.
#pragma once

#include "core/random.hpp"
#include "scenario/world/world.hpp"

namespace ddptwin::golden {

class LateWatches final : public WorldFaults {
 public:
  explicit LateWatches(Random random) : random_(random) {}

  api::CallVerdict on_call(const api::Caller&, const api::Request&) override { return {}; }
  void on_answer(const api::Caller&, const api::Request&, const Result<api::Response>&) override {}
  // One event in four is late, by less than the recordings' settle time leaves room for. A refusal
  // is an answer and no event.
  api::EventVerdict on_event(const api::Caller&, const KindInfo&,
                             const api::WatchEvent& event) override {
    constexpr std::uint64_t one_in = 4, delay_max_ms = 50;
    api::EventVerdict verdict;
    if (event.type == api::WatchEventType::error) return verdict;
    if (random_.below(one_in) == 0)
      verdict.delay = std::chrono::milliseconds(random_.below(delay_max_ms));
    return verdict;
  }
  PodRuntime& wrap(PodRuntime& runtime) override { return runtime; }

 private:
  Random random_;
};

}  // namespace ddptwin::golden
