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

constexpr std::string_view bad_status = "HTTP probe failed with statuscode: ";
constexpr int redirects_max = 10;  // of Go's client

std::string serving_word(int status) {
  for (const ServingStatus& row : serving_statuses)
    if (row.status == status) return std::string(row.name);
  return fmt::to_string(status);
}

// What Go's client says of a request that no answer came to; empty: one came.
std::string http_error(const PortRequest& request, const PortReply& reply) {
  constexpr std::string_view while_waiting = " (Client.Timeout exceeded while awaiting headers)";
  if (reply.dial != 0)
    return dial_error(request.address, request.port, reply.dial) +
           std::string(reply.dial == ETIMEDOUT ? while_waiting : "");
  if (reply.late) return fmt::format("context deadline exceeded{}", while_waiting);
  return reply.broken;
}

constexpr int grpc_unimplemented = 12, grpc_deadline_exceeded = 4;

struct GrpcCodeRow {
  int code;
  std::string_view name;
};
// Of google.golang.org/grpc/codes.
constexpr std::array grpc_codes{
    GrpcCodeRow{1, "Canceled"},           GrpcCodeRow{2, "Unknown"},
    GrpcCodeRow{3, "InvalidArgument"},    GrpcCodeRow{4, "DeadlineExceeded"},
    GrpcCodeRow{5, "NotFound"},           GrpcCodeRow{6, "AlreadyExists"},
    GrpcCodeRow{7, "PermissionDenied"},   GrpcCodeRow{8, "ResourceExhausted"},
    GrpcCodeRow{9, "FailedPrecondition"}, GrpcCodeRow{10, "Aborted"},
    GrpcCodeRow{11, "OutOfRange"},        GrpcCodeRow{12, "Unimplemented"},
    GrpcCodeRow{13, "Internal"},          GrpcCodeRow{14, "Unavailable"},
    GrpcCodeRow{15, "DataLoss"},          GrpcCodeRow{16, "Unauthenticated"},
};

ProbeAnswer grpc_answer(const PortRequest& request, const PortReply& reply, Duration timeout) {
  const std::string limit = format_go_duration(timeout);
  // Its client dials again until its time is over, whatever a try meets.
  if (reply.dial != 0 || !reply.broken.empty() || (reply.late && reply.status == 0))
    return {false, fmt::format("timeout: failed to connect service \"{}:{}\" within {}: context "
                               "deadline exceeded",
                               request.address, request.port, limit)};
  if (reply.code == grpc_unimplemented)
    return {false, fmt::format("error: this server does not implement the grpc health protocol "
                               "(grpc.health.v1.Health): {}",
                               reply.message)};
  if (reply.code == grpc_deadline_exceeded)
    return {false, fmt::format("timeout: health rpc did not complete within {}", limit)};
  if (reply.code != 0) {
    std::string name = fmt::to_string(reply.code);
    for (const GrpcCodeRow& row : grpc_codes)
      if (row.code == reply.code) name = row.name;
    return {false, fmt::format("error: health rpc probe failed: rpc error: code = {} desc = {}",
                               name, reply.message)};
  }
  if (reply.status != grpc_serving)
    return {false,
            fmt::format("service unhealthy (responded with \"{}\")", serving_word(reply.status))};
  return {true, "service healthy"};
}

std::string lower(std::string text) {
  std::transform(text.begin(), text.end(), text.begin(), [](unsigned char c) {
    return static_cast<char>(c >= 'A' && c <= 'Z' ? c - 'A' + 'a' : c);
  });
  return text;
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

void Prober::http(const ProbeSubject& subject, const HttpGetAction& action, Duration timeout,
                  Done<ProbeAnswer> done) {
  if (!ask_ || stands_in(subject)) return succeed(std::move(done));
  const std::string scheme = action.scheme.empty() ? "http" : lower(action.scheme);
  PortRequest request;
  request.protocol = scheme == "https" ? PortProtocol::https : PortProtocol::http;
  request.address = action.host.empty() ? subject.pod_ip : action.host;
  request.port = static_cast<std::uint16_t>(port_number(subject.container, action.port));
  request.target = action.path.starts_with('/') ? action.path : "/" + action.path;
  for (const HttpHeader& header : action.httpHeaders)
    request.headers.emplace_back(header.name, header.value);
  follow(std::move(request), scheme, timeout, 0, std::move(done));
}

// Redirects are followed within the pod; one to elsewhere is a success (with a warning upstream).
void Prober::follow(PortRequest request, std::string_view scheme, Duration timeout, int redirects,
                    Done<ProbeAnswer> done) {
  ask_(request, timeout,
       [this, request, scheme = std::string(scheme), timeout, redirects,
        done = std::move(done)](Result<PortReply> reply) mutable {
         if (!reply) return done(fail(std::move(reply).error()));
         const std::string url =
             fmt::format("{}://{}:{}{}", scheme, request.address, request.port, request.target);
         if (const std::string error = http_error(request, *reply); !error.empty())
           return done(ProbeAnswer{false, fmt::format("Get \"{}\": {}", url, error)});
         constexpr int ok = 200, redirection = 300, bad = 400;
         const std::string authority =
             fmt::format("{}://{}:{}/", scheme, request.address, request.port);
         std::string_view next = reply->location;
         if (next.starts_with(authority)) next.remove_prefix(authority.size() - 1);
         if (reply->status >= redirection && reply->status < bad && next.starts_with('/')) {
           if (redirects == redirects_max)
             return done(ProbeAnswer{
                 false, fmt::format("Get \"{}\": stopped after {} redirects", url, redirects)});
           request.target = next;
           return follow(std::move(request), scheme, timeout, redirects + 1, std::move(done));
         }
         if (reply->status >= ok && reply->status < bad) return done(ProbeAnswer{true, {}});
         done(ProbeAnswer{false, fmt::format("{}{}", bad_status, reply->status)});
       });
}

void Prober::grpc(const ProbeSubject& subject, const GrpcAction& action, Duration timeout,
                  Done<ProbeAnswer> done) {
  if (!ask_ || stands_in(subject)) return succeed(std::move(done));
  PortRequest request;
  request.protocol = PortProtocol::grpc;
  request.address = subject.pod_ip;
  request.port = static_cast<std::uint16_t>(action.port);
  request.target = action.service.value_or("");
  ask_(request, timeout,
       [request, timeout, done = std::move(done)](Result<PortReply> reply) mutable {
         if (!reply) return done(fail(std::move(reply).error()));
         done(grpc_answer(request, *reply, timeout));
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
  if (probe.httpGet) return http(subject, *probe.httpGet, timeout, std::move(done));
  if (probe.grpc) return grpc(subject, *probe.grpc, timeout, std::move(done));
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
  if (handler.httpGet) {
    // Whatever its status says: that there was an answer is enough.
    std::string words =
        fmt::format("HTTP lifecycle hook ({}) for Container \"{}\" in Pod \"{}\"",
                    handler.httpGet->path, subject.container.name, pod_label(subject.pod));
    return http(
        subject, *handler.httpGet, Duration{0},
        [words = std::move(words), done = std::move(done)](Result<ProbeAnswer> got) mutable {
          if (!got) return done(fail(std::move(got).error()));
          if (!got->success && !got->output.starts_with(bad_status))
            return done(
                fail(Reason::unknown, fmt::format("{} failed - error: {}", words, got->output)));
          done({});
        });
  }
  loop_.post(lane_, [done = std::move(done)]() mutable { done({}); });
}

}  // namespace ddptwin::kubelet
