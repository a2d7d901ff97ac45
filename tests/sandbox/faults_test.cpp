// What can be done to pods beside what a kubelet asks for: signals to one process of a container,
// ends with a code, and links that are cut or refuse.
#include <gmock/gmock.h>

#include <algorithm>
#include <csignal>

#include "sandbox_fixture.hpp"

namespace ddptwin::faults_test {
namespace {

using Link = sandbox::SetLinks::Link;

class FaultsTest : public SandboxTest {
 protected:
  Result<void> signal(const ContainerId& id, int number, const ProcessChoice& choice) {
    return wait<void>(
        [&](auto done) { runtime->signal_container(id, number, choice, std::move(done)); });
  }
  Result<void> set_links(const std::vector<Link>& links) {
    return wait<void>([&](auto done) { runtime->set_links(links, std::move(done)); });
  }
  void pass(Duration time) {
    const Time last = loop.now() + time;
    until([&] { return loop.now() >= last; });
  }
  std::size_t lines_of(const ContainerId& id) {
    const std::string log = log_of(id);
    return static_cast<std::size_t>(std::count(log.begin(), log.end(), '\n'));
  }
};

// As under torchrun: the environment of the shell has a rank too, and each child one of its own.
constexpr const char* agent =
    "export RANK=1; RANK=2 TORCHELASTIC_RUN_ID=x sleep 1001 & a=$!; "
    "RANK=3 TORCHELASTIC_RUN_ID=x sleep 1002 & b=$!; sleep 0.2; echo up; "
    "wait $b; echo \"b $?\"; wait $a; echo \"a $?\"; exit 5";

TEST_F(FaultsTest, a_signal_reaches_one_rank_and_the_others_live_on) {
  const auto id = start_shell(run_pod().id, agent);
  ASSERT_TRUE(id) << id.error().text();
  ASSERT_TRUE(wait_for_line(*id, "up"));
  const Result<void> nobody = signal(*id, SIGKILL, {.rank = 1});
  ASSERT_FALSE(nobody) << "who started ranks is none";
  EXPECT_EQ(nobody.error().where, "NotFound");
  ASSERT_TRUE(signal(*id, SIGKILL, {.rank = 3}));
  ASSERT_TRUE(wait_for_line(*id, "b 137"));
  ASSERT_TRUE(signal(*id, SIGTERM, {.command = "sleep 1001"}));
  EXPECT_EQ(wait_for_end(*id).exit_code, 5);
  EXPECT_THAT(log_of(*id), testing::HasSubstr("a 143"));
}

TEST_F(FaultsTest, a_group_is_all_of_it) {
  const auto id = start_shell(run_pod().id, agent);
  ASSERT_TRUE(id) << id.error().text();
  ASSERT_TRUE(wait_for_line(*id, "up"));
  ASSERT_TRUE(signal(*id, SIGKILL, {.rank = 2, .group = true}));
  EXPECT_EQ(wait_for_end(*id).exit_code, 137) << "the shell is of the same group";
}

TEST_F(FaultsTest, a_command_of_an_exec_is_not_meant) {
  const auto id = start_shell(run_pod().id, "sleep 1003 & echo up; wait; exit 6");
  ASSERT_TRUE(id) << id.error().text();
  ASSERT_TRUE(wait_for_line(*id, "up"));
  std::optional<int> code;
  runtime->exec(*id, {"sh", "-c", "echo begun; sleep 1003; exit 7"}, 10s,
                [&](const Result<ExecResult>& result) { code = result ? result->exit_code : -1; });
  pass(500ms);
  ASSERT_TRUE(signal(*id, SIGKILL, {.command = "sleep 1003"}));
  EXPECT_EQ(wait_for_end(*id).exit_code, 6);
  ASSERT_TRUE(until([&] { return code.has_value(); }));
  EXPECT_NE(*code, 7);
}

TEST_F(FaultsTest, a_container_ends_with_the_code_that_is_asked_for) {
  const auto id = start_shell(run_pod().id, "echo up; exec sleep 1000");
  ASSERT_TRUE(id) << id.error().text();
  ASSERT_TRUE(wait_for_line(*id, "up"));
  ASSERT_TRUE(wait<void>([&](auto done) { runtime->exit_container(*id, 3, std::move(done)); }));
  const ContainerReport report = wait_for_end(*id);
  EXPECT_EQ(report.exit_code, 3);
  EXPECT_EQ(report.reason, "Error");
}

// Tells of each message, and of the end of the connection.
constexpr const char* server =
    "exec python3 -u -c 'import socket\n"
    "s = socket.create_server((\"\", 7000)); print(\"up\")\n"
    "c, _ = s.accept()\n"
    "while True:\n"
    "    try: got = c.recv(1)\n"
    "    except OSError as e: print(\"lost\", e); break\n"
    "    print(\"got\", got)\n"
    "    if not got: break'";
constexpr const char* client =
    "exec python3 -u -c 'import socket, select, sys\n"
    "c = socket.create_connection((sys.argv[1], 7000)); print(\"joined\")\n"
    "while True:\n"
    "    try: c.send(b\"x\")\n"
    "    except OSError as e: print(\"lost\", e); break\n"
    "    select.select([], [], [], 0.05)' ";

struct Pair {
  SandboxStatus one{}, other{};
  ContainerId heard{}, spoken{};
};

class LinksTest : public FaultsTest {
 protected:
  void SetUp() override {
    FaultsTest::SetUp();
    ASSERT_TRUE(runtime);
    const Result<void> can = set_links({{"192.0.2.1", "192.0.2.2", true, false}});
    if (!can && can.error().reason == Reason::unsupported_machine)
      GTEST_SKIP() << can.error().text();  // a kernel without nf_tables
    ASSERT_TRUE(can) << can.error().text();
    ASSERT_TRUE(set_links({}));
    pair.one = run_pod();
    pair.other = run_pod();
    const auto heard = start_shell(pair.one.id, server);
    ASSERT_TRUE(heard && wait_for_line(*heard, "up"));
    const auto spoken = start_shell(pair.other.id, client + pair.one.ip);
    ASSERT_TRUE(spoken && wait_for_line(*spoken, "joined"));
    ASSERT_TRUE(wait_for_line(*heard, "got b'x'"));
    pair.heard = *heard;
    pair.spoken = *spoken;
  }
  Pair pair;
};

TEST_F(LinksTest, a_cut_is_told_to_nobody_and_heals) {
  for (const std::vector<Link>& cut : {std::vector<Link>{{pair.one.ip, pair.other.ip, true, false}},
                                       std::vector<Link>{{pair.other.ip, "", true, false}}}) {
    ASSERT_TRUE(set_links(cut));
    pass(200ms);
    const std::size_t before = lines_of(pair.heard);
    pass(1s);
    EXPECT_EQ(lines_of(pair.heard), before);
    EXPECT_THAT(log_of(pair.spoken), testing::Not(testing::HasSubstr("lost")));
    ASSERT_TRUE(set_links({}));
    EXPECT_TRUE(until([&] { return lines_of(pair.heard) > before + 10; }));
  }
}

TEST_F(LinksTest, a_node_reaches_its_pod_whatever_is_cut) {
  ASSERT_TRUE(set_links({{pair.one.ip, "", true, false}}));
  const auto reached =
      wait<int>([&](auto done) { runtime->try_connect(pair.one.ip, 7000, 2s, std::move(done)); });
  ASSERT_TRUE(reached);
  EXPECT_EQ(*reached, 0);
}

TEST_F(LinksTest, a_refusal_is_told_to_who_sends) {
  ASSERT_TRUE(set_links({{pair.one.ip, pair.other.ip, false, true}}));
  EXPECT_TRUE(wait_for_line(pair.spoken, "lost"));
  EXPECT_THAT(log_of(pair.heard), testing::Not(testing::HasSubstr("lost")));
  EXPECT_THAT(run_shell(pair.other.id, client + pair.one.ip).output,
              testing::HasSubstr("ConnectionRefusedError"));
  ASSERT_TRUE(set_links({}));
  const auto again = start_shell(pair.other.id, client + pair.one.ip);
  ASSERT_TRUE(again);
  EXPECT_TRUE(wait_for_line(*again, "joined"));
}

}  // namespace
}  // namespace ddptwin::faults_test
