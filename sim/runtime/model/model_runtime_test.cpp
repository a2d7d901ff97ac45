#include "runtime/model/model_runtime.hpp"

#include <gtest/gtest.h>

#include <csignal>

#include "runtime/model/test_pods.hpp"

namespace ddptwin::model::model_runtime_test {
namespace {

class OfTorch : public testing::TestWithParam<const TorchProfile*> {};
INSTANTIATE_TEST_SUITE_P(ModelRuntime, OfTorch, testing::Values(&torch_1, &torch_2),
                         [](const auto& one) {
                           return one.param == &torch_1 ? std::string("torch_1")
                                                        : std::string("torch_2");
                         });

TEST_P(OfTorch, two_workers_train_and_tell_each_step) {
  TestPods pods({.torch = GetParam()});
  pods.group(2, {"--steps", "3"});
  EXPECT_EQ(pods.exit_code("pod-0"), 0) << pods.all_lines();
  EXPECT_EQ(pods.exit_code("pod-1"), 0) << pods.all_lines();
  EXPECT_TRUE(pods.line("pod-1", "joined rank 1 world_size 2"));
  EXPECT_TRUE(pods.line("pod-1", "step 1/3 rank 1 loss 0."));
  EXPECT_TRUE(pods.line("pod-1", "step 3/3 rank 1 loss 0."));
  const auto parameters = [&](const std::string& pod) {
    const std::string text = pods.line(pod, "finished")->text;
    return text.substr(text.find("parameters"));
  };
  EXPECT_EQ(parameters("pod-0"), parameters("pod-1"));
  EXPECT_EQ(pods.report("pod-0").reason, "Completed");
  EXPECT_LT(seconds_of(pods.ended_at("pod-1")), 1.0);
}

// Rank 1 is on the node of rank 0, rank 2 on one of its own; another job has the same port.
TEST_P(OfTorch, pods_on_their_nodes_network_meet_there_and_share_its_ports) {
  TestPods pods({.torch = GetParam()});
  pods.pod("pod-0", "192.168.0.1");
  pods.pod("pod-1", "192.168.0.1");
  pods.pod("pod-2", "192.168.0.2");
  pods.pod("other", "192.168.0.1");
  for (int rank = 0; rank < 3; ++rank)
    pods.rank(rank, 3, {"--steps", "20", "--step-time", "100ms"});
  pods.run(500ms);
  pods.start("other", pods.config("other", "ddptwin-worker", {},
                                  {{"RANK", "0"},
                                   {"WORLD_SIZE", "1"},
                                   {"MASTER_ADDR", "localhost"},
                                   {"MASTER_PORT", "23456"}}));
  EXPECT_EQ(pods.exit_code("other"), 1);
  EXPECT_NE(pods.last_error("other").find("ddress already in use"), std::string::npos)
      << pods.all_lines();
  for (const char* pod : {"pod-0", "pod-1", "pod-2"})
    EXPECT_EQ(pods.exit_code(pod), 0) << pods.all_lines();
}

TEST(ModelRuntime, a_node_answers_when_its_pods_are_gone) {
  TestPods pods;
  pods.pod("gone", "192.168.0.1");
  pods.pod("stays");
  const auto outcome = [&] {
    return pods.runtime().network().would_connect(pods.ip("stays"), "192.168.0.1", 80);
  };
  pods.runtime().stop_sandbox(pods.sandbox("gone"), [](Result<void>) {});
  pods.runtime().remove_sandbox(pods.sandbox("gone"));
  EXPECT_EQ(outcome(), Connect::refused);
  EXPECT_EQ(pods.runtime().network().would_connect(pods.ip("stays"), "192.168.0.9", 80),
            Connect::no_host);
}

TEST(ModelRuntime, init_container_waits_for_the_masters_name) {
  TestPods pods;
  pods.pod("worker");
  pods.command("worker", {"sh", "-c",
                          "err=1;for i in $(seq 100); do if nslookup master; then err=0 && break; "
                          "fi;echo waiting for master; sleep 2; done; exit $err"});
  pods.run(5s);
  ASSERT_TRUE(pods.runs("worker")) << pods.all_lines();
  EXPECT_TRUE(pods.line("worker", "** server can't find master: NXDOMAIN"));
  EXPECT_TRUE(pods.line("worker", "waiting for master"));
  pods.pod("master");
  EXPECT_EQ(pods.exit_code("worker"), 0) << pods.all_lines();
  EXPECT_LT(pods.ended_at("worker"), 7s);
  EXPECT_TRUE(pods.line("worker", "Name:\tmaster.default.svc.cluster.local"));
}

TEST(ModelRuntime, init_container_gives_up_with_the_scripts_code) {
  TestPods pods;
  pods.pod("worker");
  pods.command("worker", {"sh", "-c",
                          "err=1;for i in $(seq 3); do if nslookup master; then err=0 && break; "
                          "fi;echo waiting for master; sleep 2; done; exit $err"});
  EXPECT_EQ(pods.exit_code("worker"), 1);
  EXPECT_GE(pods.ended_at("worker"), 6s);
}

}  // namespace
}  // namespace ddptwin::model::model_runtime_test
