// What it costs to start a worker: by exec, with and without libtorch, and by fork from a zygote
// (sim/workers/README.md). Figures to compare with: spec/ddp-semantics.md §1.3.
#include <benchmark/benchmark.h>
#include <fcntl.h>
#include <spawn.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cstdlib>
#include <string>
#include <vector>

#include "zygote_protocol.hpp"

namespace {

namespace zygote = ddptwin::zygote;

const std::string torch_worker = WORKER_PROGRAMS "/ddptwin-worker";
const std::string gloo_worker = WORKER_PROGRAMS "/ddptwin-worker-gloo";

pid_t start(const std::string& program, std::string first, std::string second) {
  posix_spawn_file_actions_t actions;
  ::posix_spawn_file_actions_init(&actions);
  ::posix_spawn_file_actions_addopen(&actions, 1, "/dev/null", O_WRONLY, 0);
  std::string name = program;
  std::array<char*, 4> argv{name.data(), first.data(), second.empty() ? nullptr : second.data(),
                            nullptr};
  pid_t pid = 0;
  if (::posix_spawn(&pid, program.c_str(), &actions, nullptr, argv.data(), environ) != 0)
    std::abort();
  ::posix_spawn_file_actions_destroy(&actions);
  return pid;
}

void exec_worker(benchmark::State& state, const std::string& program) {
  for ([[maybe_unused]] auto _ : state) {
    int status = 0;
    ::waitpid(start(program, "--version", ""), &status, 0);
    if (status != 0) state.SkipWithError("the worker failed");
  }
}

void exec_gloo(benchmark::State& state) { exec_worker(state, gloo_worker); }
void exec_torch(benchmark::State& state) { exec_worker(state, torch_worker); }
BENCHMARK(exec_gloo)->Unit(benchmark::kMillisecond)->UseRealTime();
BENCHMARK(exec_torch)->Unit(benchmark::kMillisecond)->UseRealTime();

class Zygote : public benchmark::Fixture {
 public:
  void SetUp(const benchmark::State&) override {
    std::array<int, 2> ends{};
    if (::socketpair(AF_UNIX, SOCK_SEQPACKET, 0, ends.data()) != 0) std::abort();
    ::fcntl(ends[0], F_SETFD, FD_CLOEXEC);
    pid_ = start(torch_worker, "--zygote", std::to_string(ends[1]));
    ::close(ends[1]);
    socket_ = ends[0];
    next(zygote::Reply::Kind::ready);
    null_ = ::open("/dev/null", O_WRONLY | O_CLOEXEC);
  }
  void TearDown(const benchmark::State&) override {
    ::close(null_);
    ::close(socket_);
    ::waitpid(pid_, nullptr, 0);
  }

  // The twin's own steps; `started` and `exited` alternate as long as one worker runs at a time.
  void next(zygote::Reply::Kind kind) const {
    const auto reply = zygote::receive_reply(socket_);
    if (!reply || reply->kind != kind || reply->status != 0) std::abort();
    if (reply->pidfd >= 0) ::close(reply->pidfd);
  }
  void ask(std::vector<std::string> argv, std::vector<std::string> env) const {
    zygote::Spawn spawn;
    spawn.argv = std::move(argv);
    spawn.env = std::move(env);
    spawn.descriptors = {{zygote::Role::out, null_}};
    if (!zygote::send(socket_, spawn)) std::abort();
  }

 private:
  pid_t pid_ = 0;
  int socket_ = -1;
  int null_ = -1;
};

BENCHMARK_DEFINE_F(Zygote, fork_to_started)(benchmark::State& state) {
  for ([[maybe_unused]] auto _ : state) {
    ask({"ddptwin-worker", "--version"}, {});
    next(zygote::Reply::Kind::started);
    state.PauseTiming();
    next(zygote::Reply::Kind::exited);
    state.ResumeTiming();
  }
}
BENCHMARK_REGISTER_F(Zygote, fork_to_started)->Unit(benchmark::kMillisecond)->UseRealTime();

// A whole life: fork, a group of one, a first step, exit.
BENCHMARK_DEFINE_F(Zygote, fork_train_exit)(benchmark::State& state) {
  for ([[maybe_unused]] auto _ : state) {
    ask({"ddptwin-worker", "--steps", "1"}, {"RANK=0", "WORLD_SIZE=1", "MASTER_ADDR=127.0.0.1",
                                             "MASTER_PORT=0", "GLOO_SOCKET_IFNAME=lo"});
    next(zygote::Reply::Kind::started);
    next(zygote::Reply::Kind::exited);
  }
}
BENCHMARK_REGISTER_F(Zygote, fork_train_exit)->Unit(benchmark::kMillisecond)->UseRealTime();

}  // namespace

BENCHMARK_MAIN();
