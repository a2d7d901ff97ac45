// One pass after the other, as an API server would carry them out (spec/aistudio.md §3 to §5).
#include "controller/aistudio/plan.hpp"

#include <gmock/gmock.h>

#include <functional>

#include "controller/aistudio/rules.hpp"
#include "controller/aistudio/webhook.hpp"
#include "objects/kinds.hpp"

namespace ddptwin::controller::aistudio::plan_test {
namespace {

using namespace std::chrono_literals;
using testing::Contains;
using testing::HasSubstr;
using testing::Not;

std::shared_ptr<DDPTask> a_task(int workers = 2) {
  auto task = std::make_shared<DDPTask>();
  task->metadata.name = "t";
  task->metadata.namespace_ = "ml";
  task->metadata.uid = "u-t";
  DDPTaskSpec& spec = task->spec.edit();
  spec.workers = workers;
  spec.image = "train";
  spec.entrypoint = "true";
  return task;
}

std::shared_ptr<DDPTask> a_tolerant_task(int retries) {
  auto task = a_task();
  task->spec.edit().faultTolerance = {.enabled = true, .maxRetries = retries};
  return task;
}

class Bench {
 public:
  explicit Bench(std::shared_ptr<DDPTask> task) : task_(std::move(task)) {}

  std::vector<std::string> pass() {
    View seen;
    seen.task = task_;
    seen.pods = pods_;
    seen.services = services_;
    seen.expectation_key = "ml/t";
    const Plan made = plan(seen, now_);
    requeue_after = made.requeue_after;
    std::vector<std::string> rules;
    for (const Step& step : made.steps) {
      rules.emplace_back(step.rule->name);
      if (step.request) carry_out(*step.request);
    }
    return rules;
  }
  void settle() {
    for (int i = 0; i < 20 && !pass().empty(); ++i) continue;
  }
  void is_placed(int rank, const std::string& node = "node") {
    edit(rank, [&node](Pod& pod) { pod.spec.edit().nodeName = node; });
  }
  void checks(int rank) {
    edit(rank, [](Pod& pod) {
      ContainerStatus status;
      status.name = check_container;
      status.state.running.emplace();
      pod.status.initContainerStatuses = std::vector{status};
    });
  }
  void has_checked(int rank, int code, const std::string& message) {
    edit(rank, [&](Pod& pod) {
      ContainerStatus status;
      status.name = check_container;
      status.state.terminated.edit().exitCode = code;
      status.state.terminated.edit().message = message;
      status.state.terminated.edit().finishedAt = now_;
      pod.status.initContainerStatuses = std::vector{status};
      if (code != 0) pod.status.phase = "Failed";
    });
  }
  void starts(int rank) {
    has_checked(rank, 0, "[]");
    edit(rank, [](Pod& pod) {
      ContainerStatus status;
      status.name = worker_container;
      status.state.running.emplace();
      pod.status.phase = "Running";
      pod.status.containerStatuses = std::vector{status};
    });
  }
  void ends(int rank, int code) {
    edit(rank, [&](Pod& pod) {
      ContainerStatus status;
      status.name = worker_container;
      status.state.terminated.edit().exitCode = code;
      status.state.terminated.edit().finishedAt = now_;
      pod.status.phase = code == 0 ? "Succeeded" : "Failed";
      pod.status.containerStatuses = std::vector{status};
    });
  }
  // As the kubelet tells of the port that an agent holds open while its command runs.
  void is_ready(int rank, bool ready) {
    edit(rank, [ready](Pod& pod) {
      std::vector<ContainerStatus> statuses = *pod.status.containerStatuses;
      statuses.front().ready = ready;
      pod.status.containerStatuses = std::move(statuses);
    });
  }
  // Its container has ended with 0, and the kubelet has not told of the pod's end yet.
  void has_ended_well(int rank) {
    ends(rank, 0);
    edit(rank, [](Pod& pod) { pod.status.phase = "Running"; });
  }
  void ends_saying(int rank, int code, const std::string& message) {
    ends(rank, code);
    edit(rank, [&message](Pod& pod) {
      std::vector<ContainerStatus> statuses = *pod.status.containerStatuses;
      statuses.front().state.terminated.edit().message = message;
      pod.status.containerStatuses = std::move(statuses);
    });
  }
  void vanishes(int rank) { pods_.erase(worker_name(*task_, rank)); }
  void after(Duration time) { now_ = now_ + time; }
  void stop() {
    auto changed = std::static_pointer_cast<DDPTask>(task_->clone());
    changed->spec.edit().stop = true;
    task_ = changed;
  }
  // Both workers train.
  void train() {
    settle();
    for (const int rank : {0, 1}) is_placed(rank);
    settle();
    for (const int rank : {0, 1}) checks(rank);
    settle();
    for (const int rank : {0, 1}) starts(rank);
    settle();
  }
  const DDPTaskStatus& status() const { return *task_->status; }
  std::size_t pod_count() const { return pods_.size(); }
  const Pod& pod(int rank) const { return *pods_.at(worker_name(*task_, rank)); }
  std::optional<Duration> requeue_after{};

