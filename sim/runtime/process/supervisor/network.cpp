#include "runtime/process/supervisor/network.hpp"

#include <arpa/inet.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <net/if.h>
#include <sched.h>
#include <sys/socket.h>

#include "runtime/process/supervisor/clone.hpp"

namespace ddptwin::sandbox {
namespace {

std::uint32_t mask(std::uint8_t prefix) { return htonl(~std::uint32_t{0} << (32U - prefix)); }

}  // namespace

Status Network::set_up(const std::string& gateway, const std::string& nodes, std::uint8_t prefix) {
  TRY(gateway_, parse_address(gateway));
  TRY(node_network_, parse_address(nodes));
  prefix_ = prefix;
  TRY(own_namespace_, open_fd("/proc/self/ns/net", O_RDONLY));
  TRY(netlink_, Netlink::open());
  TRY_VOID(netlink_->set_up(loopback_index));
  TRY_VOID(netlink_->add_bridge("pods"));
  bridge_ = static_cast<int>(::if_nametoindex("pods"));
  TRY_VOID(netlink_->add_address(bridge_, gateway_, prefix_));
  TRY_VOID(netlink_->set_up(bridge_));
  return netlink_->add_route(bridge_, node_network_, prefix_);
}

const Fd* Network::node(const std::string& address) const {
  const auto found = nodes_.find(address);
  return found == nodes_.end() ? nullptr : &found->second;
}

Result<pid_t> Network::clone_within(const Fd& network, int clone_flags) const {
  if (::setns(network.get(), CLONE_NEWNET) != 0) return system_error("enter the node's network");
  Result<pid_t> pid = clone_process(clone_flags);
  // The way back to one's own is never refused.
  if (!pid || *pid > 0) DDPTWIN_ASSERT(::setns(own_namespace_.get(), CLONE_NEWNET) == 0);
  return pid;
}

Status Network::attach(int pod_namespace, const std::string& address) {
  TRY(const std::uint32_t parsed, parse_address(address));
  constexpr int eth0 = 2;
  const std::string name = fmt::format("pod{}", ++pairs_);
  TRY_VOID(netlink_->add_pair({name, "eth0", eth0, pod_namespace, bridge_}));
  if (::setns(pod_namespace, CLONE_NEWNET) != 0) return system_error("enter the pod's network");
  Result<Netlink> inside = Netlink::open();
  if (::setns(own_namespace_.get(), CLONE_NEWNET) != 0)
    return system_error("leave the pod's network");
  if (!inside) return fail(inside.error());
  TRY_VOID(inside->set_up(loopback_index));
  TRY_VOID(inside->add_address(eth0, parsed, prefix_));
  TRY_VOID(inside->set_up(eth0));
  // Pods and nodes are neighbours on the bridge: of the two routes one is the address's own.
  for (const std::uint32_t network : {gateway_ & mask(prefix_), node_network_})
    TRY_VOID(inside->add_route(eth0, network, prefix_));
  return inside->add_default_route(gateway_);
}

Result<Fd> Network::open_socket(const OpenSocket& request) {
  if (request.dials) {
    Fd socket(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
    if (!socket) return system_error("socket");
    return socket;
  }
  TRY(const std::uint32_t parsed, parse_address(request.address));
  constexpr std::uint8_t whole = 32;
  if (parsed != gateway_) TRY_VOID(netlink_->add_address(loopback_index, parsed, whole));
  const int type = (request.stream ? SOCK_STREAM : SOCK_DGRAM) | SOCK_CLOEXEC | SOCK_NONBLOCK;
  Fd socket(::socket(AF_INET, type, 0));
  if (!socket) return system_error("socket");
  const int on = 1;
  ::setsockopt(socket.get(), SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = parsed;
  address.sin_port = htons(request.port);
  const std::string where = fmt::format("{}:{}", request.address, request.port);
  if (::bind(socket.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0) {
    return system_error("bind " + where);
  }
  if (request.stream && ::listen(socket.get(), SOMAXCONN) != 0)
    return system_error("listen " + where);
  return socket;
}

}  // namespace ddptwin::sandbox
