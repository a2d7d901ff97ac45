// When a container's script hears a signal, and what its traps do then.
#include <gtest/gtest.h>

#include <csignal>

#include "runtime/model/test_pods.hpp"

namespace ddptwin::model::shell_signals_test {
namespace {

// Process 1 with a handler: what users write so that their training hears of the pod's end.
TEST(Shell, a_trap_hands_the_stop_signal_on) {
  TestPods pods;
  pods.pod("pod-0");
  pods.command("pod-0", {"sh", "-c",
                         "trap 'echo stopping; kill -TERM $p' TERM; sleep 1000 & p=$!; wait $p; "
                         "wait $p; echo $?; exit 9"});
  pods.run(5s);
  pods.signal("pod-0", SIGTERM);
  EXPECT_EQ(pods.exit_code("pod-0"), 9);
  ASSERT_TRUE(pods.line("pod-0", "stopping"));
  EXPECT_EQ(pods.line("pod-0", "stopping")->at - pods.line("pod-0", "143")->at, Duration::zero());
}

// Process 1 is no other to bash than any: its signals end it, with its last trap (bash(1),
// SIGNALS).
TEST(Shell, a_bash_with_a_last_trap_ends_by_a_signal) {
  for (const std::string shell : {"sh", "bash"}) {
    TestPods pods;
    pods.pod("pod-0");
    pods.command("pod-0", {shell, "-c", "trap 'echo bye' EXIT; sleep 60; echo over"});
    pods.run(1s);
    pods.signal("pod-0", SIGTERM);
    EXPECT_EQ(pods.exit_code("pod-0"), shell == "bash" ? 128 + SIGTERM : 0);
    EXPECT_TRUE(pods.line("pod-0", "bye"));
    EXPECT_EQ(pods.line("pod-0", "over") != nullptr, shell == "sh");
  }
}

// What it does itself is done first, and nothing of the script after it.
TEST(Shell, a_busy_bash_ends_by_a_signal_too) {
  TestPods pods;
  pods.pod("pod-0");
  pods.command("pod-0",
               {"bash", "-c", "trap 'sleep 1; echo bye $i' EXIT; while :; do i=$((i + 1)); done"});
  pods.run(1s);
  pods.signal("pod-0", SIGTERM);
  pods.run(500ms);
  const std::string before = pods.all_lines();
  EXPECT_EQ(pods.exit_code("pod-0"), 128 + SIGTERM);
  EXPECT_EQ(before, "");
  ASSERT_EQ(pods.lines().size(), 1U);
  const int turns = std::stoi(pods.lines().front().text.substr(4));
  EXPECT_NEAR(turns, 10'000, 2'000);  // of a second: none while the trap sleeps
}

// A trap waits for what runs in the foreground (POSIX, trap).
TEST(Shell, a_trap_comes_when_the_command_has_ended) {
  TestPods pods;
  pods.pod("pod-0");
  pods.command("pod-0", {"sh", "-c", "trap 'echo over; exit 3' TERM; sleep 10; echo no"});
  pods.run(2s);
  pods.signal("pod-0", SIGTERM);
  EXPECT_EQ(pods.exit_code("pod-0"), 3);
  const ContainerReport report = pods.report("pod-0");
  EXPECT_GE(*report.finished_at - *report.started_at, 10s);
  EXPECT_FALSE(pods.line("pod-0", "no"));
}

}  // namespace
}  // namespace ddptwin::model::shell_signals_test
