// What ProcessRuntime remembers of its pods, and the small rules its source files share.
#pragma once

#include <boost/asio/posix/stream_descriptor.hpp>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "core/line_cutter.hpp"
#include "runtime/log_size.hpp"
#include "runtime/process/container_log.hpp"
#include "runtime/process/container_rules.hpp"
#include "runtime/process/port_exchange.hpp"
#include "runtime/process/process_runtime.hpp"

namespace ddptwin {

struct ProcessRuntime::Sandbox {
  SandboxConfig config;
  Lane lane;
  std::string address;
  bool stopping = false;
};

struct ProcessRuntime::Container {
  ContainerId id;
  SandboxId sandbox;
  ContainerConfig config;
  Lane lane;
  ContainerReport report{};
  std::vector<std::string> stand_in{};  // empty: its own command runs
  std::vector<sandbox::Mount> mounts{};
  Done<ContainerId> created{};  // waits for its volumes to be written
  int volumes_to_write = 0;
  std::optional<Error> refusal{};  // the first, of a volume
  ContainerLog log{};
  LogSize log_size{};
  struct Output {
    std::unique_ptr<sandbox::OutputPipe> pipe{};
    LineCutter lines{};
    Timer bar_patience{};
  };
  Output out{}, err{};
  bool exited = false;  // its report is made; it is over when its output has been read too
  bool removed = false;
  Timer output_patience{};
  Timer grace{};
  std::vector<Done<void>> stops{};  // wait for its end
  // In which it was started or sent a signal last (Loop::context): what it prints and its end are
  // put down to that, as nothing else is known of what goes on in it.
  std::uint64_t cause = 0;
};

struct ProcessRuntime::Command {
  Lane lane;
  std::uint64_t cause = 0;  // of the call
  std::string output{};
  std::unique_ptr<sandbox::OutputPipe> pipe{};
  std::optional<int> status{};
  bool timed_out = false;
  Timer limit{};
  Timer last_wait{};
  Done<ExecResult> done{};
};

// An attempt to connect.
struct ProcessRuntime::Dial {
  boost::asio::posix::stream_descriptor socket;
  Timer limit{};
  Dialled done{};
};

// A request on a connection that stands.
struct ProcessRuntime::Exchange {
  Timer limit{};
  std::shared_ptr<sandbox::PortExchange> exchange{};
  Done<PortReply> done{};
};

// Processes of a pod that outlive the container (shared PID namespace) may hold its output open.
inline constexpr Duration output_patience = 200ms;
// Bars are drawn ten times a second, or once for each step of a training.
inline constexpr Duration bar_patience = 1s;

// The volume of the files that the runtime itself gives a pod (resolv.conf, hostname).
inline const std::string own_volume = "runtime.ddptwin";

// Posts the answer of a call.
template <class T>
void answer(Loop& loop, Lane lane, Done<T> done, Result<T> result) {
  loop.post(lane, [done = std::move(done), result = std::move(result)]() mutable {
    done(std::move(result));
  });
}

// A refusal of the supervisor as a real runtime would word it: the gRPC code in `where`.
Error error_of(const sandbox::Reply& reply);
// What all is answered with once the supervisor is gone.
Error lost_error();
// What waitpid() gave as an exit code: 128 + n for a signal (spec/kubernetes.md §2.3).
int exit_code_of(int wait_status);

}  // namespace ddptwin
