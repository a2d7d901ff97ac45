// How containers end, and what is run in them.
#include <gmock/gmock.h>

#include <boost/json.hpp>
#include <csignal>

#include "sandbox_fixture.hpp"

namespace ddptwin::lifecycle_test {
namespace {

using testing::HasSubstr;

class LifecycleTest : public SandboxTest {};

TEST_F(LifecycleTest, a_signal_is_128_and_its_number) {
  struct Row {
    const char* name;
    int number;
    int exit_code;
  };
  for (const Row& row :
       {Row{"KILL", SIGKILL, 137}, Row{"SEGV", SIGSEGV, 139}, Row{"ABRT", SIGABRT, 134}}) {
    // Not the first process of its namespace, which the kernel shields from its own signals.
    const Ran ran =
        run_shell(run_pod().id, std::string("sh -c 'kill -") + row.name + " $$'; exit $?");
    EXPECT_EQ(ran.report.exit_code, row.exit_code) << row.name;
    EXPECT_EQ(ran.report.reason, "Error");
  }
}

TEST_F(LifecycleTest, a_killed_main_process_is_137) {
  const auto id = start_shell(run_pod().id, "echo up; exec sleep 1000");
  ASSERT_TRUE(id) << id.error().text();
  ASSERT_TRUE(wait_for_line(*id, "up"));
  ASSERT_TRUE(
      wait<void>([&](auto done) { runtime->signal_container(*id, SIGKILL, {}, std::move(done)); }));
  EXPECT_EQ(wait_for_end(*id).exit_code, 137);
}

// The loop's context in which the end of a container is told: the record that led to it.
struct CauseOfEnd {
  RealLoop& loop;
  std::optional<std::uint64_t> cause{};

