#include "scenario/explore/trial.hpp"

#include <algorithm>

#include "scenario/faults/excuses.hpp"
#include "scenario/run/virtual_run.hpp"

namespace ddptwin::scenario {
namespace {

bool step_failed(const Engine& engine) {
  // One that was never reached ended nothing.
  return std::any_of(engine.steps().begin(), engine.steps().end(), [](const StepResult& step) {
    return step.verdict == Verdict::failed && step.ended_at.has_value();
  });
}

// A step that fails ends the run before its time: what was decided only by that end, or had time
// left by then, did not fail.
bool had_its_time(const ExpectationResult& result, const Engine& engine) {
  const auto& within = result.expectation->within;
  const Time decided = result.decided_at.value_or(engine.ended_at());
  if (decided == engine.ended_at() && step_failed(engine)) return false;
  return !within || decided - engine.started_at() >= *within;
}

std::vector<Failure> failures_of(const Engine& engine, const InvariantPolicy& kept) {
  std::vector<Failure> found;
  for (const InvariantWatch::Judged& judged : engine.invariants())
    if (judged.violation != nullptr && judged.expected.empty() &&
        !kept.off.contains(judged.row->name))
      found.push_back({std::string(judged.row->name), explain(*judged.violation),
                       judged.violation->time - engine.started_at()});
  for (const ExpectationResult& result : engine.expectations())
    if (result.verdict == Verdict::failed && had_its_time(result, engine))
      found.push_back({result.expectation->name, result.detail,
                       result.decided_at.value_or(engine.ended_at()) - engine.started_at()});
  std::stable_sort(found.begin(), found.end(),
                   [](const Failure& a, const Failure& b) { return a.at < b.at; });
  return found;
}

}  // namespace

Trial try_faults(const Scenario& scenario, const FaultPlan& plan, const TrialOptions& options) {
  Trial trial;
  const InvariantPolicy kept = options.strict ? InvariantPolicy() : kept_under(plan);
  VirtualOptions virtually;
  virtually.seed = options.seed;
  virtually.torch = options.torch;
  virtually.hash = false;
  virtually.faults = &plan;
  VirtualRun run(scenario, virtually);
  run.world().trace().add_sink(
      [&trial](const Record& record) { trial.coverage.on_record(record); });
  const Status started = run.start();
  const Result<RunResult> result =
      started ? run.finish() : Result<RunResult>(fail(Error(started.error())));
  const Engine& engine = run.engine();
  const Time end = run.loop().now();
  trial.length = end - engine.started_at();
  trial.lasted = engine.over() ? engine.ended_at() - engine.started_at() : trial.length;
  trial.records = run.records();
  if (started) trial.failures = failures_of(engine, kept);
  if (!result)
    trial.failures.push_back({std::string(stuck_failure), result.error().message, trial.length});
  trial.step_failed = step_failed(engine);
  trial.census = run.injector()->census();
  for (std::size_t i = options.own; i < plan.faults.size(); ++i) {
    const std::int64_t acted = run.injector()->acted()[i].times;
    trial.coverage.add_fault(plan.faults[i].kind, acted);
    trial.disturbed = trial.disturbed || acted > 0;
  }
  return trial;
}

std::optional<std::string> failure_text(const Result<RunResult>& run, std::string_view what) {
  if (!run) {
    const bool is_stuck = what == stuck_failure && run.error().reason == Reason::internal_error;
    return is_stuck ? std::optional(run.error().message) : std::nullopt;
  }
  for (const auto* judged : {&run->invariants, &run->expectations})
    for (const RunResult::Judged& one : *judged)
      if (one.name == what && one.verdict == Verdict::failed) return one.detail;
  return std::nullopt;
}

}  // namespace ddptwin::scenario
