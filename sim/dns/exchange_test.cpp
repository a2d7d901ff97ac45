#include "dns/exchange.hpp"

#include <gmock/gmock.h>

namespace ddptwin::dns::exchange_test {
namespace {

Message query() {
  Message message;
  message.id = 7;
  message.recursion_desired = true;
  message.questions = {{*Name::parse("h.ns.svc.cluster.local"), RecordType::a, class_in}};
  return message;
}

Message refusal_of(const Bytes& request) {
  auto read = read_request(request);
  const auto* refusal = std::get_if<Refusal>(&read);
  return refusal != nullptr ? *decode(refusal->reply) : Message{};
}

TEST(DnsExchange, a_good_query_is_asked) {
  auto read = read_request(encode(query(), 512));
  const auto* asked = std::get_if<Asked>(&read);
  ASSERT_NE(asked, nullptr);
  EXPECT_EQ(asked->question(), query().questions.front());
}

TEST(DnsExchange, replies_and_crumbs_are_ignored) {
  Message reply = query();
  reply.response = true;
  EXPECT_TRUE(std::holds_alternative<Ignore>(read_request(encode(reply, 512))));
  EXPECT_TRUE(std::holds_alternative<Ignore>(read_request(Bytes{1, 2, 3})));
}

TEST(DnsExchange, each_bad_query_has_its_rcode) {
  Message update = query();
  update.opcode = 5;
  Message two = query();
  two.questions.push_back(two.questions.front());
  Message none = query();
  none.questions.clear();
  Message later = query();
  later.edns = Edns{1232, 1, false};
  Bytes cut = encode(query(), 512);
  cut.resize(cut.size() - 1);
  const std::pair<Bytes, Rcode> rows[] = {
      {encode(update, 512), Rcode::not_implemented},
      {encode(two, 512), Rcode::form_error},
      {encode(none, 512), Rcode::form_error},
      {encode(later, 512), Rcode::bad_version},
      {cut, Rcode::form_error},
      {Bytes{0, 7, 1, 0}, Rcode::form_error},
  };
  for (const auto& [bytes, rcode] : rows) {
    const Message reply = refusal_of(bytes);
    EXPECT_EQ(to_text(reply.rcode), to_text(rcode));
    EXPECT_EQ(reply.id, 7);
    EXPECT_TRUE(reply.response);
  }
}

TEST(DnsExchange, a_reply_repeats_the_question_and_the_flags) {
  Message asked = query();
  asked.edns = Edns{4096, 0, true};
  const Message reply = *decode(write_reply(asked, {.rcode = Rcode::nx_domain}, Transport::udp));
  EXPECT_EQ(reply.id, asked.id);
  EXPECT_EQ(reply.questions, asked.questions);
  EXPECT_TRUE(reply.response && reply.authoritative && reply.recursion_desired &&
              reply.recursion_available);
  EXPECT_EQ(reply.rcode, Rcode::nx_domain);
  EXPECT_EQ(reply.edns, (Edns{1232, 0, true}));
}

TEST(DnsExchange, udp_replies_are_cut_to_what_the_client_takes) {
  Answer answer;
  for (int i = 0; i < 200; ++i)
    answer.answers.push_back({query().questions.front().name, RecordType::a, class_in, 30,
                              Ipv4{10, 0, 0, static_cast<std::uint8_t>(i)}});
  struct Row {
    std::optional<std::uint16_t> edns_size;
    Transport transport;
    std::size_t size_max;
    bool truncated;
  };
  const Row rows[] = {
      {std::nullopt, Transport::udp, 512, true},    {100, Transport::udp, 512, true},
      {1000, Transport::udp, 1000, true},           {4096, Transport::udp, 1232, true},
      {std::nullopt, Transport::tcp, 65535, false},
  };
  for (const Row& row : rows) {
    Message asked = query();
    if (row.edns_size) asked.edns = Edns{*row.edns_size, 0, false};
    const Bytes reply = write_reply(asked, answer, row.transport);
    EXPECT_LE(reply.size(), row.size_max);
    EXPECT_EQ(decode(reply)->truncated, row.truncated);
  }
}

}  // namespace
}  // namespace ddptwin::dns::exchange_test
