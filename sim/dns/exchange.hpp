// The server's side of one exchange, pure: what a request asks, and the bytes of a reply
// (spec/kubernetes.md section 6.3).
#pragma once

#include <span>
#include <variant>

#include "dns/wire.hpp"

namespace ddptwin::dns {

enum class Transport : std::uint8_t { udp, tcp };

// Nothing to say to this: a reply, or too short to have an id.
struct Ignore {};
// Answered without asking the zone: FORMERR, NOTIMP, BADVERS.
struct Refusal {
  Bytes reply;
};
// A good query: exactly one question.
struct Asked {
  Message query;
  const Question& question() const { return query.questions.front(); }
};

std::variant<Ignore, Refusal, Asked> read_request(std::span<const std::uint8_t> bytes);

// The reply to a good query. Over UDP it is cut to what the client takes: 512 bytes, or what its
// OPT record says, up to udp_size_max.
Bytes write_reply(const Message& query, const Answer& answer, Transport transport);

constexpr std::size_t udp_size_max = 1232;
constexpr std::size_t tcp_size_max = 65535;

}  // namespace ddptwin::dns
