// One pass as text, what is remembered between two, and what no scenario can bring about
// (spec/t9k.md §5 to §15).
#include "controller/t9k/plan.hpp"

#include <fmt/format.h>
#include <gmock/gmock.h>

#include <functional>

#include "controller/t9k/rules.hpp"
#include "controller/t9k/status.hpp"
#include "objects/codec.hpp"
#include "objects/kinds.hpp"

namespace ddptwin::controller::t9k::plan_test {
namespace {

using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;

std::shared_ptr<PyTorchTrainingJob> a_job(int replicas = 3,
                                          const std::string& policy = "OnFailure") {
  auto job = std::make_shared<PyTorchTrainingJob>();
  job->metadata.name = "j";
  job->metadata.namespace_ = "ml";
  job->metadata.uid = "u-j";
  PyTorchTrainingJobReplicas& group = job->spec.edit().replicaSpecs.emplace_back();
  group.type_ = "worker";
  group.replicas = replicas;
  group.restartPolicy = policy;
  group.template_.spec.edit().containers = {{.name = "pytorch", .image = "train"}};
  return job;
}

// The job, its objects and the clock: each pass is carried out, as an API server would.
class Bench {
 public:
  explicit Bench(std::shared_ptr<PyTorchTrainingJob> job) : job_(std::move(job)) {}

  // Rules of one pass, in their order.
  std::vector<std::string> pass() {
    View seen;
    seen.job = job_;
    seen.pods = pods_;
    seen.services = services_;
    seen.has_pod_group = has_group_;
    seen.tensorboard = board_;
    seen.expectation_key = "ml/j";
    const Plan made = plan(seen, now_);
    requeue_after_ = made.requeue_after;
    std::vector<std::string> rules;
    for (const Step& step : made.steps) {
      rules.emplace_back(step.rule->name);
      if (step.request) carry_out(*step.request);
    }
    return rules;
  }
  // Until nothing is to be done.
  void settle() {
    for (int i = 0; i < 20 && !pass().empty(); ++i) continue;
  }

  // The pod of that index gets that phase, and its container that exit code.
  void becomes(int index, const std::string& phase, std::optional<int> code = std::nullopt) {
    auto& pod = pods_.at(name_of(index));
    auto now = std::static_pointer_cast<Pod>(pod->clone());
    now->status.phase = phase;
    if (code) {
      ContainerStatus status;
      status.name = now->spec->containers[0].name;
      status.state.terminated.edit().exitCode = *code;
      now->status.containerStatuses = std::vector{status};
    }
    pod = now;
  }
  void all_become(const std::string& phase) {
    for (int i = 0; i < sum_of(targets(*job_->spec)); ++i) becomes(i, phase);
  }
  void is_being_deleted(int index) {
    auto& pod = pods_.at(name_of(index));
    auto now = std::static_pointer_cast<Pod>(pod->clone());
    now->metadata.deletionTimestamp = now_;
    pod = now;
  }
  void vanishes(int index) { pods_.erase(name_of(index)); }
  void all_vanish() { pods_.clear(); }
  void after(Duration time) { now_ = now_ + time; }
  void edit(const std::function<void(PyTorchTrainingJobSpec&)>& change) {
    auto changed = std::static_pointer_cast<PyTorchTrainingJob>(job_->clone());
    change(changed->spec.edit());
    job_ = changed;
  }
  void pause(bool on) {
    edit([on](PyTorchTrainingJobSpec& spec) {
      if (!spec.runMode) spec.runMode.emplace();
      if (!spec.runMode->pause) spec.runMode->pause.emplace();
      spec.runMode->pause->enabled = on;
    });
  }

