#include "runtime/process/supervisor/clone.hpp"

#include <fcntl.h>
#include <sched.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <csignal>
#include <cstdlib>

#include "runtime/process/supervisor/system.hpp"

namespace ddptwin::sandbox {

Result<pid_t> clone_process(int clone_flags) {
  const long pid = ::syscall(SYS_clone, clone_flags | SIGCHLD, 0, 0, 0, 0);
  if (pid < 0) return system_error("clone");
  return static_cast<pid_t>(pid);
}

Result<pid_t> clone_into(int pid_namespace, int clone_flags) {
  TRY(const Fd own, open_fd("/proc/self/ns/pid", O_RDONLY));
  if (::setns(pid_namespace, CLONE_NEWPID) != 0) return system_error("choose a PID namespace");
  Result<pid_t> pid = clone_process(clone_flags);
  // The way back to one's own is never refused.
  if (!pid || *pid > 0) DDPTWIN_ASSERT(::setns(own.get(), CLONE_NEWPID) == 0);
  return pid;
}

// The kernel makes a PID namespace only below the one that the maker itself is in, so a process in
// between makes it and leaves the new process to us. Its number as we see it is the name of
// /proc/self in our /proc.
Result<pid_t> clone_below(int pid_namespace, int clone_flags) {
  TRY(Pipe number, make_pipe());
  TRY(const pid_t between, clone_into(pid_namespace, 0));
  if (between == 0) {
    const Result<pid_t> made = clone_process(clone_flags | CLONE_NEWPID | CLONE_PARENT);
    if (!made || *made > 0) ::_exit(made ? 0 : 1);
    std::array<char, 16> name{};
    const ssize_t size = ::readlink("/proc/self", name.data(), name.size());
    if (size <= 0 ||
        ::write(number.write.get(), name.data(), static_cast<std::size_t>(size)) != size) {
      ::_exit(1);
    }
    return 0;
  }
  number.write.reset();
  ::waitpid(between, nullptr, 0);
  std::array<char, 16> name{};
  if (::read(number.read.get(), name.data(), name.size() - 1) <= 0) {
    return fail(Reason::io, "make a PID namespace: refused");
  }
  return static_cast<pid_t>(std::atoi(name.data()));
}

}  // namespace ddptwin::sandbox
