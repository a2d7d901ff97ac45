// The supervisor dies: an accident of ours, which no pod may be blamed for.
#include <gmock/gmock.h>
#include <sys/resource.h>
#include <unistd.h>

#include <csignal>

#include "process_list.hpp"
#include "sandbox_fixture.hpp"

namespace ddptwin::supervisor_loss_test {
namespace {

using testing::HasSubstr;

class SupervisorLossTest : public SandboxTest {
 protected:
  void SetUp() override {
    SandboxTest::SetUp();
    runtime->on_lost([this](const Error& error) { losses.push_back(error); });
    pod = run_pod();
    const auto id = start_shell(pod.id, "echo up; exec sleep 1000");
    ASSERT_TRUE(id) << id.error().text();
    ASSERT_TRUE(wait_for_line(*id, "up"));
    container = *id;
  }

  void kill_supervisor() {
    // Our only child is the guard, and the supervisor dies with it.
    const std::vector<pid_t> guard = children_of(::getpid());
    ASSERT_EQ(guard.size(), 1u);
    ASSERT_EQ(::kill(guard.front(), SIGKILL), 0);
    ASSERT_TRUE(until([&] { return !losses.empty(); }));
  }

  // Long enough for all that was posted, and for the runtime's patience with open pipes.
  void let_pass(Duration time) {
    const Time end = loop.now() + time;
    until([&] { return loop.now() >= end; });
  }

  SandboxStatus pod;
  ContainerId container;
  std::vector<Error> losses;
};

TEST_F(SupervisorLossTest, its_death_is_told_once_and_no_container_is_reported_as_killed) {
  kill_supervisor();
  let_pass(500ms);
  ASSERT_EQ(losses.size(), 1u);
  EXPECT_EQ(losses.front().reason, Reason::io);
  EXPECT_THAT(losses.front().message, HasSubstr("supervisor has died"));
  for (const RuntimeEvent& event : events) {
    EXPECT_EQ(event.kind, RuntimeEvent::Kind::log_line);
  }
  EXPECT_EQ(runtime->report(container)->phase, ContainerPhase::running);
}

TEST_F(SupervisorLossTest, what_waits_for_an_answer_gets_an_error) {
  std::optional<Result<ExecResult>> command;
  std::optional<Result<void>> stop;
  runtime->exec(container, {"sh", "-c", "echo begun > /tmp/begun; sleep 1000"}, 0s,
                [&](Result<ExecResult> result) { command = std::move(result); });
  const auto begun = wait<ExecResult>([&](auto done) {
    runtime->exec(container, {"sh", "-c", "until [ -e /tmp/begun ]; do :; done"}, 0s,
                  std::move(done));
  });
  ASSERT_TRUE(begun) << begun.error().text();
  runtime->stop_container(container, 1000, [&](Result<void> result) { stop = std::move(result); });
  kill_supervisor();
  ASSERT_TRUE(until([&] { return command && stop; }));
  ASSERT_FALSE(*command);
  EXPECT_EQ(command->error().reason, Reason::io);
  ASSERT_FALSE(*stop);
  EXPECT_EQ(stop->error().reason, Reason::io);
}

TEST_F(SupervisorLossTest, what_is_asked_later_gets_an_error) {
  kill_supervisor();
  const auto stop =
      wait<void>([&](auto done) { runtime->stop_container(container, 0, std::move(done)); });
  const auto stop_pod =
      wait<void>([&](auto done) { runtime->stop_sandbox(pod.id, std::move(done)); });
  const auto command =
      wait<ExecResult>([&](auto done) { runtime->exec(container, {"true"}, 0s, std::move(done)); });
  const auto late = start_shell(pod.id, "true");
  ASSERT_FALSE(stop || stop_pod || command || late);
  for (const Error& error : {stop.error(), stop_pod.error(), command.error(), late.error()}) {
    EXPECT_THAT(error.message, HasSubstr("supervisor has died"));
  }
}

// Nothing new can be opened while it lives.
class NoFilesLeft {
 public:
  NoFilesLeft() {
    ::getrlimit(RLIMIT_NOFILE, &before_);
    const rlimit none{STDERR_FILENO + 1, before_.rlim_max};
    ::setrlimit(RLIMIT_NOFILE, &none);
  }
  ~NoFilesLeft() { ::setrlimit(RLIMIT_NOFILE, &before_); }

 private:
  rlimit before_{};
};

class RequestTest : public testing::Test {
 protected:
  void SetUp() override {
    sandbox::Configure configure;
    configure.bridge_address = PodAddresses::gateway;
    configure.node_network = PodAddresses::nodes;
    configure.prefix = PodAddresses::prefix;
    auto started = sandbox::SupervisorClient::start(loop, DDPTWIN_BINARY_DIR "/bin/ddptwin-sandbox",
                                                    configure);
    ASSERT_TRUE(started) << started.error().text();
    client = std::move(*started);
  }

  template <class T>
  std::optional<sandbox::Reply> call(sandbox::Operation operation, const T& body,
                                     const std::vector<int>& fds, bool files_left) {
    std::optional<sandbox::Reply> answer;
    {
      std::optional<NoFilesLeft> none;
      if (!files_left) none.emplace();
      client->call(operation, body, fds, [&](const sandbox::Reply& reply) { answer = reply; });
    }
    const Time last = loop.now() + 10s;
    while (!answer && loop.now() < last) io.run_one_for(std::chrono::milliseconds(100));
    return answer;
  }

  boost::asio::io_context io;
  RealLoop loop{io};
  std::unique_ptr<sandbox::SupervisorClient> client;
};

// Not under the sanitizers: UBSan's look at a vptr opens a pipe itself, which the lowered limit
// refuses.
#ifndef DDPTWIN_ADDRESS_SANITIZED
TEST_F(RequestTest, one_that_cannot_be_sent_is_refused_and_the_next_is_not) {
  const sandbox::PodName pod{"p"};
  sandbox::WriteVolume large{"p", "v", {}, 0, false, {}};
  large.files.push_back(
      {"file", std::string(100'000, 'x'), 0644});  // beside the packet, in a memfd
  for (const auto& answer : {call(sandbox::Operation::stop_pod, pod, {STDIN_FILENO}, false),
                             call(sandbox::Operation::write_volume, large, {}, false)}) {
    ASSERT_TRUE(answer);
    EXPECT_EQ(answer->outcome, sandbox::Outcome::refused);
    EXPECT_THAT(answer->message, HasSubstr("Too many open files"));
  }
  const auto next = call(sandbox::Operation::stop_pod, pod, {STDIN_FILENO}, true);
  ASSERT_TRUE(next);
  EXPECT_EQ(next->outcome, sandbox::Outcome::ok);
}
#endif

}  // namespace
}  // namespace ddptwin::supervisor_loss_test
