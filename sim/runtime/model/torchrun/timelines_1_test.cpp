// The timelines of spec/ddp-semantics.md §4.4 (PyTorch 1.13), a test a row: the order of events,
// exit codes, and times within what one measurement on a busy machine allows.
#include <gmock/gmock.h>

#include "runtime/model/torchrun/timelines.hpp"

namespace ddptwin::torchrun::timelines_1_test {
namespace {

// Under Python 3.11 torchrun needs the two first (§4).
model::Environment c10d(const std::string& nodes, int max_restarts, const std::string& conf = {}) {
  model::Environment out{
      {"PET_REDIRECTS", "0:1"},       {"PET_TEE", "0:1"},
      {"PET_NNODES", nodes},          {"PET_RDZV_BACKEND", "c10d"},
      {"PET_RDZV_ENDPOINT", "pod-0"}, {"PET_RDZV_ID", "job"},
      {"PET_MONITOR_INTERVAL", "1"},  {"PET_MAX_RESTARTS", std::to_string(max_restarts)}};
  if (!conf.empty()) out.emplace_back("PET_RDZV_CONF", conf);
  return out;
}

model::Environment static_node(int rank, int nodes, int max_restarts) {
  return {{"PET_REDIRECTS", "0:1"},
          {"PET_TEE", "0:1"},
          {"PET_NNODES", std::to_string(nodes)},
          {"PET_NODE_RANK", std::to_string(rank)},
          {"PET_MASTER_ADDR", "pod-0"},
          {"PET_MASTER_PORT", "29500"},
          {"PET_MONITOR_INTERVAL", "1"},
          {"PET_MAX_RESTARTS", std::to_string(max_restarts)}};
}

class Timelines1 : public Timelines {
 protected:
  Timelines1() : Timelines(model::torch_1) {}

