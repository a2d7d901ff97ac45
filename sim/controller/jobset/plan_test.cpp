// One pass as text (spec/trainjob.md §5, §11.7).
#include "controller/jobset/plan.hpp"

#include <fmt/format.h>
#include <gmock/gmock.h>

#include "controller/jobset/conditions.hpp"
#include "controller/jobset/names.hpp"
#include "controller/jobset/objects.hpp"
#include "controller/jobset/rules.hpp"
#include "controller/jobset/webhook.hpp"

namespace ddptwin::controller::jobset::plan_test {
namespace {

using testing::Contains;
using testing::ElementsAre;
using testing::IsEmpty;
using testing::IsSupersetOf;
using testing::Not;

const Time start = Time(std::chrono::hours(1000));

ReplicatedJob group(const std::string& name, std::int32_t replicas) {
  ReplicatedJob made;
  made.name = name;
  made.groupName = "default";
  made.replicas = replicas;
  JobSpec& job = made.template_.spec.edit();
  job.parallelism = job.completions = 1;
  job.template_.spec.edit().containers = {{.name = "c", .image = "train"}};
  return made;
}

// replicated-job-a with one Job, replicated-job-b with three, as upstream's own tests have them.
std::shared_ptr<JobSet> a_set() {
  auto set = std::make_shared<JobSet>();
  set->metadata.name = "js";
  set->metadata.namespace_ = "ml";
  set->metadata.uid = "u-js";
  set->spec.edit().replicatedJobs = {group("a", 1), group("b", 3)};
  fill_in(*set);
  return set;
}

std::shared_ptr<Job> its_job(const JobSet& set, const std::string& of, std::int32_t index) {
  return job_of(set, *replicated_job_named(*set.spec, of), index, default_profile());
}

void end_with(Job& job, const std::string& type, const std::string& reason, int seconds,
              const std::string& message = {}) {
  BatchJobCondition& made = job.status.conditions.emplace_back();
  made.type_ = type;
  made.status = "True";
  made.reason = reason;
  made.message = message;
  made.lastTransitionTime = start + std::chrono::seconds(seconds);
}

Profile with_gates(std::string_view gates) {
  Profile profile = default_profile();
  EXPECT_TRUE(set_gates(gates, profile));
  return profile;
}

// All its Jobs, running and ready.
View running(const std::shared_ptr<JobSet>& set) {
  View seen{.set = set, .has_service = true};
  for (const ReplicatedJob& one : set->spec->replicatedJobs)
    for (std::int32_t i = 0; i < one.replicas; ++i) {
      auto job = its_job(*set, one.name, i);
      job->status.active = job->status.ready.emplace() = 1;
      seen.jobs.push_back(job);
    }
  return seen;
}
Job& job_in(View& seen, std::string_view name) {
  for (JobPtr& one : seen.jobs)
    if (one->metadata.name == name) {
      auto copy = std::static_pointer_cast<Job>(one->clone());
      one = copy;
      return *copy;
    }
  throw std::out_of_range(std::string(name));
}

// "create_job js-a-0", "tell FailedJobs".
std::vector<std::string> told(const Plan& plan) {
  std::vector<std::string> lines;
  for (const Step& step : plan.steps) {
    std::string about = step.text.str();
    if (step.request) about = api::name_of(*step.request).str();
    if (step.event) about = step.event->reason.str();
    lines.push_back(fmt::format("{} {}", step.rule->name, about));
  }
  return lines;
}
std::vector<std::string> steps(const View& seen, const Profile& profile = default_profile()) {
  return told(plan(seen, profile, start));
}

// The status that the plan writes; nothing: it writes none.
std::optional<JobSetStatus> written(const View& seen, const Profile& profile = default_profile()) {
  const Plan made = plan(seen, profile, start);
  for (const Step& step : made.steps)
    if (step.rule == &rules::write_status)
      return static_cast<const JobSet&>(*step.request->object).status;
  return std::nullopt;
}
// "Failed=True FailedJobs", in their order.
std::vector<std::string> conditions(const std::optional<JobSetStatus>& status) {
  std::vector<std::string> lines;
  if (status)
    for (const JobSetCondition& one : status->conditions)
      lines.push_back(fmt::format("{}={} {}", one.type_, one.status, one.reason));
  return lines;
}

void allow_restarts(JobSet& set, std::int32_t most, std::vector<JobSetFailureRule> rules = {}) {
  set.spec.edit().failurePolicy =
      JobSetFailurePolicy{.maxRestarts = most, .restartStrategy = "Recreate", .rules = rules};
}

TEST(JobSetPlan, makes_the_service_and_every_job) {
  EXPECT_THAT(steps({.set = a_set()}),
              ElementsAre("create_service js", "create_job js-a-0", "create_job js-b-0",
                          "create_job js-b-1", "create_job js-b-2", "write_status js"));
}

TEST(JobSetPlan, tells_each_job_its_place) {
  const auto set = a_set();
  const auto job = its_job(*set, "b", 1);
  const StringMap& labels = job->metadata.labels;
  EXPECT_EQ(labels.at(Text(keys::job_global_index)).view(), "2");
  EXPECT_EQ(labels.at(Text(keys::global_replicas)).view(), "4");
  EXPECT_EQ(labels.at(Text(keys::job_index)).view(), "1");
  EXPECT_EQ(labels.at(Text(keys::restart_attempt)).view(), "0");
  EXPECT_EQ(labels.at(Text(keys::job_key)).size(), 40U);
  EXPECT_EQ(job->spec->template_.spec->rest->subdomain, "js");
  EXPECT_EQ(job->spec->suspend, false);
}

TEST(JobSetPlan, numbers_jobs_within_their_group) {
  const auto set = a_set();
  JobSetSpec& spec = set->spec.edit();
  spec.replicatedJobs = {group("a", 2), group("b", 1), group("c", 2)};
  spec.replicatedJobs[0].groupName = spec.replicatedJobs[2].groupName = "g1";
  const auto job = its_job(*set, "c", 1);
  const StringMap& labels = job->metadata.labels;
  EXPECT_EQ(labels.at(Text(keys::job_group_index)).view(), "3");
  EXPECT_EQ(labels.at(Text(keys::group_replicas)).view(), "4");
  EXPECT_EQ(labels.at(Text(keys::job_global_index)).view(), "4");
}

TEST(JobSetPlan, leaves_the_jobs_of_another_controller_alone) {
  const auto set = a_set();
  set->spec.edit().managedBy = "acme.io/other";
  EXPECT_THAT(steps({.set = set}), ElementsAre("managed_elsewhere "));
}

TEST(JobSetPlan, completes_when_all_that_the_policy_means_have) {
  const auto set = a_set();
  set->spec.edit().successPolicy =
      JobSetSuccessPolicy{.operator_ = "All", .targetReplicatedJobs = {"b"}};
  View seen = running(set);
  for (const char* name : {"js-b-0", "js-b-1"}) end_with(job_in(seen, name), "Complete", "", 1);
  EXPECT_THAT(conditions(written(seen)), IsEmpty());
  end_with(job_in(seen, "js-b-2"), "Complete", "", 1);
  EXPECT_THAT(conditions(written(seen)), ElementsAre("Completed=True AllJobsCompleted"));
  EXPECT_EQ(written(seen)->terminalState, "Completed");
}

TEST(JobSetPlan, fails_without_a_policy_and_names_the_job_that_failed_first) {
  View seen = running(a_set());
  end_with(job_in(seen, "js-a-0"), "Failed", "BackoffLimitExceeded", 5);
  end_with(job_in(seen, "js-b-1"), "Failed", "BackoffLimitExceeded", 3);
  const auto status = written(seen);
  EXPECT_THAT(conditions(status), ElementsAre("Failed=True FailedJobs"));
  EXPECT_EQ(status->conditions.front().message,
            "jobset failed due to one or more job failures (first failed job: js-b-1)");
  EXPECT_EQ(status->terminalState, "Failed");
}

TEST(JobSetPlan, restarts_as_often_as_the_policy_allows) {
  const auto set = a_set();
  allow_restarts(*set, 1);
  View seen = running(set);
  end_with(job_in(seen, "js-b-1"), "Failed", "BackoffLimitExceeded", 3);
  auto status = written(seen);
  EXPECT_EQ(status->restarts, 1);
  EXPECT_EQ(status->restartsCountTowardsMax, 1);
  EXPECT_THAT(conditions(status), ElementsAre("RestartingJobSet=True DefaultFailurePolicy"));
  EXPECT_THAT(steps(seen),
              IsSupersetOf({"tell DefaultFailurePolicy", "tell RestartJobSetFailurePolicyAction"}));
  set->status = status;
  EXPECT_THAT(steps(seen), IsSupersetOf({"delete_previous js-a-0", "delete_previous js-b-2"}));
  EXPECT_THAT(steps(seen), Not(Contains("create_job js-a-0")));
  View second = running(set);
  end_with(job_in(second, "js-a-0"), "Failed", "BackoffLimitExceeded", 9);
  EXPECT_THAT(conditions(written(second)),
              ElementsAre("RestartingJobSet=False JobSetFailed", "Failed=True ReachedMaxRestarts"));
}

TEST(JobSetPlan, an_empty_policy_allows_no_restart) {
  const auto set = a_set();
  allow_restarts(*set, 0);
  View seen = running(set);
  end_with(job_in(seen, "js-a-0"), "Failed", "BackoffLimitExceeded", 3);
  EXPECT_THAT(conditions(written(seen)), ElementsAre("Failed=True ReachedMaxRestarts"));
}

TEST(JobSetPlan, the_first_rule_that_matches_wins) {
  const auto with_rules = [](std::vector<JobSetFailureRule> rules, const std::string& reason,
                             const std::string& message = {}) {
    const auto set = a_set();
    allow_restarts(*set, 5, std::move(rules));
    View seen = running(set);
    end_with(job_in(seen, "js-b-0"), "Failed", reason, 3, message);
    return conditions(written(seen));
  };
  const JobSetFailureRule fails{.name = "f", .action = "FailJobSet"},
      restarts{.name = "r", .action = "RestartJobSetAndIgnoreMaxRestarts"};
  EXPECT_THAT(with_rules({fails, restarts}, "DeadlineExceeded"),
              ElementsAre("Failed=True FailJobSetFailurePolicyAction"));
  EXPECT_THAT(with_rules({restarts, fails}, "DeadlineExceeded"),
              ElementsAre("RestartingJobSet=True FailurePolicy_r"));
  JobSetFailureRule picky = fails;
  picky.onJobFailureReasons = {"PodFailurePolicy"};
  EXPECT_THAT(with_rules({picky}, "DeadlineExceeded"),
              ElementsAre("RestartingJobSet=True DefaultFailurePolicy"));
  picky.onJobFailureReasons.clear();
  picky.targetReplicatedJobs = {"a"};
  EXPECT_THAT(with_rules({picky}, "DeadlineExceeded"),
              ElementsAre("RestartingJobSet=True DefaultFailurePolicy"));
  picky.targetReplicatedJobs.clear();
  picky.onJobFailureMessagePatterns = {"[", "exit code (3|4)"};
  EXPECT_THAT(with_rules({picky}, "PodFailurePolicy", "failed with exit code 3 matching"),
              ElementsAre("Failed=True FailJobSetFailurePolicyAction"));
  EXPECT_THAT(with_rules({picky}, "PodFailurePolicy", "failed with exit code 5 matching"),
              ElementsAre("RestartingJobSet=True DefaultFailurePolicy"));
}

TEST(JobSetPlan, uncounted_restarts_do_not_wear_out_the_policy) {
  const auto set = a_set();
  allow_restarts(*set, 0, {{.name = "r", .action = "RestartJobSetAndIgnoreMaxRestarts"}});
  View seen = running(set);
  end_with(job_in(seen, "js-b-0"), "Failed", "BackoffLimitExceeded", 3);
  EXPECT_EQ(written(seen)->restarts, 1);
  EXPECT_EQ(written(seen)->restartsCountTowardsMax, 0);
}

TEST(JobSetPlan, a_blocking_restart_waits_for_all_of_the_run_before) {
  const auto set = a_set();
  allow_restarts(*set, 1);
  set->spec.edit().failurePolicy->restartStrategy = "BlockingRecreate";
  View seen = running(set);
  set->status.emplace().restarts = 1;
  seen.jobs.erase(seen.jobs.begin() + 1, seen.jobs.end());  // js-a-0 is still there
  EXPECT_THAT(steps(seen), Contains("await_previous b"));
  EXPECT_THAT(steps(seen), Not(Contains("create_job js-b-0")));
  set->spec.edit().failurePolicy->restartStrategy = "Recreate";
  EXPECT_THAT(steps(seen), Contains("create_job js-b-0"));
}

TEST(JobSetPlan, restarting_is_over_when_all_are_ready) {
  const auto set = a_set();
  allow_restarts(*set, 1);
  JobSetStatus& status = set->status.emplace();
  JobSetCondition& told = status.conditions.emplace_back();
  told.type_ = "RestartingJobSet";
  told.status = "True";
  View seen = running(set);
  EXPECT_THAT(conditions(written(seen)), ElementsAre("RestartingJobSet=False JobsReady"));
}

TEST(JobSetPlan, waits_for_what_a_replicated_job_depends_on) {
  const auto set = a_set();
  set->spec.edit().replicatedJobs[1].dependsOn =
      std::vector{JobSetDependency{.name = "a", .status = "Ready"}};
  EXPECT_THAT(steps({.set = set}), ElementsAre("create_service js", "create_job js-a-0",
                                               "await_dependency b", "write_status js"));
  View seen{.set = set, .jobs = {its_job(*set, "a", 0)}, .has_service = true};
  EXPECT_THAT(steps(seen), Not(Contains("create_job js-b-0")));
  job_in(seen, "js-a-0").status.ready = 1;
  EXPECT_THAT(steps(seen), IsSupersetOf({"create_job js-b-0", "create_job js-b-2"}));
  set->spec.edit().replicatedJobs[1].dependsOn->front().status = "Complete";
  EXPECT_THAT(steps(seen), Not(Contains("create_job js-b-0")));
  end_with(job_in(seen, "js-a-0"), "Complete", "", 1);
  EXPECT_THAT(steps(seen), Contains("create_job js-b-0"));
}

TEST(JobSetPlan, a_dependency_on_itself_never_comes) {
  const auto set = a_set();
  set->spec.edit().replicatedJobs[1].dependsOn =
      std::vector{JobSetDependency{.name = "b", .status = "Ready"}};
  EXPECT_THAT(steps({.set = set}), Not(Contains("create_job js-b-0")));
}

TEST(JobSetPlan, in_order_one_replicated_job_after_the_other) {
  const auto set = a_set();
  set->spec.edit().startupPolicy = JobSetStartupPolicy{.startupPolicyOrder = "InOrder"};
  View seen{.set = set, .has_service = true};
  EXPECT_THAT(steps(seen), Not(Contains("create_job js-b-0")));
  EXPECT_THAT(conditions(written(seen)),
              ElementsAre("StartupPolicyInProgress=True InOrderStartupPolicyInProgress"));
  set->status = written(seen);
  seen = running(set);
  EXPECT_THAT(conditions(written(seen)),
              ElementsAre("StartupPolicyInProgress=False InOrderStartupPolicyInProgress",
                          "StartupPolicyCompleted=True InOrderStartupPolicyCompleted"));
}

TEST(JobSetPlan, suspends_what_runs_and_resumes_it_with_what_has_changed) {
  const auto set = a_set();
  set->spec.edit().suspend = true;
  View seen = running(set);
  for (JobPtr& one : seen.jobs) job_in(seen, one->metadata.name.view()).spec.edit().suspend = false;
  EXPECT_THAT(steps(seen), IsSupersetOf({"suspend_job js-a-0", "suspend_job js-b-2"}));
  EXPECT_THAT(conditions(written(seen)), ElementsAre("Suspended=True SuspendedJobs"));
  set->status = written(seen);
  for (JobPtr& one : seen.jobs) job_in(seen, one->metadata.name.view()).spec.edit().suspend = true;
  JobSetSpec& spec = set->spec.edit();
  spec.suspend = false;
  spec.replicatedJobs[0].template_.spec.edit().template_.spec.edit().nodeSelector =
      StringMap{{"pool", "p1"}};
  const Plan resumed = plan(seen, default_profile(), start);
  EXPECT_THAT(told(resumed), IsSupersetOf({"resume_job js-a-0", "resume_job js-b-2"}));
  for (const Step& step : resumed.steps) {
    if (!step.request || api::name_of(*step.request) != "js-a-0") continue;
    const Job& job = static_cast<const Job&>(*step.request->object);
    EXPECT_EQ(job.spec->template_.spec->nodeSelector.at(Text("pool")).view(), "p1");
  }
  EXPECT_THAT(conditions(written(seen)), ElementsAre("Suspended=False ResumeJobs"));
}

TEST(JobSetPlan, deletes_what_still_runs_after_its_end_and_itself_when_its_time_is_over) {
  const auto set = a_set();
  set->spec.edit().ttlSecondsAfterFinished = 5;
  JobSetCondition& end = set->status.emplace().conditions.emplace_back();
  end.type_ = "Completed";
  end.status = "True";
  end.lastTransitionTime = start - std::chrono::seconds(2);
  View seen = running(set);
  end_with(job_in(seen, "js-a-0"), "Complete", "", 1);
  EXPECT_THAT(steps(seen), ElementsAre("delete_after_end js-b-0", "delete_after_end js-b-1",
                                       "delete_after_end js-b-2", "await_ttl ", "write_status js"));
  EXPECT_EQ(plan(seen, default_profile(), start).requeue_after, std::chrono::seconds(3));
  set->status->conditions.front().lastTransitionTime = start - std::chrono::seconds(5);
  EXPECT_THAT(steps(seen), Contains("ttl_is_over js"));
}

TEST(JobSetPlan, an_attempt_that_is_no_number_stops_the_pass) {
  View seen = running(a_set());
  job_in(seen, "js-a-0").metadata.labels.edit().at(Text(keys::restart_attempt)) = Text("x");
  EXPECT_THAT(steps(seen), ElementsAre("label_is_no_number label jobset.sigs.k8s.io/"
                                       "restart-attempt of js-a-0 is no number"));
  EXPECT_TRUE(plan(seen, default_profile(), start).error);
}

TEST(JobSetPlan, restarts_a_single_job_where_its_gate_is_on) {
  const auto set = a_set();
  allow_restarts(*set, 1, {{.name = "r", .action = "RestartJob"}});
  View seen = running(set);
  end_with(job_in(seen, "js-b-1"), "Failed", "PodFailurePolicy", 3);
  EXPECT_TRUE(plan(seen, default_profile(), start).error);
  const Profile gated = with_gates("RestartJob=true");
  const auto status = written(seen, gated);
  EXPECT_EQ(status->restarts, 0);
  EXPECT_THAT(status->replicatedJobsStatus.front().jobRestarts, ElementsAre(0, 1, 0));
  EXPECT_THAT(status->replicatedJobsStatus.front().jobRestartsCountTowardsMax,
              ElementsAre(0, 1, 0));
  set->status = status;
  View second = running(set);
  end_with(job_in(second, "js-b-2"), "Failed", "PodFailurePolicy", 3);
  EXPECT_THAT(conditions(written(second, gated)), ElementsAre("Failed=True ReachedMaxRestarts"));
}

TEST(JobSetPlan, older_releases_say_nothing_of_restarting) {
  const auto set = a_set();
  allow_restarts(*set, 1);
  View seen = running(set);
  end_with(job_in(seen, "js-b-1"), "Failed", "BackoffLimitExceeded", 3);
  EXPECT_THAT(conditions(written(seen, *find_profile("v0.11"))), IsEmpty());
  EXPECT_EQ(written(seen, *find_profile("v0.11"))->restarts, 1);
}

// jobset PR 1194: what they looked at was whether the answer was a conflict.
TEST(JobSetPlan, releases_before_0_12_forget_a_status_that_was_refused) {
  const auto set = a_set();
  allow_restarts(*set, 1);
  View seen = running(set);
  end_with(job_in(seen, "js-b-1"), "Failed", "BackoffLimitExceeded", 3);
  for (const Profile& profile : profiles()) {
    const Plan made = plan(seen, profile, start);
    const auto write = std::find_if(made.steps.begin(), made.steps.end(), [](const Step& step) {
      return step.rule == &rules::write_status;
    });
    ASSERT_NE(write, made.steps.end());
    const bool forgets = profile.version != "v0.12.0";
    EXPECT_EQ(bool(write->instead), forgets) << profile.version;
    EXPECT_EQ(write->instead_unless == Reason::conflict, forgets) << profile.version;
    if (!forgets) continue;
    EXPECT_THAT(*write->instead, IsEmpty());
  }
}

TEST(JobSetConditions, a_time_moves_exactly_when_the_status_flips) {
  JobSetStatus status;
  const auto set = [&status](const char* value, const char* reason, int second) {
    JobSetCondition one;
    one.type_ = "Suspended";
    one.status = value;
    one.reason = reason;
    return set_condition(status, one, Time(std::chrono::seconds(second)));
  };
  const auto changed = [&] {
    return seconds_of(status.conditions.front().lastTransitionTime->since_epoch());
  };
  EXPECT_TRUE(set("True", "A", 1));
  EXPECT_FALSE(set("True", "A", 2));
  EXPECT_EQ(changed(), 1);
  EXPECT_TRUE(set("True", "B", 3));
  EXPECT_EQ(changed(), 1);
  EXPECT_TRUE(set("False", "B", 4));
  EXPECT_EQ(changed(), 4);
  EXPECT_TRUE(set("False", "C", 5));
  EXPECT_EQ(changed(), 4);
}

TEST(JobSetProfile, is_found_by_tag_and_release) {
  EXPECT_EQ(find_profile("v0.12")->version, "v0.12.0");
  EXPECT_EQ(find_profile("0.8.2")->version, "v0.8.2");
  EXPECT_EQ(find_profile("v0.1"), nullptr);
}

TEST(JobSetProfile, takes_the_gates_that_the_twin_has) {
  EXPECT_TRUE(with_gates("RestartJob=true,ElasticJobSet=true").elastic);
  EXPECT_FALSE(with_gates("RestartJob=false,InPlaceRestart=false").restart_job);
  Profile profile = default_profile();
  for (const char* wrong : {"Nope=true", "RestartJob", "RestartJob=yes", "InPlaceRestart=true"})
    EXPECT_FALSE(set_gates(wrong, profile)) << wrong;
}

}  // namespace
}  // namespace ddptwin::controller::jobset::plan_test
