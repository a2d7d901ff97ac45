#include "zygote.hpp"

#include <gtest/gtest.h>
#include <poll.h>
#include <sched.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>

#include "zygote_protocol.hpp"

namespace ddptwin::workers::zygote_test {
namespace {

using zygote::Reply;
using zygote::Role;
using zygote::Spawn;

constexpr int patience_ms = 20000;  // for what must happen; a test that passes never waits for it

bool is_readable(int fd) {
  pollfd polled{fd, POLLIN, 0};
  return ::poll(&polled, 1, patience_ms) == 1;
}

// What a worker of this test does: argv[1] names it.
int act(const std::vector<std::string>& argv) {
  const std::string& what = argv.at(1);
  if (what == "code") return std::stoi(argv.at(2));
  if (what == "die") std::abort();
  if (what == "wait") return ::pause();
  if (what == "tell") {
    std::array<char, 256> name{};
    ::gethostname(name.data(), name.size());
    const char* variable = std::getenv("COLOUR");
    std::printf("%s in %s on %s as %d, %d descriptors\n", variable == nullptr ? "none" : variable,
                std::string(::get_current_dir_name()).c_str(), name.data(), ::getpid(),
                ::fcntl(3, F_GETFD) >= 0);
    return std::getenv("PATH") == nullptr ? 0 : 1;
  }
  return 99;
}

class ZygoteTest : public testing::Test {
 protected:
  void SetUp() override {
    start([] {});
  }

  // `prepare` runs in the zygote before it serves.
  void start(const std::function<void()>& prepare) {
    int ends[2];
    ASSERT_EQ(::socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends), 0);
    zygote_ = ::fork();
    if (zygote_ == 0) {
      ::prctl(PR_SET_PDEATHSIG, SIGKILL);
      ::close(ends[0]);
      prepare();
      ::_exit(serve_zygote(ends[1], act));
    }
    ::close(ends[1]);
    socket_ = ends[0];
  }

  void TearDown() override {
    if (socket_ >= 0) ::close(socket_);
    int status = 0;
    if (zygote_ > 0) ::waitpid(zygote_, &status, 0);
    EXPECT_EQ(status, 0);
  }

  Reply next() {
    EXPECT_TRUE(is_readable(socket_));
    const auto reply = zygote::receive_reply(socket_);
    EXPECT_TRUE(reply);
    return reply.value_or(Reply{});
  }

  Reply ready() {
    const Reply reply = next();
    EXPECT_EQ(reply.kind, Reply::Kind::ready);
    return reply;
  }

  // Gives the pidfd.
  int started(std::uint64_t id) {
    const Reply reply = next();
    EXPECT_EQ(reply.kind, Reply::Kind::started) << reply.what;
    EXPECT_EQ(reply.id, id);
    EXPECT_GT(reply.pid, 0);
    EXPECT_GE(reply.pidfd, 0);
    pid_ = reply.pid;
    return reply.pidfd;
  }

  int exited(std::uint64_t id) {
    const Reply reply = next();
    EXPECT_EQ(reply.kind, Reply::Kind::exited);
    EXPECT_EQ(reply.id, id);
    return reply.status;
  }

