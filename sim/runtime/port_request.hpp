// What a node asks of a port of its pods beyond whether it is open, and what comes back: the HTTP
// and gRPC probes of the kubelet. Source: spec/kubernetes.md §2.7.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/callback.hpp"
#include "core/result.hpp"
#include "core/time.hpp"

namespace ddptwin {

enum class PortProtocol : std::uint8_t { http, https, grpc };

struct PortRequest {
  PortProtocol protocol = PortProtocol::http;
  std::string address{};
  std::uint16_t port = 0;
  // Of HTTP the path and query ("/healthz?full"), of gRPC the service whose health is asked for.
  std::string target{};
  std::vector<std::pair<std::string, std::string>> headers{};
};

// grpc.health.v1.HealthCheckResponse.ServingStatus.
inline constexpr int grpc_serving = 1;
struct ServingStatus {
  int status;
  std::string_view name;
};
inline constexpr std::array serving_statuses{
    ServingStatus{0, "UNKNOWN"},
    ServingStatus{grpc_serving, "SERVING"},
    ServingStatus{2, "NOT_SERVING"},
    ServingStatus{3, "SERVICE_UNKNOWN"},
};

// The first of these that is not as at the beginning is what counts.
struct PortReply {
  int dial = 0;            // errno of connecting; 0: it was accepted
  bool late = false;       // accepted, and answered with nothing in time
  std::string broken{};    // no answer of this protocol, in the words of Go's client ("EOF")
  int code = 0;            // gRPC's status code of the call; 0: OK
  std::string message{};   // of that code
  int status = 0;          // HTTP's status, or gRPC's ServingStatus
  std::string location{};  // of a redirect
};

// The answer is posted, never given inside the call. No time (zero): it waits for as long as it
// takes.
using AskPort = std::function<void(const PortRequest& request, Duration timeout,
                                   UniqueFunction<void(Result<PortReply>)> done)>;

}  // namespace ddptwin
