// What spec/ddp-semantics.md §9.5 measures of torchrun 2.15, a test a row, beside §4.4's.
#include <gmock/gmock.h>

#include "runtime/model/torchrun/timelines.hpp"

namespace ddptwin::torchrun::timelines_2_test {
namespace {

const std::pair<std::string, std::string> no_sharing{"TORCH_DISABLE_SHARE_RDZV_TCP_STORE", "1"};

model::Environment c10d(const std::string& nodes, int max_restarts, const std::string& conf = {},
                        const std::string& endpoint = "pod-0") {
  model::Environment out{{"PET_NNODES", nodes},
                         {"PET_RDZV_BACKEND", "c10d"},
                         {"PET_RDZV_ENDPOINT", endpoint},
                         {"PET_RDZV_ID", "job"},
                         {"PET_MAX_RESTARTS", std::to_string(max_restarts)}};
  if (!conf.empty()) out.emplace_back("PET_RDZV_CONF", conf);
  return out;
}

model::Environment with(model::Environment environment,
                        const std::pair<std::string, std::string>& more) {
  environment.push_back(more);
  return environment;
}

model::Environment static_node(int rank, int nodes, int max_restarts) {
  return {{"PET_NNODES", std::to_string(nodes)},
          {"PET_NODE_RANK", std::to_string(rank)},
          {"PET_MASTER_ADDR", "pod-0"},
          {"PET_MASTER_PORT", "29500"},
          {"PET_MAX_RESTARTS", std::to_string(max_restarts)}};
}

class Timelines2 : public Timelines {
 protected:
  Timelines2() : Timelines(model::torch_2) {}

