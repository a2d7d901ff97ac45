#include "zygote.hpp"

#include <fcntl.h>
#include <poll.h>
#include <sched.h>
#include <sys/signalfd.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <iterator>
#include <optional>

#include "pod_entry.hpp"
#include "zygote_protocol.hpp"

namespace ddptwin::workers {
namespace {

using zygote::Reply;
using zygote::Role;
using zygote::Spawn;

struct Child {
  std::uint64_t id = 0;
  pid_t pid = 0;
  int report = -1;  // where it tells that it is in its pod; -1 once it has
};

// ThreadSanitizer runs a thread of its own, and takes care of it in forks. g++ says so by this
// macro; clang has another word for it.
#ifdef __SANITIZE_THREAD__
constexpr std::ptrdiff_t sanitizer_threads = 1;
#else
constexpr std::ptrdiff_t sanitizer_threads = 0;
#endif

std::optional<std::ptrdiff_t> thread_count() {
  std::error_code error;
  const std::filesystem::directory_iterator tasks("/proc/self/task", error);
  if (error) return std::nullopt;
  return std::distance(begin(tasks), end(tasks)) - sanitizer_threads;
}

int open_pidfd(pid_t pid) { return static_cast<int>(::syscall(SYS_pidfd_open, pid, 0)); }

int descriptor_for(const Spawn& spawn, Role role) {
  for (const zygote::Descriptor& descriptor : spawn.descriptors) {
    if (descriptor.role == role) return descriptor.fd;
  }
  return -1;
}

class Zygote {
 public:
  using Worker = std::function<int(const std::vector<std::string>&)>;

  Zygote(int socket, const Worker& worker) : socket_(socket), worker_(worker) {
    ::fcntl(socket_, F_SETFD, FD_CLOEXEC);
    sigemptyset(&child_signal_);
    sigaddset(&child_signal_, SIGCHLD);
    ::sigprocmask(SIG_BLOCK, &child_signal_, &usual_signals_);
    signals_ = ::signalfd(-1, &child_signal_, SFD_CLOEXEC | SFD_NONBLOCK);
    own_pid_namespace_ = ::open("/proc/self/ns/pid", O_RDONLY | O_CLOEXEC);
    nothing_ = ::open("/dev/null", O_RDONLY | O_CLOEXEC);
  }

  int serve() {
    tell({.kind = Reply::Kind::ready, .pid = ::getpid()});
    for (;;) {
      std::vector<pollfd> polled{{socket_, POLLIN, 0}, {signals_, POLLIN, 0}};
      for (const Child& child : children_) {
        if (child.report >= 0) polled.push_back({child.report, POLLIN, 0});
      }
      if (::poll(polled.data(), polled.size(), -1) < 0) continue;
      take_reports();
      if (polled[1].revents != 0) reap();
      if (polled[0].revents != 0 && !take_request()) return end();
    }
  }

 private:
  void tell(const Reply& reply) {
    std::vector<int> fds;
    if (reply.pidfd >= 0) fds.push_back(reply.pidfd);
    zygote::send_packet(socket_, zygote::encode(reply),
                        fds);  // if nobody listens, end() comes next
  }

  void tell_failure(std::uint64_t id, int error, const std::string& what) {
    tell({.kind = Reply::Kind::failed, .id = id, .status = error, .what = what});
  }

  bool take_request() {
    const std::optional<zygote::Packet> packet = zygote::receive_packet(socket_);
    if (!packet || packet->bytes.empty()) return false;
    if (const std::optional<Spawn> spawn = zygote::decode_spawn(packet->bytes, packet->fds)) {
      start(*spawn);
    } else {
      tell_failure(0, EPROTO, "read the request");
    }
    for (const int fd : packet->fds) ::close(fd);
    return true;
  }

  void start(const Spawn& spawn) {
    int report[2];
    if (::pipe2(report, O_CLOEXEC) != 0) return tell_failure(spawn.id, errno, "pipe");
    if (!choose_pid_namespace(descriptor_for(spawn, Role::pid_namespace))) {
      tell_failure(spawn.id, errno, "join pid namespace");
      ::close(report[0]);
      ::close(report[1]);
      return;
    }
    const pid_t pid = ::fork();
    const int fork_error = errno;
    if (pid == 0) become(spawn, report[1]);
    ::close(report[1]);
    if (pid > 0) {
      children_.push_back({spawn.id, pid, report[0]});
    } else {
      ::close(report[0]);
      tell_failure(spawn.id, fork_error, "fork");
    }
  }

