// What the recordings job-invalid-*, job-immutable-fields and job-suspended-* do not ask.
#include "objects/validation_batch_v1.hpp"

#include <gmock/gmock.h>

namespace ddptwin::validation_batch_v1_test {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

std::shared_ptr<Job> a_job(const char* mode = "NonIndexed") {
  auto job = std::make_shared<Job>();
  job->metadata.name = "j";
  job->metadata.namespace_ = "default";
  job->metadata.uid = "u";
  JobSpec& spec = job->spec.edit();
  spec.completions = 3;
  spec.parallelism = 3;
  spec.completionMode = mode;
  PodSpec& pod = spec.template_.spec.edit();
  pod.restartPolicy = "Never";
  pod.containers = {{.name = "c", .image = "app:1"}};
  return job;
}

std::vector<std::string> problems(const ErrorList& errors) {
  std::vector<std::string> told;
  for (const ErrorCause& one : errors) told.push_back(one.field + ": " + one.message);
  return told;
}

std::vector<std::string> problems_of(const std::shared_ptr<Job>& job) {
  default_job(*job);
  generate_selector(*job);
  return problems(validate_job(*job));
}

// Of an update the causes stand twice where they are of the Job itself; the message does not.
std::vector<std::string> problems_of_update(const Job& now, const Job& then) {
  return problems(validate_job_update(now, then));
}

TEST(JobDefaults, hang_together) {
  auto job = a_job("Indexed");
  job->spec.edit().backoffLimitPerIndex = 1;
  EXPECT_THAT(problems_of(job), IsEmpty());
  EXPECT_EQ(job->spec->backoffLimit, 2147483647);
  EXPECT_EQ(job->spec->podReplacementPolicy, "TerminatingOrFailed");
  auto with_policy = a_job();
  with_policy->spec.edit().podFailurePolicy.emplace().rules = {
      {.action = "Ignore", .onPodConditions = {{"DisruptionTarget", ""}}}};
  EXPECT_THAT(problems_of(with_policy), IsEmpty());
  EXPECT_EQ(with_policy->spec->podReplacementPolicy, "Failed");
  EXPECT_EQ(with_policy->spec->podFailurePolicy->rules[0].onPodConditions[0].status, "True");
  EXPECT_EQ(with_policy->spec->backoffLimit, 6);
}

TEST(JobValidation, success_policies_name_what_there_is) {
  auto job = a_job("Indexed");
  job->spec.edit().successPolicy.emplace().rules = {{"0-5", {}}, {"1", 2}, {{}, {}}};
  EXPECT_THAT(problems_of(job),
              ElementsAre("spec.successPolicy.rules[0].succeededIndexes: Invalid value: \"0-5\": "
                          "error parsing succeededIndexes: too large index: \"5\"",
                          "spec.successPolicy.rules[1].succeededCount: Invalid value: 2: must be "
                          "less than or equal to 1 (the number of indexes in the specified "
                          "succeededIndexes field)",
                          "spec.successPolicy.rules[2]: Required value: at least one of "
                          "succeededCount or succeededIndexes must be specified"));
}

TEST(JobValidation, failure_rules_are_about_codes_or_conditions) {
  auto job = a_job();
  PodFailurePolicyRule codes;
  codes.action = "FailJob";
  codes.onExitCodes = OnExitCodes{"other", "In", {3, 0}};
  PodFailurePolicyRule none;
  none.action = "Count";
  job->spec.edit().podFailurePolicy.emplace().rules = {codes, none};
  EXPECT_THAT(
      problems_of(job),
      ElementsAre("spec.podFailurePolicy.rules[0].onExitCodes.containerName: Invalid value: "
                  "\"other\": must be one of the container or initContainer names in the pod "
                  "template",
                  "spec.podFailurePolicy.rules[0].onExitCodes.values[1]: Invalid value: 0: must "
                  "not be 0 for the In operator",
                  "spec.podFailurePolicy.rules[0].onExitCodes.values: Invalid value: [3,0]: must "
                  "be ordered",
                  "spec.podFailurePolicy.rules[1]: Invalid value: specifying one of OnExitCodes "
                  "and OnPodConditions is required"));
}

TEST(JobUpdate, what_may_change_of_a_running_job) {
  auto then = a_job("Indexed");
  ASSERT_THAT(problems_of(then), IsEmpty());
  then->status.startTime = Time(1s);
  Job now = *then;
  now.spec.edit().parallelism = 2;
  now.spec.edit().backoffLimit = 1;
  now.spec.edit().suspend = true;
  now.spec.edit().ttlSecondsAfterFinished = 7;
  EXPECT_THAT(problems_of_update(now, *then), IsEmpty());
  now.spec.edit().completions = 2;  // with parallelism
  EXPECT_THAT(problems_of_update(now, *then), IsEmpty());
  now.spec.edit().parallelism = 3;
  EXPECT_THAT(problems_of_update(now, *then),
              ElementsAre("spec.completions: Invalid value: 2: can only be modified in tandem with "
                          "spec.parallelism"));
}

TEST(JobUpdate, of_the_template_only_where_it_waits) {
  auto then = a_job();
  then->spec.edit().suspend = true;
  ASSERT_THAT(problems_of(then), IsEmpty());
  Job now = *then;
  now.spec.edit().template_.spec.edit().nodeSelector = StringMap{{"pool", "gpu"}};
  EXPECT_THAT(problems_of_update(now, *then), IsEmpty());
  then->status.startTime = Time(1s);  // it has run, and its pods are not gone
  now.status.startTime = Time(1s);
  EXPECT_THAT(problems_of_update(now, *then),
              ElementsAre("spec.template: Invalid value: <dump>: field is immutable"));
}

}  // namespace
}  // namespace ddptwin::validation_batch_v1_test