  const PyTorchTrainingJobStatus& status() const { return *job_->status; }
  const TaskReplica& replica(int index) const {
    return status().tasks.front().replicas.at(static_cast<std::size_t>(index));
  }
  std::string phase() const { return status().phase; }
  std::string condition(std::string_view type) const {
    const TrainingCondition* one = status().condition(type);
    return one == nullptr ? "none" : one->status + " " + one->reason + " " + one->message;
  }
  bool has_pod(int index) const { return pods_.contains(name_of(index)); }
  std::string uid(int index) const { return pods_.at(name_of(index))->metadata.uid.str(); }
  std::size_t pod_count() const { return pods_.size(); }
  std::size_t service_count() const { return services_.size(); }
  std::optional<Duration> requeue_after() const { return requeue_after_; }
  std::string name_of(int index) const { return replica_name(*job_, "worker", index); }
  // A deletion that the API server carries out at once; else the pod goes on ending.
  bool deletes_at_once = true;
  // The process ends before that many requests of a pass.
  int crashes_before = 1000;

 private:
  void carry_out(const api::Request& request) {
    if (crashes_before-- <= 0) return;
    if (request.verb == api::Verb::update) {
      job_ = std::static_pointer_cast<const PyTorchTrainingJob>(request.object);
      return;
    }
    const std::string name = api::name_of(request).str();
    if (request.verb == api::Verb::remove) {
      services_.erase(request.target.kind == &Service::info() ? name : "");
      if (request.target.kind != &Pod::info()) return;
      const auto found = pods_.find(name);
      if (found == pods_.end()) return;
      EXPECT_EQ(request.remove->precondition_uid, found->second->metadata.uid.str());
      if (deletes_at_once) {
        pods_.erase(found);
      } else {
        auto ending = std::static_pointer_cast<Pod>(found->second->clone());
        ending->metadata.deletionTimestamp = now_;
        found->second = ending;
      }
      return;
    }
    const std::shared_ptr<Object> made = request.object->clone();
    made->metadata.uid = fmt::format("u-{}", ++uids_);
    if (auto pod = std::dynamic_pointer_cast<Pod>(made)) {
      pod->status.phase = "Pending";
      EXPECT_FALSE(pods_.contains(name)) << name;
      pods_[name] = pod;
    } else if (auto service = std::dynamic_pointer_cast<Service>(made)) {
      services_[name] = service;
    } else if (auto board = std::dynamic_pointer_cast<TensorBoard>(made)) {
      board_ = board;
    } else {
      has_group_ = true;
    }
  }

