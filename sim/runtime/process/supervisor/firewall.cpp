#include "runtime/process/supervisor/firewall.hpp"

#include <arpa/inet.h>
#include <fcntl.h>
#include <linux/if_ether.h>
#include <linux/netfilter.h>
#include <linux/netfilter/nf_tables.h>
#include <linux/netfilter/nfnetlink.h>
#include <linux/netlink.h>
#include <sched.h>
#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <string_view>
#include <utility>

#include "runtime/process/supervisor/netlink.hpp"

namespace ddptwin::sandbox {
namespace {

constexpr const char* table_name = "ddptwin";
constexpr const char* chain_name = "links";
// linux/netfilter_bridge.h has them, which no program can include beside net/if.h.
constexpr std::uint32_t bridge_prerouting = 0;
constexpr std::int32_t bridge_filter_priority = -200;
constexpr std::uint32_t ip_source = 12, ip_destination = 16;  // offsets in an IPv4 header
constexpr std::uint32_t ether_protocol = 12;                  // in an Ethernet header

// What the kernel was built without, or keeps from us, is the machine's; all else is a mistake
// here.
tl::unexpected<Error> lacking(std::string_view step) {
  constexpr std::array lacks{EOPNOTSUPP, EPROTONOSUPPORT, EAFNOSUPPORT, ENOENT, EPERM};
  const bool is_machines = std::find(lacks.begin(), lacks.end(), errno) != lacks.end();
  auto error = system_error(step);
  if (is_machines) error.value().reason = Reason::unsupported_machine;
  return error;
}

// A batch of nf_tables' messages, which the kernel takes as a whole or not at all. All that nothing
// else is said of is big-endian.
class Batch {
 public:
  explicit Batch(std::uint8_t family) : family_(family) {
    message(NFNL_MSG_BATCH_BEGIN, 0, AF_UNSPEC, NFNL_SUBSYS_NFTABLES);
    end_message();
  }

  // The table anew, with one chain at that hook, or none of it at all.
  void replace_table(bool wanted, std::uint32_t hook, std::int32_t priority) {
    for (const int type : {NFT_MSG_NEWTABLE, NFT_MSG_DELTABLE, NFT_MSG_NEWTABLE}) {
      begin(type);
      text(NFTA_TABLE_NAME, table_name);
      end_message();
      if (type == NFT_MSG_DELTABLE && !wanted) return;
    }
    begin(NFT_MSG_NEWCHAIN);
    text(NFTA_CHAIN_TABLE, table_name);
    text(NFTA_CHAIN_NAME, chain_name);
    const std::size_t at = nest(NFTA_CHAIN_HOOK);
    number(NFTA_HOOK_HOOKNUM, hook);
    number(NFTA_HOOK_PRIORITY, static_cast<std::uint32_t>(priority));
    close(at);
    number(NFTA_CHAIN_POLICY, NF_ACCEPT);
    text(NFTA_CHAIN_TYPE, "filter");
    end_message();
  }

  void begin_rule() {
    begin(NFT_MSG_NEWRULE);
    text(NFTA_RULE_TABLE, table_name);
    text(NFTA_RULE_CHAIN, chain_name);
    rule_ = nest(NFTA_RULE_EXPRESSIONS);
  }
  void end_rule() {
    close(rule_);
    end_message();
  }

  // What has to be so of a packet: bytes of a header, or something that the kernel knows of it.
  template <class Value>
  void bytes_are(std::uint32_t header, std::uint32_t offset, Value value, bool equal = true) {
    const auto [element, data] = expression("payload");
    number(NFTA_PAYLOAD_DREG, NFT_REG_1);
    number(NFTA_PAYLOAD_BASE, header);
    number(NFTA_PAYLOAD_OFFSET, offset);
    number(NFTA_PAYLOAD_LEN, sizeof value);
    close(data), close(element);
    compare(value, equal);
  }
  template <class Value>
  void meta_is(std::uint32_t key, Value value, bool equal = true) {
    const auto [element, data] = expression("meta");
    number(NFTA_META_DREG, NFT_REG_1);
    number(NFTA_META_KEY, key);
    close(data), close(element);
    compare(value, equal);
  }

  void drop() {
    const auto [element, data] = expression("immediate");
    number(NFTA_IMMEDIATE_DREG, NFT_REG_VERDICT);
    const std::size_t verdict_data = nest(NFTA_IMMEDIATE_DATA);
    const std::size_t verdict = nest(NFTA_DATA_VERDICT);
    number(NFTA_VERDICT_CODE, NF_DROP);
    close(verdict), close(verdict_data), close(data), close(element);
  }
  void reset() {
    const auto [element, data] = expression("reject");
    number(NFTA_REJECT_TYPE, NFT_REJECT_TCP_RST);
    close(data), close(element);
  }

