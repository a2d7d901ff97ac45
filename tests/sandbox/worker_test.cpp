// Pods of the built-in worker: forked from the zygote into their sandboxes (issue 6, point 7).
#include <gmock/gmock.h>

#include <csignal>
#include <filesystem>

#include "sandbox_fixture.hpp"

namespace ddptwin::worker_test {
namespace {

using testing::HasSubstr;

class WorkerTest : public SandboxTest {
 protected:
  struct Rank {
    int rank = 0;
    int world_size = 2;
    std::string master;
  };
  Result<ContainerId> start_worker(const SandboxId& pod, const Rank& rank,
                                   std::vector<std::string> args,
                                   const std::string& program = "ddptwin-worker") {
    ContainerConfig config;
    config.command = {program};
    config.args = std::move(args);
    config.env = {{"RANK", std::to_string(rank.rank)},
                  {"WORLD_SIZE", std::to_string(rank.world_size)},
                  {"MASTER_ADDR", rank.master},
                  {"MASTER_PORT", "23456"}};
    // A pod finds its own name in /etc/hosts, as the kubelet writes it.
    const std::string name = "pod-" + std::to_string(rank.rank + 1);
    config.mounts.push_back(
        {"/etc/hosts", "", false, "", "", nullptr,
         addresses.at(static_cast<std::size_t>(rank.rank)) + "\t" + name + "\n"});
    return start(pod, std::move(config));
  }

  std::vector<std::string> addresses;
};

TEST_F(WorkerTest, eight_workers_train_in_pods_of_their_own) {
  constexpr int world_size = 8;
  std::vector<SandboxStatus> ranks;
  for (int rank = 0; rank < world_size; ++rank) {
    ranks.push_back(run_pod());
    addresses.push_back(ranks.back().ip);
  }
  std::vector<ContainerId> ids;
  for (int rank = 0; rank < world_size; ++rank) {
    const auto id = start_worker(ranks[static_cast<std::size_t>(rank)].id,
                                 {rank, world_size, addresses.front()}, {"--steps", "3"});
    ASSERT_TRUE(id) << id.error().text();
    ids.push_back(*id);
  }
  for (const ContainerId& id : ids) {
    const ContainerReport report = wait_for_end(id);
    EXPECT_EQ(report.exit_code, 0) << log_of(id);
    EXPECT_THAT(log_of(id), HasSubstr("step 3/3"));
  }
}

TEST_F(WorkerTest, a_worker_dies_of_a_signal_and_its_peer_sees_the_connection_close) {
  const SandboxStatus one = run_pod(), two = run_pod();
  addresses = {one.ip, two.ip};
  const std::vector<std::string> args{"--steps", "100000", "--step-time", "10ms"};
  const auto master = start_worker(one.id, {0, 2, one.ip}, args);
  ASSERT_TRUE(master) << master.error().text();
  const auto worker = start_worker(two.id, {1, 2, one.ip}, args);
  ASSERT_TRUE(worker) << worker.error().text();
  ASSERT_TRUE(wait_for_line(*worker, "step 3/"));
  ASSERT_TRUE(wait<void>(
      [&](auto done) { runtime->signal_container(*worker, SIGKILL, {}, std::move(done)); }));
  EXPECT_EQ(wait_for_end(*worker).exit_code, 137);
  EXPECT_EQ(wait_for_end(*master).exit_code, 1);
  EXPECT_THAT(log_of(*master), HasSubstr("RuntimeError"));
}

TEST_F(WorkerTest, a_worker_over_its_memory_limit_is_oom_killed) {
  const SandboxStatus pod = run_pod();
  addresses = {pod.ip};
  ContainerConfig config;
  config.command = {"ddptwin-worker", "--steps", "100000", "--allocate", "300Mi"};
  config.env = {
      {"RANK", "0"}, {"WORLD_SIZE", "1"}, {"MASTER_ADDR", pod.ip}, {"MASTER_PORT", "23456"}};
  config.memory_limit = 128 << 20;
  const auto id = start(pod.id, config);
  ASSERT_TRUE(id) << id.error().text();
  const ContainerReport report = wait_for_end(*id);
  EXPECT_EQ(report.exit_code, 137) << log_of(*id);
  EXPECT_EQ(report.reason, "OOMKilled");
}

TEST_F(WorkerTest, commands_run_beside_a_worker_and_it_stops_on_request) {
  const SandboxStatus pod = run_pod();
  addresses = {pod.ip};
  const auto id =
      start_worker(pod.id, {0, 1, pod.ip}, {"--steps", "100000", "--step-time", "10ms"});
  ASSERT_TRUE(id) << id.error().text();
  ASSERT_TRUE(wait_for_line(*id, "step 1/"));
  const auto ran =
      wait<ExecResult>([&](auto done) { runtime->exec(*id, {"hostname"}, 0s, std::move(done)); });
  ASSERT_TRUE(ran) << ran.error().text();
  EXPECT_EQ(ran->output, "pod-1\n");
  ASSERT_TRUE(wait<void>([&](auto done) { runtime->stop_container(*id, 30, std::move(done)); }));
  EXPECT_EQ(runtime->report(*id)->exit_code, 143);
}

TEST_F(WorkerTest, the_light_worker_is_an_ordinary_program_of_every_pod) {
  const SandboxStatus pod = run_pod();
  addresses = {pod.ip};
  const auto id = start_worker(pod.id, {0, 1, pod.ip}, {"--steps", "2"}, "ddptwin-worker-gloo");
  ASSERT_TRUE(id) << id.error().text();
  EXPECT_EQ(wait_for_end(*id).exit_code, 0) << log_of(*id);
}

}  // namespace
}  // namespace ddptwin::worker_test
