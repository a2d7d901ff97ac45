#include "runtime/process/supervisor/zygote_link.hpp"

#include <poll.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>

#include "runtime/process/supervisor/layers.hpp"

namespace ddptwin::sandbox {
namespace {

[[noreturn]] void become_zygote(const std::string& worker, int socket) {
  sigset_t none;
  ::sigemptyset(&none);
  ::sigprocmask(SIG_SETMASK, &none, nullptr);
  constexpr int passed = 3;
  if (socket == passed) {
    ::fcntl(socket, F_SETFD, 0);
  } else {
    ::dup2(socket, passed);
  }
  if (::chroot(place::host.c_str()) != 0 || ::chdir("/") != 0) ::_exit(1);
  const std::string fd = std::to_string(passed);
  // One thread each: many workers share few processors, and a zygote must fork while it has one.
  const char* env[] = {"PATH=/usr/local/bin:/usr/bin:/bin", "HOME=/", "OMP_NUM_THREADS=1", nullptr};
  const char* argv[] = {worker.c_str(), "--zygote", fd.c_str(), nullptr};
  ::execve(worker.c_str(), const_cast<char**>(argv), const_cast<char**>(env));
  ::_exit(127);
}

constexpr int warm_up_max = 20'000;  // milliseconds

}  // namespace

// Its first message is `ready`, which stays to be read by whoever reads its reports.
void ZygoteLink::wait_until_warm() const {
  pollfd readable{socket_.get(), POLLIN, 0};
  while (::poll(&readable, 1, warm_up_max) < 0 && errno == EINTR) {
  }
}

Result<ZygoteLink> ZygoteLink::start(const std::string& worker) {
  int ends[2];
  if (::socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) != 0) {
    return system_error("socketpair");
  }
  Fd ours(ends[0]);
  const Fd theirs(ends[1]);
  const pid_t pid = ::fork();
  if (pid < 0) return system_error("fork the worker zygote");
  if (pid == 0) become_zygote(worker, theirs.get());
  return ZygoteLink(std::move(ours), pid);
}

}  // namespace ddptwin::sandbox
