// DNS messages as values (RFC 1035, RFC 2782, RFC 6891).
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "dns/name.hpp"

namespace ddptwin::dns {

enum class RecordType : std::uint16_t {
  a = 1,
  ns = 2,
  cname = 5,
  soa = 6,
  ptr = 12,
  mx = 15,
  txt = 16,
  aaaa = 28,
  srv = 33,
  opt = 41,
  any = 255,
};
std::string to_text(RecordType type);  // "A", "SRV", "TYPE65"

enum class Rcode : std::uint16_t {
  no_error = 0,
  form_error = 1,
  server_failure = 2,
  nx_domain = 3,
  not_implemented = 4,
  refused = 5,
  bad_version = 16,  // its upper bits travel in the OPT record
};
std::string to_text(Rcode rcode);  // "NOERROR", "NXDOMAIN", ...

constexpr std::uint16_t class_in = 1;
constexpr std::uint16_t class_any = 255;

using Ipv4 = std::array<std::uint8_t, 4>;
using Ipv6 = std::array<std::uint8_t, 16>;
std::optional<Ipv4> parse_ipv4(const std::string& text);
std::optional<Ipv6> parse_ipv6(const std::string& text);
std::string to_text(const Ipv4& address);
std::string to_text(const Ipv6& address);

struct Soa {
  Name mname{};
  Name rname{};
  std::uint32_t serial = 0;
  std::uint32_t refresh = 0;
  std::uint32_t retry = 0;
  std::uint32_t expire = 0;
  std::uint32_t minimum = 0;
  bool operator==(const Soa&) const = default;
};
struct Srv {
  std::uint16_t priority = 0;
  std::uint16_t weight = 0;
  std::uint16_t port = 0;
  Name target{};
  bool operator==(const Srv&) const = default;
};
struct Txt {
  std::vector<std::string> strings{};  // each at most 255 bytes
  bool operator==(const Txt&) const = default;
};
struct Opaque {  // of a type that the codec does not know
  std::vector<std::uint8_t> bytes{};
  bool operator==(const Opaque&) const = default;
};
// Name: of NS, CNAME, PTR.
using RecordData = std::variant<Opaque, Ipv4, Ipv6, Name, Soa, Srv, Txt>;

struct ResourceRecord {
  Name name{};
  RecordType type{};
  std::uint16_t class_ = class_in;
  std::uint32_t ttl = 0;
  RecordData data{};
  bool operator==(const ResourceRecord&) const = default;
};
// As a zone file has it: "s-0.h.ns.svc.cluster.local. 30 IN A 10.244.0.1".
std::string to_text(const ResourceRecord& record);

struct Question {
  Name name{};
  RecordType type = RecordType::a;
  std::uint16_t class_ = class_in;
  bool operator==(const Question&) const = default;
};

// What a zone says to a question. NOERROR without answers is NODATA.
struct Answer {
  Rcode rcode = Rcode::no_error;
  bool authoritative = true;
  std::vector<ResourceRecord> answers{};
  std::vector<ResourceRecord> authority{};
  std::vector<ResourceRecord> additional{};
  bool operator==(const Answer&) const = default;
};
// One line for the trace: "NXDOMAIN", "NODATA", "10.244.0.1, 10.244.0.2".
std::string to_text(const Answer& answer);

// The OPT pseudo record.
struct Edns {
  std::uint16_t udp_size = 512;
  std::uint8_t version = 0;
  bool dnssec_ok = false;
  bool operator==(const Edns&) const = default;
};

struct Message {
  std::uint16_t id = 0;
  bool response = false;
  std::uint8_t opcode = 0;  // 4 bits
  bool authoritative = false;
  bool truncated = false;
  bool recursion_desired = false;
  bool recursion_available = false;
  bool authentic_data = false;
  bool checking_disabled = false;
  Rcode rcode = Rcode::no_error;
  std::vector<Question> questions{};
  std::vector<ResourceRecord> answers{};
  std::vector<ResourceRecord> authority{};
  std::vector<ResourceRecord> additional{};  // without the OPT record
  std::optional<Edns> edns{};
  bool operator==(const Message&) const = default;
};

}  // namespace ddptwin::dns
