// The two programs as processes: alone, in groups, with Python, from a zygote. Ports are probed
// with bind(), everything is on the loopback, and every wait is bounded.
#include <arpa/inet.h>
#include <fcntl.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <poll.h>
#include <spawn.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <chrono>
#include <csignal>
#include <filesystem>
#include <map>
#include <regex>
#include <string>
#include <vector>

#include "zygote_protocol.hpp"

namespace ddptwin::workers::programs_test {
namespace {

using Strings = std::vector<std::string>;
using Clock = std::chrono::steady_clock;

constexpr auto patience = std::chrono::seconds(60);
const std::string torch_worker = WORKER_PROGRAMS "/ddptwin-worker";
const std::string gloo_worker = WORKER_PROGRAMS "/ddptwin-worker-gloo";

// The Python whose PyTorch speaks as the program does: the light one has the protocol of
// Debian's 1.13.
std::string python_for(const std::string& program) {
  return program == gloo_worker ? "/usr/bin/python3" : WORKER_PYTHON;
}

bool is_torch_2(const std::string& program) { return program == torch_worker && WORKER_TORCH_2; }

// spec/ddp-semantics.md §9.6 and §9.2.
std::string nccl_refusal(const std::string& program) {
  if (program == torch_worker &&
      std::filesystem::exists(WORKER_PROGRAMS "/ddptwin-worker-nccl.so")) {
    return "RuntimeError: nccl2 requires at least one CUDA device\n";
  }
  return "RuntimeError: Distributed package doesn't have NCCL built in\n";
}

std::string no_master(const std::string& program, int port) {
  return (is_torch_2(program)
              ? "torch.distributed.DistNetworkError: The client socket has timed out after 2000ms"
              : "TimeoutError: The client socket has timed out after 2s") +
         std::string(" while trying to connect to (127.0.0.1, ") + std::to_string(port) + ").\n";
}

// A port that can be bound, below the range from which the kernel gives out ports by itself: there
// another test's connection could take it before the worker listens. Tests run side by side start
// apart.
int free_port() {
  static int candidate = 20000 + ::getpid() * 8 % 12000;
  for (;; ++candidate) {
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_port = htons(static_cast<std::uint16_t>(candidate));
    const int fd = ::socket(AF_INET, SOCK_STREAM, 0);
    const bool bound = ::bind(fd, reinterpret_cast<sockaddr*>(&address), sizeof address) == 0;
    ::close(fd);
    if (bound) return candidate++;
  }
}

Strings environment_of(int rank, int world_size, int port) {
  return {"RANK=" + std::to_string(rank), "WORLD_SIZE=" + std::to_string(world_size),
          "MASTER_ADDR=127.0.0.1",        "MASTER_PORT=" + std::to_string(port),
          "GLOO_SOCKET_IFNAME=lo",        "PATH=/usr/bin:/bin"};
}

std::vector<char*> pointers(const Strings& strings) {
  std::vector<char*> all;
  for (const std::string& string : strings) all.push_back(const_cast<char*>(string.c_str()));
  all.push_back(nullptr);
  return all;
}

// A child process whose output (both streams) is read; killed at the end of its scope.
class Process {
 public:
  Process(const Strings& argv, const Strings& environment) {
    std::array<int, 2> ends{};
    EXPECT_EQ(::pipe2(ends.data(), O_CLOEXEC), 0);
    posix_spawn_file_actions_t actions;
    ::posix_spawn_file_actions_init(&actions);
    ::posix_spawn_file_actions_adddup2(&actions, ends[1], 1);
    ::posix_spawn_file_actions_adddup2(&actions, ends[1], 2);
    const int error = ::posix_spawn(&pid_, argv[0].c_str(), &actions, nullptr,
                                    pointers(argv).data(), pointers(environment).data());
    EXPECT_EQ(error, 0) << argv[0];
    ::posix_spawn_file_actions_destroy(&actions);
    ::close(ends[1]);
    out_ = ends[0];
  }
  Process(const Process&) = delete;
  Process& operator=(const Process&) = delete;
  ~Process() {
    ::kill(pid_, SIGKILL);
    if (!reaped_) ::waitpid(pid_, nullptr, 0);
    ::close(out_);
  }