  // Only children enter a PID namespace: this process chooses theirs before each fork. From one
  // pod's it may go to another's; back to its own only if the user namespace it is in owns that.
  bool choose_pid_namespace(int wanted) {
    if (wanted < 0 && !has_chosen_) return true;
    if (::setns(wanted < 0 ? own_pid_namespace_ : wanted, CLONE_NEWPID) != 0) return false;
    has_chosen_ = wanted >= 0;
    return true;
  }

  [[noreturn]] void become(const Spawn& spawn, int report) {
    ::sigprocmask(SIG_SETMASK, &usual_signals_, nullptr);
    EntryReport entry = enter_pod(spawn, nothing_);
    if (::write(report, &entry, sizeof entry) != sizeof entry || entry.error != 0) ::_exit(127);
    ::close_range(3, ~0U, 0);
    const int code = worker_(spawn.argv);
    std::fflush(nullptr);
    ::_exit(code);
  }

  void take_reports() {
    for (std::size_t i = children_.size(); i-- > 0;) {
      pollfd polled{children_[i].report, POLLIN, 0};
      if (children_[i].report >= 0 && ::poll(&polled, 1, 0) == 1) take_report(i);
    }
  }

  // The child has reported, or is dead. One that could not enter its pod is reaped and forgotten
  // here.
  void take_report(std::size_t index) {
    Child& child = children_[index];
    EntryReport entry{ESRCH, "live until it was in its pod"};
    const ssize_t size = ::read(child.report, &entry, sizeof entry);
    ::close(std::exchange(child.report, -1));
    if (size == sizeof entry && entry.error == 0) {
      Reply reply{.kind = Reply::Kind::started, .id = child.id, .pid = child.pid};
      reply.pidfd = open_pidfd(child.pid);
      tell(reply);
      ::close(reply.pidfd);
      return;
    }
    tell_failure(child.id, entry.error, entry.step);
    ::waitpid(child.pid, nullptr, 0);
    children_.erase(children_.begin() + static_cast<std::ptrdiff_t>(index));
  }

  void reap() {
    signalfd_siginfo signal;
    while (::read(signals_, &signal, sizeof signal) == sizeof signal) {
    }
    for (std::size_t i = children_.size(); i-- > 0;) {
      siginfo_t info{};  // looked at first, so that a pidfd can still be opened for the dead
      const auto pid = static_cast<id_t>(children_[i].pid);
      if (::waitid(P_PID, pid, &info, WEXITED | WNOHANG | WNOWAIT) != 0 || info.si_pid == 0)
        continue;
      const std::uint64_t id = children_[i].id;
      if (children_[i].report >= 0) take_report(i);
      if (i >= children_.size() || children_[i].id != id) continue;
      int status = 0;
      ::waitpid(children_[i].pid, &status, 0);
      tell({.kind = Reply::Kind::exited, .id = id, .pid = children_[i].pid, .status = status});
      children_.erase(children_.begin() + static_cast<std::ptrdiff_t>(i));
    }
  }

  int end() {
    for (const Child& child : children_) ::kill(child.pid, SIGKILL);
    for (const Child& child : children_) ::waitpid(child.pid, nullptr, 0);
    return 0;
  }

  int socket_;
  Worker worker_;
  sigset_t child_signal_{};
  sigset_t usual_signals_{};
  int signals_ = -1;
  int own_pid_namespace_ = -1;
  bool has_chosen_ = false;  // another PID namespace than its own for children
  int nothing_ = -1;
  std::vector<Child> children_;
};

}  // namespace

int serve_zygote(int socket,
                 const std::function<int(const std::vector<std::string>& argv)>& worker) {
  if (const auto threads = thread_count(); threads != 1) {
    std::fprintf(stderr, "ddptwin-worker: a zygote forks, so it must have one thread; it has %td\n",
                 threads.value_or(0));
    return 1;
  }
  return Zygote(socket, worker).serve();
}

}  // namespace ddptwin::workers