  CauseOfEnd(RealLoop& real_loop, ProcessRuntime& runtime) : loop(real_loop) {
    runtime.listen([this](const RuntimeEvent& event) {
      if (event.kind == RuntimeEvent::Kind::container_exited) cause = loop.context();
    });
  }
};

TEST_F(LifecycleTest, an_end_is_put_down_to_who_sent_the_signal) {
  constexpr std::uint64_t record = 42;
  using End = std::function<void(const SandboxId&, const ContainerId&)>;
  const End ends[] = {
      [&](const auto&, const auto& id) {
        runtime->signal_container(id, SIGKILL, {}, [](const Result<void>&) {});
      },
      [&](const auto&, const auto& id) {
        runtime->stop_container(id, 0, [](const Result<void>&) {});
      },
      [&](const auto& pod, const auto&) { runtime->stop_sandbox(pod, [](const Result<void>&) {}); },
  };
  for (const End& end : ends) {
    CauseOfEnd told(loop, *runtime);
    const SandboxStatus pod = run_pod();
    const auto id = start_shell(pod.id, "echo up; exec sleep 1000");
    ASSERT_TRUE(id) << id.error().text();
    ASSERT_TRUE(wait_for_line(*id, "up"));
    loop.set_context(record);
    end(pod.id, *id);
    loop.set_context(0);
    ASSERT_TRUE(until([&] { return told.cause.has_value(); }));
    EXPECT_EQ(*told.cause, record);
    runtime->listen({});
  }
}

TEST_F(LifecycleTest, an_end_by_itself_has_no_cause) {
  CauseOfEnd told(loop, *runtime);
  const auto id = start_shell(run_pod().id, "true");
  ASSERT_TRUE(id) << id.error().text();
  ASSERT_TRUE(until([&] { return told.cause.has_value(); }));
  EXPECT_EQ(*told.cause, 0U);
  runtime->listen({});
}

TEST_F(LifecycleTest, answers_come_in_the_context_of_their_question) {
  constexpr std::uint64_t record = 43;
  std::optional<std::uint64_t> cause;
  SandboxConfig config;
  config.uid = "asked";
  config.hostname = "asked";
  loop.set_context(record);
  runtime->run_sandbox(config, [&](const Result<SandboxStatus>&) { cause = loop.context(); });
  loop.set_context(0);
  ASSERT_TRUE(until([&] { return cause.has_value(); }));
  EXPECT_EQ(*cause, record);
}

TEST_F(LifecycleTest, stopping_sends_sigterm_which_a_handler_may_answer) {
  const auto id = start_shell(
      run_pod().id, "trap 'echo bye; exit 5' TERM; echo up; while :; do sleep 0.01; done");
  ASSERT_TRUE(id) << id.error().text();
  ASSERT_TRUE(wait_for_line(*id, "up"));
  ASSERT_TRUE(wait<void>([&](auto done) { runtime->stop_container(*id, 30, std::move(done)); }));
  EXPECT_EQ(runtime->report(*id)->exit_code, 5);
  EXPECT_EQ(log_of(*id), "up\nbye\n");
}

TEST_F(LifecycleTest,
       a_first_process_without_handler_ignores_sigterm_and_is_killed_after_the_grace_period) {
  const auto id = start_shell(run_pod().id, "echo up; exec sleep 1000");
  ASSERT_TRUE(id) << id.error().text();
  ASSERT_TRUE(wait_for_line(*id, "up"));
  ASSERT_TRUE(wait<void>([&](auto done) { runtime->stop_container(*id, 1, std::move(done)); }));
  const ContainerReport report = *runtime->report(*id);
  EXPECT_EQ(report.exit_code, 137);
  EXPECT_GE(*report.finished_at - *report.started_at, 1s);
}

TEST_F(LifecycleTest, a_stopped_sandbox_has_ended_its_containers) {
  const SandboxStatus pod = run_pod();
  const auto id = start_shell(pod.id, "sleep 1000 & exec sleep 1000");
  ASSERT_TRUE(id) << id.error().text();
  ASSERT_TRUE(wait<void>([&](auto done) { runtime->stop_sandbox(pod.id, std::move(done)); }));
  EXPECT_EQ(wait_for_end(*id).exit_code, 137);
  EXPECT_FALSE(start_shell(pod.id, "true"));
  runtime->remove_sandbox(pod.id);
  EXPECT_FALSE(runtime->report(*id));
}

TEST_F(LifecycleTest, a_program_that_does_not_exist_is_a_start_error) {
  struct Row {
    std::vector<std::string> command;
    const char* message;
  };
  const SandboxStatus pod = run_pod();
  for (const Row& row :
       {Row{{"foo"}, "exec: \"foo\": executable file not found in $PATH"},
        Row{{"/foo/bar"}, "exec: \"/foo/bar\": stat /foo/bar: no such file or directory"},
        Row{{"/etc/hostname"}, "exec: \"/etc/hostname\": permission denied"},
        Row{{"/etc"}, "exec: \"/etc\": is a directory"}}) {
    ContainerConfig config;
    config.command = row.command;
    const auto id = start(pod.id, config);
    ASSERT_FALSE(id);
    EXPECT_THAT(id.error().message, HasSubstr("failed to create containerd task"));
    EXPECT_THAT(id.error().message, HasSubstr(row.message));
    const ContainerReport report = *runtime->report(last_created);
    EXPECT_EQ(report.exit_code, 128);
    EXPECT_EQ(report.reason, "StartError");
    EXPECT_EQ(*report.started_at, Time());
    EXPECT_EQ(report.phase, ContainerPhase::exited);
  }
}

TEST_F(LifecycleTest, the_termination_message_is_read) {
  ContainerConfig config;
  config.termination_log = "/dev/termination-log";
  const Ran ran = run_shell(run_pod().id, "echo bad luck > /dev/termination-log; exit 1", config);
  EXPECT_EQ(ran.report.termination_log, "bad luck\n");
}

TEST_F(LifecycleTest, what_is_not_utf8_is_replaced_in_all_that_leaves_the_runtime) {
  ContainerConfig config;
  config.termination_log = "/dev/termination-log";
  const auto id = start_shell(
      run_pod().id, R"(printf 'a\377b\n'; printf 'c\377d' > /dev/termination-log; exec sleep 1000)",
      config);
  ASSERT_TRUE(id) << id.error().text();
  ASSERT_TRUE(wait_for_line(*id, "a\uFFFDb\n"));
  const auto command = wait<ExecResult>([&](auto done) {
    runtime->exec(*id, {"printf", R"(e\377f)"}, 0s, std::move(done));
  });
  ASSERT_TRUE(command) << command.error().text();
  EXPECT_EQ(command->output, "e\uFFFDf");
  ASSERT_TRUE(wait<void>([&](auto done) { runtime->stop_container(*id, 0, std::move(done)); }));
  EXPECT_EQ(runtime->report(*id)->termination_log, "c\uFFFDd");
  ASSERT_TRUE(until([&] { return events.back().kind == RuntimeEvent::Kind::container_exited; }));
  EXPECT_EQ(events.front().line, "a\uFFFDb");
}

TEST_F(LifecycleTest, a_line_too_long_is_cut_between_characters) {
  const Ran ran = run_shell(run_pod().id, "head -c 16383 /dev/zero | tr '\\0' x; echo '€uro'");
  EXPECT_EQ(ran.output, std::string(16383, 'x') + "\n€uro\n");
}

TEST_F(LifecycleTest, a_last_line_without_end_is_told_although_another_process_holds_the_output) {
  SandboxConfig config;  // in a namespace of the pod's processes, they outlive the container
  config.linux_ = RawJson(
      Json{{"securityContext", {{"namespaceOptions", {{"usernsOptions", {{"mode", "NODE"}}}}}}}});
  const Ran ran = run_shell(run_pod(config).id, "sleep 1000 & printf partial; exit 4");
  EXPECT_EQ(ran.report.exit_code, 4);
  EXPECT_EQ(ran.output, "partial\n");
}

TEST_F(LifecycleTest, all_who_stop_a_sandbox_are_answered) {
  const SandboxStatus pod = run_pod();
  int answers = 0;
  for (int i = 0; i < 3; ++i) {
    runtime->stop_sandbox(pod.id, [&](const Result<void>& result) { answers += result ? 1 : 0; });
  }
  EXPECT_TRUE(until([&] { return answers == 3; }));
}

TEST_F(LifecycleTest, a_container_over_its_memory_limit_is_oom_killed) {
  ContainerConfig config;
  config.memory_limit = 64 << 20;
  const Ran ran = run_shell(
      run_pod().id,
      "exec /usr/bin/python3 -c \"import signal; b=bytearray(200<<20); signal.pause()\"", config);
  EXPECT_EQ(ran.report.exit_code, 137);
  EXPECT_EQ(ran.report.reason, "OOMKilled");
}

TEST_F(LifecycleTest, shared_memory_counts_towards_the_limit) {
  ContainerConfig config;
  config.memory_limit = 32 << 20;
  const Ran ran =
      run_shell(run_pod().id, "head -c 50000000 /dev/zero > /dev/shm/x; sleep 100", config);
  EXPECT_EQ(ran.report.reason, "OOMKilled");
}

TEST_F(LifecycleTest, a_limit_in_which_no_runtime_can_start_it) {
  ContainerConfig config;
  config.memory_limit = 1 << 20;
  EXPECT_FALSE(start_shell(run_pod().id, "echo started", config));
  const ContainerReport report = *runtime->report(last_created);
  EXPECT_EQ(report.reason, "StartError");
  EXPECT_EQ(report.exit_code, 128);
}

TEST_F(LifecycleTest, a_container_within_its_limit_lives) {
  ContainerConfig config;
  config.memory_limit = 256 << 20;
  const Ran ran = run_shell(run_pod().id,
                            "exec /usr/bin/python3 -c \"import select; b=bytearray(50<<20); "
                            "select.select([],[],[],0.3)\"",
                            config);
  EXPECT_EQ(ran.report.reason, "Completed");
}

TEST_F(LifecycleTest, a_command_runs_in_the_container) {
  const auto id = start_shell(run_pod().id, "echo here > /tmp/file; echo up; exec sleep 1000");
  ASSERT_TRUE(id) << id.error().text();
  ASSERT_TRUE(wait_for_line(*id, "up"));
  const auto exec = [&](std::vector<std::string> command, Duration limit = 0s) {
    return wait<ExecResult>(
        [&](auto done) { runtime->exec(*id, command, limit, std::move(done)); });
  };
  const auto read = exec({"sh", "-c", "cat /tmp/file; hostname; exit 7"});
  ASSERT_TRUE(read) << read.error().text();
  EXPECT_EQ(read->output, "here\npod-1\n");
  EXPECT_EQ(read->exit_code, 7);
  const auto missing = exec({"nosuch"});
  ASSERT_FALSE(missing);
  EXPECT_THAT(missing.error().message, HasSubstr("executable file not found in $PATH"));
  const auto slow = exec({"sleep", "1000"}, 100ms);
  ASSERT_TRUE(slow) << slow.error().text();
  EXPECT_TRUE(slow->timed_out);
  EXPECT_EQ(runtime->report(*id)->phase, ContainerPhase::running);
}

TEST_F(LifecycleTest, a_restarted_container_has_a_fresh_file_system) {
  const SandboxStatus pod = run_pod();
  EXPECT_EQ(run_shell(pod.id, "ls /tmp; touch /tmp/left").output, "");
  EXPECT_EQ(run_shell(pod.id, "ls /tmp; touch /tmp/left").output, "");
}

TEST_F(LifecycleTest, many_pods_run_at_once) {
  std::vector<ContainerId> ids;
  for (int i = 0; i < 40; ++i) {
    const auto id = start_shell(run_pod().id, "echo up; exec sleep 1000");
    ASSERT_TRUE(id) << id.error().text();
    ids.push_back(*id);
  }
  for (const ContainerId& id : ids) EXPECT_TRUE(wait_for_line(id, "up"));
}

}  // namespace
}  // namespace ddptwin::lifecycle_test
