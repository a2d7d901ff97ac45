// What a name server says on the wire: how large its replies are, and whom it refuses
// (spec/kubernetes.md §6.3).
#include <algorithm>

#include "dns/exchange.hpp"
#include "property.hpp"

namespace ddptwin::property::dns_exchange_properties_test {
namespace {

// Over UDP a reply is cut to what the client takes, between 512 and 1232 bytes, record by record,
// and says so; over TCP it is whole (RFC 6891 §6.2.3; spec/kubernetes.md §6.3).
TEST(DnsExchange, AReplyIsNoLargerThanItsClientTakes) {
  holds([] {
    const auto name = dns::Name::parse("a-name.default.svc.cluster.local");
    RC_ASSERT(name.has_value());
    dns::Message query;
    query.questions = {{*name}};
    std::size_t takes = 512;
    if (*gen::weightedElement<bool>({{1, false}, {4, true}}).as("EDNS")) {
      const auto size = *gen::element(0, 100, 512, 513, 700, 1000, 1231, 1232, 1233, 4096, 65535);
      query.edns = dns::Edns{.udp_size = static_cast<std::uint16_t>(size)};
      takes = std::clamp<std::size_t>(static_cast<std::size_t>(size), 512, 1232);
    }
    dns::Answer answer;
    const int count = *gen::inRange(0, 100).as("addresses");
    for (int i = 0; i < count; ++i)
      answer.answers.push_back({.name = *name,
                                .type = dns::RecordType::a,
                                .ttl = 30,
                                .data = dns::Ipv4{10, 244, 0, static_cast<std::uint8_t>(i)}});
    const auto whole = dns::write_reply(query, answer, dns::Transport::tcp);
    const auto reply = dns::write_reply(query, answer, dns::Transport::udp);
    const auto said = dns::decode(reply);
    RC_ASSERT(dns::decode(whole)->answers == answer.answers);
    RC_ASSERT(reply.size() <= takes);
    RC_ASSERT(said->truncated == (whole.size() > takes));
    RC_ASSERT(std::equal(said->answers.begin(), said->answers.end(), answer.answers.begin()));
    // No more is left out than has to be.
    if (said->truncated) RC_ASSERT(reply.size() + 16 > takes);
  });
}

// Of a version of EDNS that is not known nothing is answered but that (RFC 6891 §6.1.3).
TEST(DnsExchange, AnotherVersionOfEdnsIsRefused) {
  holds([] {
    dns::Message query;
    query.questions = {{*dns::Name::parse("a.default.svc.cluster.local")}};
    query.edns = dns::Edns{.version = *gen::element<std::uint8_t>(0, 1, 2, 255).as("version")};
    const auto read = dns::read_request(dns::encode(query, 512));
    RC_ASSERT(std::holds_alternative<dns::Asked>(read) == (query.edns->version == 0));
    if (const auto* refused = std::get_if<dns::Refusal>(&read))
      RC_ASSERT(dns::decode(refused->reply)->rcode == dns::Rcode::bad_version);
  });
}

}  // namespace
}  // namespace ddptwin::property::dns_exchange_properties_test
