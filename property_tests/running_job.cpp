#include "running_job.hpp"

#include <boost/json.hpp>

namespace ddptwin::property {

JobShape plain_shape() {
  JobShape shape = *job_shape().as("job");
  shape.empty_worker = false;
  shape.backoff_limit = -1;
  shape.active_deadline_seconds = 0;
  shape.ttl_seconds = -1;
  return shape;
}

std::uint64_t any_seed() { return *gen::inRange<std::uint64_t>(1, 10'000).as("seed"); }

std::string policy_of(const JobShape& shape) {
  return shape.restart_policy.empty() ? "OnFailure" : shape.restart_policy;
}

bool is_old(const Profile& profile) { return profile.version == "v1.7.0"; }

Names expected_names(const JobShape& shape, int workers) {
  Names names;
  if (shape.master) names.insert("j-master-0");
  for (int i = 0; i < workers; ++i) names.insert("j-worker-" + std::to_string(i));
  return names;
}

std::map<std::string, std::string> uids_of(const std::map<std::string, ClusterRun::PodPtr>& pods) {
  std::map<std::string, std::string> uids;
  for (const auto& [name, pod] : pods) uids[name] = pod->metadata.uid.str();
  return uids;
}

void log_job(const ClusterRun& run) {
  RC_LOG() << "True:";
  for (const std::string& type : run.conditions(true)) RC_LOG() << " " << type;
  RC_LOG() << "; False:";
  for (const std::string& type : run.conditions(false)) RC_LOG() << " " << type;
  RC_LOG() << "; pods:";
  for (const auto& [name, pod] : run.pods())
    RC_LOG() << " " << name << " " << pod->status.phase << " " << pod->metadata.uid.view() << ",";
  RC_LOG() << "\n";
}

void check_counters(const ClusterRun& run) {
  std::map<std::string, int> running;
  for (const auto& [name, pod] : run.pods())
    if (pod->status.phase == "Running" && !pod->metadata.deletionTimestamp)
      ++running[name.find("-master-") != std::string::npos ? "Master" : "Worker"];
  for (const auto& [type, counters] : *run.job()->status->replicaStatuses)
    RC_ASSERT(counters.active == running[type]);
}

void start(ClusterRun& run, const JobShape& shape) {
  RC_PRE(run.create(shape));
  run.rest(start_up);
  RC_PRE(!run.pods().empty());  // v1.7 crashes on some jobs
  log_job(run);
  RC_ASSERT(names_of(run.pods()) == expected_names(shape, shape.workers));
  RC_ASSERT(names_of(run.services()) == expected_names(shape, shape.workers));
  for (const auto& [name, pod] : run.pods()) RC_ASSERT(pod->status.phase == "Running");
  RC_ASSERT(run.conditions(true) == (Names{"Created", "Running"}));
  RC_ASSERT(run.conditions(false).empty());
  RC_ASSERT(run.job()->status->startTime.has_value());
  check_counters(run);
}

void suspend(ClusterRun& run, bool suspended) {
  run.patch_job(boost::json::object{{"spec", {{"runPolicy", {{"suspend", suspended}}}}}});
  run.rest(settling);
  log_job(run);
}

}  // namespace ddptwin::property
