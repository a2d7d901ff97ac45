// One run of one scenario in virtual time: no output, no thread, nothing shared between runs, so
// that many run side by side. Repeatable: the same scenario, options and version give the same
// trace (trace_hash.hpp).
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "core/virtual_loop.hpp"
#include "core/virtual_start.hpp"
#include "scenario/faults/injector.hpp"
#include "scenario/run/engine.hpp"
#include "scenario/run/result.hpp"
#include "scenario/world/world.hpp"

namespace ddptwin {
class ModelRuntime;
}

namespace ddptwin::scenario {

struct VirtualOptions {
  std::uint64_t seed = 1;
  std::string torch{};  // a name of torch_profile_names(); empty: the scenario's
  // What os.cpu_count() says in every pod; absent: what its node has.
  std::optional<int> cpus{};
  bool hash = true;  // without it trace_hash() is 0
  // Instead of the scenario's own; even an empty plan counts where faults could have acted
  // (FaultInjector::census). Null and none in the scenario: nothing stands between the components.
  const FaultPlan* faults = nullptr;
};

class VirtualRun {
 public:
  // The scenario outlives the run. Nothing runs before start(); sinks of the trace, faults of the
  // resolver and of the runtime are put in between.
  VirtualRun(const Scenario& scenario, const VirtualOptions& options);
  ~VirtualRun();

  VirtualLoop& loop();
  World& world();
  ModelRuntime& runtime();
  Engine& engine();
  const Engine& engine() const;
  FaultInjector* injector();  // null: this run has no faults

  // The cluster starts; `ready` is called, which may add sinks that its own objects are no news to;
  // then the scenario's time begins. Errors: those of World::start().
  Status start(const std::function<void()>& ready = {});
  // Runs one callback of the loop. False: the run is over, or stuck.
  bool step();
  // Steps until it is over, and goes on until what must come true in the end has had its time:
  // invariants about rest, and after faults about progress, are judged then (invariants.hpp). The
  // error of a run that is stuck: callbacks without end at one instant. `stop` is asked before each
  // callback: true ends the run as things are.
  Result<RunResult> finish(const std::function<bool()>& stop = {});
  // As things are.
  RunResult result() const;

  std::uint64_t trace_hash() const;
  std::uint64_t records() const;
  bool stuck() const;

 private:
  struct Parts;
  bool advance();
  void come_to_rest(const std::function<bool()>& stop);

  std::unique_ptr<Parts> parts_;
};

// From start to end.
Result<RunResult> run_virtually(const Scenario& scenario, const VirtualOptions& options);

// Within this what rests is judged at rest: a job that changed is looked at again a whole time of
// rest after it was looked at (invariants::Facts::next_due).
inline constexpr Duration rest_judged_within = 2 * rest_time + std::chrono::seconds(2);

}  // namespace ddptwin::scenario
