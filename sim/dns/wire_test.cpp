#include "dns/wire.hpp"

#include <gmock/gmock.h>

#include "core/random.hpp"

namespace ddptwin::dns::wire_test {
namespace {

Name name(const char* text) { return *Name::parse(text); }

Message sample() {
  Message message;
  message.id = 0xbeef;
  message.response = message.authoritative = message.recursion_desired = true;
  message.questions = {{name("S.ns.svc.cluster.local"), RecordType::srv, class_in}};
  message.answers = {
      {name("S.ns.svc.cluster.local"), RecordType::srv, class_in, 30,
       Srv{0, 50, 23456, name("h.S.ns.svc.cluster.local")}},
      {name("S.ns.svc.cluster.local"), RecordType::cname, class_in, 5, name("cluster.local")},
      {name("x.cluster.local"), RecordType::txt, class_in, 5, Txt{{"1.1.0", ""}}},
      {name("x.cluster.local"), RecordType{65}, class_in, 5, Opaque{{1, 2, 3}}},
  };
  message.authority = {{name("cluster.local"), RecordType::soa, class_in, 30,
                        Soa{name("ns.dns.cluster.local"), name("hostmaster.cluster.local"), 7, 7200,
                            1800, 86400, 30}}};
  message.additional = {
      {name("h.S.ns.svc.cluster.local"), RecordType::a, class_in, 30, Ipv4{10, 244, 0, 1}},
      {name("h.S.ns.svc.cluster.local"), RecordType::aaaa, class_in, 30, Ipv6{0xfd, 1}},
  };
  message.edns = Edns{1232, 0, true};
  return message;
}

Bytes bytes(std::initializer_list<int> list) {
  Bytes out;
  for (const int value : list) out.push_back(static_cast<std::uint8_t>(value));
  return out;
}

// A query's header with one question, then what follows.
Bytes with_question(std::initializer_list<int> question) {
  Bytes out = bytes({0, 1, 1, 0, 0, 1, 0, 0, 0, 0, 0, 0});
  for (const int value : question) out.push_back(static_cast<std::uint8_t>(value));
  return out;
}

TEST(DnsWire, decode_gives_back_what_encode_wrote) {
  const Message message = sample();
  const auto decoded = decode(encode(message, 65535));
  ASSERT_TRUE(decoded) << decoded.error().text();
  EXPECT_EQ(*decoded, message);
}

TEST(DnsWire, an_extended_rcode_travels_in_the_opt_record) {
  Message message = sample();
  message.rcode = Rcode::bad_version;
  EXPECT_EQ(decode(encode(message, 65535))->rcode, Rcode::bad_version);
}

TEST(DnsWire, names_seen_before_are_pointers) {
  Message message;
  message.questions = {{name("a.cluster.local"), RecordType::a, class_in}};
  message.answers = {{name("a.cluster.local"), RecordType::a, class_in, 30, Ipv4{10, 0, 0, 1}}};
  // header 12, question 17 + 4, answer pointer 2 + type, class, ttl, length 10 + address 4
  EXPECT_EQ(encode(message, 512).size(), 12U + 21U + 16U);
}

TEST(DnsWire, what_does_not_fit_is_left_out_and_marked) {
  Message message;
  message.questions = {{name("h.ns.svc.cluster.local"), RecordType::a, class_in}};
  for (int i = 0; i < 100; ++i)
    message.answers.push_back({name("h.ns.svc.cluster.local"), RecordType::a, class_in, 30,
                               Ipv4{10, 0, 0, static_cast<std::uint8_t>(i)}});
  message.edns = Edns{512, 0, false};
  const Bytes small = encode(message, 512);
  EXPECT_LE(small.size(), 512U);
  const auto decoded = decode(small);
  ASSERT_TRUE(decoded);
  EXPECT_TRUE(decoded->truncated);
  EXPECT_TRUE(decoded->edns);
  EXPECT_EQ(decoded->answers.size(), (512U - 11 - 12 - 28) / 16);
  const auto whole = decode(encode(message, 65535));
  EXPECT_FALSE(whole->truncated);
  EXPECT_EQ(whole->answers.size(), 100U);
}

TEST(DnsWire, refuses_bytes_that_are_no_message) {
  struct Row {
    const char* name;
    Bytes bytes;
    const char* error;
  };
  const Row rows[] = {
      {"nothing", {}, "message ends where two bytes should be at byte 0"},
      {"half a header", bytes({0, 1, 1, 0, 0}), "message ends where two bytes should be at byte 4"},
      {"no question", with_question({}), "message ends where a name should be at byte 12"},
      {"a label cut off", with_question({5, 'a'}),
       "message ends where a name should be at byte 12"},
      {"a pointer to itself", with_question({0xc0, 12, 0, 1, 0, 1}),
       "compression pointer that does not point backwards at byte 12"},
      {"a pointer forward", with_question({0xc0, 20, 0, 1, 0, 1}),
       "compression pointer that does not point backwards at byte 12"},
      {"a pointer into its own name", with_question({1, 'a', 0xc0, 12, 0, 1, 0, 1}),
       "compression pointer that does not point backwards at byte 12"},
      {"half a pointer", with_question({0xc0}), "message ends where a name should be at byte 12"},
      {"a label of kind 01", with_question({0x41, 0, 0, 1, 0, 1}),
       "label of an unknown kind at byte 12"},
      {"a class cut off", with_question({0, 0, 1, 0}),
       "message ends where two bytes should be at byte 15"},
      {"65535 questions and none there", bytes({0, 1, 1, 0, 255, 255, 0, 0, 0, 0, 0, 0}),
       "message ends where a name should be at byte 12"},
      {"an A record of three bytes",
       bytes({0, 1, 1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 1, 0, 1, 0, 0, 0, 0, 0, 3, 1, 2, 3, 4}),
       "record data of the wrong length at byte 27"},
      {"a record longer than the message",
       bytes({0, 1, 1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 1, 0, 1, 0, 0, 0, 0, 0, 9, 1, 2, 3, 4}),
       "record longer than the message at byte 23"},
      {"two OPT records", bytes({0, 1, 1, 0, 0, 0, 0, 0, 0,  0, 0, 2, 0, 0, 41, 4, 0,
                                 0, 0, 0, 0, 0, 0, 0, 0, 41, 4, 0, 0, 0, 0, 0,  0, 0}),
       "more than one OPT record"},
  };
  for (const Row& row : rows) {
    const auto message = decode(row.bytes);
    ASSERT_FALSE(message) << row.name;
    EXPECT_EQ(message.error().message, row.error) << row.name;
  }
}

// A name of 255 bytes is made longer by each pointer: the sum is bounded, not only each part.
TEST(DnsWire, a_name_grown_by_pointers_is_refused) {
  Bytes chain = bytes({0, 1, 1, 0, 0, 5, 0, 0, 0, 0, 0, 0});
  std::size_t last = 0;
  for (int i = 0; i < 5; ++i) {
    const std::size_t here = chain.size();
    chain.push_back(63);
    chain.insert(chain.end(), 63, 'a');
    if (last == 0) {
      chain.push_back(0);
    } else {
      chain.push_back(static_cast<std::uint8_t>(0xc0 | last >> 8));
      chain.push_back(static_cast<std::uint8_t>(last & 0xff));
    }
    for (const int value : {0, 1, 0, 1}) chain.push_back(static_cast<std::uint8_t>(value));
    last = here;
  }
  const auto message = decode(chain);
  ASSERT_FALSE(message);
  EXPECT_THAT(message.error().message, testing::StartsWith("name of more than 255 bytes"));
}

// Not a proof (fuzz/ is), but each build runs it: bytes changed at random, and any that still
// decode can be written again.
TEST(DnsWire, no_bytes_crash_it) {
  Random random(7);
  const Bytes whole = encode(sample(), 65535);
  for (int round = 0; round < 20'000; ++round) {
    Bytes mutated = whole;
    for (auto changes = 1 + random.below(4); changes > 0; --changes)
      mutated[random.below(mutated.size())] = static_cast<std::uint8_t>(random.below(256));
    mutated.resize(random.below(mutated.size() + 1));
    if (const auto message = decode(mutated)) {
      const Bytes again = encode(*message, 65535);
      ASSERT_TRUE(decode(again)) << "round " << round;
    }
  }
}

}  // namespace
}  // namespace ddptwin::dns::wire_test