  void start_c10d(int count, const model::Environment& environment) {
    start(count, [&](int) { return environment; });
  }
  void start_static(int count, int max_restarts) {
    start(count, [&](int pod) { return static_node(pod, count, max_restarts); });
  }
  bool trains_again(int pod, Duration since, Duration limit) {
    return pods.until([&] { return pods.printed(pod, "joined", since); }, limit).has_value();
  }
};

TEST_F(Timelines2, c10d_workers_use_a_store_of_the_agents_under_one_port_for_life) {
  start_c10d(2, c10d("2", 3));
  EXPECT_EQ(pods.worker_env(1, "TORCHELASTIC_USE_AGENT_STORE"), "True");
  EXPECT_EQ(pods.worker_env(1, "MASTER_ADDR"), "pod-0");
  EXPECT_EQ(pods.worker_env(1, "TORCH_NCCL_ASYNC_ERROR_HANDLING"), "1");
  EXPECT_EQ(pods.worker_env(1, "TORCHELASTIC_SIGNALS_TO_HANDLE"), "SIGTERM,SIGINT,SIGHUP,SIGQUIT");
  EXPECT_EQ(pods.worker_env(1, "NCCL_ASYNC_ERROR_HANDLING"), "");
  const std::string port = pods.worker_env(0, "MASTER_PORT");
  const Duration crash = now();
  pods.signal_worker(1, sigkill);
  new_worker_after(1, crash);
  EXPECT_EQ(pods.worker_env(1, "MASTER_PORT"), port);
  EXPECT_EQ(pods.worker_env(1, "TORCHELASTIC_RESTART_COUNT"), "1");
}

TEST_F(Timelines2, without_sharing_each_round_has_a_port_of_its_own_and_restarts_work) {
  start_c10d(3, with(c10d("3", 1), no_sharing));
  EXPECT_EQ(pods.worker_env(1, "TORCHELASTIC_USE_AGENT_STORE"), "False");
  const std::string port = pods.worker_env(0, "MASTER_PORT");
  const Duration crash = now();
  pods.signal_worker(1, sigkill);
  for (int pod = 0; pod < 3; ++pod) EXPECT_TRUE(trains_again(pod, crash, 20s)) << pods.log(pod);
  EXPECT_NE(pods.worker_env(0, "MASTER_PORT"), port);
}

TEST_F(Timelines2, an_agent_out_of_restarts_leaves_without_an_exit_barrier) {
  start_c10d(2, c10d("2", 0));
  const Duration crash = now();
  pods.signal_worker(1, sigkill);
  expect_between(agent_ends_after(1, crash), 1500ms, 4s);
  expect_between(agent_ends_after(0, crash), 1500ms, 5s);
  EXPECT_EQ(exit_code(1), 1);
  EXPECT_EQ(exit_code(0), 1);
  const auto noticed = pods.line(1, "failed (exitcode: -9) local_rank: 0");
  ASSERT_TRUE(noticed);
  expect_between(*noticed - crash, 0ms, 200ms);
  EXPECT_TRUE(pods.printed(1, "  exitcode  : -9 (pid: "));
  EXPECT_TRUE(pods.printed(1, "  traceback : Signal 9 (SIGKILL) received by PID "));
}

TEST_F(Timelines2, a_worker_that_does_not_mind_sigterm_is_killed_when_it_was_said) {
  start_c10d(2, with(c10d("2", 0), {"PET_SHUTDOWN_TIMEOUT", "7"}));
  pods.signal_worker(1, sigstop);
  const Duration sent = now();
  pods.signal_agent(1, sigterm);
  expect_between(agent_ends_after(1, sent), 7s, 9s);
  EXPECT_TRUE(pods.printed(1, "via 15, forcefully exiting via 9"));
}

// §9.5, the rule: of each pair the rank with the larger address dials, once.
TEST_F(Timelines2, static_restart_fails_when_the_dialling_side_is_back_first) {
  start_static(2, 1);
  const Duration crash = now();
  pods.signal_worker(1, sigkill);
  EXPECT_TRUE(pods.until([&] { return pods.agent_end(1).has_value(); }, 30s)) << pods.log(1);
  EXPECT_EQ(exit_code(1), 1);
  EXPECT_TRUE(pods.printed(1, "SO_ERROR: Connection refused, remote=[10.77.0.10]", crash));
  EXPECT_FALSE(pods.printed(0, "joined", crash));
}

TEST_F(Timelines2, static_restart_works_when_the_dialled_side_is_back_first) {
  start_static(2, 1);
  const Duration crash = now();
  pods.signal_worker(0, sigkill);
  EXPECT_TRUE(trains_again(0, crash, 10s)) << pods.log(0);
  EXPECT_TRUE(trains_again(1, crash, 10s)) << pods.log(1);
}

TEST_F(Timelines2, static_attempts_need_not_line_up) {
  start_static(2, 3);
  const Duration crash = now();
  pods.signal_worker(1, sigkill);
  EXPECT_TRUE(trains_again(1, crash, 20s)) << pods.log(1);
  EXPECT_EQ(pods.worker_env(0, "TORCHELASTIC_RESTART_COUNT"), "1");
  EXPECT_EQ(pods.worker_env(1, "TORCHELASTIC_RESTART_COUNT"), "2");
}

// Of 20 worlds, in how many the group of a first restart stands within 40 s.
int restarts_that_work(int agents, const model::Environment& environment) {
  int count = 0;
  for (std::uint64_t seed = 0; seed < 20; ++seed) {
    Pods world(model::torch_2, seed);
    world.workload.steps = 100'000;
    world.add(agents);
    for (int pod = 0; pod < agents; ++pod) world.start(pod, environment);
    EXPECT_TRUE(world.until([&] { return world.printed(0, "step 5/"); }, 60s)) << world.log(0);
    const Duration crash = world.now();
    world.signal_worker(agents - 1, sigkill);
    if (world.until([&] { return world.printed(0, "joined", crash); }, 40s)) ++count;
  }
  return count;
}

TEST(Restarts2, of_a_c10d_group_are_a_matter_of_chance_unless_nothing_is_shared) {
  const int shared = restarts_that_work(3, c10d("3", 1));
  EXPECT_GT(shared, 0);
  EXPECT_LT(shared, 20);
  EXPECT_EQ(restarts_that_work(3, with(c10d("3", 1), no_sharing)), 20);
}

TEST(Determinism2, the_same_seed_tells_the_same_story) {
  const auto story = [](std::uint64_t seed) {
    Pods world(model::torch_2, seed);
    world.workload.steps = 100'000;
    world.add(3);
    for (int pod = 0; pod < 3; ++pod) world.start(pod, c10d("1:3", 3, "last_call_timeout=3"));
    world.run(10s);
    world.kill_pod(2);
    world.run(60s);
    return world.log(0) + world.log(1) + world.log(2);
  };
  EXPECT_EQ(story(11), story(11));
  EXPECT_NE(story(11), story(12));
}

TEST_F(Timelines2, a_newcomer_ends_all_agents_after_a_minute) {
  start_c10d(2, c10d("1:3", 3, "last_call_timeout=3"));
  pods.add(1);
  const Duration started = now();
  pods.start(2, c10d("1:3", 3, "last_call_timeout=3"));
  for (int pod = 0; pod < 3; ++pod) {
    expect_between(agent_ends_after(pod, started), 60s, 72s);
    EXPECT_EQ(exit_code(pod), 1);
  }
  EXPECT_TRUE(pods.printed(
      2, "DistStoreError: wait timeout after 60000ms, keys: /torch.rendezvous.job.1/MASTER_ADDR"));
  EXPECT_TRUE(pods.printed(0, "/torchelastic/role_info/0"));
}

TEST_F(Timelines2, a_newcomer_is_taken_in_where_nothing_is_shared) {
  const auto environment = with(c10d("1:3", 3, "last_call_timeout=3"), no_sharing);
  start_c10d(2, environment);
  pods.add(1);
  const Duration started = now();
  pods.start(2, environment);
  EXPECT_TRUE(trains_again(2, started, 15s)) << pods.log(2);
  EXPECT_EQ(pods.worker_env(0, "WORLD_SIZE"), "3");
  EXPECT_EQ(pods.worker_env(0, "TORCHELASTIC_RESTART_COUNT"), "0");
}

TEST_F(Timelines2, a_replaced_node_ends_all_agents_too) {
  start_c10d(3, c10d("3", 3));
  pods.kill_pod(2);
  pods.run(3s);
  const Duration started = now();
  pods.start(2, c10d("3", 3));
  for (int pod = 0; pod < 3; ++pod) {
    expect_between(agent_ends_after(pod, started), 60s, 90s);
    EXPECT_EQ(exit_code(pod), 1);
  }
}

TEST_F(Timelines2, a_replaced_node_is_taken_in_where_nothing_is_shared) {
  const auto environment = with(c10d("3", 3), no_sharing);
  start_c10d(3, environment);
  pods.kill_pod(2);
  pods.run(3s);
  const Duration started = now();
  pods.start(2, environment);
  for (int pod = 0; pod < 3; ++pod) EXPECT_TRUE(trains_again(pod, started, 25s)) << pods.log(pod);
}

TEST_F(Timelines2, the_address_of_a_dead_rank_0_is_kept_by_the_others) {
  pods.workload.timeout = 10s;
  const std::string conf = "last_call_timeout=3";
  start_c10d(3, c10d("1:3", 1, conf, "pod-1"));  // pod-0 is group rank 0, pod-1 has the store
  const Duration killed = now();
  pods.kill_pod(0);
  new_worker_after(1, killed);
  EXPECT_EQ(pods.worker_env(1, "MASTER_ADDR"), "pod-0");
  agent_ends_after(1, killed);
  EXPECT_EQ(exit_code(1), 1);
  EXPECT_FALSE(pods.printed(1, "joined", killed));
}

TEST_F(Timelines2, the_address_of_a_new_rank_0_is_used_where_nothing_is_shared) {
  const std::string conf = "last_call_timeout=3";
  start_c10d(3, with(c10d("1:3", 1, conf, "pod-1"), no_sharing));
  const Duration killed = now();
  pods.kill_pod(0);
  EXPECT_TRUE(trains_again(1, killed, 40s)) << pods.log(1);
  EXPECT_EQ(pods.worker_env(2, "MASTER_ADDR"), "pod-1");
}

TEST_F(Timelines2, a_lost_node_is_missed_for_its_lease_and_the_last_call) {
  start_c10d(3, c10d("1:3", 3, "last_call_timeout=3"));
  const Duration lost = now();
  pods.kill_pod(2);
  expect_between(new_worker_after(0, lost), 12s, 21s);
  EXPECT_EQ(pods.worker_env(0, "WORLD_SIZE"), "2");
}

TEST_F(Timelines2, sigterm_ends_an_agent_with_1_and_leaves_its_name_in_the_rendezvous) {
  start_c10d(3, c10d("1:3", 3, "last_call_timeout=3"));
  const Duration sent = now();
  pods.signal_agent(2, sigterm);
  expect_between(agent_ends_after(2, sent), 1s, 4s);
  EXPECT_EQ(exit_code(2), 1);
  EXPECT_TRUE(pods.printed(2, "closing signal SIGTERM"));
  EXPECT_TRUE(pods.printed(2, "got signal: 15"));
  expect_between(new_worker_after(0, sent), 10s, 21s);
  EXPECT_EQ(pods.worker_env(0, "WORLD_SIZE"), "2");
}

TEST_F(Timelines2, all_agents_die_with_the_pod_that_hosts_the_rendezvous) {
  start_c10d(3, c10d("3", 3));
  const Duration killed = now();
  pods.kill_pod(0);
  for (const int pod : {1, 2}) {
    expect_between(agent_ends_after(pod, killed), 1500ms, 5s);
    EXPECT_EQ(exit_code(pod), 1);
    const auto error = pods.line(pod, "RendezvousConnectionError");
    ASSERT_TRUE(error) << pods.log(pod);
    expect_between(*error - killed, 0ms, 3s);
  }
}

TEST_F(Timelines2, an_agents_worker_outlives_it_until_its_peers_go) {
  start_c10d(3, c10d("3", 3));
  const Duration killed = now();
  pods.signal_agent(0, sigkill);
  EXPECT_EQ(pods.workers(0), 1);
  for (const int pod : {1, 2}) {
    expect_between(agent_ends_after(pod, killed), 1500ms, 5s);
    EXPECT_EQ(exit_code(pod), 1);
  }
  EXPECT_TRUE(pods.until([&] { return pods.workers(0) == 0; }, 5s));
}

TEST_F(Timelines2, a_restarted_static_host_waits_for_the_whole_world) {
  start_static(2, 3);
  pods.kill_pod(0);
  pods.run(5s);
  EXPECT_EQ(exit_code(1), 1);
  pods.start(0, static_node(0, 2, 3));
  pods.run(300s);
  EXPECT_TRUE(pods.agent_runs(0));
  EXPECT_EQ(pods.workers(0), 0);
  pods.start(1, static_node(1, 2, 3));
  EXPECT_TRUE(trains_again(1, now(), 15s)) << pods.log(1);
}

TEST_F(Timelines2, three_static_agents_use_up_a_restart_in_vain) {
  start_static(3, 1);
  const Duration crash = now();
  pods.signal_worker(2, sigkill);
  agent_ends_after(2, crash);
  EXPECT_EQ(exit_code(2), 1);
  EXPECT_TRUE(pods.printed(2, "SO_ERROR: Connection refused", crash));
}

TEST_F(Timelines2, a_static_group_dies_with_the_pod_that_hosts_the_store) {
  start_static(3, 3);
  const Duration killed = now();
  pods.kill_pod(0);
  for (const int pod : {1, 2}) {
    agent_ends_after(pod, killed, 10s);
    EXPECT_EQ(exit_code(pod), 1);
    EXPECT_TRUE(pods.printed(pod, "DistNetworkError: Broken pipe")) << pods.log(pod);
  }
}

TEST_F(Timelines2, without_a_host_the_store_is_tried_for_two_minutes) {
  pods.add(2);
  pods.start(1, c10d("2", 0));
  expect_between(agent_ends_after(1, 0s), 90s, 190s);
  EXPECT_EQ(exit_code(1), 1);
  EXPECT_TRUE(pods.printed(1, "DistNetworkError"));
  EXPECT_TRUE(pods.printed(1, "RendezvousConnectionError"));
}

TEST_F(Timelines2, a_missing_node_ends_the_others_at_the_join_timeout) {
  pods.add(2);
  for (const int pod : {0, 1}) pods.start(pod, c10d("3", 0, "join_timeout=20"));
  expect_between(agent_ends_after(0, 0s), 20s, 28s);
  expect_between(agent_ends_after(1, 0s), 20s, 28s);
  EXPECT_EQ(exit_code(0), 1);
  EXPECT_EQ(exit_code(1), 1);
  EXPECT_TRUE(pods.printed(0, "RendezvousTimeoutError") ||
              pods.printed(1, "RendezvousTimeoutError"));
}

TEST_F(Timelines2, two_of_two_to_three_start_after_the_last_call) {
  pods.add(2);
  for (const int pod : {0, 1}) pods.start(pod, c10d("2:3", 0));
  expect_between(new_worker_after(0, 0s), 30s, 34s);
}

TEST_F(Timelines2, a_static_world_that_is_not_complete_is_an_error) {
  pods.add(2);
  pods.start(0, with(static_node(0, 2, 0), {"PET_RDZV_CONF", "timeout=20"}));
  expect_between(agent_ends_after(0, 0s), 22s, 26s);
  EXPECT_EQ(exit_code(0), 1);
  EXPECT_TRUE(pods.printed(0, "waiting for clients. 1/2 clients joined."));
}

TEST_F(Timelines2, all_agents_leave_with_0_when_their_workers_succeed) {
  pods.workload.steps = 20;
  start_c10d(2, c10d("2", 0));
  for (const int pod : {0, 1}) {
    EXPECT_TRUE(pods.until([&] { return pods.agent_end(pod).has_value(); }, 30s)) << pods.log(pod);
    EXPECT_EQ(exit_code(pod), 0);
  }
}

TEST_F(Timelines2, success_waits_in_the_exit_barrier_for_five_minutes) {
  pods.workload.steps = 20;
  start_static(2, 0);
  const Duration killed = now();
  pods.signal_agent(1, sigkill);  // its worker goes on
  expect_between(agent_ends_after(0, killed, 400s), 300s, 306s);
  EXPECT_EQ(exit_code(0), 0);
}

TEST_F(Timelines2, a_lone_node_with_two_workers_needs_no_name_and_no_port) {
  pods.workload.steps = 20;
  pods.add(1);
  pods.start(0, {{"PET_NPROC_PER_NODE", "auto"}});
  ASSERT_TRUE(pods.until([&] { return pods.worker(0, 1) != nullptr; }, 10s)) << pods.log(0);
  EXPECT_EQ(pods.worker_env(0, "RANK", 1), "1");
  EXPECT_EQ(pods.worker_env(0, "LOCAL_WORLD_SIZE", 1), "2");
  EXPECT_EQ(pods.worker_env(0, "OMP_NUM_THREADS", 1), "1");
  EXPECT_TRUE(pods.until([&] { return pods.agent_end(0).has_value(); }, 30s)) << pods.log(0);
  EXPECT_EQ(exit_code(0), 0);
}

TEST_F(Timelines2, two_pods_that_are_told_nothing_are_two_worlds) {
  pods.workload.steps = 20;
  pods.add(2);
  for (const int pod : {0, 1}) pods.start(pod, {});
  for (const int pod : {0, 1}) {
    EXPECT_TRUE(pods.until([&] { return pods.agent_end(pod).has_value(); }, 30s)) << pods.log(pod);
    EXPECT_EQ(exit_code(pod), 0);
    EXPECT_TRUE(pods.printed(pod, "joined rank 0 world_size 1"));
  }
}

TEST_F(Timelines2, an_empty_standalone_ends_torchrun_at_once) {
  pods.add(1);
  pods.start(0, {{"PET_STANDALONE", ""}});
  expect_between(agent_ends_after(0, 0s), 1s, 3s);
  EXPECT_EQ(exit_code(0), 1);
  EXPECT_TRUE(pods.printed(0, "ValueError: invalid literal for int() with base 10: ''"));
}

// One read timeout for its look at the members, one for closing the rendezvous (upstream's order).
TEST_F(Timelines2, an_agent_that_is_cut_off_from_the_store_gives_up_after_two_read_timeouts) {
  start_c10d(2, c10d("2", 3));
  const Duration cut = now();
  pods.network().set_link(Pods::ip(0), Pods::ip(1), model::LinkFault{.drop = true});
  expect_between(agent_ends_after(1, cut), 120s, 126s);
  EXPECT_EQ(exit_code(1), 1);
  EXPECT_TRUE(pods.printed(1, "RendezvousConnectionError"));
}

// 2.x leaves the store its timeout, and its host says who is missing.
TEST_F(Timelines2, missing_agents_are_waited_for_as_long_as_the_store_was_told) {
  pods.add(2);
  for (const int pod : {0, 1})
    pods.start(pod, {{"PET_NNODES", "4"},
                     {"PET_NODE_RANK", std::to_string(pod)},
                     {"PET_MASTER_ADDR", "pod-0"},
                     {"PET_MASTER_PORT", "29500"},
                     {"PET_RDZV_CONF", "timeout=15"}});
  expect_between(agent_ends_after(0, 0s, 60s), 17s, 21s);
  EXPECT_TRUE(pods.printed(0, "Timed out after 16 seconds waiting for clients. 2/4"));
  expect_between(agent_ends_after(1, 0s, 60s), 16s, 21s);
}

TEST_F(Timelines2, signals_that_are_not_handled_have_the_default_action) {
  start_c10d(2, with(c10d("2", 0), {"PET_SIGNALS_TO_HANDLE", "SIGTERM,SIGUSR1"}));
  pods.signal_agent(1, 10);
  EXPECT_TRUE(pods.until([&] { return pods.agent_end(1).has_value(); }, 10s));
  EXPECT_EQ(exit_code(1), 1);
  EXPECT_TRUE(pods.printed(1, "Received 10 death signal"));
  pods.signal_agent(0, 2);
  pods.run(100ms);
  EXPECT_EQ(exit_code(0), 128 + 2);
}

TEST_F(Timelines2, other_local_workers_get_sigterm_when_one_fails) {
  pods.add(1);
  pods.start(0, {{"PET_NPROC_PER_NODE", "3"}});
  trains(1);
  pods.signal_worker(0, sigkill, 2);
  agent_ends_after(0, now());
  EXPECT_EQ(exit_code(0), 1);
  EXPECT_EQ(pods.workers(0), 0);
  EXPECT_TRUE(pods.printed(0, "closing signal SIGTERM"));
  EXPECT_TRUE(pods.printed(0, "  rank      : 2 (local_rank: 2)"));
}

// torch/distributed/elastic/utils/api.py, macros.substitute(): in 1.13 as well.
TEST_F(Timelines2, arguments_are_templates_of_the_local_rank_alone) {
  pods.described = false;
  pods.command = {"torchrun", "--no_python", "sh", "-c",
                  "echo '$$RANK is ${local_rank}.$local_rank of $local_ranks ${RANK} $LOCAL_RANK $'"
                  " && sleep 1"};
  pods.add(1);
  pods.start(0, {{"PET_NPROC_PER_NODE", "2"}});
  agent_ends_after(0, now());
  EXPECT_EQ(exit_code(0), 0);
  for (const char* rank : {"0", "1"})
    EXPECT_TRUE(pods.printed(
        0, std::string("$RANK is ") + rank + "." + rank + " of $local_ranks ${RANK} $LOCAL_RANK $"))
        << pods.log(0);
}

}  // namespace
}  // namespace ddptwin::torchrun::timelines_2_test
