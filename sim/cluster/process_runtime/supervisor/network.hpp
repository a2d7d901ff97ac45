// The cluster's network: a bridge in the supervisor's network namespace, a veth pair to each pod.
#pragma once

#include <optional>
#include <string>

#include "cluster/process_runtime/protocol.hpp"
#include "cluster/process_runtime/supervisor/netlink.hpp"

namespace ddptwin::sandbox {

class Network {
 public:
  // Sets the loopback up and makes the bridge, with the pods' gateway on it.
  Status set_up(const std::string& gateway, std::uint8_t prefix);
  // Gives the network namespace a device eth0 with the address, and a route to everything.
  Status attach(int pod_namespace, const std::string& address);
  Result<Fd> open_socket(const OpenSocket& request);

 private:
  std::optional<Netlink> netlink_;
  Fd own_namespace_;
  int bridge_ = 0;
  std::uint32_t gateway_ = 0;
  std::uint8_t prefix_ = 0;
  std::uint64_t pairs_ = 0;
};

}  // namespace ddptwin::sandbox
