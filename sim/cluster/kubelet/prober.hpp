// How a probe or a hook is carried out: the port to what lies outside the kubelet.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>

#include "core/loop.hpp"
#include "runtime/port_request.hpp"
#include "runtime/runtime.hpp"

namespace ddptwin::kubelet {

struct ProbeAnswer {
  bool success = false;
  std::string output{};
};

// Tries to connect from the pod's node: 0, or the errno of the failure; ETIMEDOUT when the time is
// over. The answer is posted, never given inside the call.
using TcpConnect = std::function<void(const std::string& host, std::uint16_t port, Duration timeout,
                                      Done<int> done)>;

struct ProbeSubject {
  const Pod& pod;
  const Container& container;
  const ContainerId& id;
  const std::string& pod_ip;
};

// Carries out one handler: in the container by the runtime, over TCP by `connect`, with HTTP and
// gRPC by `ask`. An error is a probe that could not be made, and counts for nothing. Source:
// spec/kubernetes.md §2.7; the words are those of Kubernetes' pkg/probe/http and pkg/probe/grpc.
class Prober {
 public:
  Prober(Loop& loop, Lane lane, PodRuntime& runtime, TcpConnect connect, AskPort ask)
      : loop_(loop),
        lane_(lane),
        runtime_(runtime),
        connect_(std::move(connect)),
        ask_(std::move(ask)) {}

  void probe(const ProbeSubject& subject, const Probe& probe, Done<ProbeAnswer> done);
  // postStart, preStop but for its sleep. The error is what the PostStartHookError says.
  void hook(const ProbeSubject& subject, const LifecycleHandler& handler, Done<void> done);

 private:
  void exec(const ProbeSubject& subject, const ExecAction& action, Duration timeout,
            Done<ProbeAnswer> done);
  void tcp(const ProbeSubject& subject, const TcpSocketAction& action, Duration timeout,
           Done<ProbeAnswer> done);
  void http(const ProbeSubject& subject, const HttpGetAction& action, Duration timeout,
            Done<ProbeAnswer> done);
  void follow(PortRequest request, std::string_view scheme, Duration timeout, int redirects,
              Done<ProbeAnswer> done);
  void grpc(const ProbeSubject& subject, const GrpcAction& action, Duration timeout,
            Done<ProbeAnswer> done);
  void succeed(Done<ProbeAnswer> done);
  bool stands_in(const ProbeSubject& subject) const;

  Loop& loop_;
  Lane lane_;
  PodRuntime& runtime_;
  TcpConnect connect_;
  AskPort ask_;
};

}  // namespace ddptwin::kubelet