  std::shared_ptr<const PyTorchTrainingJob> job_;
  std::map<std::string, std::shared_ptr<const Pod>, std::less<>> pods_{};
  std::map<std::string, std::shared_ptr<const Service>, std::less<>> services_{};
  std::shared_ptr<const TensorBoard> board_{};
  bool has_group_ = false;
  Time now_{std::chrono::hours(1)};
  int uids_ = 0;
  std::optional<Duration> requeue_after_{};
};

Bench running(std::shared_ptr<PyTorchTrainingJob> job) {
  Bench bench(std::move(job));
  bench.settle();
  bench.all_become("Running");
  bench.settle();
  return bench;
}

TEST(PyTorchTrainingJobPlan, services_first_then_the_status_then_pods) {
  Bench bench(a_job(2));
  EXPECT_THAT(bench.pass(), ElementsAre("create_service", "create_service", "write_status",
                                        "created", "create_missing_pod", "create_missing_pod"));
  EXPECT_EQ(bench.phase(), "Pending");
  EXPECT_EQ(bench.status().aggregate.creating, 2);
  EXPECT_EQ(bench.condition("Initialized"), "none");
  EXPECT_THAT(bench.pass(), ElementsAre("write_status", "initialized"));
  EXPECT_EQ(bench.condition("Initialized"), "True - The job has been initialized successfully.");
  EXPECT_EQ(bench.condition("ReplicaFailure"), "False - All pods are running normally.");
  EXPECT_EQ(bench.status().aggregate.pending, 2);
}

// T-125.
TEST(PyTorchTrainingJobPlan, writes_no_status_twice) {
  Bench bench = running(a_job());
  EXPECT_EQ(bench.phase(), "Running");
  const auto since = bench.status().condition("Running")->lastTransitionTime;
  bench.after(10s);
  EXPECT_THAT(bench.pass(), IsEmpty());
  bench.becomes(1, "Succeeded", 0);
  EXPECT_THAT(bench.pass(), ElementsAre("write_status"));
  EXPECT_EQ(bench.status().condition("Running")->lastTransitionTime, since);
}

TEST(PyTorchTrainingJobPlan, a_failed_pod_is_counted_before_it_goes) {
  Bench bench = running(a_job());
  const std::string old = bench.uid(1);
  bench.becomes(1, "Failed", 1);
  EXPECT_THAT(bench.pass(),
              ElementsAre("write_status", "restart_replica", "replica_failed", "replace_pod"));
  EXPECT_EQ(bench.status().backoffCount, 1);
  EXPECT_EQ(bench.status().tasks.front().restartCount, 1);
  EXPECT_EQ(bench.replica(1).lastRestartedUID, old);
  EXPECT_EQ(
      bench.condition("ReplicaFailure"),
      fmt::format("True ReplicaFailure Replica {} failed with exit code 1.", bench.name_of(1)));
  EXPECT_FALSE(bench.has_pod(1));
  EXPECT_THAT(bench.pass(), ElementsAre("write_status", "create_missing_pod"));
  EXPECT_EQ(bench.replica(1).phase, "Creating");
  bench.settle();
  EXPECT_THAT(bench.condition("ReplicaFailure"), HasSubstr("True"));  // it does not run yet
  bench.becomes(1, "Running");
  bench.settle();
  EXPECT_EQ(bench.condition("ReplicaFailure"), "False - All pods are running normally.");
  EXPECT_EQ(bench.phase(), "Running");
}

// T-090: the process ends after the count, and finds the pod still there.
TEST(PyTorchTrainingJobPlan, a_count_is_not_counted_again_after_a_crash) {
  Bench bench = running(a_job());
  bench.becomes(1, "Failed", 1);
  bench.crashes_before = 1;
  bench.pass();
  bench.crashes_before = 1000;
  ASSERT_TRUE(bench.has_pod(1));
  EXPECT_EQ(bench.status().backoffCount, 1);
  EXPECT_THAT(bench.pass(), ElementsAre("replace_pod"));
  bench.settle();
  EXPECT_EQ(bench.status().backoffCount, 1);
  EXPECT_TRUE(bench.has_pod(1));
}

// T-089.
TEST(PyTorchTrainingJobPlan, the_last_restart_is_the_masters) {
  auto job = a_job(4);
  job->spec.edit().runPolicy.backoffLimit = 1;
  Bench bench = running(job);
  bench.becomes(3, "Failed", 1);
  bench.becomes(0, "Failed", 1);
  bench.settle();
  EXPECT_EQ(bench.status().backoffCount, 1);
  EXPECT_EQ(bench.replica(0).phase, "Pending");
  EXPECT_EQ(bench.replica(3).phase, "Failed");
  EXPECT_EQ(bench.phase(), "Running");
}

TEST(PyTorchTrainingJobPlan, two_replicas_use_one_budget_up) {
  auto job = a_job(3);
  job->spec.edit().runPolicy.backoffLimit = 2;
  Bench bench = running(job);
  for (int i = 1; i < 3; ++i) {
    bench.becomes(i, "Failed", 1);
    bench.settle();
  }
  EXPECT_EQ(bench.status().backoffCount, 2);
  bench.becomes(0, "Failed", 1);
  EXPECT_THAT(bench.pass(), Contains("master_failed"));
  EXPECT_EQ(bench.phase(), "Failed");
  EXPECT_EQ(bench.condition("Failed"), "True Failed The job exited with an error code.");
  EXPECT_EQ(bench.condition("Running"), "False Failed The job exited with an error code.");
  EXPECT_EQ(bench.condition("Completed"), "False Failed The job exited with an error code.");
  EXPECT_THAT(bench.condition("ReplicaFailure"), HasSubstr(bench.name_of(0)));
  bench.settle();
  EXPECT_EQ(bench.pod_count(), 3U);  // cleanUpPolicy None
}

// T-088: evicted, or lost with its node, and still there.
TEST(PyTorchTrainingJobPlan, one_without_a_code_is_worth_another_try) {
  Bench bench = running(a_job(3, "ExitCode"));
  bench.becomes(2, "Failed");
  EXPECT_THAT(bench.pass(), Contains("restart_replica"));
  EXPECT_EQ(bench.status().backoffCount, 1);
}

TEST(PyTorchTrainingJobPlan, policies_and_ends) {
  struct Row {
    const char* policy;
    const char* phase;
    std::optional<int> code;
    bool restarts;
  };
  const Row rows[] = {{"Never", "Failed", 137, false},     {"Never", "Failed", std::nullopt, false},
                      {"OnFailure", "Failed", 1, true},    {"OnFailure", "Succeeded", 0, false},
                      {"Always", "Succeeded", 0, true},    {"Always", "Failed", 1, true},
                      {"ExitCode", "Succeeded", 0, false}, {"ExitCode", "Failed", 130, true},
                      {"ExitCode", "Failed", 137, true},   {"ExitCode", "Failed", 138, true},
                      {"ExitCode", "Failed", 143, true},   {"ExitCode", "Failed", 1, false},
                      {"ExitCode", "Failed", 129, false},  {"ExitCode", "Failed", 131, false},
                      {"ExitCode", "Failed", 136, false},  {"ExitCode", "Failed", 139, false},
                      {"ExitCode", "Failed", 142, false},  {"ExitCode", "Failed", 144, false},
                      {"ExitCode", "Failed", 255, false}};
  for (const Row& row : rows) {
    Bench bench = running(a_job(2, row.policy));
    const std::string old = bench.uid(1);
    bench.becomes(1, row.phase, row.code);
    bench.settle();
    const std::string told = fmt::format("{} {} {}", row.policy, row.phase, row.code.value_or(-1));
    EXPECT_EQ(bench.uid(1) != old, row.restarts) << told;
    EXPECT_EQ(bench.status().backoffCount, row.restarts ? 1 : 0) << told;
    EXPECT_EQ(bench.phase(), "Running") << told;
  }
}

// The training container's, else another's, whatever the order of the statuses.
TEST(PyTorchTrainingJobPlan, whose_exit_code_counts) {
  Pod pod;
  pod.spec.edit().containers = {{.name = "a"}, {.name = "python"}, {.name = "b"}};
  const auto ended = [](const std::string& name, int code) {
    ContainerStatus status;
    status.name = name;
    status.state.terminated.edit().exitCode = code;
    return status;
  };
  pod.status.containerStatuses = std::vector{ended("b", 3), ended("a", 2), ended("python", 0)};
  EXPECT_EQ(exit_code_of(pod), 2);
  pod.status.containerStatuses = std::vector{ended("b", 3), ended("a", 2), ended("python", 5)};
  EXPECT_EQ(exit_code_of(pod), 5);
  pod.status.containerStatuses = {};
  EXPECT_EQ(exit_code_of(pod), std::nullopt);
  pod.status.initContainerStatuses = std::vector{ended("i", 7)};
  EXPECT_EQ(exit_code_of(pod), 7);
}

// §7: what was told last decides.
TEST(PyTorchTrainingJobPlan, pods_that_are_taken_away) {
  Bench bench = running(a_job(4, "Never"));
  bench.becomes(1, "Succeeded", 0);
  bench.becomes(2, "Failed", 1);
  bench.settle();
  for (int i = 1; i < 4; ++i) bench.vanishes(i);
  bench.settle();
  EXPECT_EQ(bench.replica(1).phase, "Deleted");
  EXPECT_EQ(bench.replica(2).phase, "Deleted");
  EXPECT_EQ(bench.replica(3).phase, "Pending");  // it ran: made again, whatever the policy
  EXPECT_EQ(bench.status().backoffCount, 0);
  EXPECT_EQ(bench.replica(2).containers.at(0).exitCode, 1);  // the last values stay
}

TEST(PyTorchTrainingJobPlan, one_that_is_being_deleted_is_not_judged) {
  Bench bench = running(a_job(2, "OnFailure"));
  bench.is_being_deleted(0);
  bench.becomes(0, "Succeeded", 0);
  bench.is_being_deleted(1);
  bench.becomes(1, "Failed", 143);
  bench.settle();
  EXPECT_EQ(bench.phase(), "Running");
  EXPECT_EQ(bench.replica(0).phase, "Creating");
  EXPECT_EQ(bench.replica(1).phase, "Creating");
  EXPECT_EQ(bench.status().backoffCount, 0);
}

// T-126.
TEST(PyTorchTrainingJobPlan, a_masters_unknown_phase_is_the_jobs) {
  Bench bench(a_job(2));
  bench.settle();
  bench.becomes(0, "Unknown");
  bench.settle();
  EXPECT_EQ(bench.phase(), "Unknown");
  bench.all_become("Running");
  bench.settle();
  EXPECT_EQ(bench.phase(), "Running");
  bench.becomes(0, "Unknown");
  bench.settle();
  EXPECT_EQ(bench.phase(), "Unknown");
  EXPECT_EQ(bench.status().aggregate.unknown, 1);
}

// T-149.
TEST(PyTorchTrainingJobPlan, success_comes_before_a_pause) {
  Bench bench = running(a_job(2));
  bench.becomes(0, "Succeeded", 0);
  bench.pause(true);
  EXPECT_THAT(bench.pass(), ElementsAre("write_status", "master_succeeded"));
  EXPECT_EQ(bench.phase(), "Succeeded");
  EXPECT_EQ(bench.pod_count(), 2U);
}

TEST(PyTorchTrainingJobPlan, pause_and_resume) {
  Bench bench = running(a_job(2));
  bench.becomes(1, "Succeeded", 0);
  bench.settle();
  bench.deletes_at_once = false;
  bench.pause(true);
  EXPECT_THAT(bench.pass(),
              ElementsAre("write_status", "paused", "remove_paused_pod", "remove_paused_pod"));
  EXPECT_EQ(bench.phase(), "Paused");
  bench.settle();
  EXPECT_EQ(bench.status().aggregate.deleted, 2);
  EXPECT_FALSE(bench.status().startTime.has_value());
  bench.pause(false);  // they are still ending
  bench.settle();
  EXPECT_EQ(bench.phase(), "Resuming");
  EXPECT_EQ(bench.status().aggregate.creating, 2);
  EXPECT_EQ(bench.condition("Paused"), "False Resumed The job has been resumed.");
  bench.all_vanish();
  bench.settle();
  EXPECT_EQ(bench.pod_count(), 2U);
  EXPECT_EQ(bench.phase(), "Resuming");
  bench.all_become("Running");
  bench.settle();
  EXPECT_EQ(bench.phase(), "Running");
  EXPECT_EQ(bench.condition("Running"), "True - All pods are running normally.");
}

// A pod that nobody had asked to go yet goes with the resume.
TEST(PyTorchTrainingJobPlan, what_a_pause_has_left_goes_with_the_resume) {
  Bench bench = running(a_job(2));
  bench.pause(true);
  bench.crashes_before = 1;
  bench.pass();
  bench.crashes_before = 1000;
  ASSERT_EQ(bench.pod_count(), 2U);
  const std::string old = bench.uid(0);
  bench.pause(false);
  EXPECT_THAT(bench.pass(),
              ElementsAre("write_status", "resumed", "remove_paused_pod", "remove_paused_pod"));
  bench.settle();
  ASSERT_EQ(bench.pod_count(), 2U);
  EXPECT_NE(bench.uid(0), old);
}

TEST(PyTorchTrainingJobPlan, the_deadline_runs_from_initialization) {
  auto job = a_job(2);
  job->spec.edit().runPolicy.activeDeadlineSeconds = 60;
  Bench bench = running(job);
  EXPECT_EQ(bench.requeue_after(), std::optional<Duration>(60s));
  bench.after(59s);
  EXPECT_THAT(bench.pass(), IsEmpty());
  EXPECT_EQ(bench.requeue_after(), std::optional<Duration>(1s));
  bench.after(1s);
  EXPECT_THAT(bench.pass(), ElementsAre("write_status", "deadline_reached"));
  EXPECT_EQ(bench.condition("Failed"), "True Failed The job has exceeded its active deadline.");
  EXPECT_EQ(bench.condition("ReplicaFailure"), "False - All pods are running normally.");
}

TEST(PyTorchTrainingJobPlan, success_comes_before_the_deadline_and_that_before_failure) {
  auto job = a_job(2, "Never");
  job->spec.edit().runPolicy.activeDeadlineSeconds = 60;
  Bench ended_well = running(job);
  ended_well.after(2min);
  ended_well.becomes(0, "Succeeded", 0);
  EXPECT_THAT(ended_well.pass(), Contains("master_succeeded"));
  Bench failed = running(job);
  failed.after(2min);
  failed.becomes(0, "Failed", 1);
  EXPECT_THAT(failed.pass(), Contains("deadline_reached"));
}

TEST(PyTorchTrainingJobPlan, cleaning_up) {
  struct Row {
    const char* policy;
    std::vector<std::string> phases;
    std::size_t services;
  };
  const Row rows[] = {{"None", {"Succeeded", "Running", "Failed"}, 3},
                      {"Unfinished", {"Succeeded", "Deleted", "Failed"}, 2},
                      {"All", {"Deleted", "Deleted", "Deleted"}, 0}};
  for (const Row& row : rows) {
    auto job = a_job(3, "Never");
    job->spec.edit().runPolicy.cleanUpPolicy = row.policy;
    Bench bench = running(job);
    bench.becomes(2, "Failed", 1);
    bench.becomes(0, "Succeeded", 0);
    bench.settle();
    std::vector<std::string> phases;
    for (int i = 0; i < 3; ++i) phases.push_back(bench.replica(i).phase);
    EXPECT_EQ(phases, row.phases) << row.policy;
    EXPECT_EQ(bench.service_count(), row.services) << row.policy;
    EXPECT_EQ(bench.status().aggregate.sum(), 3) << row.policy;
    EXPECT_EQ(bench.phase(), "Succeeded");
  }
}

TEST(PyTorchTrainingJobPlan, nothing_changes_a_job_that_has_ended) {
  Bench bench = running(a_job(2, "Never"));
  bench.becomes(0, "Failed", 1);
  bench.settle();
  bench.pause(true);
  bench.vanishes(1);
  bench.settle();
  EXPECT_EQ(bench.phase(), "Failed");
  EXPECT_EQ(bench.replica(1).phase, "Deleted");
  EXPECT_FALSE(bench.has_pod(1));
}

void make_elastic(PyTorchTrainingJobSpec& spec, int least, int most, int expected) {
  spec.torchrunConfig.emplace().enabled = true;
  ElasticConfig& elastic = spec.elastic.emplace();
  elastic.enabled = true;
  elastic.minReplicas = least;
  elastic.maxReplicas = most;
  elastic.expectedReplicas = expected;
}

TEST(PyTorchTrainingJobPlan, scaling_leaves_the_others_alone) {
  auto job = a_job(1);
  make_elastic(job->spec.edit(), 2, 6, 3);
  Bench bench = running(job);
  EXPECT_EQ(bench.pod_count(), 3U);
  const std::string master = bench.uid(0);
  bench.edit([](PyTorchTrainingJobSpec& spec) { spec.elastic->expectedReplicas = 5; });
  EXPECT_THAT(bench.pass(), Contains("scaled"));
  bench.settle();
  EXPECT_EQ(bench.pod_count(), 5U);
  EXPECT_EQ(bench.service_count(), 5U);
  EXPECT_EQ(bench.phase(), "Running");
  bench.edit([](PyTorchTrainingJobSpec& spec) { spec.elastic->expectedReplicas = 2; });
  EXPECT_THAT(bench.pass(), Contains("remove_surplus"));
  bench.settle();
  EXPECT_EQ(bench.pod_count(), 2U);
  EXPECT_EQ(bench.service_count(), 2U);
  EXPECT_EQ(bench.uid(0), master);
  EXPECT_EQ(bench.status().backoffCount, 0);
  EXPECT_EQ(bench.status().aggregate.sum(), 2);
}

TEST(PyTorchTrainingJobPlan, an_elastic_job_runs_with_the_least) {
  auto job = a_job(1);
  make_elastic(job->spec.edit(), 2, 6, 4);
  Bench bench(job);
  bench.settle();
  bench.becomes(0, "Running");
  bench.settle();
  EXPECT_EQ(bench.phase(), "Pending");
  bench.becomes(1, "Running");
  bench.settle();
  EXPECT_EQ(bench.phase(), "Running");
}

// G26.
TEST(PyTorchTrainingJobPlan, shares_by_weight) {
  EXPECT_THAT(shares(8, {1, 3}), ElementsAre(2, 6));
  EXPECT_THAT(shares(7, {1, 1}), ElementsAre(4, 3));
  EXPECT_THAT(shares(10, {1, 1, 1}), ElementsAre(4, 3, 3));
  EXPECT_THAT(shares(5, {0, 1}), ElementsAre(1, 4));  // the master's place
  EXPECT_THAT(shares(2, {1, 5, 5}), ElementsAre(1, 0, 1));
  EXPECT_THAT(shares(4, {2, 0}), ElementsAre(4, 0));
}

TEST(PyTorchTrainingJobPlan, waits_for_what_it_has_written_and_asked_for) {
  View seen;
  seen.job = a_job();
  seen.shows_own_write = false;
  const auto rule = [&seen] { return plan(seen, Time()).steps.at(0).rule->name; };
  EXPECT_EQ(rule(), "await_own_write");
  seen.shows_own_write = true;
  seen.expectations_met = false;
  EXPECT_EQ(rule(), "expectations_unmet");
  auto going = a_job();
  going->metadata.deletionTimestamp = Time(1h);
  seen.job = going;
  EXPECT_EQ(rule(), "job_is_being_deleted");
  seen.job = nullptr;
  EXPECT_EQ(rule(), "job_is_gone");
}

TEST(PyTorchTrainingJobPlan, a_tensorboard_and_a_pod_group_are_made_once) {
  auto job = a_job(1);
  job->spec.edit().tensorboardSpec = RawJson(Json{{"image", "tensorboard"}});
  job->spec.edit().scheduler.emplace().t9kScheduler.emplace();
  Bench bench(job);
  const auto rules = bench.pass();
  EXPECT_THAT(rules, Contains("create_pod_group"));
  EXPECT_THAT(rules, Contains("create_tensorboard"));
  EXPECT_EQ(bench.status().tensorboard->reason, "DependentNotFound");
  EXPECT_EQ(bench.status().tensorboard->action, "Create");
  bench.settle();
  EXPECT_EQ(bench.status().tensorboard->reason, "DependentNotReady");
  EXPECT_EQ(bench.condition("Initialized"), "True - The job has been initialized successfully.");
}

}  // namespace
}  // namespace ddptwin::controller::t9k::plan_test
