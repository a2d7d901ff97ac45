// The port's contract: signals, grace periods, exec, volumes, logs, sandboxes.
#include <gtest/gtest.h>

#include <csignal>

#include "runtime/model/test_pods.hpp"
#include "runtime/process/container_rules.hpp"

namespace ddptwin::model::containers_test {
namespace {

TEST(Containers, process_1_ignores_sigterm_and_is_killed_after_the_grace_period) {
  TestPods pods;
  pods.pod("pod-0");
  pods.command("pod-0", {"sleep", "1h"});
  pods.run(1s);
  bool stopped = false;
  pods.runtime().stop_container(pods.latest("pod-0"), 30, [&](Result<void>) { stopped = true; });
  pods.run(29s);
  EXPECT_TRUE(pods.runs("pod-0"));
  EXPECT_FALSE(stopped);
  pods.run(2s);
  EXPECT_EQ(pods.report("pod-0").exit_code, 137);
  EXPECT_EQ(pods.report("pod-0").reason, "Error");
  EXPECT_TRUE(stopped);
}

TEST(Containers, a_memory_limit_in_which_no_runtime_can_start_one) {
  for (const auto& [limit, starts] :
       {std::pair<std::int64_t, bool>{1 << 20, false}, {8 << 20, false}, {9 << 20, true}}) {
    TestPods pods;
    pods.pod("pod-0");
    ContainerConfig config = pods.config("pod-0", "plain", {});
    config.command = {"sleep", "1h"};
    config.memory_limit = limit;
    pods.start("pod-0", std::move(config));
    pods.run(1s);
    EXPECT_EQ(pods.runs("pod-0"), starts) << limit;
    if (starts) continue;
    EXPECT_EQ(pods.report("pod-0").exit_code, 128);
    EXPECT_EQ(pods.report("pod-0").reason, "StartError");
    EXPECT_NE(pods.start_error().find("container init was OOM-killed (memory limit too low?)"),
              std::string::npos);
  }
}

TEST(Containers, without_a_grace_period_they_are_killed_at_once) {
  TestPods pods;
  pods.pod("pod-0");
  pods.command("pod-0", {"sleep", "1h"});
  pods.run(1s);
  pods.runtime().stop_container(pods.latest("pod-0"), 0, [](Result<void>) {});
  EXPECT_EQ(pods.exit_code("pod-0"), 137);
  EXPECT_LT(pods.ended_at("pod-0"), 2s);
}

// As a real one: `sleep 2` that is stopped for 2.5 s after 0.5 s ends when it goes on.
TEST(Containers, a_stopped_process_sleeps_by_the_clock) {
  for (const auto& [sleep, ends] : {std::pair("10", 64.0), {"100", 100.0}}) {
    TestPods pods;
    pods.pod("pod-0");
    pods.command("pod-0", {"sleep", sleep});
    pods.run(4s);
    pods.signal("pod-0", SIGSTOP);
    pods.run(1min);
    EXPECT_TRUE(pods.runs("pod-0"));
    pods.signal("pod-0", SIGCONT);
    EXPECT_EQ(pods.exit_code("pod-0"), 0);
    EXPECT_NEAR(seconds_of(pods.ended_at("pod-0")), ends, 0.1);
  }
}

TEST(Containers, a_stopped_process_does_no_work) {
  TestPods pods;
  pods.pod("pod-0");
  pods.command("pod-0", {"torchrun", "train.py"});
  pods.run(200ms);
  pods.signal("pod-0", SIGSTOP);
  pods.run(1min);
  EXPECT_TRUE(pods.runs("pod-0"));
  const Duration goes_on = pods.now();
  pods.signal("pod-0", SIGCONT);
  pods.exit_code("pod-0");
  EXPECT_GT(pods.ended_at("pod-0") - goes_on, 500ms);  // torchrun still has to start
}

TEST(Containers, a_stopped_process_gets_sigterm_when_it_goes_on) {
  TestPods pods;
  pods.rank(0, 2, {"--timeout", "1h"});
  pods.run(2s);
  pods.signal("pod-0", SIGSTOP);
  pods.signal("pod-0", SIGTERM);
  pods.run(1min);
  EXPECT_TRUE(pods.runs("pod-0"));
  pods.signal("pod-0", SIGCONT);
  EXPECT_EQ(pods.exit_code("pod-0"), 143);
}

TEST(Containers, a_signal_to_what_does_not_run_is_refused) {
  TestPods pods;
  std::string error;
  pods.runtime().signal_container("nobody", SIGKILL, {},
                                  [&](Result<void> done) { error = done.error().where; });
  pods.run(1ms);
  EXPECT_EQ(error, "NotFound");
}

struct Exec {
  std::string name;
  Strings command;
  Duration timeout;
  int code;
  std::string output;
  bool timed_out = false;
};

class InContainer : public testing::TestWithParam<Exec> {};
INSTANTIATE_TEST_SUITE_P(
    Containers, InContainer,
    testing::Values(
        Exec{"yes", {"true"}, 1s, 0, ""}, Exec{"no", {"false"}, 1s, 1, ""},
        Exec{"output", {"sh", "-c", "echo a; echo b; exit 3"}, 1s, 3, "a\nb\n"},
        Exec{"hosts", {"cat", "/etc/none"}, 1s, 1, "cat: /etc/none: No such file or directory\n"},
        Exec{"quiet", {"sh", "-c", "cat /no >/dev/null 2>&1"}, 1s, 1, ""},
        Exec{"slow", {"sleep", "5"}, 1s, 137, "", true}),
    [](const auto& one) { return one.param.name; });

TEST_P(InContainer, commands_answer_as_they_would) {
  TestPods pods;
  pods.pod("pod-0");
  pods.command("pod-0", {"sleep", "1h"});
  pods.run(1s);
  std::optional<ExecResult> result;
  pods.runtime().exec(pods.latest("pod-0"), GetParam().command, GetParam().timeout,
                      [&](Result<ExecResult> done) { result = *done; });
  pods.run(10s);
  ASSERT_TRUE(result);
  EXPECT_EQ(result->exit_code, GetParam().code);
  EXPECT_EQ(result->output, GetParam().output);
  EXPECT_EQ(result->timed_out, GetParam().timed_out);
  EXPECT_TRUE(pods.runs("pod-0"));
  EXPECT_FALSE(pods.line("pod-0", "a"));
}

// Neither success nor failure would be true of it.
TEST(Containers, a_command_that_only_a_process_can_run_is_an_error) {
  TestPods pods;
  pods.pod("pod-0");
  pods.command("pod-0", {"sleep", "1h"});
  pods.run(1s);
  std::string error;
  pods.runtime().exec(pods.latest("pod-0"), {"python3", "check.py"}, 1s,
                      [&](Result<ExecResult> done) { error = done ? "" : done.error().message; });
  pods.run(1s);
  EXPECT_NE(error.find("only a process can run `python3 check.py`"), error.npos) << error;
}

TEST(Containers, a_command_ends_with_its_container) {
  TestPods pods;
  pods.pod("pod-0");
  pods.command("pod-0", {"sleep", "3"});
  pods.run(1s);
  std::optional<ExecResult> result;
  pods.runtime().exec(pods.latest("pod-0"), {"sleep", "1h"}, 0s,
                      [&](Result<ExecResult> done) { result = *done; });
  pods.run(5s);
  ASSERT_TRUE(result);
  EXPECT_EQ(result->exit_code, 137);
}

TEST(Containers, the_log_keeps_the_last_lines) {
  TestPods pods;
  pods.pod("pod-0");
  pods.command("pod-0", {"sh", "-c", "for i in $(seq 300); do echo line $i; done"});
  EXPECT_EQ(pods.exit_code("pod-0"), 0);
  EXPECT_EQ(pods.runtime().log_tail(pods.latest("pod-0"), 2, 100), "line 299\nline 300\n");
  EXPECT_EQ(pods.runtime().log_tail(pods.latest("pod-0"), 80, 8), "ine 300\n");
}

TEST(Containers, a_termination_message_is_cut_between_characters) {
  EXPECT_EQ(termination_text(std::string(4093, 'a') + "€€"), std::string(4093, 'a') + "€");
  EXPECT_EQ(termination_text(std::string(4095, 'a') + "€"), std::string(4095, 'a'));
}

TEST(Containers, of_a_lost_sandbox_are_killed_and_the_loss_is_told) {
  TestPods pods;
  pods.group(2, {"--steps", "1000000", "--step-time", "20ms"});
  pods.until_line("pod-0", "step 3/");
  bool told = false;
  pods.runtime().listen([&](const RuntimeEvent& event) {
    told |= event.kind == RuntimeEvent::Kind::sandbox_died && event.pod_uid == "pod-1";
  });
  pods.runtime().sandbox_dies(pods.sandbox("pod-1"));
  EXPECT_EQ(pods.exit_code("pod-1"), 137);
  EXPECT_EQ(pods.exit_code("pod-0"), 1);
  EXPECT_TRUE(told);
}

TEST(Containers, files_live_as_long_as_their_volume) {
  TestPods pods;
  pods.pod("pod-0");
  auto scratch = std::make_shared<VolumeSource>();
  scratch->kind = VolumeSource::Kind::empty_dir;
  scratch->name = "scratch";
  auto settings = std::make_shared<VolumeSource>();
  settings->name = "settings";
  settings->files["greeting"].content = "hello\n";
  const auto run = [&](Strings argv) {
    ContainerConfig config = pods.config(
        "pod-0", "plain", {},
        {{"RANK", "0"}, {"WORLD_SIZE", "1"}, {"MASTER_ADDR", "localhost"}, {"MASTER_PORT", "1"}});
    config.command = std::move(argv);
    config.mounts.push_back({.container_path = "/scratch", .source = scratch});
    config.mounts.push_back({.container_path = "/settings", .readonly = true, .source = settings});
    pods.start("pod-0", config);
    return pods.exit_code("pod-0");
  };
  EXPECT_EQ(run({"cat", "/settings/greeting"}), 0);
  EXPECT_TRUE(pods.line("pod-0", "hello"));
  EXPECT_EQ(run({"test", "-f", "/scratch/c"}), 1);
  EXPECT_EQ(run({"ddptwin-worker", "--steps", "1", "--checkpoint", "/scratch/c"}), 0);
  EXPECT_EQ(run({"test", "-f", "/scratch/c"}), 0);
  EXPECT_EQ(run({"ddptwin-worker", "--steps", "1", "--checkpoint", "/settings/c"}), 1);
  EXPECT_EQ(pods.last_error("pod-0"), "OSError: [Errno 30] Read-only file system: '/settings/c'");
  auto changed = std::make_shared<VolumeSource>(*settings);
  changed->files["greeting"].content = "good bye\n";
  pods.runtime().update_volume("pod-0", changed);
  EXPECT_EQ(run({"cat", "/etc/hosts"}), 0);
  EXPECT_TRUE(pods.line("pod-0", "127.0.0.1\tlocalhost"));
}

// Whatever order they are listed in, what lies in a mount within a mount is the inner one's, and
// what only begins like it is the outer one's.
TEST(Containers, a_mount_within_a_mount_hides_what_the_outer_one_has_there) {
  for (const bool inner_first : {true, false}) {
    TestPods pods;
    pods.pod("pod-0");
    const auto volume = [](const char* name) {
      auto made = std::make_shared<VolumeSource>();
      made->kind = VolumeSource::Kind::empty_dir;
      made->name = name;
      return made;
    };
    const auto outer = volume("outer"), inner = volume("inner");
    ContainerConfig config = pods.config("pod-0", "plain", {});
    config.mounts.push_back({.container_path = "/data", .source = outer});
    config.mounts.push_back({.container_path = "/data/in", .source = inner});
    if (inner_first) std::swap(config.mounts[0], config.mounts[1]);
    config.command = {"sh", "-c",
                      "echo o > /data/a; echo i > /data/in/a; echo n > /data/in-between; "
                      "cat /data/a /data/in/a"};
    pods.start("pod-0", config);
    EXPECT_EQ(pods.exit_code("pod-0"), 0);
    ContainerConfig other = pods.config("pod-0", "plain", {});
    other.mounts.push_back({.container_path = "/o", .source = outer});
    other.mounts.push_back({.container_path = "/i", .source = inner});
    other.command = {"sh", "-c",
                     "cat /o/a /o/in-between /i/a; [ ! -e /o/in/a ] && [ ! -e /i/in-between ]"};
    pods.start("pod-0", other);
    EXPECT_EQ(pods.exit_code("pod-0"), 0) << pods.all_lines();
    std::string lines;
    for (const auto& line : pods.lines()) lines += line.text + " ";
    EXPECT_EQ(lines, "o i o n i ") << inner_first;
  }
}

// A change of a ConfigMap comes to who mounts all of it, and to no subPath (spec/kubernetes.md
// §2.10).
TEST(Containers, what_a_sub_path_mounts_stays_as_it_was) {
  TestPods pods;
  pods.pod("pod-0");
  auto settings = std::make_shared<VolumeSource>();
  settings->name = "settings";
  settings->files["greeting"].content = "hello\n";
  ContainerConfig config = pods.config(
      "pod-0", "plain", {},
      {{"RANK", "0"}, {"WORLD_SIZE", "1"}, {"MASTER_ADDR", "localhost"}, {"MASTER_PORT", "1"}});
  config.command = {"bash", "-c", "sleep 5; cat /all/greeting; cat /one"};
  config.mounts.push_back({.container_path = "/all", .readonly = true, .source = settings});
  config.mounts.push_back(
      {.container_path = "/one", .readonly = true, .sub_path = "greeting", .source = settings});
  pods.start("pod-0", config);
  pods.run(2s);
  auto changed = std::make_shared<VolumeSource>(*settings);
  changed->files["greeting"].content = "good bye\n";
  pods.runtime().update_volume("pod-0", changed);
  EXPECT_EQ(pods.exit_code("pod-0"), 0);
  EXPECT_TRUE(pods.line("pod-0", "good bye"));
  EXPECT_TRUE(pods.line("pod-0", "hello"));
}

TEST(Containers, an_address_is_free_again_after_the_sandbox_is_removed) {
  TestPods pods;
  pods.pod("pod-0");
  const std::string ip = pods.ip("pod-0");
  EXPECT_TRUE(pods.runtime().network().is_attached(ip));
  pods.command("pod-0", {"sleep", "1h"});
  pods.run(1s);
  pods.runtime().remove_sandbox(pods.sandbox("pod-0"));
  pods.run(1s);
  EXPECT_FALSE(pods.runtime().network().is_attached(ip));
  EXPECT_FALSE(pods.runtime().report(pods.latest("pod-0")));
}

// What the start script exports is its own (runc exec).
TEST(Containers, a_command_beside_it_has_the_containers_environment) {
  TestPods pods;
  pods.pod("pod-0");
  pods.command("pod-0", {"sh", "-c", "export READY=1; sleep 60"});
  pods.run(1s);
  std::string output;
  pods.runtime().exec(pods.latest("pod-0"), {"sh", "-c", "echo \"<$READY>\""}, 1s,
                      [&](const Result<ExecResult>& result) { output = result->output; });
  pods.run(1s);
  EXPECT_EQ(output, "<>\n");
}

}  // namespace
}  // namespace ddptwin::model::containers_test
