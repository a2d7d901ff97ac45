// DNS packets: what decodes, encodes to a packet that decodes as the same message; and the server
// has a reply, or nothing, to any bytes.
#include "dns/exchange.hpp"
#include "entry.hpp"

namespace {

using namespace ddptwin;

void check_codec(std::span<const std::uint8_t> bytes) {
  const auto message = dns::decode(bytes);
  if (!message) return;
  const dns::Bytes whole = dns::encode(*message, dns::tcp_size_max);
  const auto again = dns::decode(whole);
  fuzz::law(again.has_value() && *again == *message);
  // Cut to the smallest size it is still a packet.
  fuzz::law(dns::decode(dns::encode(*message, 512)).has_value());
}

void check_server(std::span<const std::uint8_t> bytes) {
  const auto request = dns::read_request(bytes);
  if (const auto* refusal = std::get_if<dns::Refusal>(&request))
    fuzz::law(dns::decode(refusal->reply).has_value());
  const auto* asked = std::get_if<dns::Asked>(&request);
  if (asked == nullptr) return;
  dns::Answer answer;
  answer.answers.push_back(
      {asked->question().name, dns::RecordType::a, dns::class_in, 30, dns::Ipv4{10, 244, 0, 1}});
  const dns::Bytes reply = dns::write_reply(asked->query, answer, dns::Transport::udp);
  fuzz::law(reply.size() <= dns::udp_size_max && dns::decode(reply).has_value());
}

}  // namespace

int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  check_codec({data, size});
  check_server({data, size});
  return 0;
}
