// What images[].model can say of a script: spec/ddp-semantics.md §5.2, §8.1, §9.2 to §9.5.
#include <gtest/gtest.h>

#include <csignal>

#include "runtime/model/test_pods.hpp"

namespace ddptwin::model::described_test {
namespace {

// A group of pods that run one described script.
struct Script {
  Script(const Workload& workload, int world, const TorchProfile* torch = &torch_2)
      : pods({.torch = torch}), size(world) {
    pods.runtime().add_image("script", Image(), workload);
    for (int rank = 0; rank < world; ++rank) pods.pod(name(rank));
    for (int rank = 0; rank < world; ++rank) {
      ContainerConfig config = pods.config(name(rank), "script", {},
                                           {{"RANK", std::to_string(rank)},
                                            {"WORLD_SIZE", std::to_string(world)},
                                            {"MASTER_ADDR", rank == 0 ? "localhost" : "pod-0"},
                                            {"MASTER_PORT", "29500"}});
      config.command = {"python3", "train.py"};
      pods.start(name(rank), config);
    }
  }
  static std::string name(int rank) { return "pod-" + std::to_string(rank); }
  int code(int rank) { return pods.exit_code(name(rank)); }
  Duration at(int rank, const std::string& text) { return pods.until_line(name(rank), text); }
  bool said(int rank, const std::string& text) { return pods.line(name(rank), text) != nullptr; }

