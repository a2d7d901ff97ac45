// A job whose pods all run on a machine where nothing goes wrong, and what is looked at: the place
// to which the laws of jobs put theirs.
#pragma once

#include <map>
#include <set>
#include <string>

#include "cluster_run.hpp"
#include "property.hpp"

namespace ddptwin::property {

using Profile = controller::pytorchjob::Profile;
using Names = std::set<std::string>;

inline constexpr Duration start_up = 15s;
inline constexpr Duration settling = 50s;  // a grace period of 30 s, and what follows it
inline constexpr int run_cost = 5;

// Without limits and time to live: what the property is about decides alone.
JobShape plain_shape();
std::uint64_t any_seed();
std::string policy_of(const JobShape& shape);
bool is_old(const Profile& profile);  // v1.7.0

Names expected_names(const JobShape& shape, int workers);
template <class T>
Names names_of(const std::map<std::string, T>& objects) {
  Names names;
  for (const auto& [name, object] : objects) names.insert(name);
  return names;
}
std::map<std::string, std::string> uids_of(const std::map<std::string, ClusterRun::PodPtr>& pods);

void log_job(const ClusterRun& run);
// Of a job that is not over: the counters are the pods'.
void check_counters(const ClusterRun& run);
// Makes the job and waits until its pods run.
void start(ClusterRun& run, const JobShape& shape);
// Suspends or resumes it, and waits until it has settled.
void suspend(ClusterRun& run, bool suspended);

}  // namespace ddptwin::property
