// The cluster's network: a bridge in the supervisor's network namespace, a veth pair to each pod
// and to each node that has pods on its own network.
#pragma once

#include <map>
#include <optional>
#include <string>

#include "runtime/process/protocol.hpp"
#include "runtime/process/supervisor/netlink.hpp"

namespace ddptwin::sandbox {

class Network {
 public:
  // Sets the loopback up and makes the bridge, with the pods' gateway on it.
  Status set_up(const std::string& gateway, const std::string& nodes, std::uint8_t prefix);
  // Gives the network namespace a device eth0 with the address, and a route to everything.
  Status attach(int pod_namespace, const std::string& address);
  // The namespace of the node with that address; null before its first pod. A node keeps its own.
  const Fd* node(const std::string& address) const;
  void keep_node(const std::string& address, Fd network) {
    nodes_.insert_or_assign(address, std::move(network));
  }
  // As clone_process(), in that network namespace.
  Result<pid_t> clone_within(const Fd& network, int clone_flags) const;
  Result<Fd> open_socket(const OpenSocket& request);

 private:
  std::optional<Netlink> netlink_;
  Fd own_namespace_;
  int bridge_ = 0;
  std::uint32_t gateway_ = 0, node_network_ = 0;
  std::uint8_t prefix_ = 0;
  std::uint64_t pairs_ = 0;
  std::map<std::string, Fd> nodes_;  // by address
};

}  // namespace ddptwin::sandbox