  // In the network namespace that the caller is in.
  Status send() {
    message(NFNL_MSG_BATCH_END, 0, AF_UNSPEC, NFNL_SUBSYS_NFTABLES);
    end_message();
    const Fd socket(::socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_NETFILTER));
    if (!socket) return lacking("this kernel has no nf_tables");
    sockaddr_nl kernel{};
    kernel.nl_family = AF_NETLINK;
    if (::sendto(socket.get(), bytes_.data(), bytes_.size(), 0,
                 reinterpret_cast<const sockaddr*>(&kernel), sizeof kernel) < 0)
      return system_error("nf_tables");
    return answers(socket);
  }

 private:
  // All of them stand in the socket by now.
  static Status answers(const Fd& socket) {
    alignas(8) char buffer[8192];
    for (;;) {
      const ssize_t got = ::recv(socket.get(), buffer, sizeof buffer, MSG_DONTWAIT);
      if (got < 0 && errno == EAGAIN) return {};
      if (got < 0) return system_error("nf_tables");
      auto left = static_cast<std::size_t>(got);
      for (const auto* header = reinterpret_cast<const nlmsghdr*>(buffer); NLMSG_OK(header, left);
           header = NLMSG_NEXT(header, left)) {
        if (header->nlmsg_type != NLMSG_ERROR) continue;
        const int error = reinterpret_cast<const nlmsgerr*>(NLMSG_DATA(header))->error;
        if (error == 0) continue;
        errno = -error;
        return lacking("this kernel's nf_tables refuses what a link's fault needs");
      }
    }
  }

  void message(int type, int flags, std::uint8_t family, std::uint16_t resource) {
    start_ = bytes_.size();
    nlmsghdr header{};
    header.nlmsg_type = static_cast<std::uint16_t>(type);
    header.nlmsg_flags = static_cast<std::uint16_t>(NLM_F_REQUEST | flags);
    header.nlmsg_seq = ++sequence_;
    append(&header, sizeof header);
    nfgenmsg generic{};
    generic.nfgen_family = family;
    generic.version = NFNETLINK_V0;
    generic.res_id = htons(resource);
    append(&generic, sizeof generic);
  }
  void begin(int type) {
    const int flags = type == NFT_MSG_DELTABLE  ? 0
                      : type == NFT_MSG_NEWRULE ? NLM_F_CREATE | NLM_F_APPEND
                                                : NLM_F_CREATE;
    message(NFNL_SUBSYS_NFTABLES << 8 | type, flags, family_, 0);
  }
  void end_message() {
    const auto length = static_cast<std::uint32_t>(bytes_.size() - start_);
    std::memcpy(bytes_.data() + start_, &length, sizeof length);
  }

  void append(const void* data, std::size_t size) {
    bytes_.append(static_cast<const char*>(data), size);
    bytes_.resize(NLMSG_ALIGN(bytes_.size()));
  }
  void attribute(int type, const void* data, std::size_t size) {
    const nlattr header{static_cast<std::uint16_t>(NLA_HDRLEN + size),
                        static_cast<std::uint16_t>(type)};
    append(&header, sizeof header);
    append(data, size);
  }
  void text(int type, std::string_view value) {
    attribute(type, std::string(value).c_str(), value.size() + 1);
  }
  void number(int type, std::uint32_t value) {
    const std::uint32_t big = htonl(value);
    attribute(type, &big, sizeof big);
  }
  std::size_t nest(int type) {
    const std::size_t at = bytes_.size();
    const nlattr header{0, static_cast<std::uint16_t>(type | NLA_F_NESTED)};
    append(&header, sizeof header);
    return at;
  }
  void close(std::size_t at) {
    const auto length = static_cast<std::uint16_t>(bytes_.size() - at);
    std::memcpy(bytes_.data() + at, &length, sizeof length);
  }
  std::pair<std::size_t, std::size_t> expression(std::string_view name) {
    const std::size_t element = nest(NFTA_LIST_ELEM);
    text(NFTA_EXPR_NAME, name);
    return {element, nest(NFTA_EXPR_DATA)};
  }
  template <class Value>
  void compare(Value value, bool equal) {
    const auto [element, data] = expression("cmp");
    number(NFTA_CMP_SREG, NFT_REG_1);
    number(NFTA_CMP_OP, equal ? NFT_CMP_EQ : NFT_CMP_NEQ);
    const std::size_t wanted = nest(NFTA_CMP_DATA);
    attribute(NFTA_DATA_VALUE, &value, sizeof value);
    close(wanted), close(data), close(element);
  }

