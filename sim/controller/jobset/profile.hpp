// The versions of JobSet that the twin can be, and in what they differ (spec/trainjob.md §5.11).
#pragma once

#include <span>
#include <string_view>

namespace ddptwin::controller::jobset {

struct Profile {
  std::string_view version;  // "v0.12.0"

  bool finds_jobs_by_uid = true;  // of their owner, from v0.11; before by its name
  bool groups = true;             // groupName, labels of groups and of the uid; many dependencies
  bool message_patterns = true;   // onJobFailureMessagePatterns, from v0.10
  bool claim_policies = true;     // volumeClaimPolicies, from v0.11
  bool priority_label = true;     // of pods, from v0.11: exclusive among those of equal priority
  bool tells_restarting = true;   // condition RestartingJobSet, from v0.12
  // Also after a refusal that is no conflict, from v0.12 (PR 1194): before, the status was lost.
  bool writes_status_again = true;
  bool refuses_as_invalid = true;  // 422 with causes, from v0.12; before 403 with a text

  // Feature gates of v0.12; older releases do not know them.
  bool restart_job = false;  // RestartJob: actions that make a single Job anew
  bool elastic = false;      // ElasticJobSet: parallelism and completions may change
};

// Oldest first: v0.8.2, v0.10.1, v0.11.1, v0.12.0.
std::span<const Profile> profiles();
// By tag ("v0.12.0", "0.12.0") or release ("v0.12"); null when there is none such.
const Profile* find_profile(std::string_view version);
// v0.12.0: what a scenario gets that names none.
const Profile& default_profile();

// "RestartJob=true,ElasticJobSet=false", as --feature-gates takes it; whether that is a list of
// gates that the twin has.
bool set_gates(std::string_view gates, Profile& to);

}  // namespace ddptwin::controller::jobset
