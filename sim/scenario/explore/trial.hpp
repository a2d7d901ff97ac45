// One run with faults, and what of it counts as a failure.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "scenario/explore/coverage.hpp"
#include "scenario/faults/census.hpp"
#include "scenario/language/scenario.hpp"
#include "scenario/run/result.hpp"

namespace ddptwin::scenario {

// The way to fail of a run without end at one instant.
inline constexpr std::string_view stuck_failure = "stuck";

struct Failure {
  std::string what{};  // an invariant's name, an expectation's, or stuck_failure
  std::string text{};  // what is wrong, on one line or several
  Duration at{};       // since the scenario began
  friend bool operator==(const Failure&, const Failure&) = default;
};

struct Trial {
  std::vector<Failure> failures{};  // the first of each, in their order
  bool step_failed = false;         // a step could not be taken, and the run ended there
  Duration length{};                // simulated, with the rest that is waited for in the end
  Duration lasted{};                // until the scenario's own end
  std::uint64_t records = 0;
  bool disturbed = false;  // a fault acted, and not one of the scenario's own
  Coverage coverage{};
  Census census{};
};

struct TrialOptions {
  std::uint64_t seed = 1;
  std::string torch{};  // empty: the scenario's
  bool strict = false;  // what upstream does not keep under these faults counts too
  std::size_t own = 0;  // so many faults, the first of the plan, are the scenario's and not counted
};

// A violated invariant that the scenario does not expect and upstream keeps (faults/excuses.hpp),
// an expectation that does not hold, or a run without end at one instant. Steps that cannot be
// taken are no failure: a fault may take away what they act upon.
Trial try_faults(const Scenario& scenario, const FaultPlan& plan, const TrialOptions& options);

// What is wrong where a run from a file fails in the way of that name (Failure::what); nothing: it
// does not.
std::optional<std::string> failure_text(const Result<RunResult>& run, std::string_view what);

}  // namespace ddptwin::scenario
