#include "runtime/process/supervisor/netlink.hpp"

#include <arpa/inet.h>
#include <linux/rtnetlink.h>
#include <linux/veth.h>
#include <net/if.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>

namespace ddptwin::sandbox {

// A request under construction: a netlink header, the family's own header, then attributes, which
// may nest.
class Netlink::Packet {
 public:
  template <class Header>
  Packet(int type, int flags, const Header& header) {
    at<nlmsghdr>(0)->nlmsg_type = static_cast<std::uint16_t>(type);
    at<nlmsghdr>(0)->nlmsg_flags = static_cast<std::uint16_t>(NLM_F_REQUEST | NLM_F_ACK | flags);
    size_ = NLMSG_HDRLEN;
    append(&header, sizeof header);
  }

  void attribute(int type, const void* data, std::size_t size) {
    const std::size_t start = begin(type);
    append(data, size);
    // Without the padding: the kernel judges addresses by it.
    at<rtattr>(start)->rta_len = static_cast<std::uint16_t>(RTA_LENGTH(size));
  }
  void attribute(int type, const std::string& text) {
    attribute(type, text.c_str(), text.size() + 1);
  }
  template <class T>
  void attribute(int type, T value) {
    attribute(type, &value, sizeof value);
  }

  std::size_t begin(int type) {
    const std::size_t start = size_;
    const rtattr header{0, static_cast<std::uint16_t>(type)};
    append(&header, sizeof header);
    return start;
  }
  void end(std::size_t start) {
    at<rtattr>(start)->rta_len = static_cast<std::uint16_t>(size_ - start);
  }

  void append(const void* data, std::size_t size) {
    std::memcpy(bytes_ + size_, data, size);
    size_ = NLMSG_ALIGN(size_ + size);
  }

  const void* finish(std::uint32_t sequence) {
    at<nlmsghdr>(0)->nlmsg_len = static_cast<std::uint32_t>(size_);
    at<nlmsghdr>(0)->nlmsg_seq = sequence;
    return bytes_;
  }
  std::size_t size() const { return size_; }

 private:
  template <class T>
  T* at(std::size_t offset) {
    return reinterpret_cast<T*>(bytes_ + offset);
  }
  alignas(8) char bytes_[512] = {};
  std::size_t size_ = 0;
};

Result<std::uint32_t> parse_address(const std::string& text) {
  in_addr address{};
  if (::inet_pton(AF_INET, text.c_str(), &address) == 1) return address.s_addr;
  return fail(Reason::invalid, "not an IPv4 address: " + text);
}

Result<Netlink> Netlink::open() {
  Fd socket(::socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_ROUTE));
  if (!socket) return system_error("netlink socket");
  return Netlink(std::move(socket));
}

Status Netlink::request(Packet& packet, const char* what, int accepted_error) {
  const void* bytes = packet.finish(++sequence_);
  if (::send(socket_.get(), bytes, packet.size(), 0) < 0) return system_error(what);
  alignas(8) char buffer[1024];
  const ssize_t got = ::recv(socket_.get(), buffer, sizeof buffer, 0);
  if (got < 0) return system_error(what);
  const auto* header = reinterpret_cast<const nlmsghdr*>(buffer);
  if (header->nlmsg_type != NLMSG_ERROR) return fail(Reason::io, std::string(what) + ": no answer");
  const int error = -reinterpret_cast<const nlmsgerr*>(NLMSG_DATA(header))->error;
  if (error == 0 || error == accepted_error) return {};
  errno = error;
  return system_error(what);
}

Status Netlink::set_up(int index) {
  ifinfomsg header{};
  header.ifi_index = index;
  header.ifi_flags = header.ifi_change = IFF_UP;
  Packet packet(RTM_NEWLINK, 0, header);
  return request(packet, "set a network device up");
}

Status Netlink::add_bridge(const std::string& name) {
  // A bridge without an address of its own takes the lowest of its ports': it changes as pods come
  // and go, and what a pod sends to the old one is lost until its neighbour entry has aged.
  constexpr std::array<std::uint8_t, 6> own_address{0x02, 0, 0, 0, 0, 0x01};
  Packet packet(RTM_NEWLINK, NLM_F_CREATE | NLM_F_EXCL, ifinfomsg{});
  packet.attribute(IFLA_IFNAME, name);
  packet.attribute(IFLA_ADDRESS, own_address.data(), own_address.size());
  const std::size_t info = packet.begin(IFLA_LINKINFO);
  packet.attribute(IFLA_INFO_KIND, std::string("bridge"));
  packet.end(info);
  return request(packet, "make the bridge");
}

Status Netlink::add_pair(const Pair& pair) {
  ifinfomsg near_end{};
  near_end.ifi_flags = near_end.ifi_change = IFF_UP;
  Packet packet(RTM_NEWLINK, NLM_F_CREATE | NLM_F_EXCL, near_end);
  packet.attribute(IFLA_IFNAME, pair.name);
  packet.attribute(IFLA_MASTER, pair.master);
  const std::size_t info = packet.begin(IFLA_LINKINFO);
  packet.attribute(IFLA_INFO_KIND, std::string("veth"));
  const std::size_t data = packet.begin(IFLA_INFO_DATA);
  const std::size_t peer = packet.begin(VETH_INFO_PEER);
  ifinfomsg far_end{};
  far_end.ifi_index = pair.peer_index;
  packet.append(&far_end, sizeof far_end);
  packet.attribute(IFLA_IFNAME, pair.peer);
  packet.attribute(IFLA_NET_NS_FD, pair.peer_namespace);
  packet.end(peer);
  packet.end(data);
  packet.end(info);
  return request(packet, "make the pod's network device");
}

Status Netlink::add_address(int index, std::uint32_t address, std::uint8_t prefix) {
  ifaddrmsg header{};
  header.ifa_family = AF_INET;
  header.ifa_prefixlen = prefix;
  header.ifa_index = static_cast<std::uint32_t>(index);
  Packet packet(RTM_NEWADDR, NLM_F_CREATE | NLM_F_EXCL, header);
  packet.attribute(IFA_LOCAL, address);
  packet.attribute(IFA_ADDRESS, address);
  return request(packet, "set an address", EEXIST);
}

static rtmsg static_route(unsigned char scope) {
  rtmsg header{};
  header.rtm_family = AF_INET;
  header.rtm_table = RT_TABLE_MAIN;
  header.rtm_protocol = RTPROT_STATIC;
  header.rtm_scope = scope;
  header.rtm_type = RTN_UNICAST;
  return header;
}

Status Netlink::add_route(int index, std::uint32_t network, std::uint8_t prefix) {
  rtmsg header = static_route(RT_SCOPE_LINK);
  header.rtm_dst_len = prefix;
  Packet packet(RTM_NEWROUTE, NLM_F_CREATE | NLM_F_EXCL, header);
  packet.attribute(RTA_DST, network);
  packet.attribute(RTA_OIF, index);
  return request(packet, "set a route", EEXIST);
}

Status Netlink::add_default_route(std::uint32_t gateway) {
  Packet packet(RTM_NEWROUTE, NLM_F_CREATE, static_route(RT_SCOPE_UNIVERSE));
  packet.attribute(RTA_GATEWAY, gateway);
  return request(packet, "set the default route");
}

}  // namespace ddptwin::sandbox
