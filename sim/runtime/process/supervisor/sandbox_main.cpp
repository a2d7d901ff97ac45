// ddptwin-sandbox SOCKET PARENT: two processes that ddptwin starts for its sandboxes (README.md).
//
//   ddptwin -> guard -> supervisor (first process of the cluster's PID namespace) -> pods
//
// The guard enters the namespaces and waits; each of the two is killed by the kernel when its
// parent dies, and the PID namespace ends with its first process. So nothing survives ddptwin,
// however and whenever it ends.
#include <fcntl.h>
#include <fmt/format.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>

#include "runtime/process/open_files.hpp"
#include "runtime/process/supervisor/cluster_namespace.hpp"
#include "runtime/process/supervisor/supervisor.hpp"

namespace ddptwin::sandbox {
namespace {

void report_failure(int socket, const Error& error) {
  Reply reply;
  reply.outcome =
      error.reason == Reason::unsupported_machine ? Outcome::unsupported : Outcome::refused;
  reply.message = error.text();
  static_cast<void>(send_message(socket, encode(reply), {}));
}

[[noreturn]] void be_supervisor(Fd socket, Fd life) {
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  raise_open_files();
  if (const Status made = make_cluster_tree(); !made) {
    report_failure(socket.get(), made.error());
    ::_exit(1);
  }
  // The guard may have died before the line above that asks for its death signal: then `life` says
  // so.
  Supervisor(std::move(socket), std::move(life)).run();
  ::_exit(0);
}

int be_guard(int socket_number, pid_t parent) {
  Fd socket(socket_number);
  ::fcntl(socket_number, F_SETFD, FD_CLOEXEC);
  ::setsid();  // the terminal's ^C is ddptwin's to handle
  Result<Pipe> life = make_pipe();
  if (!life) return 1;
  if (const Status entered = enter_cluster_namespaces(); !entered) {
    report_failure(socket_number, entered.error());
    return 1;
  }
  // After the change of credentials, which would clear it.
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (::getppid() != parent) return 1;
  const pid_t supervisor = ::fork();
  if (supervisor < 0) return 1;
  if (supervisor == 0) {
    life->write.reset();
    be_supervisor(std::move(socket), std::move(life->read));
  }
  socket.reset();
  life->read.reset();
  int status = 0;
  while (::waitpid(supervisor, &status, 0) != supervisor) {
  }
  return 0;
}

}  // namespace
}  // namespace ddptwin::sandbox

int main(int argc, char** argv) {
  if (argc != 3) {
    fmt::print(stderr, "ddptwin-sandbox is started by ddptwin, not by hand\n");
    return 2;
  }
  // Nothing is left to be destroyed, and a leak checker that looks into a process between two
  // namespaces may never come back.
  ::_exit(ddptwin::sandbox::be_guard(std::atoi(argv[1]), std::atoi(argv[2])));
}
