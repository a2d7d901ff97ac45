#include "cluster/kubelet/prober.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <memory>
#include <string_view>

#include "cluster/kubelet/pod_context.hpp"
#include "core/numbers.hpp"

namespace ddptwin::kubelet {
namespace {

int port_number(const Container& container, const IntOrString& port) {
  if (!port.is_text) return port.number;
  for (const ContainerPort& named : container.ports)
    if (named.name == port.text) return named.containerPort;
  return go_integer<int>(port.text).value_or(0);
}

struct DialError {
  int outcome;
  std::string_view words;  // of Go's net package
};
constexpr std::array dial_errors{
    DialError{ECONNREFUSED, "connect: connection refused"},
    DialError{EHOSTUNREACH, "connect: no route to host"},
    DialError{ENETUNREACH, "connect: network is unreachable"},
    DialError{ETIMEDOUT, "i/o timeout"},
};

std::string dial_error(const std::string& host, int port, int outcome) {
  const auto row = std::find_if(dial_errors.begin(), dial_errors.end(),
                                [outcome](const DialError& one) { return one.outcome == outcome; });
  const std::string words = row == dial_errors.end() ? fmt::format("connect: errno {}", outcome)
                                                     : std::string(row->words);
  return fmt::format("dial tcp {}:{}: {}", host, port, words);
}

std::string hook_error(const Pod& pod, const Container& container,
                       const std::vector<std::string>& command, const ExecResult& result) {
  return fmt::format(
      "Exec lifecycle hook ([{}]) for Container \"{}\" in Pod \"{}\" failed - error: command '{}' "
      "exited with {}: , message: \"{}\"",
      fmt::join(command, " "), container.name, pod_label(pod), fmt::join(command, " "),
      result.exit_code, result.output);
}

}  // namespace

void Prober::succeed(Done<ProbeAnswer> done) {
  loop_.post(lane_, [done = std::move(done)]() mutable { done(ProbeAnswer{true, "ok"}); });
}

// What stands in for a program listens on none of its ports.
bool Prober::stands_in(const ProbeSubject& subject) const {
  const ContainerReport* report = runtime_.report(subject.id);
  return report != nullptr && report->stands_in;
}

void Prober::tcp(const ProbeSubject& subject, const TcpSocketAction& action, Duration timeout,
                 Done<ProbeAnswer> done) {
  if (!connect_ || stands_in(subject)) return succeed(std::move(done));
  const std::string host = action.host.empty() ? subject.pod_ip : action.host;
  const int port = port_number(subject.container, action.port);
  connect_(host, static_cast<std::uint16_t>(port), timeout,
           [host, port, done = std::move(done)](const Result<int>& outcome) mutable {
             if (!outcome) return done(fail(outcome.error()));
             if (*outcome == 0) return done(ProbeAnswer{true, {}});
             done(ProbeAnswer{false, dial_error(host, port, *outcome)});
           });
}

void Prober::exec(const ProbeSubject& subject, const ExecAction& action, Duration timeout,
                  Done<ProbeAnswer> done) {
  const std::string words = fmt::format("{}", fmt::join(action.command, " "));
  runtime_.exec(
      subject.id, action.command, timeout,
      [words, timeout, done = std::move(done)](Result<ExecResult> result) mutable {
        if (!result) return done(fail(std::move(result).error()));
        if (result->timed_out)
          return done(ProbeAnswer{false, fmt::format("command timed out: \"{}\" timed out after {}",
                                                     words, format_go_duration(timeout))});
        done(ProbeAnswer{result->exit_code == 0, std::move(result->output)});
      });
}

void Prober::probe(const ProbeSubject& subject, const Probe& probe, Done<ProbeAnswer> done) {
  const Duration timeout = std::chrono::seconds(std::max(probe.timeoutSeconds, 1));
  if (probe.exec) return exec(subject, *probe.exec, timeout, std::move(done));
  if (probe.tcpSocket) return tcp(subject, *probe.tcpSocket, timeout, std::move(done));
  succeed(std::move(done));
}

void Prober::hook(const ProbeSubject& subject, const LifecycleHandler& handler, Done<void> done) {
  if (handler.exec) {
    const auto pod = std::make_shared<const Pod>(subject.pod);
    runtime_.exec(
        subject.id, handler.exec->command, Duration{0},
        [pod, container = subject.container, command = handler.exec->command,
         done = std::move(done)](Result<ExecResult> result) mutable {
          if (!result) return done(fail(std::move(result).error()));
          if (result->exit_code != 0)
            return done(fail(Reason::unknown, hook_error(*pod, container, command, *result)));
          done({});
        });
    return;
  }
  loop_.post(lane_, [done = std::move(done)]() mutable { done({}); });
}

}  // namespace ddptwin::kubelet
