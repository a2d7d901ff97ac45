// NCCL in virtual runs, row by row: spec/gpu.md §5.
#include <gtest/gtest.h>

#include <csignal>
#include <set>

#include "runtime/model/nccl_messages.hpp"
#include "runtime/model/test_pods.hpp"

namespace ddptwin::model::nccl_test {
namespace {

Workload training() {
  Workload workload;
  workload.backend = Backend::nccl;
  workload.ddp = false;
  workload.start = 1s;
  workload.steps = 1'000'000;
  workload.step_time = 100ms;
  workload.gradient_bytes = 4U << 20U;
  workload.timeout = 15s;
  return workload;
}

// Pods that run one script, each with a card of its own.
struct Group {
  explicit Group(const Workload& workload, const Environment& more = {},
                 const TorchProfile* torch = &torch_2, std::uint64_t seed = 1)
      : pods({.torch = torch, .seed = seed}), more_(more) {
    pods.runtime().add_image("script", Image(), workload);
  }
  static std::string name(int rank) { return "pod-" + std::to_string(rank); }
  void start(int rank, int world, const std::string& cards = "GPU-0", std::string pod = {}) {
    if (pod.empty()) {
      pod = name(rank);
      if (!made_.contains(pod)) pods.pod(pod);
      made_.insert(pod);
    }
    Environment env{{"RANK", std::to_string(rank)},
                    {"WORLD_SIZE", std::to_string(world)},
                    {"MASTER_ADDR", rank == 0 ? "localhost" : "pod-0"},
                    {"MASTER_PORT", "29500"}};
    if (!cards.empty()) env.emplace_back("NVIDIA_VISIBLE_DEVICES", cards);
    env.insert(env.end(), more_.begin(), more_.end());
    ContainerConfig config = pods.config(pod, "script", {}, env);
    config.command = {"python3", "train.py"};
    pods.start(pod, config);
  }
  void all(int world) {
    for (int rank = 0; rank < world; ++rank) pods.pod(name(rank)), made_.insert(name(rank));
    for (int rank = 0; rank < world; ++rank) start(rank, world);
  }
  int code(int rank) { return pods.exit_code(name(rank)); }
  Duration at(int rank, const std::string& text, Duration limit = 5min) {
    return pods.until_line(name(rank), text, limit);
  }
  bool said(int rank, const std::string& text) { return pods.line(name(rank), text) != nullptr; }
  Duration ended(int rank) { return pods.ended_at(name(rank)); }

