// Who does not come, comes late, or comes wrongly: spec/ddp-semantics.md §3.2, §3.3, §9.2.
#include <gtest/gtest.h>

#include <csignal>

#include "runtime/model/test_pods.hpp"

namespace ddptwin::model::rendezvous_test {
namespace {

const Strings short_timeout{"--timeout", "6s", "--eager-connect", "0", "--steps", "3"};

ContainerConfig with(ContainerConfig config, const std::string& name, const std::string& value) {
  for (auto& [key, old] : config.env) {
    if (key == name) old = value;
  }
  return config;
}

ContainerConfig rank_config(TestPods& pods, int rank, int world, const Strings& args) {
  return pods.config("pod-" + std::to_string(rank), "ddptwin-worker", args,
                     {{"RANK", std::to_string(rank)},
                      {"WORLD_SIZE", std::to_string(world)},
                      {"MASTER_ADDR", rank == 0 ? "localhost" : "pod-0"},
                      {"MASTER_PORT", "23456"}});
}

// Exit code, last line of stderr, and how long after its start a rank ended.
struct End {
  int code = 0;
  std::string error{};
  Duration after{};
};
End end_of(TestPods& pods, const std::string& pod) {
  const int code = pods.exit_code(pod, 3h);
  const ContainerReport report = pods.report(pod);
  return {code, pods.last_error(pod), *report.finished_at - *report.started_at};
}

void expect_end(const End& end, int code, const std::string& error, Duration least, Duration most) {
  EXPECT_EQ(end.code, code) << end.error;
  EXPECT_NE(end.error.find(error), std::string::npos) << end.error;
  EXPECT_GE(end.after, least) << end.error;
  EXPECT_LE(end.after, most) << end.error;
}

struct NobodyListens {
  std::string name;
  const TorchProfile* torch;
  std::string error;
  Duration least, most;
};

// FM-115: each rank tells the others that it is at 127.0.0.1, where each finds itself.
TEST(Rendezvous, ranks_that_publish_their_loopback_refuse_one_another) {
  for (const TorchProfile* torch : {&torch_1, &torch_2}) {
    TestPods pods({.torch = torch});
    for (const int rank : {0, 1}) {
      const std::string pod = "pod-" + std::to_string(rank);
      pods.pod(pod);
      ContainerConfig config = rank_config(pods, rank, 2, short_timeout);
      config.env.emplace_back("GLOO_SOCKET_IFNAME", "lo");
      pods.start(pod, std::move(config));
    }
    const End first = end_of(pods, "pod-0"), second = end_of(pods, "pod-1");
    EXPECT_EQ(first.code, 1);
    EXPECT_EQ(second.code, 1);
    // Who dials is refused, and the other one waits for it.
    const std::string errors = first.error + second.error;
    const char* refused = torch == &torch_1 ? "connect [127.0.0.1]:" : "remote=[127.0.0.1]:";
    EXPECT_NE(errors.find("Connection refused"), std::string::npos) << errors;
    EXPECT_NE(errors.find(refused), std::string::npos) << errors;
  }
}

class NoMaster : public testing::TestWithParam<NobodyListens> {};
INSTANTIATE_TEST_SUITE_P(
    Rendezvous, NoMaster,
    testing::Values(
        NobodyListens{"torch_1", &torch_1,
                      "TimeoutError: The client socket has timed out after 6s while trying to "
                      "connect to (pod-0, 23456).",
                      5s, 5s + 50ms},
        // §9.8: measured 1.3 to 2.7 T; the back-off's tails go a little further.
        NobodyListens{"torch_2", &torch_2,
                      "torch.distributed.DistNetworkError: The client socket has timed out after "
                      "6000ms while trying to connect to (pod-0, 23456).",
                      6s, 6s * 32 / 10}),
    [](const auto& one) { return one.param.name; });

TEST_P(NoMaster, ends_a_worker_that_finds_nobody_listening) {
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    TestPods pods({.torch = GetParam().torch, .seed = seed});
    pods.pod("pod-0");
    pods.rank(1, 2, short_timeout);
    expect_end(end_of(pods, "pod-1"), 1, GetParam().error, GetParam().least, GetParam().most);
  }
}

TEST_P(NoMaster, ends_a_worker_whose_masters_name_does_not_exist) {
  TestPods pods({.torch = GetParam().torch});
  pods.rank(1, 2, short_timeout);
  expect_end(end_of(pods, "pod-1"), 1, GetParam().error, GetParam().least, GetParam().most);
  EXPECT_TRUE(pods.line("pod-1",
                        "[c10d] The IPv6 network addresses of (pod-0, 23456) cannot be retrieved "
                        "(gai error: -2 - Name or service not known)."));
}

TEST(Rendezvous, torch_1_looks_for_the_master_once_a_second) {
  TestPods pods({.torch = &torch_1});
  pods.rank(1, 2, short_timeout);
  pods.run(3500ms);
  pods.rank(0, 2, short_timeout);
  const Duration joined = pods.until_line("pod-1", "joined rank 1 world_size 2");
  EXPECT_GT(joined, 4s);
  EXPECT_LT(joined, 4s + 200ms);
}

TEST(Rendezvous, torch_2_looks_for_the_master_ever_more_seldom) {
  TestPods pods;
  pods.rank(1, 2, {"--eager-connect", "0", "--steps", "3"});
  pods.run(30s);
  const int tries_in_30_s = pods.questions();
  EXPECT_GE(tries_in_30_s, 3 * 6);  // three names each: the search domains and the name itself
  EXPECT_LE(tries_in_30_s, 3 * 14);
  pods.rank(0, 2, {"--steps", "3"});
  EXPECT_LT(pods.until_line("pod-1", "joined", 2min), 30s + 45s);
}

TEST(Rendezvous, eager_connect_finds_a_master_that_is_a_little_late) {
  TestPods pods;
  pods.pod("pod-0");
  pods.rank(1, 2, {"--steps", "3"});
  pods.run(500ms);
  pods.rank(0, 2, {"--steps", "3"});
  EXPECT_LT(pods.until_line("pod-1", "joined"), 600ms);
}

TEST(Rendezvous, a_rank_that_never_comes_ends_the_others_of_torch_1_after_t_and_2_t_plus_1) {
  TestPods pods({.torch = &torch_1});
  pods.rank(0, 3, short_timeout);
  pods.rank(1, 3, short_timeout);
  expect_end(end_of(pods, "pod-1"), 1, "RuntimeError: Socket Timeout", 6s, 6s + 100ms);
  expect_end(end_of(pods, "pod-0"), 1, "RuntimeError: Socket Timeout", 13s, 13s + 100ms);
}

TEST(Rendezvous, a_rank_that_never_comes_ends_the_others_of_torch_2_after_t_and_t_plus_1) {
  TestPods pods;
  pods.rank(0, 3, short_timeout);
  pods.rank(1, 3, short_timeout);
  expect_end(end_of(pods, "pod-1"), 1,
             "torch.distributed.DistStoreError: wait timeout after 6000ms, keys: "
             "/default_pg/0//cpu//0/0",
             6s, 6s + 100ms);
  expect_end(end_of(pods, "pod-0"), 1,
             "torch.distributed.DistStoreError: Timed out after 7 seconds waiting for clients. 2/3 "
             "clients joined.",
             7s, 7s + 100ms);
}

struct Wrong {
  std::string name;
  const TorchProfile* torch;
  std::string variable, value;  // of rank 1 of two
  std::string error;
};

class WrongEnvironment : public testing::TestWithParam<Wrong> {};
INSTANTIATE_TEST_SUITE_P(
    Rendezvous, WrongEnvironment,
    testing::Values(
        Wrong{"rank_missing", &torch_2, "RANK", "",
              "ValueError: Error initializing torch.distributed using env:// rendezvous: "
              "environment variable RANK expected, but not set"},
        Wrong{"address_missing", &torch_1, "MASTER_ADDR", "",
              "ValueError: Error initializing torch.distributed using env:// rendezvous: "
              "environment variable MASTER_ADDR expected, but not set"},
        Wrong{"rank_no_number", &torch_2, "RANK", "abc",
              "ValueError: invalid literal for int() with base 10: 'abc'"},
        Wrong{"port_too_large", &torch_2, "MASTER_PORT", "70000",
              "ValueError: port must have value from 0 to 65535 but was 70000."},
        Wrong{"rank_outside_1", &torch_1, "RANK", "2",
              "RuntimeError: [enforce fail at ./gloo/context.cc:27] rank < size. 2 vs 2"},
        Wrong{"rank_outside_2", &torch_2, "RANK", "2", "rank < size. 2 vs 2"}),
    [](const auto& one) { return one.param.name; });

TEST_P(WrongEnvironment, ends_the_rank_at_once_with_pythons_words) {
  TestPods pods({.torch = GetParam().torch});
  pods.pod("pod-0");
  pods.pod("pod-1");
  pods.rank(0, 2, {"--timeout", "1h"});
  pods.start("pod-1", with(rank_config(pods, 1, 2, {}), GetParam().variable, GetParam().value));
  expect_end(end_of(pods, "pod-1"), 1, GetParam().error, 0s, 200ms);
}

TEST(Rendezvous, another_world_size_ends_all_ranks_of_torch_1_at_once) {
  struct Row {
    int world;
    const char* other;
    const char* sizes;
  };
  for (const Row& row : {Row{2, "3", "136 vs 272"}, Row{3, "4", "136 vs 204"},
                         Row{3, "2", "136 vs 68"}}) {  // the last two as they were measured
    TestPods pods({.torch = &torch_1});
    for (const char* name : {"pod-0", "pod-1", "pod-2"}) pods.pod(name);
    for (const int rank : {0, 2})
      if (rank < row.world) pods.rank(rank, row.world, short_timeout);
    pods.start("pod-1",
               with(rank_config(pods, 1, row.world, short_timeout), "WORLD_SIZE", row.other));
    expect_end(end_of(pods, "pod-0"), 1, std::string("sizeof(impl_) == bytes.size(). ") + row.sizes,
               0s, 200ms);
    EXPECT_EQ(pods.exit_code("pod-1"), 1);
  }
}

TEST(Rendezvous, a_larger_world_size_waits_for_a_rank_that_is_not_there_in_torch_2) {
  TestPods pods;
  for (const char* name : {"pod-0", "pod-1", "pod-2"}) pods.pod(name);
  pods.rank(0, 3, short_timeout);
  pods.start("pod-1", with(rank_config(pods, 1, 3, short_timeout), "WORLD_SIZE", "4"));
  pods.rank(2, 3, short_timeout);
  expect_end(end_of(pods, "pod-1"), 1,
             "DistStoreError: wait timeout after 6000ms, keys: /default_pg/0//cpu//0/3", 6s,
             6s + 200ms);
}

// ddp-semantics §9.2: with the largest address but one it would have dialled rank 0, and rank 2
// dials whoever listens.
TEST(Rendezvous, who_waits_for_a_key_dials_nobody_in_torch_2) {
  TestPods pods;
  for (const char* name : {"pod-0", "pod-1", "pod-2"}) pods.pod(name);
  pods.rank(0, 3, short_timeout);
  pods.start("pod-1", with(rank_config(pods, 1, 3, short_timeout), "WORLD_SIZE", "4"));
  pods.rank(2, 3, short_timeout);
  EXPECT_LT(pods.until_line("pod-2", "joined rank 2 world_size 3"), 1s);
  expect_end(end_of(pods, "pod-0"), 1, "Gloo connectFullMesh failed with", 30s, 31s);
  EXPECT_EQ(pods.line("pod-0", "joined"), nullptr) << pods.all_lines();
}

// The trial a05: a job of two whose worker says WORLD_SIZE=3.
TEST(Rendezvous, a_master_waits_5_t_for_a_worker_that_waits_for_more_in_torch_2) {
  TestPods pods;
  for (const char* name : {"pod-0", "pod-1"}) pods.pod(name);
  pods.rank(0, 2, short_timeout);
  pods.start("pod-1", with(rank_config(pods, 1, 2, short_timeout), "WORLD_SIZE", "3"));
  expect_end(end_of(pods, "pod-1"), 1,
             "DistStoreError: wait timeout after 6000ms, keys: /default_pg/0//cpu//0/2", 6s,
             6s + 200ms);
  expect_end(end_of(pods, "pod-0"), 1, "Connect timeout [none]", 30s, 31s);
  EXPECT_EQ(pods.line("pod-0", "joined"), nullptr) << pods.all_lines();
}

// Its address is the larger one: it dials, and whoever waits for keys listens.
TEST(Rendezvous, a_master_of_the_larger_address_joins_who_waits_for_more_in_torch_2) {
  TestPods pods;
  for (const char* name : {"pod-1", "pod-0"}) pods.pod(name);
  pods.rank(0, 2, {"--timeout", "1m", "--steps", "3"});
  pods.start("pod-1", with(rank_config(pods, 1, 2, short_timeout), "WORLD_SIZE", "3"));
  pods.until_line("pod-0", "joined rank 0 world_size 2");
  expect_end(end_of(pods, "pod-0"), 1, "Connection closed by peer", 6s, 6s + 300ms);
}

// ddp-semantics §9.2: its group of two sends rank 0 more than a ring of three has room for. 25348
// bytes of gradients are 4 parts of 6340 or 6 of 4228.
TEST(Rendezvous, a_smaller_world_size_aborts_the_rank_with_the_smaller_buffers_in_torch_2) {
  TestPods pods;
  const Strings args = short_timeout + Strings{"--hidden", "64"};
  for (const char* name : {"pod-0", "pod-1", "pod-2"}) pods.pod(name);
  pods.rank(0, 3, args);
  pods.start("pod-1", with(rank_config(pods, 1, 3, args), "WORLD_SIZE", "2"));
  pods.rank(2, 3, args);
  pods.until_line("pod-1", "joined rank 1");
  pods.signal("pod-2", SIGSTOP);  // it is connected, but rank 0 is the first to go on
  EXPECT_EQ(pods.exit_code("pod-0"), 139) << pods.all_lines();
  EXPECT_TRUE(pods.line("pod-0", "op.preamble.length <= op.nbytes. 6340 vs 4228. Received data"))
      << pods.all_lines();
  EXPECT_EQ(pods.exit_code("pod-1"), 1);
  EXPECT_EQ(pods.line("pod-1", "EnforceNotMet"), nullptr) << pods.all_lines();
}

TEST(Rendezvous, two_ranks_1_leave_all_waiting_for_rank_2_in_torch_2) {
  TestPods pods;
  for (const char* name : {"pod-0", "pod-1", "pod-2"}) pods.pod(name);
  pods.rank(0, 3, short_timeout);
  pods.rank(1, 3, short_timeout);
  pods.start("pod-2", with(rank_config(pods, 2, 3, short_timeout), "RANK", "1"));
  for (const char* name : {"pod-0", "pod-1", "pod-2"}) {
    expect_end(end_of(pods, name), 1,
               "DistStoreError: wait timeout after 6000ms, keys: /default_pg/0//cpu//0/2", 6s,
               6s + 200ms);
  }
}

struct PortTaken {
  std::string name;
  const TorchProfile* torch;
  std::string error;
};
class TakenPort : public testing::TestWithParam<PortTaken> {};
INSTANTIATE_TEST_SUITE_P(
    Rendezvous, TakenPort,
    testing::Values(
        PortTaken{"torch_1", &torch_1,
                  "RuntimeError: The server socket has failed to listen on any local network "
                  "address. The server socket has failed to bind to [::]:23456 (errno: 98 - "
                  "Address already in use)."},
        PortTaken{"torch_2", &torch_2,
                  "torch.distributed.DistNetworkError: The server socket has failed to listen on "
                  "any local network address. port: 23456, useIpv6: false, code: -98, name: "
                  "EADDRINUSE, message: address already in use"}),
    [](const auto& one) { return one.param.name; });

TEST_P(TakenPort, ends_rank_0_at_once_and_lets_the_others_hang_for_ever) {
  TestPods pods({.torch = GetParam().torch});
  for (const char* name : {"pod-0", "pod-1"}) pods.pod(name);
  ASSERT_TRUE(pods.runtime().network().listen(pods.ip("pod-0"), 23456, 0, nullptr));
  pods.rank(0, 2, short_timeout);
  pods.rank(1, 2, short_timeout);
  expect_end(end_of(pods, "pod-0"), 1, GetParam().error, 0s, 100ms);
  pods.run(1h);
  EXPECT_TRUE(pods.runs("pod-1"));
}

TEST(Rendezvous, no_host_at_the_address_is_not_retried_by_torch_1) {
  TestPods pods({.torch = &torch_1});
  pods.addresses()["pod-0.default.svc.cluster.local"] = "10.244.0.77";
  pods.rank(1, 2, {"--timeout", "10s", "--eager-connect", "0"});
  expect_end(end_of(pods, "pod-1"), 1,
             "RuntimeError: The client socket has failed to connect to any network address of "
             "(pod-0, 23456). The client socket has failed to connect to [10.244.0.77]:23456 "
             "(errno: 113 - No route to host).",
             6s, 6s + 300ms);
}

TEST(Rendezvous, no_host_at_the_address_is_retried_by_torch_2_until_t_is_over) {
  TestPods pods;
  pods.addresses()["pod-0.default.svc.cluster.local"] = "10.244.0.77";
  pods.rank(1, 2, {"--timeout", "10s", "--eager-connect", "0"});
  expect_end(end_of(pods, "pod-1"), 1, "errno: 113 - No route to host", 10s, 20s);
}

// Each failure of that kind ends a loop of c10d's socket, and the next has all of T.
TEST(Rendezvous, no_host_at_the_address_leaves_torch_2_all_of_its_timeout) {
  TestPods pods;
  pods.pod("pod-0");
  const std::string master = std::exchange(pods.addresses()["pod-0.default.svc.cluster.local"],
                                           std::string("10.244.0.77"));
  pods.rank(1, 2, {"--timeout", "20s", "--eager-connect", "0"});
  const Duration begin = pods.now();
  pods.run(8s);
  pods.addresses()["pod-0.default.svc.cluster.local"] = master;
  pods.runtime().network().set_link(pods.ip("pod-0"), pods.ip("pod-1"), {.drop = true});
  expect_end(end_of(pods, "pod-1"), 1, "The client socket has timed out after 20000ms", 30s, 36s);
  EXPECT_GT(pods.ended_at("pod-1") - begin, 30s);  // the second try fails after 12.8 s
}

TEST(Rendezvous, a_net_without_a_route_ends_torch_1_at_once) {
  TestPods pods({.torch = &torch_1});
  pods.addresses()["pod-0.default.svc.cluster.local"] = "192.0.2.1";
  pods.rank(1, 2, short_timeout);
  expect_end(end_of(pods, "pod-1"), 1, "errno: 101 - Network is unreachable", 0s, 100ms);
}

// Linux 6.5 and later: SYNs after 1, 2, 3, 4, 5, 7, 11, 19 seconds.
TEST(Rendezvous, a_healed_path_is_found_by_the_next_syn) {
  for (const auto& [healed, found] : {std::pair(2500ms, 3s), {5500ms, 7s}, {12s, 19s}}) {
    TestPods pods;
    pods.pod("pod-0");
    pods.pod("pod-1");
    Network& network = pods.runtime().network();
    ASSERT_TRUE(network.listen(pods.ip("pod-1"), 80, 1, nullptr));
    network.set_link(pods.ip("pod-0"), pods.ip("pod-1"), {.drop = true});
    const Duration begin = pods.now();
    Duration took{};
    network.connect(pods.ip("pod-0"), pods.ip("pod-1"), 80, 1min, pods.loop().new_lane(),
                    [&](Connect outcome) {
                      EXPECT_EQ(outcome, Connect::accepted);
                      took = pods.now() - begin;
                    });
    pods.run(healed);
    network.set_link(pods.ip("pod-0"), pods.ip("pod-1"), {});
    pods.run(1min);
    EXPECT_NEAR(seconds_of(took), seconds_of(found), 0.01);
  }
}

TEST(Rendezvous, a_path_that_heals_after_the_last_syn_has_healed_too_late) {
  TestPods pods;
  pods.pod("pod-0");
  pods.pod("pod-1");
  Network& network = pods.runtime().network();
  ASSERT_TRUE(network.listen(pods.ip("pod-1"), 80, 1, nullptr));
  network.set_link(pods.ip("pod-0"), pods.ip("pod-1"), {.drop = true});
  std::optional<Connect> met;
  network.connect(pods.ip("pod-0"), pods.ip("pod-1"), 80, 30s, pods.loop().new_lane(),
                  [&](Connect outcome) { met = outcome; });
  pods.run(25s);
  network.set_link(pods.ip("pod-0"), pods.ip("pod-1"), {});
  pods.run(10s);
  EXPECT_EQ(met, Connect::timed_out);
}

TEST(Rendezvous, dropped_connection_attempts_end_after_t) {
  for (const TorchProfile* torch : {&torch_1, &torch_2}) {
    TestPods pods({.torch = torch});
    for (const char* name : {"pod-0", "pod-1"}) pods.pod(name);
    pods.runtime().network().set_link(pods.ip("pod-0"), pods.ip("pod-1"), {.drop = true});
    pods.rank(1, 2, short_timeout);
    expect_end(end_of(pods, "pod-1"), 1, "The client socket has timed out after 6", 6s, 6s + 100ms);
  }
}

TEST(Rendezvous, a_silent_dns_server_is_a_temporary_failure) {
  TestPods pods;
  pods.set_dns(DnsOutcome::lost);
  pods.rank(1, 2, {"--timeout", "30s", "--eager-connect", "0"});
  EXPECT_GE(pods.until_line("pod-1", "gai error: -3 - Temporary failure in name resolution"), 20s);
  pods.set_dns(DnsOutcome::found);
  pods.rank(0, 2, {"--timeout", "30s"});
  pods.until_line("pod-1", "joined rank 1");
}

TEST(Rendezvous, a_master_that_dies_in_it_ends_the_others) {
  TestPods pods;
  pods.rank(0, 3, {"--timeout", "1h"});
  pods.rank(1, 3, {"--timeout", "1h"});
  pods.run(3s);
  pods.signal("pod-0", SIGKILL);
  expect_end(end_of(pods, "pod-1"), 1,
             "torch.distributed.DistNetworkError: Failed to recv, got 0 bytes.", 2900ms, 3200ms);
}

TEST(Rendezvous, a_pair_that_is_never_connected_is_waited_for_5_t) {
  TestPods pods({.torch = &torch_1});
  for (const char* name : {"pod-0", "pod-1", "pod-2"}) pods.pod(name);
  pods.runtime().network().set_link(pods.ip("pod-1"), pods.ip("pod-2"), {.drop = true});
  for (int rank = 0; rank < 3; ++rank) pods.rank(rank, 3, short_timeout);
  pods.run(1s);
  pods.signal("pod-2", SIGKILL);  // it has the larger address: the dial would have been its own
  expect_end(end_of(pods, "pod-1"), 1, "Connect timeout [10.244.0.4]:", 30s, 31s);
}

TEST(Rendezvous, a_restarted_rank_does_not_get_into_the_old_group_of_torch_1) {
  TestPods pods({.torch = &torch_1});
  pods.group(2, {"--steps", "1000000", "--step-time", "10s"});
  pods.until_line("pod-1", "joined");
  pods.run(1s);
  pods.signal("pod-1", SIGKILL);
  EXPECT_EQ(pods.exit_code("pod-1"), 137);
  pods.rank(1, 2, short_timeout);
  expect_end(end_of(pods, "pod-1"), 1, "connect [10.244.0.2]:", 0s, 1s);
}

TEST(Rendezvous, a_restarted_rank_of_torch_2_is_lost_with_the_old_groups_end) {
  TestPods pods;
  pods.group(2, {"--steps", "1000000", "--step-time", "10s"});
  pods.until_line("pod-1", "joined");
  pods.run(1s);
  pods.signal("pod-1", SIGKILL);
  EXPECT_EQ(pods.exit_code("pod-1"), 137);
  pods.rank(1, 2, short_timeout + Strings{"--timeout", "1h"});
  EXPECT_EQ(pods.exit_code("pod-0"), 1);
  const Duration lost = pods.ended_at("pod-0");
  EXPECT_EQ(pods.exit_code("pod-1"), 1);
  EXPECT_LT(pods.ended_at("pod-1") - lost, 100ms);
}

}  // namespace
}  // namespace ddptwin::model::rendezvous_test