  void kill(int signal) const { ::kill(pid_, signal); }

  // Reads until `text` has been seen; false at the end of the output or of patience.
  bool await(const std::string& text) {
    while (output_.find(text) == std::string::npos) {
      if (!read_some()) return false;
    }
    return true;
  }

  // Exit code, or 128 and the signal; its whole output is then in output().
  int wait() {
    while (read_some()) {
    }
    int status = 0;
    if (Clock::now() > end_) ::kill(pid_, SIGKILL);
    ::waitpid(pid_, &status, 0);
    reaped_ = true;
    return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
  }

  const std::string& output() const { return output_; }

 private:
  bool read_some() {
    const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(end_ - Clock::now());
    pollfd polled{out_, POLLIN, 0};
    if (left.count() <= 0 || ::poll(&polled, 1, static_cast<int>(left.count())) != 1) return false;
    std::array<char, 4096> part{};
    const ssize_t size = ::read(out_, part.data(), part.size());
    if (size > 0) output_.append(part.data(), static_cast<std::size_t>(size));
    return size > 0;
  }

  pid_t pid_ = 0;
  int out_ = -1;
  bool reaped_ = false;
  std::string output_;
  Clock::time_point end_ = Clock::now() + patience;
};

std::string parameters_in(const std::string& output) {
  std::smatch match;
  const std::regex line("finished rank \\d+ steps \\d+ parameters ([0-9a-f]{16})\n");
  return std::regex_search(output, match, line) ? match[1].str() : "none in: " + output;
}

Strings command(const std::string& program, Strings options) {
  options.insert(options.begin(), program);
  return options;
}

// What both ranks of a group of two must hold.
void expect_equal_ends(Process& zero, Process& one) {
  EXPECT_EQ(zero.wait(), 0) << zero.output();
  EXPECT_EQ(one.wait(), 0) << one.output();
  EXPECT_EQ(parameters_in(zero.output()).size(), 16U) << zero.output();
  EXPECT_EQ(parameters_in(zero.output()), parameters_in(one.output()));
}

class Programs : public testing::TestWithParam<std::string> {
 protected:
  Programs() {
    std::string pattern = testing::TempDir() + "worker-XXXXXX";
    folder_ = ::mkdtemp(pattern.data());
  }
  ~Programs() override { std::filesystem::remove_all(folder_); }

  Strings with(Strings options) const { return command(GetParam(), std::move(options)); }