  TestPods pods;
  Environment more_;
  std::set<std::string> made_{};
};

// abort() of a container's process 1, which has no default action for SIGABRT (spec/kubernetes.md
// §2.3); of any other, 134.
constexpr int aborted = 139;
constexpr const char* remote =
    "raised the following async exception: NCCL error: remote process "
    "exited or there was a network error, NCCL version 2.28.9";
constexpr const char* timed_out = "Watchdog caught collective operation timeout: WorkNCCL(SeqNum=";
constexpr const char* dump = "Received a dump signal due to a collective timeout from ";
constexpr const char* ended_line = "Process group watchdog thread terminated with exception: ";

void expect_between(Duration value, Duration least, Duration most, const std::string& what) {
  EXPECT_GE(value, least) << what;
  EXPECT_LE(value, most) << what;
}

class Seeds : public testing::TestWithParam<std::uint64_t> {};
INSTANTIATE_TEST_SUITE_P(Nccl, Seeds, testing::Values(1, 2, 3, 4, 5));

TEST_P(Seeds, a_killed_rank_leaves_the_others_standing_for_a_minute) {
  for (const int world : {2, 3}) {
    Group group(training(), {}, &torch_2, GetParam());
    group.all(world);
    group.at(0, "step 4/");
    const Duration killed = group.pods.now();
    group.pods.signal("pod-1", SIGKILL);
    EXPECT_EQ(group.code(1), 137);
    for (int rank = 0; rank < world; ++rank) {
      if (rank == 1) continue;
      const std::string who = "rank " + std::to_string(rank);
      expect_between(group.at(rank, remote) - killed, 0s, 1s + 100ms, who);
      EXPECT_TRUE(group.said(rank, "Connection closed by remote peer " + group.pods.ip("pod-1")));
      EXPECT_TRUE(
          group.said(rank, "ncclRemoteError: A call failed possibly due to a network error"));
      expect_between(group.at(rank, dump) - killed, 3700ms, 6s, who);
      EXPECT_EQ(group.code(rank), aborted);
      EXPECT_TRUE(group.said(rank, ended_line));
      EXPECT_TRUE(group.said(rank,
                             "terminate called after throwing an instance of "
                             "'c10::DistBackendError'"));
      expect_between(group.ended(rank) - killed, 64s, 66s + 100ms, who);
    }
  }
}

TEST(Nccl, below_a_shell_it_is_the_signals_134) {
  Group group(training());
  for (const int rank : {0, 1}) {
    const std::string pod = Group::name(rank);
    group.pods.pod(pod);
    ContainerConfig config = group.pods.config(pod, "script", {},
                                               {{"RANK", std::to_string(rank)},
                                                {"WORLD_SIZE", "2"},
                                                {"MASTER_ADDR", rank == 0 ? "localhost" : "pod-0"},
                                                {"MASTER_PORT", "29500"},
                                                {"NVIDIA_VISIBLE_DEVICES", "GPU-0"}});
    config.command = {"sh", "-c", "python3 train.py; exit $?"};
    group.pods.start(pod, config);
  }
  group.at(0, "step 4/");
  group.pods.signal("pod-1", SIGKILL);
  EXPECT_EQ(group.code(0), 134);
}

TEST_P(Seeds, the_minute_is_four_times_the_dump_variable) {
  Group group(training(), {{"TORCH_NCCL_WAIT_TIMEOUT_DUMP_MILSEC", "2000"}}, &torch_2, GetParam());
  group.all(2);
  group.at(0, "step 4/");
  const Duration killed = group.pods.now();
  group.pods.signal("pod-1", SIGKILL);
  EXPECT_EQ(group.code(0), aborted);
  expect_between(group.ended(0) - killed, 12s, 14s, "rank 0");
}

TEST(Nccl, other_variables_change_nothing_of_that_minute) {
  for (const char* name : {"TORCH_NCCL_DUMP_ON_TIMEOUT", "TORCH_NCCL_ENABLE_MONITORING",
                           "TORCH_NCCL_PROPAGATE_ERROR"}) {
    Group group(training(), {{name, "0"}});
    group.all(2);
    group.at(0, "step 4/");
    const Duration killed = group.pods.now();
    group.pods.signal("pod-1", SIGKILL);
    EXPECT_EQ(group.code(0), aborted);
    expect_between(group.ended(0) - killed, 64s, 66s + 100ms, name);
  }
}

TEST(Nccl, a_rank_that_raises_or_leaves_is_missed_like_a_killed_one) {
  for (const int exit_code : {1, 0}) {
    Workload workload = training();
    if (exit_code == 1) {
      workload.fail_at_step = 4;
      workload.fail_rank = 1;
    } else {
      workload.ranks[1].steps = 4;
    }
    Group group(workload);
    group.all(2);
    EXPECT_EQ(group.code(1), exit_code);
    const Duration gone = group.ended(1);
    expect_between(group.at(0, remote) - gone, 0s, 1s + 100ms, "rank 0");
    EXPECT_EQ(group.code(0), aborted);
    expect_between(group.ended(0) - gone, 64s - 1s, 66s + 100ms, "rank 0");
  }
}

TEST_P(Seeds, a_stopped_rank_is_waited_for_t_and_another_65_seconds) {
  Group group(training(), {}, &torch_2, GetParam());
  group.all(2);
  group.at(0, "step 4/");
  const Duration stopped = group.pods.now();
  group.pods.signal("pod-1", SIGSTOP);
  const Duration caught = group.at(0, timed_out);
  expect_between(caught - stopped, 15s, 15s + 200ms, "caught");
  const Duration dumped = group.at(0, dump);
  expect_between(dumped - caught, 3500ms, 5s, "dump");
  EXPECT_EQ(group.code(0), aborted);
  expect_between(group.ended(0) - caught, 63s + 500ms, 66s, "abort");
  EXPECT_TRUE(group.said(0, "ran for 150"));
  EXPECT_TRUE(group.pods.runs("pod-1"));
}

TEST(Nccl, a_sleeping_rank_is_asked_to_dump) {
  Workload workload = training();
  workload.fail_at_step = 4;
  workload.ranks[1].step_time = 10min;
  Group group(workload);
  group.all(2);
  const Duration caught = group.at(0, timed_out);
  expect_between(
      group.at(1, "Received a dump signal due to a collective timeout from  rank 0") - caught,
      3500ms, 5s, "rank 1");
  EXPECT_TRUE(group.said(1, "Observed flight recorder dump signal from another rank"));
  EXPECT_EQ(group.code(0), aborted);
}

TEST(Nccl, with_a_blocking_wait_it_hangs_without_a_word) {
  for (const int number : {SIGKILL, SIGSTOP}) {
    Group group(training(), {{"TORCH_NCCL_BLOCKING_WAIT", "1"}});
    group.all(2);
    group.at(0, "step 4/");
    group.pods.signal("pod-1", number);
    group.pods.run(10min);
    EXPECT_TRUE(group.pods.runs("pod-0"));
    EXPECT_EQ(group.pods.last_error("pod-0"), "");
  }
}

TEST(Nccl, without_error_handling_it_tells_and_hangs) {
  Group group(training(), {{"TORCH_NCCL_ASYNC_ERROR_HANDLING", "0"}});
  group.all(2);
  group.at(0, "step 4/");
  group.pods.signal("pod-1", SIGSTOP);
  group.at(0, timed_out);
  group.pods.run(10min);
  EXPECT_TRUE(group.pods.runs("pod-0"));
  EXPECT_FALSE(group.said(0, "we are taking the entire process down"));
}

TEST(Nccl, a_late_rank_is_waited_for) {
  Workload workload = training();
  workload.timeout = 60s;
  workload.steps = 5;
  workload.ranks[2].start = 20s;
  Group group(workload);
  group.all(3);
  EXPECT_GE(group.at(0, "joined rank 0"), 20s);
  for (const int rank : {0, 1, 2}) EXPECT_EQ(group.code(rank), 0);
  EXPECT_GE(group.at(1, "step 1/5"), 20s);
}

TEST(Nccl, of_a_rank_that_never_comes_the_others_learn_one_by_one) {
  Group group(training());
  for (const int rank : {0, 1})
    group.pods.pod(Group::name(rank)), group.made_.insert(Group::name(rank));
  for (const int rank : {0, 1}) group.start(rank, 3);
  EXPECT_LT(group.at(1, "joined rank 1 world_size 3"), 4s);
  EXPECT_EQ(group.code(1), 1);
  EXPECT_EQ(group.code(0), 1);
  EXPECT_FALSE(group.said(0, "joined rank"));
  EXPECT_TRUE(group.said(0,
                         "torch.distributed.DistStoreError: Timed out after 16 seconds waiting "
                         "for clients. 2/3 clients joined."));
  EXPECT_TRUE(group.said(
      1,
      "[rank1]: torch.distributed.DistBackendError: [1] is setting up NCCL communicator and "
      "retrieving ncclUniqueId from [0] via c10d key-value store by key '0', but "
      "store->get('0') got error: wait timeout after 15000ms, keys: /default_pg/0//cuda//0"))
      << group.pods.all_lines();
}

TEST(Nccl, two_ranks_of_one_host_name_on_one_card_are_refused) {
  for (const bool own_cards : {false, true}) {
    Workload workload = training();
    workload.steps = 3;
    Group group(workload);
    group.pods.pod("pod-0");
    group.start(0, 2, "GPU-0", "pod-0");
    const ContainerId first = group.pods.latest("pod-0");
    group.start(1, 2, own_cards ? "GPU-1" : "GPU-0", "pod-0");
    EXPECT_EQ(group.code(0), own_cards ? 0 : 1);
    const ContainerReport one = *group.pods.runtime().report(first);
    group.pods.run(10s);
    EXPECT_EQ(group.pods.runtime().report(first)->exit_code, own_cards ? 0 : 1);
    EXPECT_EQ(group.said(0, "Duplicate GPU detected : rank 0 and rank 1 both on CUDA device 1000"),
              !own_cards)
        << group.pods.all_lines();
  }
}

TEST(Nccl, without_a_gpu_it_says_so) {
  Group group(training());
  group.pods.pod("pod-0");
  group.start(0, 1, "", "pod-0");
  EXPECT_EQ(group.code(0), 1);
  EXPECT_EQ(group.pods.last_error("pod-0"),
            "ValueError: ProcessGroupNCCL is only supported with GPUs, no GPUs found!");
}

TEST(Nccl, debians_torch_has_none) {
  Group group(training(), {}, &torch_1_debian);
  group.pods.pod("pod-0");
  group.start(0, 1, "GPU-0", "pod-0");
  EXPECT_EQ(group.code(0), 1);
  EXPECT_EQ(group.pods.last_error("pod-0"),
            "RuntimeError: Distributed package doesn't have NCCL built in");
}

TEST(Nccl, a_healthy_run_takes_as_long_as_was_measured) {
  Workload workload = training();
  workload.start.reset();
  workload.steps = 3;
  workload.destroys = false;
  workload.gradient_bytes = 25U << 20U;
  workload.step_time = 0ms;
  Group group(workload);
  group.all(2);
  const Duration joined = group.at(1, "joined rank 1");
  expect_between(joined, 3s, 3s + 4200ms, "import and join");
  const Duration first = group.at(1, "step 1/3");
  EXPECT_GE(first - std::max(joined, group.at(0, "joined rank 0")), 500ms);
  expect_between(group.at(1, "step 3/3") - first, 2 * 14ms, 2 * 25ms, "two all-reduces");
  for (const int rank : {0, 1}) EXPECT_EQ(group.code(rank), 0);
  EXPECT_TRUE(group.said(0,
                         "destroy_process_group() was not called before program exit, which can "
                         "leak resources"));
}

TEST(Nccl, the_default_timeout_is_ten_minutes_and_was_thirty) {
  EXPECT_EQ(row_of(Backend::nccl).timeout(torch_2), 10min);
  EXPECT_EQ(row_of(Backend::nccl).timeout(torch_1), 30min);
  EXPECT_EQ(row_of(Backend::gloo).timeout(torch_2), 30min);
  Workload workload = training();
  workload.timeout.reset();
  Group group(workload);
  group.all(2);
  group.at(0, "step 4/");
  const Duration stopped = group.pods.now();
  group.pods.signal("pod-1", SIGSTOP);
  expect_between(group.at(0, timed_out, 1h) - stopped, 10min, 10min + 200ms, "caught");
}

TEST(Nccl, of_1_13_it_hangs_unless_errors_are_handled) {
  for (const bool handled : {false, true}) {
    Group group(training(), {{"NCCL_ASYNC_ERROR_HANDLING", handled ? "1" : "0"}}, &torch_1);
    group.all(2);
    group.at(0, "step 4/");
    const Duration killed = group.pods.now();
    group.pods.signal("pod-1", SIGKILL);
    if (handled) {
      EXPECT_EQ(group.code(0), aborted);
      EXPECT_LE(group.ended(0) - killed, 11s + 200ms);
      EXPECT_TRUE(group.said(0, "NCCL error: unhandled system error, NCCL version 2.14.3"));
      continue;
    }
    group.pods.run(10min);
    EXPECT_TRUE(group.pods.runs("pod-0"));
    EXPECT_EQ(group.pods.last_error("pod-0"), "");
  }
}

TEST(Nccl, a_python_handler_of_sigterm_does_not_run_while_it_stands) {
  Workload workload = training();
  workload.on_term.emplace();
  workload.on_term->says = {"handled"};
  Group group(workload);
  group.all(2);
  group.at(0, "step 4/");
  group.pods.signal("pod-1", SIGKILL);
  group.at(0, remote);
  group.pods.signal("pod-0", SIGTERM);
  EXPECT_EQ(group.code(0), aborted);
  EXPECT_FALSE(group.said(0, "handled"));
}

TEST(Nccl, the_script_says_which_backend_it_is) {
  for (const bool gpu : {false, true}) {
    Workload workload = training();
    workload.backend.reset();
    workload.steps = 2;
    Group group(workload);
    group.pods.pod("pod-0");
    Environment env{
        {"RANK", "0"}, {"WORLD_SIZE", "1"}, {"MASTER_ADDR", "localhost"}, {"MASTER_PORT", "29500"}};
    if (gpu) env.emplace_back("NVIDIA_VISIBLE_DEVICES", "GPU-0");
    ContainerConfig config = group.pods.config("pod-0", "script", {}, env);
    config.command = {"python3", "train.py", "--backend=nccl"};
    group.pods.start("pod-0", config);
    EXPECT_EQ(group.code(0), gpu ? 0 : 1) << group.pods.all_lines();
  }
}

TEST(Nccl, the_built_in_worker_trains_with_it) {
  for (const bool gpu : {false, true}) {
    TestPods pods;
    for (const int rank : {0, 1}) {
      const std::string name = Group::name(rank);
      pods.pod(name);
      Environment env{{"RANK", std::to_string(rank)},
                      {"WORLD_SIZE", "2"},
                      {"MASTER_ADDR", rank == 0 ? "localhost" : "pod-0"},
                      {"MASTER_PORT", "29500"}};
      if (gpu) env.emplace_back("NVIDIA_VISIBLE_DEVICES", "GPU-0");
      pods.start(name,
                 pods.config(name, "ddptwin-worker", {"--backend", "nccl", "--steps", "20"}, env));
    }
    for (const int rank : {0, 1}) EXPECT_EQ(pods.exit_code(Group::name(rank)), gpu ? 0 : 1);
    if (gpu) expect_between(pods.ended_at("pod-1"), 1300ms, 3s, "20 steps");
  }
}

TEST(Nccl, messages_of_a_sequence_tell_what_was_done) {
  FailedWork work{.rank = 1, .elements = 10, .timeout = 15s};
  work.loss.kind = Loss::Kind::timed_out;
  work.loss.sequence = 4;
  work.loss.ran = 15004ms;
  EXPECT_EQ(watchdog_caught(nccl_2, work).front(),
            "[rank1]:[E ProcessGroupNCCL.cpp] [Rank 1] Watchdog caught collective operation "
            "timeout: WorkNCCL(SeqNum=4, OpType=ALLREDUCE, NumelIn=10, NumelOut=10, "
            "Timeout(ms)=15000) ran for 15004 milliseconds before timing out.");
  EXPECT_EQ(watchdog_caught(nccl_1, work),
            Lines{"[E ProcessGroupNCCL.cpp] [Rank 1] Watchdog caught collective operation timeout: "
                  "WorkNCCL(SeqNum=4, OpType=ALLREDUCE, Timeout(ms)=15000) ran for 15004 "
                  "milliseconds before timing out."});
}

}  // namespace
}  // namespace ddptwin::model::nccl_test