  std::uint8_t family_;
  std::string bytes_{};
  std::size_t start_ = 0, rule_ = 0;
  std::uint32_t sequence_ = 0;
};

// On the bridge, of what comes from a pod or node, one way. 0: any address. ARP passes: nobody is
// told that a host is gone.
void add_cut(Batch& batch, std::uint32_t from, std::uint32_t to, std::uint32_t spared) {
  batch.begin_rule();
  batch.bytes_are(NFT_PAYLOAD_LL_HEADER, ether_protocol, htons(ETH_P_IP));
  if (from != 0) batch.bytes_are(NFT_PAYLOAD_NETWORK_HEADER, ip_source, from);
  if (to != 0) batch.bytes_are(NFT_PAYLOAD_NETWORK_HEADER, ip_destination, to);
  if (to == 0) batch.bytes_are(NFT_PAYLOAD_NETWORK_HEADER, ip_destination, spared, false);
  batch.drop();
  batch.end_rule();
}

void add_refusal(Batch& batch, std::uint32_t source, std::uint32_t spared) {
  constexpr auto tcp = static_cast<std::uint8_t>(IPPROTO_TCP);
  batch.begin_rule();
  batch.meta_is(NFT_META_IIF, static_cast<std::uint32_t>(loopback_index), false);
  if (source != 0)
    batch.bytes_are(NFT_PAYLOAD_NETWORK_HEADER, ip_source, source);
  else
    batch.bytes_are(NFT_PAYLOAD_NETWORK_HEADER, ip_source, spared, false);
  batch.meta_is(NFT_META_L4PROTO, tcp);
  batch.reset();
  batch.end_rule();
}

Result<std::uint32_t> address_or_any(const std::string& text) {
  if (text.empty()) return std::uint32_t{0};
  return parse_address(text);
}

}  // namespace

Status Firewall::set_up(const std::string& gateway) {
  gateway_ = gateway;
  TRY(own_namespace_, open_fd("/proc/self/ns/net", O_RDONLY));
  return {};
}

Status Firewall::set(std::vector<Link> links, const NetworkAt& network_at) {
  links_ = std::move(links);
  TRY(const std::uint32_t gateway, parse_address(gateway_));
  Batch cuts(NFPROTO_BRIDGE);
  bool any = false;
  std::set<std::string> refusing;
  for (const Link& link : links_) {
    if (link.reset) refusing.insert(link.from);
    any = any || link.drop;
  }
  if (any || cuts_) {
    cuts.replace_table(any, bridge_prerouting, bridge_filter_priority);
    for (const Link& link : links_) {
      if (!link.drop) continue;
      TRY(const std::uint32_t from, parse_address(link.from));
      TRY(const std::uint32_t to, address_or_any(link.to));
      add_cut(cuts, from, to, gateway);
      add_cut(cuts, to, from, gateway);
    }
    TRY_VOID(cuts.send());
    cuts_ = any;
  }
  std::set<std::string> touched = refusing;
  touched.insert(refusing_.begin(), refusing_.end());
  refusing_ = std::move(refusing);
  for (const std::string& address : touched)
    if (const int network = network_at(address); network >= 0)
      TRY_VOID(refuse_in(address, network));
  return {};
}

Status Firewall::joins(const std::string& address, int network) const {
  return refusing_.contains(address) ? refuse_in(address, network) : Status();
}

Status Firewall::refuse_in(const std::string& address, int network) const {
  TRY(const std::uint32_t gateway, parse_address(gateway_));
  Batch refusals(NFPROTO_IPV4);
  refusals.replace_table(refusing_.contains(address), NF_INET_LOCAL_IN, 0);
  for (const Link& link : links_) {
    if (!link.reset || link.from != address) continue;
    TRY(const std::uint32_t source, address_or_any(link.to));
    add_refusal(refusals, source, gateway);
  }
  if (::setns(network, CLONE_NEWNET) != 0) return system_error("enter the pod's network");
  Status sent = refusals.send();
  // The way back to one's own is never refused.
  DDPTWIN_ASSERT(::setns(own_namespace_.get(), CLONE_NEWNET) == 0);
  return sent;
}

}  // namespace ddptwin::sandbox
