// How a probe or a hook is carried out: the port to what lies outside the kubelet.
#pragma once

#include <functional>
#include <string>

#include "cluster/runtime.hpp"
#include "core/loop.hpp"

namespace ddptwin::kubelet {

struct ProbeAnswer {
  bool success = false;
  std::string output{};
};

// A TCP, HTTP or gRPC probe with its address worked out; `kind` is "tcp", "http", "https" or
// "grpc".
struct NetworkTarget {
  std::string kind{};
  std::string host{};
  int port = 0;
  std::string path{};  // HTTP; of gRPC the service
  std::vector<std::pair<std::string, std::string>> headers{};
  Duration timeout{};
};
// The answer is posted, never given inside the call.
using NetworkProbe = std::function<void(const NetworkTarget&, Done<ProbeAnswer>)>;

struct ProbeSubject {
  const Pod& pod;
  const Container& container;
  const ContainerId& id;
  const std::string& pod_ip;
};

// Carries out one handler: in the container by the runtime, over the network by `network`. An error
// is a probe that could not be made, and counts for nothing. Source: spec/kubernetes.md §2.7.
class Prober {
 public:
  Prober(Loop& loop, Lane lane, PodRuntime& runtime, NetworkProbe network)
      : loop_(loop), lane_(lane), runtime_(runtime), network_(std::move(network)) {}

  void probe(const ProbeSubject& subject, const Probe& probe, Done<ProbeAnswer> done);
  // postStart, preStop but for its sleep. The error is what the PostStartHookError says.
  void hook(const ProbeSubject& subject, const LifecycleHandler& handler, Done<void> done);

 private:
  void exec(const ProbeSubject& subject, const ExecAction& action, Duration timeout,
            Done<ProbeAnswer> done);
  void over_network(NetworkTarget target, Done<ProbeAnswer> done);

  Loop& loop_;
  Lane lane_;
  PodRuntime& runtime_;
  NetworkProbe network_;
};

}  // namespace ddptwin::kubelet
