#include "dns/exchange.hpp"

#include <algorithm>

namespace ddptwin::dns {
namespace {

constexpr std::size_t udp_size_min = 512;
constexpr std::size_t id_and_flags_size = 4;

Message reply_to(const Message& query, Rcode rcode) {
  Message reply;
  reply.id = query.id;
  reply.response = true;
  reply.opcode = query.opcode;
  reply.recursion_desired = query.recursion_desired;
  reply.recursion_available = true;
  reply.checking_disabled = query.checking_disabled;
  reply.rcode = rcode;
  if (query.edns) reply.edns = Edns{udp_size_max, 0, query.edns->dnssec_ok};
  return reply;
}

Refusal refuse(const Message& query, Rcode rcode) {
  Message reply = reply_to(query, rcode);
  if (query.questions.size() == 1) reply.questions = query.questions;
  return {encode(reply, udp_size_min)};
}

// The id and opcode of what cannot be read whole.
Message header_of(std::span<const std::uint8_t> bytes) {
  Message message;
  message.id = static_cast<std::uint16_t>(bytes[0] << 8 | bytes[1]);
  message.response = (bytes[2] & 0x80) != 0;
  message.opcode = bytes[2] >> 3 & 0xf;
  message.recursion_desired = (bytes[2] & 1) != 0;
  return message;
}

}  // namespace

std::variant<Ignore, Refusal, Asked> read_request(std::span<const std::uint8_t> bytes) {
  if (bytes.size() < id_and_flags_size) return Ignore{};
  const Message header = header_of(bytes);
  if (header.response) return Ignore{};
  if (header.opcode != 0) return refuse(header, Rcode::not_implemented);
  Result<Message> query = decode(bytes);
  if (!query) return refuse(header, Rcode::form_error);
  if (query->edns && query->edns->version != 0) return refuse(*query, Rcode::bad_version);
  if (query->questions.size() != 1) return refuse(*query, Rcode::form_error);
  return Asked{std::move(*query)};
}

Bytes write_reply(const Message& query, const Answer& answer, Transport transport) {
  Message reply = reply_to(query, answer.rcode);
  reply.authoritative = answer.authoritative;
  reply.questions = query.questions;
  reply.answers = answer.answers;
  reply.authority = answer.authority;
  reply.additional = answer.additional;
  const std::size_t asked = query.edns ? query.edns->udp_size : udp_size_min;
  const std::size_t udp_limit = std::clamp(asked, udp_size_min, udp_size_max);
  return encode(reply, transport == Transport::tcp ? tcp_size_max : udp_limit);
}

}  // namespace ddptwin::dns
