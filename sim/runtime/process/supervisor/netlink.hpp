// The few requests of rtnetlink(7) that pods need, each waited for until the kernel acknowledges
// it.
#pragma once

#include <cstdint>
#include <string>

#include "runtime/process/supervisor/system.hpp"

namespace ddptwin::sandbox {

// An IPv4 address in network byte order.
Result<std::uint32_t> parse_address(const std::string& text);

inline constexpr int loopback_index = 1;  // the first device of every network namespace

class Netlink {
 public:
  // In the network namespace that the caller is in now; the socket stays there.
  static Result<Netlink> open();

  Status set_up(int index);
  Status add_bridge(const std::string& name);
  // One message makes the pair, puts `peer` with the given index into the namespace
  // `peer_namespace`, and attaches the near end to the bridge `master`.
  struct Pair {
    std::string name;
    std::string peer;
    int peer_index = 0;
    int peer_namespace = -1;
    int master = 0;
  };
  Status add_pair(const Pair& pair);
  Status add_address(int index, std::uint32_t address, std::uint8_t prefix);  // fine if it is there
  // To all of that network through the device; fine if it is there.
  Status add_route(int index, std::uint32_t network, std::uint8_t prefix);
  Status add_default_route(std::uint32_t gateway);

 private:
  explicit Netlink(Fd socket) : socket_(std::move(socket)) {}
  class Packet;
  Status request(Packet& packet, const char* what, int accepted_error = 0);

  Fd socket_;
  std::uint32_t sequence_ = 0;
};

}  // namespace ddptwin::sandbox