  int port_ = free_port();
  std::string folder_;
};

TEST_P(Programs, train_to_equal_parameters_and_tell_each_step) {
  Process zero(with({"--steps", "3"}), environment_of(0, 2, port_));
  Process one(with({"--steps", "3"}), environment_of(1, 2, port_));
  expect_equal_ends(zero, one);
  const std::regex lines(
      "joined rank 1 world_size 2\n"
      "step 1/3 rank 1 loss \\d+\\.\\d{4}\nstep 2/3 rank 1 loss \\d+\\.\\d{4}\n"
      "step 3/3 rank 1 loss \\d+\\.\\d{4}\n"
      "finished rank 1 steps 3 parameters [0-9a-f]{16}\n");
  EXPECT_TRUE(std::regex_match(one.output(), lines)) << one.output();
}

TEST_P(Programs, meet_a_python_rank_in_one_group) {
  const std::string hidden = GetParam() == gloo_worker ? "0" : "600";  // 600: two buckets
  for (const int cpp_rank : {0, 1}) {
    const int port = free_port();
    Process cpp(with({"--steps", "5", "--hidden", "600"}), environment_of(cpp_rank, 2, port));
    Process python({python_for(GetParam()), WORKER_TESTDATA "/ddp_peer.py", "5", hidden},
                   environment_of(1 - cpp_rank, 2, port));
    expect_equal_ends(cpp, python);
  }
}

TEST_P(Programs, lose_a_killed_peer_with_pythons_words_and_exit_1) {
  const Strings options{"--steps", "1000000", "--step-time", "20ms", "--timeout", "30s"};
  Process zero(with(options), environment_of(0, 2, port_));
  Process one(with(options), environment_of(1, 2, port_));
  ASSERT_TRUE(zero.await("step 2/")) << zero.output();
  one.kill(SIGKILL);
  EXPECT_EQ(one.wait(), 137);
  EXPECT_EQ(zero.wait(), 1);
  // Now and then Gloo does not wake who waits for a send when its pair has failed: the send then
  // ends by its timeout, with exit 1 all the same.
  const std::regex words(
      "RuntimeError: \\[[^\\]]*pair\\.cc:\\d+\\] "
      "(Connection closed by peer|Read error|writev) \\[[0-9.]+\\]:\\d+|"
      "unbound_buffer\\.cc:\\d+\\] Timed out waiting 30000ms for send operation");
  EXPECT_TRUE(std::regex_search(zero.output(), words)) << zero.output();
}

TEST_P(Programs, exit_with_the_code_that_is_asked_for_when_a_peer_is_lost) {
  // Gloo may not wake who waits for a send, as above: then the timeout does.
  const Strings options{"--steps",   "1000000", "--step-time",      "20ms",
                        "--timeout", "20s",     "--peer-loss-code", "138"};
  Process zero(with(options), environment_of(0, 2, port_));
  Process one(with(options), environment_of(1, 2, port_));
  ASSERT_TRUE(one.await("step 2/")) << one.output();
  zero.kill(SIGKILL);
  EXPECT_EQ(one.wait(), 138) << one.output();
}

TEST_P(Programs, resume_after_a_failure_and_end_as_if_it_had_not_been) {
  Process alone(with({"--steps", "12"}), environment_of(0, 1, port_));
  EXPECT_EQ(alone.wait(), 0) << alone.output();

  const Strings options =
      with({"--steps", "12", "--checkpoint", folder_ + "/model.bin", "--checkpoint-every", "5",
            "--fail-at-step", "7", "--fail-rank", "0", "--fail-code", "139", "--fail-once"});
  Process first(options, environment_of(0, 1, port_));
  EXPECT_EQ(first.wait(), 139) << first.output();
  EXPECT_NE(first.output().find("failing rank 0 at step 7\n"), std::string::npos);
  Process second(options, environment_of(0, 1, port_));
  EXPECT_EQ(second.wait(), 0) << second.output();
  EXPECT_NE(second.output().find("resumed from step 5\nstep 6/12 rank 0 "), std::string::npos)
      << second.output();
  EXPECT_NE(second.output().find("checkpoint step 12\nfinished "), std::string::npos);
  EXPECT_EQ(parameters_in(second.output()), parameters_in(alone.output()));
}

TEST_P(Programs, end_as_the_documents_say) {
  struct Row {
    const char* name;
    Strings options;
    Strings environment;
    int code;
    std::string words;
  };
  const Row rows[] = {
      {"no rank",
       {},
       {"WORLD_SIZE=1"},
       1,
       "ValueError: Error initializing torch.distributed using env:// rendezvous: environment "
       "variable RANK expected, but not set\n"},
      {"no nccl", {"--backend", "nccl"}, environment_of(0, 1, port_), 1, nccl_refusal(GetParam())},
      {"no master",
       {"--timeout", "2s", "--eager-connect", "0"},
       environment_of(1, 2, port_),
       1,
       no_master(GetParam(), port_)},
      {"rank too large",
       {"--timeout", "2s"},
       environment_of(0, -1, port_),
       1,
       "rank < size. 0 vs -1"},
      {"wrong option",
       {"--stepz"},
       environment_of(0, 1, port_),
       2,
       "ddptwin-worker: no such option: --stepz\n"},
      {"abort",
       {"--fail-at-step", "1", "--fail-with", "abort"},
       environment_of(0, 1, port_),
       134,
       ""},
      {"segv",
       {"--fail-at-step", "1", "--fail-with", "segv"},
       environment_of(0, 1, port_),
       139,
       ""},
      {"exit", {"--fail-at-step", "1", "--fail-code", "3"}, environment_of(0, 1, port_), 3, ""},
  };
  for (const Row& row : rows) {
    Process process(with(row.options), row.environment);
    EXPECT_EQ(process.wait(), row.code) << row.name << ": " << process.output();
    EXPECT_NE(process.output().find(row.words), std::string::npos)
        << row.name << ": " << process.output();
  }
}

INSTANTIATE_TEST_SUITE_P(, Programs, testing::Values(torch_worker, gloo_worker),
                         [](const auto& program) {
                           return program.param == gloo_worker ? "without_libtorch"
                                                               : "with_libtorch";
                         });

TEST(TorchProgram, runs_the_other_engine_when_asked_to) {
  Process rank({torch_worker, "--engine", "gloo", "--steps", "1"},
               environment_of(0, 1, free_port()));
  EXPECT_EQ(rank.wait(), 0);
  Process light({gloo_worker, "--steps", "1"}, environment_of(0, 1, free_port()));
  EXPECT_EQ(light.wait(), 0);
  EXPECT_EQ(rank.output(), light.output());
}

// Eight forks of one libtorch process form a group: the way built-in worker pods start.
TEST(TorchProgram, is_a_zygote_whose_forks_train_together) {
  constexpr int world_size = 8;
  std::array<int, 2> ends{};
  ASSERT_EQ(::socketpair(AF_UNIX, SOCK_SEQPACKET, 0, ends.data()), 0);
  ::fcntl(ends[0], F_SETFD, FD_CLOEXEC);
  Process zygote_process({torch_worker, "--zygote", std::to_string(ends[1])}, {});
  ::close(ends[1]);
  ASSERT_EQ(zygote::receive_reply(ends[0]).value_or(zygote::Reply{.id = 1}).id, 0U);

  std::array<int, 2> out{};
  ASSERT_EQ(::pipe2(out.data(), O_CLOEXEC), 0);
  const Clock::time_point start = Clock::now();
  const int port = free_port();
  for (int rank = 0; rank < world_size; ++rank) {
    zygote::Spawn spawn;
    spawn.id = static_cast<std::uint64_t>(rank);
    spawn.argv = {"ddptwin-worker", "--steps", "1"};
    spawn.env = environment_of(rank, world_size, port);
    spawn.descriptors = {{zygote::Role::out, out[1]}, {zygote::Role::err, out[1]}};
    ASSERT_TRUE(zygote::send(ends[0], spawn));
  }
  int exited = 0;
  while (exited < world_size) {
    pollfd polled{ends[0], POLLIN, 0};
    ASSERT_EQ(::poll(&polled, 1, 60000), 1);
    const auto reply = zygote::receive_reply(ends[0]);
    ASSERT_TRUE(reply);
    ASSERT_NE(reply->kind, zygote::Reply::Kind::failed) << reply->what;
    if (reply->pidfd >= 0) ::close(reply->pidfd);
    if (reply->kind != zygote::Reply::Kind::exited) continue;
    EXPECT_EQ(reply->status, 0);
    ++exited;
  }
  const auto passed = std::chrono::duration_cast<std::chrono::milliseconds>(Clock::now() - start);
  RecordProperty("eight_ranks_ms", static_cast<int>(passed.count()));
  ::close(out[1]);
  std::string text;
  std::array<char, 4096> part{};
  for (ssize_t size = 0; (size = ::read(out[0], part.data(), part.size())) > 0;) {
    text.append(part.data(), static_cast<std::size_t>(size));
  }
  ::close(out[0]);
  ::close(ends[0]);
  EXPECT_EQ(zygote_process.wait(), 0);
  std::map<std::string, int> hashes;
  const std::regex line("finished rank \\d steps 1 parameters ([0-9a-f]{16})");
  for (auto at = std::sregex_iterator(text.begin(), text.end(), line); at != std::sregex_iterator();
       ++at) {
    ++hashes[(*at)[1]];
  }
  ASSERT_EQ(hashes.size(), 1U) << text;
  EXPECT_EQ(hashes.begin()->second, world_size);
}

}  // namespace
}  // namespace ddptwin::workers::programs_test