  void start_c10d(int count, const std::string& nodes, int max_restarts,
                  const std::string& conf = {}) {
    start(count, [&](int) { return c10d(nodes, max_restarts, conf); });
  }
  void start_static(int count, int max_restarts) {
    start(count, [&](int pod) { return static_node(pod, count, max_restarts); });
  }
  // Two nodes, of whose workers the second hangs in its fifth step, once.
  void start_with_a_hang() {
    pods.described = false;
    pods.command = {
        "torchrun",    "--no_python",  "ddptwin-worker", "--steps",     "100000",
        "--step-time", "100ms",        "--timeout",      "10s",         "--fail-at-step",
        "5",           "--fail-with",  "hang",           "--fail-rank", "1",
        "--fail-once", "--checkpoint", "/tmp/checkpoint"};
    start_c10d(2, "2", 3);
  }
  // How long after `since` the pod's worker does a step of a new group.
  Duration first_step_after(int pod, Duration since, Duration limit = 120s) {
    const auto joined = pods.until([&] { return pods.printed(pod, "joined", since); }, limit);
    EXPECT_TRUE(joined) << pods.log(pod);
    if (!joined) return limit;
    const auto step = pods.until([&] { return pods.printed(pod, "step ", *joined); }, 10s);
    EXPECT_TRUE(step) << pods.log(pod);
    return step.value_or(limit) - since;
  }
};

TEST_F(Timelines1, start_takes_the_import_a_poll_and_the_workers_own_start) {
  start_c10d(3, "3", 0);
  // 0.8-1.8 s to the rendezvous, at most 1.3 s in it, 0.7-2.4 s to the group.
  expect_between(*pods.line(0, "joined"), 2200ms, 5500ms);
  EXPECT_EQ(pods.worker_env(1, "MASTER_ADDR"), "pod-0");
  EXPECT_EQ(pods.worker_env(1, "RANK"), "1");
  EXPECT_EQ(pods.worker_env(1, "WORLD_SIZE"), "3");
  EXPECT_EQ(pods.worker_env(1, "TORCHELASTIC_USE_AGENT_STORE"), "False");
  EXPECT_EQ(pods.worker_env(1, "TORCHELASTIC_RUN_ID"), "job");
  EXPECT_EQ(pods.worker_env(1, "NCCL_ASYNC_ERROR_HANDLING"), "1");
}

TEST_F(Timelines1, static_workers_are_clients_of_the_agents_store) {
  start_static(2, 0);
  EXPECT_EQ(pods.worker_env(1, "TORCHELASTIC_USE_AGENT_STORE"), "True");
  EXPECT_EQ(pods.worker_env(1, "MASTER_ADDR"), "pod-0");
  EXPECT_EQ(pods.worker_env(1, "MASTER_PORT"), "29500");
  EXPECT_EQ(pods.worker_env(1, "TORCHELASTIC_RUN_ID"), "none");
}

TEST_F(Timelines1, a_c10d_group_is_restarted_by_every_agent_at_its_tick) {
  start_c10d(3, "3", 3);
  const std::string port = pods.worker_env(0, "MASTER_PORT");
  const Duration crash = now();
  pods.signal_worker(2, sigkill);
  expect_between(new_worker_after(0, crash), 1500ms, 4500ms);
  expect_between(first_step_after(0, crash), 2500ms, 6500ms);
  for (int pod = 0; pod < 3; ++pod)
    EXPECT_EQ(pods.worker_env(pod, "TORCHELASTIC_RESTART_COUNT"), "1");
  EXPECT_NE(pods.worker_env(0, "MASTER_PORT"), port);  // a fresh one each round
}

TEST_F(Timelines1, a_monitor_interval_of_five_seconds_delays_the_restart_so_much) {
  pods.add(3);
  for (int pod = 0; pod < 3; ++pod) {
    auto environment = c10d("3", 3);
    std::erase_if(environment, [](const auto& e) { return e.first == "PET_MONITOR_INTERVAL"; });
    pods.start(pod, environment);
  }
  trains(3);
  const Duration crash = now();
  pods.signal_worker(2, sigkill);
  expect_between(first_step_after(0, crash), 3s, 11s);
}

TEST_F(Timelines1, a_static_group_is_restarted_without_a_barrier) {
  start_static(3, 3);
  const Duration crash = now();
  pods.signal_worker(2, sigkill);
  expect_between(first_step_after(0, crash), 1s, 3500ms);
  EXPECT_EQ(pods.worker_env(2, "TORCHELASTIC_RESTART_COUNT"), "1");
}

TEST_F(Timelines1, the_agents_code_is_1_whatever_the_workers_was) {
  start_c10d(2, "2", 0);
  pods.signal_worker(1, 11);
  EXPECT_TRUE(pods.until([&] { return pods.agent_end(1).has_value(); }, 30s)) << pods.log(1);
  EXPECT_EQ(exit_code(1), 1);
  EXPECT_TRUE(pods.until([&] { return pods.agent_end(0).has_value(); }, 30s)) << pods.log(0);
  EXPECT_EQ(exit_code(0), 1);
  EXPECT_TRUE(pods.printed(1, "failed (exitcode: -11) local_rank: 0"));
  EXPECT_TRUE(pods.printed(1, "ChildFailedError"));
  EXPECT_TRUE(pods.printed(1, "  traceback : Signal 11 (SIGSEGV) received by PID"));
  EXPECT_TRUE(pods.printed(1, "train.py FAILED"));
}

TEST_F(Timelines1, a_restart_for_another_node_is_not_counted) {
  start_with_a_hang();
  const Duration hang = now();
  // The other rank times out, its agent restarts and waits; the hung one's ends it for the node
  // that waits.
  expect_between(first_step_after(0, hang), 11s, 17s);
  EXPECT_EQ(pods.worker_env(0, "TORCHELASTIC_RESTART_COUNT"), "1");
  EXPECT_EQ(pods.worker_env(1, "TORCHELASTIC_RESTART_COUNT"), "0");
}

// The agent's loop has one thread: what it finds at its tick is what it acts on (agent.run).
TEST_F(Timelines1, a_worker_that_ends_while_the_agent_asks_who_waits_is_not_counted) {
  struct Rehearsal : Timelines1 {
    void TestBody() override {}
    Duration answered() {
      start_with_a_hang();
      while (pods.worker(1) != nullptr && now() < 60s) pods.run(50us);
      return now();
    }
  } rehearsal;
  const Duration answer = rehearsal.answered();
  start_with_a_hang();
  pods.run(answer - 60us - now());  // the answer takes 80 us
  ASSERT_NE(pods.worker(1), nullptr);
  pods.signal_worker(1, sigkill);
  first_step_after(1, now());
  pods.run(3s);
  EXPECT_EQ(pods.worker_env(1, "TORCHELASTIC_RESTART_COUNT"), "0") << pods.log(1);
}

TEST_F(Timelines1, a_stopped_worker_is_killed_before_the_restart) {
  pods.workload.timeout = 10s;
  start_c10d(2, "2", 3);
  const Duration stop = now();
  pods.signal_worker(1, sigstop);
  expect_between(first_step_after(0, stop), 41s, 47s);
  EXPECT_TRUE(pods.printed(1, "via 15, forcefully exiting via 9"));
}

TEST_F(Timelines1, a_lost_node_is_missed_for_its_lease_and_the_last_call) {
  start_c10d(3, "1:3", 3, "last_call_timeout=3");
  const Duration lost = now();
  pods.kill_pod(2);
  expect_between(new_worker_after(0, lost), 12s, 21s);
  pods.run(3s);
  EXPECT_EQ(pods.worker_env(0, "WORLD_SIZE"), "2");
  EXPECT_EQ(pods.worker_env(1, "WORLD_SIZE"), "2");
}

TEST_F(Timelines1, with_the_default_last_call_it_takes_thirty_seconds_more) {
  start_c10d(3, "1:3", 3);
  const Duration lost = now();
  pods.kill_pod(2);
  expect_between(new_worker_after(0, lost), 39s, 48s);
}

TEST_F(Timelines1, sigterm_ends_an_agent_with_1_and_leaves_its_name_in_the_rendezvous) {
  start_c10d(3, "1:3", 3, "last_call_timeout=3");
  const Duration sent = now();
  pods.signal_agent(2, sigterm);
  expect_between(agent_ends_after(2, sent), 200ms, 1s);
  EXPECT_EQ(exit_code(2), 1);
  EXPECT_TRUE(pods.printed(2, "Received 15 death signal, shutting down workers"));
  EXPECT_TRUE(pods.printed(2, "got signal: 15"));
  EXPECT_EQ(pods.workers(2), 0);
  expect_between(new_worker_after(0, sent), 10s, 21s);
}

TEST_F(Timelines1, a_worker_that_does_not_mind_sigterm_is_killed_after_thirty_seconds) {
  start_c10d(2, "2", 0);
  pods.signal_worker(1, sigstop);
  const Duration sent = now();
  pods.signal_agent(1, sigterm);
  expect_between(agent_ends_after(1, sent), 30s, 30500ms);
  EXPECT_EQ(exit_code(1), 1);
  EXPECT_TRUE(pods.printed(1, "via 15, forcefully exiting via 9"));
}

TEST_F(Timelines1, all_agents_die_with_the_pod_that_hosts_the_rendezvous) {
  start_c10d(3, "3", 3);
  const Duration killed = now();
  pods.kill_pod(0);
  for (const int pod : {1, 2}) {
    expect_between(agent_ends_after(pod, killed), 100ms, 2500ms);
    EXPECT_EQ(exit_code(pod), 1);
    EXPECT_TRUE(pods.printed(pod, "RendezvousConnectionError"));
  }
}

TEST_F(Timelines1, an_agents_worker_outlives_it_until_its_peers_go) {
  start_c10d(3, "3", 3);
  const Duration killed = now();
  pods.signal_agent(0, sigkill);
  EXPECT_EQ(pods.workers(0), 1);
  for (const int pod : {1, 2}) {
    expect_between(agent_ends_after(pod, killed), 100ms, 2800ms);
    EXPECT_EQ(exit_code(pod), 1);
  }
  // The worker of the second to go may have ended with that of the first.
  EXPECT_TRUE(pods.printed(1, "closing signal SIGTERM") ||
              pods.printed(2, "closing signal SIGTERM"));
  EXPECT_TRUE(pods.until([&] { return pods.workers(0) == 0; }, 5s));
}

TEST_F(Timelines1, sigterm_to_the_host_ends_the_others_too) {
  start_c10d(3, "3", 3);
  const Duration sent = now();
  pods.signal_agent(0, sigterm);
  for (const int pod : {1, 2}) {
    expect_between(agent_ends_after(pod, sent), 100ms, 4s);
    EXPECT_EQ(exit_code(pod), 1);
  }
}

TEST_F(Timelines1, a_restarted_node_waits_until_the_lease_of_its_dead_self_ends) {
  start_c10d(3, "3", 3);
  const Duration killed = now();
  pods.kill_pod(1);
  pods.run(3s);
  pods.start(1, c10d("3", 3));
  const auto all_train = [&] {
    return pods.printed(0, "joined", killed) && pods.printed(1, "joined", killed) &&
           pods.printed(2, "joined", killed);
  };
  const auto trains_at = pods.until(all_train, 60s);
  ASSERT_TRUE(trains_at) << pods.log(1);
  expect_between(*trains_at - killed, 9s, 20s);
  EXPECT_EQ(pods.worker_env(0, "TORCHELASTIC_RESTART_COUNT"), "1");
  EXPECT_EQ(pods.worker_env(1, "TORCHELASTIC_RESTART_COUNT"), "0");
  EXPECT_EQ(pods.worker_env(2, "TORCHELASTIC_RESTART_COUNT"), "1");
}

TEST_F(Timelines1, a_restarted_static_node_meets_the_others_once_its_attempts_line_up) {
  start_static(3, 3);
  const Duration killed = now();
  pods.kill_pod(1);
  pods.run(3s);
  pods.start(1, static_node(1, 3, 3));
  expect_between(first_step_after(1, killed), 4500ms, 10s);
  for (int pod = 0; pod < 3; ++pod)
    EXPECT_EQ(pods.worker_env(pod, "TORCHELASTIC_RESTART_COUNT"), "1") << pod;
  EXPECT_TRUE(pods.printed(1, "Connection refused", killed));
}

TEST_F(Timelines1, a_restarted_static_host_waits_for_the_whole_world) {
  start_static(3, 3);
  const Duration killed = now();
  pods.kill_pod(0);
  pods.run(3s);
  pods.start(0, static_node(0, 3, 3));
  for (const int pod : {1, 2}) {
    expect_between(agent_ends_after(pod, killed), 100ms, 2500ms);
    EXPECT_EQ(exit_code(pod), 1);
    EXPECT_TRUE(pods.printed(pod, "Broken pipe"));
  }
  pods.run(300s);
  EXPECT_TRUE(pods.agent_runs(0));
  EXPECT_EQ(pods.workers(0), 0);
}

TEST_F(Timelines1, a_newcomer_is_taken_in_at_the_next_tick) {
  start_c10d(2, "1:3", 3, "last_call_timeout=3");
  pods.add(1);
  const Duration started = now();
  pods.start(2, c10d("1:3", 3, "last_call_timeout=3"));
  expect_between(first_step_after(2, started), 2s, 7s);
  EXPECT_EQ(pods.worker_env(0, "WORLD_SIZE"), "3");
  EXPECT_EQ(pods.worker_env(0, "TORCHELASTIC_RESTART_COUNT"), "0");
}

TEST_F(Timelines1, two_of_two_to_three_start_after_the_last_call) {
  pods.add(2);
  for (const int pod : {0, 1}) pods.start(pod, c10d("2:3", 0));
  expect_between(new_worker_after(0, 0s), 30s, 34s);
}

TEST_F(Timelines1, a_missing_node_ends_the_others_at_the_join_timeout) {
  pods.add(2);
  for (const int pod : {0, 1}) pods.start(pod, c10d("3", 0, "join_timeout=20"));
  expect_between(agent_ends_after(0, 0s), 20s, 24s);
  expect_between(agent_ends_after(1, 0s), 20s, 24s);
  EXPECT_EQ(exit_code(0), 1);
  EXPECT_EQ(exit_code(1), 1);
  EXPECT_TRUE(pods.printed(0, "RendezvousTimeoutError") ||
              pods.printed(1, "RendezvousTimeoutError"));
}

TEST_F(Timelines1, without_a_host_the_store_is_given_up_after_a_minute) {
  pods.add(2);
  pods.start(1, c10d("2", 0));
  expect_between(agent_ends_after(1, 0s), 59s, 62s);
  EXPECT_EQ(exit_code(1), 1);
  EXPECT_TRUE(pods.printed(1, "RendezvousConnectionError"));
}

TEST_F(Timelines1, all_agents_leave_with_0_when_their_workers_succeed) {
  pods.workload.steps = 20;
  start_c10d(2, "1:3", 0, "last_call_timeout=3");
  for (const int pod : {0, 1}) {
    EXPECT_TRUE(pods.until([&] { return pods.agent_end(pod).has_value(); }, 30s)) << pods.log(pod);
    EXPECT_EQ(exit_code(pod), 0);
    expect_between(pods.agent_end(pod)->at - *pods.line(pod, "finished"), 200ms, 2500ms);
  }
  // Who comes now finds nobody.
  pods.add(1);
  const Duration started = now();
  pods.start(2, c10d("1:3", 0));
  expect_between(agent_ends_after(2, started), 59s, 62s);
  EXPECT_EQ(exit_code(2), 1);
}

TEST_F(Timelines1, a_failed_agent_lingers_in_the_exit_barrier) {
  start_static(2, 0);
  const Duration killed = now();
  pods.kill_pod(1);
  expect_between(agent_ends_after(0, killed, 400s), 299s, 307s);
  EXPECT_EQ(exit_code(0), 1);
  EXPECT_TRUE(pods.printed(0, "failed (exitcode: 1)"));
}

// Its barrier holds the store's lock: no heartbeat of it passes, its lease of 15 s ends, and the
// other agent, which has a restart left, goes on alone (measured: 20 to 25 s after the failure).
TEST_F(Timelines1, an_agent_in_the_exit_barrier_is_taken_for_dead) {
  pods.described = false;
  pods.command = {"torchrun",
                  "--no_python",
                  "ddptwin-worker",
                  "--steps",
                  "100000",
                  "--step-time",
                  "100ms",
                  "--fail-at-step",
                  "5",
                  "--fail-rank",
                  "1"};
  start(2, [&](int pod) { return c10d("1:2", pod == 0 ? 3 : 0, "last_call_timeout=5"); });
  const auto failed = pods.until([&] { return pods.printed(1, "failing rank 1"); }, 60s);
  ASSERT_TRUE(failed);
  const auto alone = pods.until([&] { return pods.printed(0, "world_size 1"); }, 60s);
  ASSERT_TRUE(alone) << pods.log(0);
  expect_between(*alone - *failed, 15s, 30s);
}

// kubeflow/trainer#1790: two agents of a world of four. The host goes on after the store's timeout
// and a second, and then both wait for the others' roles (measured with timeout=15: 318 s).
TEST_F(Timelines1, roles_are_waited_for_300_s_whatever_the_stores_timeout_was) {
  pods.add(2);
  for (const int pod : {0, 1}) {
    model::Environment environment = static_node(pod, 4, 0);
    environment.emplace_back("PET_RDZV_CONF", "timeout=15");
    pods.start(pod, environment);
  }
  expect_between(agent_ends_after(1, 0s, 400s), 301s, 304s);
  expect_between(agent_ends_after(0, 0s, 400s), 315s, 320s);
  for (const int pod : {0, 1}) {
    EXPECT_EQ(exit_code(pod), 1);
    EXPECT_TRUE(pods.printed(pod, "RuntimeError: Socket Timeout")) << pods.log(pod);
    EXPECT_EQ(pods.workers(pod), 0);
  }
}

TEST_F(Timelines1, teed_lines_come_behind_role_and_local_rank) {
  start_static(2, 0);
  EXPECT_TRUE(pods.printed(1, "[default0]:step 5/"));
  pods.signal_worker(0, sigkill);
  EXPECT_TRUE(pods.until([&] { return pods.printed(1, "Connection closed by peer"); }, 5s));
  EXPECT_FALSE(pods.printed(1, "[default0]:RuntimeError"));  // 0:1 is standard output only
}

class TimelinesOfDebian : public Timelines {
 protected:
  TimelinesOfDebian() : Timelines(model::torch_1_debian) {}
};

TEST_F(TimelinesOfDebian, torchrun_cannot_start_workers_without_redirects) {
  pods.add(1);
  pods.start(0, {});
  expect_between(agent_ends_after(0, 0s), 1s, 3s);
  EXPECT_EQ(exit_code(0), 1);
  EXPECT_TRUE(pods.printed(0, "AttributeError: 'NoneType' object has no attribute 'get'"));
}

TEST_F(TimelinesOfDebian, torchrun_starts_workers_with_redirects) {
  start(1, [](int) { return static_node(0, 1, 0); });
  EXPECT_TRUE(pods.printed(0, "joined rank 0 world_size 1"));
}

TEST_F(Timelines1, official_images_torchrun_needs_no_redirects) {
  start(1, [](int) { return model::Environment{}; });
  EXPECT_TRUE(pods.printed(0, "joined rank 0 world_size 1"));
}

TEST_F(Timelines1, sigterm_before_the_first_worker_has_the_default_action) {
  pods.add(2);
  pods.start(0, c10d("2", 0));
  pods.run(10s);
  pods.signal_agent(0, sigterm);
  pods.run(1s);
  EXPECT_EQ(exit_code(0), 128 + sigterm);
}

}  // namespace
}  // namespace ddptwin::torchrun::timelines_1_test
