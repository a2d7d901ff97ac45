#include "dns/message.hpp"

#include <arpa/inet.h>
#include <fmt/format.h>

#include <algorithm>

namespace ddptwin::dns {
namespace {

struct TypeName {
  RecordType type;
  std::string_view name;
};
constexpr std::array type_names{
    TypeName{RecordType::a, "A"},         TypeName{RecordType::ns, "NS"},
    TypeName{RecordType::cname, "CNAME"}, TypeName{RecordType::soa, "SOA"},
    TypeName{RecordType::ptr, "PTR"},     TypeName{RecordType::mx, "MX"},
    TypeName{RecordType::txt, "TXT"},     TypeName{RecordType::aaaa, "AAAA"},
    TypeName{RecordType::srv, "SRV"},     TypeName{RecordType::opt, "OPT"},
    TypeName{RecordType::any, "ANY"},
};

struct RcodeName {
  Rcode rcode;
  std::string_view name;
};
constexpr std::array rcode_names{
    RcodeName{Rcode::no_error, "NOERROR"},        RcodeName{Rcode::form_error, "FORMERR"},
    RcodeName{Rcode::server_failure, "SERVFAIL"}, RcodeName{Rcode::nx_domain, "NXDOMAIN"},
    RcodeName{Rcode::not_implemented, "NOTIMP"},  RcodeName{Rcode::refused, "REFUSED"},
    RcodeName{Rcode::bad_version, "BADVERS"},
};

struct DataText {
  std::string operator()(const Opaque& data) const {
    return fmt::format("\\# {}", data.bytes.size());
  }
  std::string operator()(const Ipv4& address) const { return to_text(address); }
  std::string operator()(const Ipv6& address) const { return to_text(address); }
  std::string operator()(const Name& name) const { return name.text(); }
  std::string operator()(const Soa& soa) const {
    return fmt::format("{} {} {} {} {} {} {}", soa.mname.text(), soa.rname.text(), soa.serial,
                       soa.refresh, soa.retry, soa.expire, soa.minimum);
  }
  std::string operator()(const Srv& srv) const {
    return fmt::format("{} {} {} {}", srv.priority, srv.weight, srv.port, srv.target.text());
  }
  std::string operator()(const Txt& txt) const {
    std::string out;
    for (const std::string& part : txt.strings)
      out += fmt::format("{}\"{}\"", out.empty() ? "" : " ", part);
    return out;
  }
};

template <class Address>
std::optional<Address> parse_address(int family, const std::string& text) {
  Address address;
  if (inet_pton(family, text.c_str(), address.data()) != 1) return std::nullopt;
  return address;
}

}  // namespace

std::string to_text(RecordType type) {
  const auto* found = std::find_if(type_names.begin(), type_names.end(),
                                   [&](const TypeName& row) { return row.type == type; });
  return found != type_names.end() ? std::string(found->name)
                                   : fmt::format("TYPE{}", static_cast<unsigned>(type));
}

std::string to_text(Rcode rcode) {
  const auto* found = std::find_if(rcode_names.begin(), rcode_names.end(),
                                   [&](const RcodeName& row) { return row.rcode == rcode; });
  return found != rcode_names.end() ? std::string(found->name)
                                    : fmt::format("RCODE{}", static_cast<unsigned>(rcode));
}

std::optional<Ipv4> parse_ipv4(const std::string& text) {
  return parse_address<Ipv4>(AF_INET, text);
}
std::optional<Ipv6> parse_ipv6(const std::string& text) {
  return parse_address<Ipv6>(AF_INET6, text);
}

std::string to_text(const Ipv4& address) {
  return fmt::format("{}.{}.{}.{}", address[0], address[1], address[2], address[3]);
}
std::string to_text(const Ipv6& address) {
  std::array<char, INET6_ADDRSTRLEN> buffer{};
  return inet_ntop(AF_INET6, address.data(), buffer.data(), buffer.size());
}

std::string to_text(const ResourceRecord& record) {
  return fmt::format("{} {} IN {} {}", record.name.text(), record.ttl, to_text(record.type),
                     std::visit(DataText(), record.data));
}

std::string to_text(const Answer& answer) {
  if (answer.rcode != Rcode::no_error) return to_text(answer.rcode);
  if (answer.answers.empty()) return "NODATA";
  std::string out;
  for (const ResourceRecord& record : answer.answers)
    out += fmt::format("{}{}", out.empty() ? "" : ", ", std::visit(DataText(), record.data));
  return out;
}

}  // namespace ddptwin::dns