 private:
  void edit(int rank, const std::function<void(Pod&)>& change) {
    auto& pod = pods_.at(worker_name(*task_, rank));
    auto now = std::static_pointer_cast<Pod>(pod->clone());
    change(*now);
    pod = now;
  }
  void carry_out(const api::Request& request) {
    if (request.verb == api::Verb::update) {
      task_ = std::static_pointer_cast<const DDPTask>(request.object);
      return;
    }
    const std::string name = api::name_of(request).str();
    if (request.verb == api::Verb::remove) {
      pods_.erase(name);
      return;
    }
    auto made = std::static_pointer_cast<Object>(request.object->clone());
    made->metadata.uid = "u-" + std::to_string(++uids_);
    if (as<Service>(*made) != nullptr)
      services_.emplace(name, std::static_pointer_cast<const Service>(made));
    else
      pods_.emplace(name, std::static_pointer_cast<const Pod>(made));
  }

  std::shared_ptr<const DDPTask> task_;
  std::map<std::string, std::shared_ptr<const Pod>, std::less<>> pods_{};
  std::map<std::string, std::shared_ptr<const Service>, std::less<>> services_{};
  Time now_ = Time(1h);
  int uids_ = 0;
};

TEST(AistudioPlan, a_task_goes_through_its_phases) {
  Bench bench(a_task());
  bench.settle();
  EXPECT_EQ(bench.status().phase, "Queued");
  bench.is_placed(0);
  bench.settle();
  EXPECT_EQ(bench.status().phase, "Queued") << "one worker has no node yet";
  bench.is_placed(1);
  bench.settle();
  EXPECT_EQ(bench.status().phase, "Creating");
  for (const int rank : {0, 1}) bench.checks(rank);
  bench.settle();
  EXPECT_EQ(bench.status().phase, "SelfChecking");
  bench.starts(0);
  bench.settle();
  EXPECT_EQ(bench.status().phase, "SelfChecking");
  bench.starts(1);
  bench.settle();
  EXPECT_EQ(bench.status().phase, "Running");
  EXPECT_EQ(bench.status().selfCheck.state, "Passed");
  bench.ends(0, 0);
  bench.settle();
  EXPECT_EQ(bench.status().phase, "Running") << "success needs all";
  bench.ends(1, 0);
  bench.settle();
  EXPECT_EQ(bench.status().phase, "Succeeded");
  EXPECT_EQ(bench.pod_count(), 2u) << "logs stay";
}

TEST(AistudioPlan, the_first_failure_by_time_is_told_and_stays) {
  Bench bench(a_task());
  bench.train();
  bench.ends(1, 7);
  bench.after(1s);
  bench.ends(0, 3);
  bench.settle();
  EXPECT_EQ(bench.status().phase, "Failed");
  EXPECT_THAT(bench.status().message, HasSubstr("(rank 1) ended with exit code 7"));
}

TEST(AistudioPlan, of_failures_at_one_time_that_of_the_lower_rank_is_told) {
  Bench bench(a_task());
  bench.train();
  bench.ends(1, 7);
  bench.ends(0, 3);
  bench.settle();
  EXPECT_THAT(bench.status().message, HasSubstr("(rank 0) ended with exit code 3"));
}

TEST(AistudioPlan, a_failure_ends_the_others) {
  Bench bench(a_task());
  bench.train();
  bench.ends(1, 1);
  EXPECT_THAT(bench.pass(), Contains("end_worker"));
  EXPECT_EQ(bench.pod_count(), 1u) << "the failed pod keeps its log";
}

TEST(AistudioPlan, a_lost_worker_fails_the_task) {
  Bench bench(a_task());
  bench.train();
  bench.vanishes(1);
  bench.settle();
  EXPECT_EQ(bench.status().phase, "Failed");
  EXPECT_EQ(bench.status().reason, "WorkerLost");
}

TEST(AistudioPlan, without_fault_tolerance_nothing_is_made_again) {
  Bench bench(a_task());
  bench.train();
  bench.vanishes(1);
  for (int i = 0; i < 5; ++i) EXPECT_THAT(bench.pass(), Not(Contains("create_worker")));
}

TEST(AistudioPlan, fault_tolerance_starts_all_again_so_many_times) {
  Bench bench(a_tolerant_task(2));
  for (int attempt = 0; attempt < 3; ++attempt) {
    bench.train();
    ASSERT_EQ(bench.status().phase, "Running");
    EXPECT_EQ(bench.status().attempt, attempt);
    EXPECT_EQ(*bench.pod(0).metadata.label("aistudio.twin/attempt"), std::to_string(attempt));
    bench.ends(0, 1);
    bench.settle();
  }
  EXPECT_EQ(bench.status().phase, "Failed");
  EXPECT_EQ(bench.status().attempt, 2);
}

TEST(AistudioPlan, a_lost_gpu_moves_its_worker_to_another_node) {
  Bench bench(a_tolerant_task(1));
  bench.settle();
  for (const int rank : {0, 1}) bench.is_placed(rank);
  bench.settle();
  for (const int rank : {0, 1}) bench.checks(rank);
  bench.settle();
  bench.has_checked(1, 1, R"([{"item":"gpu","ok":false,"message":"3 of 4 GPUs answer"}])");
  bench.settle();
  EXPECT_EQ(bench.status().attempt, 1);
  EXPECT_THAT(bench.status().excludedNodes, testing::ElementsAre("node"));
  const auto& terms = bench.pod(0)
                          .spec->affinity->nodeAffinity
                          ->requiredDuringSchedulingIgnoredDuringExecution->nodeSelectorTerms;
  EXPECT_EQ(terms[0].matchExpressions[0].operator_, "NotIn");
}

TEST(AistudioPlan, a_lost_gpu_moves_no_other_worker) {
  Bench bench(a_tolerant_task(1));
  bench.settle();
  bench.is_placed(0, "fine");
  bench.is_placed(1, "sick");
  bench.settle();
  for (const int rank : {0, 1}) bench.checks(rank);
  bench.settle();
  const std::string kept = bench.pod(0).metadata.uid.str(), lost = bench.pod(1).metadata.uid.str();
  bench.has_checked(1, 1, R"([{"item":"gpu","ok":false,"message":"3 of 4 GPUs answer"}])");
  bench.settle();
  EXPECT_EQ(bench.pod(0).metadata.uid.str(), kept);
  EXPECT_NE(bench.pod(1).metadata.uid.str(), lost);
  EXPECT_THAT(bench.status().excludedNodes, testing::ElementsAre("sick"));
  bench.is_placed(1, "spare");
  bench.settle();
  bench.checks(1);
  bench.settle();
  EXPECT_EQ(bench.status().phase, "SelfChecking") << "it checks again";
  for (const int rank : {0, 1}) bench.starts(rank);
  bench.settle();
  EXPECT_EQ(bench.status().phase, "Running");
  EXPECT_EQ(bench.status().attempt, 1);
  bench.ends(0, 1);
  bench.settle();
  EXPECT_EQ(bench.status().phase, "Failed") << "that was the one retry";
}

TEST(AistudioPlan, a_failure_after_a_move_starts_all_again) {
  Bench bench(a_tolerant_task(2));
  bench.settle();
  bench.is_placed(0, "fine");
  bench.is_placed(1, "sick");
  bench.settle();
  for (const int rank : {0, 1}) bench.checks(rank);
  bench.settle();
  bench.has_checked(1, 1, R"([{"item":"gpu","ok":false,"message":"3 of 4 GPUs answer"}])");
  bench.settle();
  bench.is_placed(1, "spare");
  for (const int rank : {0, 1}) bench.starts(rank);
  bench.settle();
  const std::string first = bench.pod(0).metadata.uid.str();
  bench.ends(1, 1);
  bench.settle();
  EXPECT_NE(bench.pod(0).metadata.uid.str(), first);
  EXPECT_EQ(bench.status().attempt, 2);
}

TEST(AistudioPlan, a_network_fault_is_no_reason_to_try_again) {
  Bench bench(a_tolerant_task(1));
  bench.settle();
  for (const int rank : {0, 1}) bench.is_placed(rank);
  bench.settle();
  for (const int rank : {0, 1}) bench.checks(rank);
  bench.settle();
  bench.has_checked(0, 1, R"([{"item":"network","peer":1,"ok":false,"message":"refused"}])");
  bench.settle();
  EXPECT_EQ(bench.status().phase, "Failed");
  EXPECT_EQ(bench.status().reason, "SelfCheckFailed");
  EXPECT_EQ(bench.status().message, "network of worker 0 to worker 1: refused");
}

TEST(AistudioPlan, a_check_that_does_not_end_is_ended) {
  Bench bench(a_task());
  bench.settle();
  for (const int rank : {0, 1}) bench.is_placed(rank);
  bench.settle();
  for (const int rank : {0, 1}) bench.checks(rank);
  bench.settle();
  EXPECT_EQ(bench.requeue_after, 310s);
  bench.after(309s);
  bench.settle();
  EXPECT_EQ(bench.status().phase, "SelfChecking");
  bench.after(1s);
  bench.settle();
  EXPECT_EQ(bench.status().phase, "Failed");
  EXPECT_THAT(bench.status().message, HasSubstr("worker 0, 1"));
}

TEST(AistudioPlan, a_stop_takes_all_pods_and_is_final) {
  Bench bench(a_task());
  bench.train();
  bench.stop();
  bench.settle();
  EXPECT_EQ(bench.status().phase, "Stopped");
  EXPECT_EQ(bench.pod_count(), 0u);
}

std::shared_ptr<DDPTask> a_task_to_debug() {
  auto task = a_task();
  task->spec.edit().debug = true;
  return task;
}

TEST(AistudioPlan, a_task_to_debug_runs_when_its_agents_say_so) {
  Bench bench(a_task_to_debug());
  bench.train();
  EXPECT_EQ(bench.status().phase, "SelfChecking");
  EXPECT_EQ(bench.pod(0).spec->containers[0].command->at(1), "agent");
  for (const int rank : {0, 1}) bench.is_ready(rank, true);
  bench.settle();
  EXPECT_EQ(bench.status().phase, "Running");
}

TEST(AistudioPlan, entry_commands_are_stopped_and_run_again) {
  Bench bench(a_task_to_debug());
  bench.train();
  for (const int rank : {0, 1}) bench.is_ready(rank, true);
  bench.settle();
  bench.is_ready(0, false);
  bench.settle();
  EXPECT_EQ(bench.status().phase, "Running") << "one runs still";
  bench.is_ready(1, false);
  EXPECT_THAT(bench.pass(), Contains("debug_task"));
  EXPECT_EQ(bench.status().phase, "Debugging");
  EXPECT_EQ(bench.pod_count(), 2u);
  bench.is_ready(1, true);
  bench.settle();
  EXPECT_EQ(bench.status().phase, "Debugging") << "one is stopped still";
  bench.is_ready(0, true);
  EXPECT_THAT(bench.pass(), Contains("run_task"));
  EXPECT_EQ(bench.status().phase, "Running");
  EXPECT_EQ(bench.status().reason, "");
  bench.ends(1, 7);
  bench.settle();
  EXPECT_EQ(bench.status().phase, "Failed") << "the new run is judged";
}

TEST(AistudioPlan, who_has_ended_well_is_not_debugged) {
  Bench bench(a_task_to_debug());
  bench.train();
  for (const int rank : {0, 1}) bench.is_ready(rank, true);
  bench.settle();
  bench.has_ended_well(0);
  bench.is_ready(1, false);
  bench.settle();
  EXPECT_EQ(bench.status().phase, "Debugging") << "the other one is";
  bench.has_ended_well(1);
  bench.settle();
  EXPECT_EQ(bench.status().phase, "Debugging");
  for (const int rank : {0, 1}) bench.ends(rank, 0);
  bench.settle();
  EXPECT_EQ(bench.status().phase, "Succeeded");
}

TEST(AistudioPlan, a_task_whose_workers_all_end_well_is_never_debugging) {
  Bench bench(a_task_to_debug());
  bench.train();
  for (const int rank : {0, 1}) bench.is_ready(rank, true);
  bench.settle();
  for (const int rank : {0, 1}) bench.has_ended_well(rank);
  bench.settle();
  EXPECT_EQ(bench.status().phase, "Running");
}

TEST(AistudioPlan, an_agent_tells_that_the_task_is_to_be_stopped) {
  Bench bench(a_task_to_debug());
  bench.train();
  for (const int rank : {0, 1}) bench.is_ready(rank, true);
  bench.settle();
  bench.ends_saying(1, 143, "atlctl stop --task");
  bench.settle();
  EXPECT_EQ(bench.status().phase, "Stopped");
  EXPECT_EQ(bench.pod_count(), 0u);
}

TEST(AistudioPlan, nobody_but_an_agent_stops_a_task_by_its_last_words) {
  Bench bench(a_task());
  bench.train();
  bench.ends_saying(1, 143, "atlctl stop --task");
  bench.settle();
  EXPECT_EQ(bench.status().phase, "Failed");
}

TEST(AistudioPlan, a_fault_tolerant_task_that_only_reports_is_blocked_by_a_gpu_alone) {
  auto task = a_tolerant_task(1);
  task->spec.edit().selfCheck.onFailure = "Report";
  EXPECT_THAT(blocking_items(*task->spec), testing::ElementsAre("gpu"));
  task->spec.edit().faultTolerance.enabled = false;
  EXPECT_THAT(blocking_items(*task->spec), testing::IsEmpty());
}

TEST(AistudioPlan, a_task_may_only_be_stopped) {
  const auto before = a_task();
  auto after = std::static_pointer_cast<DDPTask>(before->clone());
  after->spec.edit().stop = true;
  EXPECT_FALSE(review(*after, before.get()));
  EXPECT_TRUE(review(*before, after.get()));
  after->spec.edit().entrypoint = "false";
  EXPECT_TRUE(review(*after, before.get()));
}

}  // namespace
}  // namespace ddptwin::controller::aistudio::plan_test