  pid_t zygote_ = 0;
  pid_t pid_ = 0;
  int socket_ = -1;
};

Spawn asked(std::uint64_t id, std::vector<std::string> argv) {
  Spawn spawn;
  spawn.id = id;
  spawn.argv = std::move(argv);
  return spawn;
}

std::string read_all(int fd) {
  std::string text;
  std::array<char, 512> part{};
  for (ssize_t size = 0; (size = ::read(fd, part.data(), part.size())) > 0;) {
    text.append(part.data(), static_cast<std::size_t>(size));
  }
  return text;
}

TEST_F(ZygoteTest, tells_how_a_worker_ended) {
  ready();
  ASSERT_TRUE(zygote::send(socket_, asked(7, {"worker", "code", "138"})));
  ::close(started(7));
  const int status = exited(7);
  EXPECT_TRUE(WIFEXITED(status));
  EXPECT_EQ(WEXITSTATUS(status), 138);
  ASSERT_TRUE(zygote::send(socket_, asked(8, {"worker", "die"})));
  ::close(started(8));
  const int killed = exited(8);
  EXPECT_TRUE(WIFSIGNALED(killed));
  EXPECT_EQ(WTERMSIG(killed), SIGABRT);
}

TEST_F(ZygoteTest, gives_a_worker_its_own_environment_folder_and_output_only) {
  ready();
  ::setenv("PATH", "/bin", 1);
  int out[2];
  ASSERT_EQ(::pipe2(out, O_CLOEXEC), 0);
  Spawn spawn = asked(1, {"worker", "tell"});
  spawn.env = {"COLOUR=green"};
  spawn.cwd = "/proc";
  spawn.descriptors = {{Role::out, out[1]}, {Role::err, out[1]}};
  ASSERT_TRUE(zygote::send(socket_, spawn));
  ::close(out[1]);
  ::close(started(1));
  EXPECT_EQ(exited(1), 0) << "it has a PATH that nobody gave it";
  const std::string text = read_all(out[0]);
  ::close(out[0]);
  EXPECT_EQ(text.substr(0, 15), "green in /proc ");
  EXPECT_NE(text.find(" 0 descriptors\n"), std::string::npos) << text;
}

TEST_F(ZygoteTest, names_the_step_that_failed_and_goes_on) {
  ready();
  Spawn nowhere = asked(3, {"worker", "code", "0"});
  nowhere.cwd = "/no/such/folder";
  ASSERT_TRUE(zygote::send(socket_, nowhere));
  const Reply refused = next();
  EXPECT_EQ(refused.kind, Reply::Kind::failed);
  EXPECT_EQ(refused.id, 3U);
  EXPECT_EQ(refused.status, ENOENT);
  EXPECT_EQ(refused.what, "change folder");

  Spawn no_namespace = asked(4, {"worker", "code", "0"});
  no_namespace.descriptors = {{Role::net_namespace, 0}};
  ASSERT_TRUE(zygote::send(socket_, no_namespace));
  EXPECT_EQ(next().what, "join net namespace");
  no_namespace.descriptors = {{Role::pid_namespace, 0}};
  ASSERT_TRUE(zygote::send(socket_, no_namespace));
  EXPECT_EQ(next().what, "join pid namespace");

  ASSERT_TRUE(zygote::send_packet(socket_, "rubbish", {}));
  EXPECT_EQ(next().what, "read the request");
  ASSERT_TRUE(zygote::send(socket_, asked(5, {"worker", "code", "0"})));
  ::close(started(5));
  EXPECT_EQ(exited(5), 0);
}

TEST_F(ZygoteTest, obeys_limits) {
  ready();
  Spawn spawn = asked(1, {"worker", "die"});
  spawn.limits = {{RLIMIT_CORE, 0, 0}, {RLIMIT_NOFILE, 64, 64}};
  ASSERT_TRUE(zygote::send(socket_, spawn));
  ::close(started(1));
  EXPECT_FALSE(WCOREDUMP(exited(1)));
}

TEST_F(ZygoteTest, takes_many_requests_before_it_is_asked_for_replies) {
  for (std::uint64_t id = 1; id <= 32; ++id) {
    ASSERT_TRUE(zygote::send(socket_, asked(id, {"worker", "code", std::to_string(id)})));
  }
  ready();
  int started_count = 0;
  int exited_count = 0;
  while (exited_count < 32) {
    const Reply reply = next();
    ASSERT_TRUE(reply.kind == Reply::Kind::started || reply.kind == Reply::Kind::exited);
    if (reply.kind == Reply::Kind::started) {
      ++started_count;
      ::close(reply.pidfd);
    } else {
      ++exited_count;
      EXPECT_EQ(WEXITSTATUS(reply.status), static_cast<int>(reply.id));
    }
  }
  EXPECT_EQ(started_count, 32);
}

TEST_F(ZygoteTest, kills_its_workers_when_the_twin_goes) {
  ready();
  ASSERT_TRUE(zygote::send(socket_, asked(1, {"worker", "wait"})));
  const int worker = started(1);
  ::close(std::exchange(socket_, -1));
  EXPECT_TRUE(is_readable(worker)) << "a pidfd is readable once its process has ended";
  ::close(worker);
}

TEST_F(ZygoteTest, leaves_no_worker_when_it_is_killed) {
  ready();
  ASSERT_TRUE(zygote::send(socket_, asked(1, {"worker", "wait"})));
  const int worker = started(1);
  ::kill(zygote_, SIGKILL);
  int status = 0;
  ::waitpid(std::exchange(zygote_, 0), &status, 0);
  EXPECT_TRUE(is_readable(worker));
  ::close(worker);
}

// A pod: a process in namespaces of its own, below a user namespace that the zygote shares.
class Pod : public ZygoteTest {
 protected:
  void SetUp() override {
#ifdef __SANITIZE_THREAD__
    GTEST_SKIP() << "ThreadSanitizer's own thread keeps a process from entering user namespaces";
#endif
    int ends[2];
    ASSERT_EQ(::pipe2(ends, O_CLOEXEC), 0);
    holder_ = ::fork();
    if (holder_ == 0) {
      ::prctl(PR_SET_PDEATHSIG, SIGKILL);
      int error = 0;
      if (::unshare(CLONE_NEWUSER | CLONE_NEWUTS | CLONE_NEWIPC | CLONE_NEWNET | CLONE_NEWNS |
                    CLONE_NEWPID) != 0 ||
          ::sethostname("pod-7", 5) != 0) {
        error = errno;
      }
      init_ = error == 0 ? ::fork() : 0;  // process 1 of the PID namespace
      if (init_ == 0 && error == 0) {
        ::prctl(PR_SET_PDEATHSIG, SIGKILL);
        for (;;) ::pause();
      }
      static_cast<void>(!::write(ends[1], &error, sizeof error) ||
                        !::write(ends[1], &init_, sizeof init_));
      for (;;) ::pause();
    }
    int error = EPIPE;
    static_cast<void>(!::read(ends[0], &error, sizeof error) ||
                      !::read(ends[0], &init_, sizeof init_));
    ::close(ends[0]);
    ::close(ends[1]);
    ASSERT_EQ(error, 0) << "no user namespace to be had: " << std::strerror(error);
    start([this] {
      const int users = open_namespace("user");
      if (::setns(users, CLONE_NEWUSER) != 0) ::_exit(5);
    });
  }

