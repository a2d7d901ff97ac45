// podFailurePolicy, successPolicy, and the delay before failed pods are replaced
// (spec/trainjob.md §6.5, §6.6).
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "controller/manager/job/pods.hpp"
#include "objects/index_set.hpp"

namespace ddptwin::controller::job {

// What the policy's first matching rule says of a failed pod.
struct PolicyMatch {
  std::string_view action{};  // FailJob, FailIndex, Ignore, Count; empty: no rule matches
  std::string message{};      // of FailJob
  bool counts() const { return action != "Ignore"; }
};
PolicyMatch match_failure_policy(const JobSpec& job, const Pod& pod);

// Why the completed indexes are a success; nothing: they are not.
std::optional<std::string> match_success_policy(const JobSpec& job, const IndexSet& succeeded);

inline constexpr Duration back_off_base = std::chrono::seconds(10);
inline constexpr Duration back_off_max = std::chrono::minutes(10);

// Failures of a Job since its last success. Kept in memory only.
struct BackOffRecord {
  int failures = 0;
  std::optional<Time> last_failure{};

  // With what a sync has found: when pods ended.
  BackOffRecord after(std::vector<Time> succeeded, std::vector<Time> failed) const;
  Duration remaining(Time now) const;
};
// The delay after so many failures, counted from the last.
Duration back_off_left(int failures, Time last_failure, Time now);

}  // namespace ddptwin::controller::job
