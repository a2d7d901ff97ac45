#include "cluster/kubelet/prober.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <charconv>
#include <memory>

#include "cluster/kubelet/pod_context.hpp"

namespace ddptwin::kubelet {
namespace {

int port_number(const Container& container, const IntOrString& port) {
  if (!port.is_text) return port.number;
  for (const ContainerPort& named : container.ports)
    if (named.name == port.text) return named.containerPort;
  int number = 0;
  std::from_chars(port.text.data(), port.text.data() + port.text.size(), number);
  return number;
}

NetworkTarget http_target(const ProbeSubject& subject, const HttpGetAction& action) {
  NetworkTarget target;
  target.kind = action.scheme == "HTTPS" ? "https" : "http";
  target.host = action.host.empty() ? subject.pod_ip : action.host;
  target.port = port_number(subject.container, action.port);
  target.path = action.path;
  for (const HttpHeader& header : action.httpHeaders)
    target.headers.emplace_back(header.name, header.value);
  return target;
}

NetworkTarget tcp_target(const ProbeSubject& subject, const TcpSocketAction& action) {
  NetworkTarget target;
  target.kind = "tcp";
  target.host = action.host.empty() ? subject.pod_ip : action.host;
  target.port = port_number(subject.container, action.port);
  return target;
}

NetworkTarget grpc_target(const ProbeSubject& subject, const GrpcAction& action) {
  NetworkTarget target;
  target.kind = "grpc";
  target.host = subject.pod_ip;
  target.port = action.port;
  target.path = action.service.value_or("");
  return target;
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

void Prober::over_network(NetworkTarget target, Done<ProbeAnswer> done) {
  if (network_) {
    network_(target, std::move(done));
    return;
  }
  loop_.post(lane_, [done = std::move(done)]() mutable { done(ProbeAnswer{true, "ok"}); });
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
  NetworkTarget target;
  if (probe.httpGet)
    target = http_target(subject, *probe.httpGet);
  else if (probe.tcpSocket)
    target = tcp_target(subject, *probe.tcpSocket);
  else if (probe.grpc)
    target = grpc_target(subject, *probe.grpc);
  target.timeout = timeout;
  over_network(std::move(target), std::move(done));
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
  auto answered = [done = std::move(done)](Result<ProbeAnswer> answer) mutable {
    if (!answer) return done(fail(std::move(answer).error()));
    if (!answer->success) return done(fail(Reason::unknown, answer->output));
    done({});
  };
  if (handler.httpGet)
    over_network(http_target(subject, *handler.httpGet), std::move(answered));
  else if (handler.tcpSocket)
    over_network(tcp_target(subject, *handler.tcpSocket), std::move(answered));
  else
    loop_.post(lane_, [answered = std::move(answered)]() mutable {
      answered(ProbeAnswer{true, {}});
    });
}

}  // namespace ddptwin::kubelet