  void TearDown() override {
    ZygoteTest::TearDown();
    // It may not have come to ask for its parent's death signal yet.
    if (init_ > 0) ::kill(init_, SIGKILL);
    if (holder_ <= 0) return;  // skipped: process 0 is the whole process group, ctest included
    ::kill(holder_, SIGKILL);
    ::waitpid(holder_, nullptr, 0);
  }

  int open_namespace(const char* kind) const {
    return ::open(("/proc/" + std::to_string(init_) + "/ns/" + kind).c_str(), O_RDONLY | O_CLOEXEC);
  }

  Spawn in_pod(std::uint64_t id, std::vector<std::string> argv) const {
    Spawn spawn = asked(id, std::move(argv));
    spawn.descriptors = {{Role::pid_namespace, open_namespace("pid")},
                         {Role::ipc_namespace, open_namespace("ipc")},
                         {Role::uts_namespace, open_namespace("uts")},
                         {Role::net_namespace, open_namespace("net")},
                         {Role::mount_namespace, open_namespace("mnt")}};
    spawn.flags = zygote::new_session | zygote::drop_capabilities;
    return spawn;
  }

  pid_t holder_ = 0;
  pid_t init_ = 0;
};

TEST_F(Pod, is_entered_before_the_worker_runs) {
  ready();
  int out[2];
  ASSERT_EQ(::pipe2(out, O_CLOEXEC), 0);
  Spawn spawn = in_pod(1, {"worker", "tell"});
  spawn.descriptors.push_back({Role::out, out[1]});
  ASSERT_TRUE(zygote::send(socket_, spawn));
  ::close(out[1]);
  ::close(started(1));
  EXPECT_EQ(exited(1), 0);
  EXPECT_EQ(read_all(out[0]), "none in / on pod-7 as 2, 0 descriptors\n");
  ::close(out[0]);
}

TEST_F(Pod, takes_its_workers_along_when_it_ends) {
  ready();
  ASSERT_TRUE(zygote::send(socket_, in_pod(1, {"worker", "wait"})));
  ::close(started(1));
  ::kill(init_, SIGKILL);
  const int status = exited(1);
  EXPECT_TRUE(WIFSIGNALED(status));
  EXPECT_EQ(WTERMSIG(status), SIGKILL);
  // Its namespace is dead, so nothing can start there any more, and the zygote may not go back to
  // its own, which belongs to another user namespace; it says so and lives on.
  ASSERT_TRUE(zygote::send(socket_, asked(2, {"worker", "code", "4"})));
  const Reply refused = next();
  EXPECT_EQ(refused.kind, Reply::Kind::failed);
  EXPECT_EQ(refused.status, EPERM);
  EXPECT_EQ(refused.what, "join pid namespace");
}

}  // namespace
}  // namespace ddptwin::workers::zygote_test