  TestPods pods;
  int size;
};

Workload short_training() {
  Workload workload;
  workload.start = 200ms;
  workload.ddp = false;
  workload.steps = 4;
  workload.step_time = 100ms;
  workload.gradient_bytes = 1000;
  return workload;
}

TEST(Described, each_moment_has_its_own_line) {
  for (const int named : {0, 1, 2}) {
    Workload workload = short_training();
    Prints::Lines* moments[] = {&workload.prints.joined, &workload.prints.step,
                                &workload.prints.finished};
    *moments[named] = Strings{"mine {rank}"};
    Script script(workload, 1);
    EXPECT_EQ(script.code(0), 0);
    EXPECT_TRUE(script.said(0, "mine 0"));
    const char* own[] = {"joined rank 0 world_size 1", "step 2/4 rank 0 loss", "finished rank 0"};
    for (const int moment : {0, 1, 2})
      EXPECT_EQ(script.said(0, own[moment]), moment != named) << own[moment];
  }
  Workload mute = short_training();
  mute.prints.step.emplace();
  Script script(mute, 1);
  EXPECT_EQ(script.code(0), 0);
  EXPECT_FALSE(script.said(0, "step 1/"));
}

TEST(Described, ddp_costs_its_construction_whatever_the_start_is) {
  const auto to_first_step = [](bool ddp, const TorchProfile* torch) {
    Workload workload = short_training();
    workload.ddp = ddp;
    Script script(workload, 2, torch);
    const Duration joined = script.at(1, "joined");
    return script.at(1, "step 1/4") - joined;
  };
  EXPECT_GE(to_first_step(true, &torch_2), 1300ms);
  EXPECT_LT(to_first_step(false, &torch_2), 150ms);
  EXPECT_LT(to_first_step(true, &torch_1), 150ms);
}

TEST(Described, an_interpreter_without_ddp_leaves_sooner_and_is_smaller) {
  for (const bool ddp : {true, false}) {
    Workload workload = short_training();
    workload.ddp = ddp;
    workload.fail_at_step = 2;
    workload.fail_rank = 1;
    Script script(workload, 2);
    const Duration failing = script.at(1, "failing rank 1 at step 2");
    EXPECT_EQ(script.code(1), 1);
    EXPECT_EQ(script.pods.ended_at("pod-1") - failing, ddp ? 900ms : 700ms);
  }
}

TEST(Described, a_late_rank_is_waited_for) {
  Workload workload = short_training();
  workload.ranks[1].start = 5s;
  Script script(workload, 3);
  EXPECT_GE(script.at(0, "joined"), 5s);
  EXPECT_EQ(script.code(2), 0);
}

TEST(Described, a_slow_rank_is_the_pace_of_all) {
  Workload workload = short_training();
  workload.ranks[2].step_time = 2s;
  Script script(workload, 3);
  const Duration joined = script.at(0, "joined");
  EXPECT_GE(script.at(0, "step 4/4") - joined, 8s);
}

TEST(Described, a_rank_with_fewer_steps_leaves_the_others_without) {
  Workload workload = short_training();
  workload.ranks[1].steps = 2;
  Script script(workload, 2);
  EXPECT_EQ(script.code(1), 0);
  EXPECT_TRUE(script.said(1, "step 2/2 rank 1"));
  EXPECT_EQ(script.code(0), 1);
  EXPECT_FALSE(script.said(0, "step 3/4"));
}

// Trial a12: each rank trains its own number, and nobody is done before all are.
TEST(Described, who_joins_goes_along_until_nobody_has_a_step_left) {
  Workload workload = short_training();
  workload.joins = true;
  workload.ranks[0].steps = 2;
  workload.ranks[2].steps = 7;
  Script script(workload, 3);
  for (const int rank : {0, 1, 2}) EXPECT_EQ(script.code(rank), 0) << script.pods.all_lines();
  EXPECT_TRUE(script.said(0, "step 2/2 rank 0"));
  EXPECT_FALSE(script.said(0, "step 3/"));
  EXPECT_TRUE(script.said(1, "step 4/4 rank 1"));
  EXPECT_TRUE(script.said(2, "step 7/7 rank 2"));
  EXPECT_GE(script.at(0, "finished rank 0"), script.at(2, "step 7/7"));
}

TEST(Described, joined_ranks_with_equal_steps_end_as_others_do) {
  Workload workload = short_training();
  workload.joins = true;
  Script script(workload, 2);
  for (const int rank : {0, 1}) EXPECT_EQ(script.code(rank), 0) << script.pods.all_lines();
}

// §9.3: the neighbour's end, while others go along.
TEST(Described, who_goes_along_loses_a_dead_peer_too) {
  Workload workload = short_training();
  workload.joins = true;
  workload.step_time = 1s;
  workload.ranks[0].steps = 1;
  Script script(workload, 2);
  script.at(1, "step 2/4");
  script.pods.signal("pod-1", SIGKILL);
  EXPECT_EQ(script.code(0), 1);
  EXPECT_FALSE(script.said(0, "finished"));
}

TEST(Described, sigterm_is_handled_between_two_collectives) {
  Workload workload = short_training();
  workload.steps = 100;
  workload.step_time = 1s;
  workload.checkpoint = "/shared/model.pt";
  workload.checkpoint_every = 50;
  workload.on_term = TermHandler{.code = 143, .save = true, .says = {"saving {step}"}};
  Script script(workload, 2);
  const Duration third = script.at(0, "step 3/100");
  script.pods.run(300ms);
  script.pods.signal("pod-0", SIGTERM);
  EXPECT_LT(script.at(0, "saving 3") - third, 400ms);
  EXPECT_TRUE(script.said(0, "checkpoint step 3"));
  EXPECT_EQ(script.code(0), 143);
  EXPECT_EQ(script.code(1), 1);
}

// §9.5: it does not run while its rank waits for another one.
TEST(Described, sigterm_waits_for_a_collective_and_for_the_rendezvous) {
  Workload workload = short_training();
  workload.on_term = TermHandler{.code = 5, .at_once = true};
  workload.ranks[1].start = 3s;
  workload.ranks[1].step_time = 2s;
  Script script(workload, 2);
  script.pods.run(1s);
  script.pods.signal("pod-0", SIGTERM);  // in init_process_group
  EXPECT_EQ(script.code(0), 5);
  EXPECT_GE(script.pods.ended_at("pod-0"), 3s);

  Script later(workload, 2);
  const Duration step = later.at(0, "step 1/4");
  later.pods.run(1s);
  later.pods.signal("pod-0", SIGTERM);  // its own work of the step is done
  EXPECT_EQ(later.code(0), 5);
  EXPECT_GE(later.pods.ended_at("pod-0") - step, 1900ms);
  EXPECT_TRUE(later.said(0, "step 2/4"));
  EXPECT_FALSE(later.said(0, "step 3/4"));
}

TEST(Described, without_a_handler_sigterm_is_nothing_to_process_1) {
  Script script(short_training(), 1);
  script.pods.run(300ms);
  script.pods.signal("pod-0", SIGTERM);
  EXPECT_EQ(script.code(0), 0);
}

TEST(Described, a_crash_within_a_step_comes_before_its_all_reduce_with_words_of_its_own) {
  Workload workload = short_training();
  workload.step_time = 2s;
  workload.fail_at_step = 3;
  workload.fail_within_step = true;
  workload.fail_rank = 1;
  workload.fail_code = 1;
  workload.fail_says = {"ValueError: bad batch in step {step}"};
  Script script(workload, 2);
  const Duration second = script.at(1, "step 2/4");
  const Duration said = script.at(1, "ValueError: bad batch in step 3") - second;
  EXPECT_EQ(said, 1s);
  EXPECT_EQ(script.code(1), 1);
  EXPECT_EQ(script.code(0), 1);
  EXPECT_FALSE(script.said(0, "step 3/4"));
  EXPECT_FALSE(script.said(1, "failing rank"));
}

TEST(Described, what_serves_is_no_rank) {
  Workload workload;
  workload.serves = true;
  workload.listens = {{.port = 8080}};
  TestPods pods;
  pods.runtime().add_image("script", Image(), workload);
  pods.pod("pod-0");
  ContainerConfig config = pods.config("pod-0", "script", {});
  config.command = {"python3", "serve.py"};
  pods.start("pod-0", config);
  pods.run(1h);
  EXPECT_TRUE(pods.runs("pod-0"));
  EXPECT_NE(pods.runtime().network().listener(pods.ip("pod-0"), 8080), nullptr);
  EXPECT_EQ(pods.line("pod-0", ""), nullptr) << pods.all_lines();
  pods.signal("pod-0", SIGKILL);
  EXPECT_EQ(pods.exit_code("pod-0"), 137);
}

// §9.2: once init has succeeded, and in 2.x only.
TEST(Described, a_traceback_names_its_rank_after_the_rendezvous) {
  for (const TorchProfile* torch : {&torch_1, &torch_2}) {
    Workload workload = short_training();
    workload.steps = 1000;
    Script script(workload, 2, torch);
    script.at(0, "step 2/");
    script.pods.signal("pod-1", SIGKILL);
    EXPECT_EQ(script.code(0), 1);
    EXPECT_EQ(script.pods.last_error("pod-0").starts_with("[rank0]: RuntimeError: "),
              torch == &torch_2)
        << script.pods.last_error("pod-0");
  }
  Workload alone = short_training();
  alone.timeout = 2s;
  TestPods pods;
  pods.runtime().add_image("script", Image(), alone);
  pods.pod("pod-1");
  ContainerConfig config = pods.config(
      "pod-1", "script", {},
      {{"RANK", "1"}, {"WORLD_SIZE", "2"}, {"MASTER_ADDR", "pod-0"}, {"MASTER_PORT", "29500"}});
  config.command = {"python3", "train.py"};
  pods.start("pod-1", config);
  EXPECT_EQ(pods.exit_code("pod-1"), 1);
  EXPECT_TRUE(pods.last_error("pod-1").starts_with("torch.distributed.DistNetworkError"));
}

// §8.1: "x max(1, starting/cores)"; here a node has two.
TEST(Described, imports_of_torch_share_the_cpus_of_their_node) {
  const auto last_joins = [](int world) {
    Workload workload = short_training();
    workload.start.reset();
    workload.steps = 1;
    Script script(workload, world, &torch_1);
    return seconds_of(script.at(world - 1, "joined"));
  };
  const double two = last_joins(2), eight = last_joins(8);
  EXPECT_NEAR(two, 0.95, 0.25);
  EXPECT_GE(eight, 4 * 0.95 - 0.3);
  EXPECT_LE(eight, 4 * 0.95 + 1.3);  // a look at the store's grid of a second
}

TEST(Described, which_of_two_imports_is_done_first_is_the_seeds) {
  int first = 0, runs = 0;
  for (std::uint64_t seed = 1; seed <= 40; ++seed, ++runs) {
    TestPods pods({.seed = seed});
    Workload workload = short_training();
    workload.start.reset();
    pods.runtime().add_image("script", Image(), workload);
    for (const char* name : {"pod-0", "pod-1"}) {
      pods.pod(name);
      ContainerConfig config = pods.config(name, "script", {},
                                           {{"RANK", "0"},
                                            {"WORLD_SIZE", "1"},
                                            {"MASTER_ADDR", "localhost"},
                                            {"MASTER_PORT", "29500"}});
      config.command = {"python3", "train.py"};
      pods.start(name, config);
    }
    const Duration one = pods.until_line("pod-0", "joined");
    if (one < pods.until_line("pod-1", "joined")) ++first;
  }
  EXPECT_GT(first, runs / 5);
  EXPECT_LT(first, runs * 4 / 5);
}

}  // namespace
}  // namespace ddptwin::model::described_test
