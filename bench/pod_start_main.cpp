// What a pod costs: the time from run_sandbox to the first line of its program, less the time that
// the same program takes by itself (issue 6, point 4: at most 5 ms). Medians, taken in turns, so
// that a busy machine is busy for both.
#include <fcntl.h>
#include <fmt/format.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <boost/asio/io_context.hpp>
#include <chrono>
#include <optional>
#include <string>
#include <vector>

#include "runtime/process/process_runtime.hpp"

namespace ddptwin {
namespace {

using Clock = std::chrono::steady_clock;

double milliseconds_since(Clock::time_point start) {
  return std::chrono::duration<double, std::milli>(Clock::now() - start).count();
}

struct Median {
  std::vector<double> values{};
  double operator()(double part) {
    const auto at =
        values.begin() + static_cast<std::ptrdiff_t>(part * static_cast<double>(values.size() - 1));
    std::nth_element(values.begin(), at, values.end());
    return *at;
  }
};

// From start to the first byte of output, outside of any sandbox.
double run_alone() {
  int ends[2];
  if (::pipe2(ends, O_CLOEXEC) != 0) return 0;
  posix_spawn_file_actions_t actions;
  ::posix_spawn_file_actions_init(&actions);
  ::posix_spawn_file_actions_adddup2(&actions, ends[1], STDOUT_FILENO);
  const char* argv[] = {"/bin/echo", "up", nullptr};
  const auto start = Clock::now();
  pid_t pid = 0;
  ::posix_spawn(&pid, argv[0], &actions, nullptr, const_cast<char**>(argv), nullptr);
  ::close(ends[1]);
  char byte = 0;
  const bool seen = ::read(ends[0], &byte, 1) == 1;
  const double took = milliseconds_since(start);
  ::waitpid(pid, nullptr, 0);
  ::close(ends[0]);
  ::posix_spawn_file_actions_destroy(&actions);
  return seen ? took : 0;
}

class Pods {
 public:
  Pods(RealLoop& loop, boost::asio::io_context& io, ProcessRuntime& runtime)
      : loop_(loop), io_(io), runtime_(runtime) {
    runtime_.listen([this](const RuntimeEvent& event) {
      if (event.kind == RuntimeEvent::Kind::log_line) line_seen_ = true;
    });
    runtime_.add_image("bench", Image{});
    bool pulled = false;
    runtime_.pull_image("bench", {}, [&](const Result<ImageStatus>&) { pulled = true; });
    until(pulled);
  }

  struct Times {
    double sandbox = 0;  // to the sandbox with its address
    double line = 0;     // to the program's first line
  };
  Times run() {
    const auto start = Clock::now();
    const SandboxId pod = run_sandbox();
    Times times{milliseconds_since(start), 0};
    run_program(pod);
    times.line = milliseconds_since(start);
    return times;
  }

 private:
  void until(const bool& flag) {
    while (!flag) io_.run_one();
  }

  SandboxId run_sandbox() {
    SandboxConfig config;
    config.uid = config.hostname = fmt::format("pod-{}", ++count_);
    std::optional<SandboxId> id;
    bool answered = false;
    runtime_.run_sandbox(config, [&](Result<SandboxStatus> status) {
      if (status) id = status->id;
      answered = true;
    });
    until(answered);
    return id.value_or("");
  }

  void run_program(const SandboxId& pod) {
    line_seen_ = false;
    ContainerConfig config;
    config.user_image = "bench";
    config.command = {"/bin/echo", "up"};
    runtime_.create_container(pod, config, [this](Result<ContainerId> id) {
      runtime_.start_container(*id, [](const Result<void>&) {});
    });
    until(line_seen_);
  }

  RealLoop& loop_;
  boost::asio::io_context& io_;
  ProcessRuntime& runtime_;
  int count_ = 0;
  bool line_seen_ = false;
};

}  // namespace
}  // namespace ddptwin

int main() {
  using namespace ddptwin;
  boost::asio::io_context io;
  RealLoop loop(io);
  const auto start = Clock::now();
  auto runtime = ProcessRuntime::start(loop, {});
  if (!runtime) {
    fmt::print(stderr, "{}\n", runtime.error().text());
    return 3;
  }
  const double cluster = milliseconds_since(start);
  Pods pods(loop, io, **runtime);
  constexpr int times = 200;
  Median alone, sandbox, line;
  for (int i = 0; i < times; ++i) {
    alone.values.push_back(run_alone());
    const Pods::Times pod = pods.run();
    sandbox.values.push_back(pod.sandbox);
    line.values.push_back(pod.line);
  }
  fmt::print("cluster of namespaces, once    {:.2f} ms\n", cluster);
  fmt::print("{} times                        best median    p90\n", times);
  fmt::print("program by itself, to a line   {:6.2f} {:6.2f} {:6.2f} ms\n", alone(0), alone(0.5),
             alone(0.9));
  fmt::print("sandbox with its address       {:6.2f} {:6.2f} {:6.2f} ms\n", sandbox(0),
             sandbox(0.5), sandbox(0.9));
  fmt::print("pod and program, to a line     {:6.2f} {:6.2f} {:6.2f} ms\n", line(0), line(0.5),
             line(0.9));
  fmt::print("pod on top of its program      {:6.2f} {:6.2f}        ms (at most 5)\n",
             line(0) - alone(0), line(0.5) - alone(0.5));
  return 0;
}
