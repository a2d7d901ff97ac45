// What a port of a modelled process answers to the requests of probes.
#pragma once

#include <cstdint>

#include "core/time.hpp"
#include "runtime/port_request.hpp"

namespace ddptwin::model {

// What whoever listens says to a probe that asks more than whether the port is open.
struct PortAnswers {
  enum class To : std::uint8_t { nobody, all, http, grpc };
  To to = To::nobody;  // accepts, and never answers
  int http_status = 200;
  int serving = grpc_serving;
  Duration delay{};
  friend bool operator==(const PortAnswers&, const PortAnswers&) = default;
};

struct ListeningPort {
  std::uint16_t port = 0;
  PortAnswers answers{.to = PortAnswers::To::all};
  friend bool operator==(const ListeningPort&, const ListeningPort&) = default;
};

}  // namespace ddptwin::model
