#include "dns/resolver.hpp"

#include <gmock/gmock.h>

#include <set>

#include "core/concat.hpp"
#include "core/virtual_loop.hpp"
#include "dns/test_objects.hpp"

namespace ddptwin::dns::resolver_test {
namespace {

using namespace test;

class ResolverTest : public testing::Test {
 protected:
  ResolverTest() {
    zone.change(nullptr, service("h", "None"), loop.now());
    zone.change(nullptr,
                slice("h", {endpoint("10.0.0.1"), endpoint("10.0.0.2"), endpoint("10.0.0.3")}),
                loop.now());
    trace.add_sink([this](const Record& record) {
      records.push_back(concat({to_string(record.kind), " ", record.subject, " = ", record.text}));
    });
  }

  // What the asker hears, and when (seconds after the question); "nothing" for a lost answer.
  std::string ask(const std::string& name) {
    const Time asked = loop.now();
    std::string heard = "never";
    resolver.ask({{*Name::parse(name), RecordType::a, class_in}, "10.244.0.9"},
                 [&](std::optional<Answer> answer) {
                   heard = answer ? to_text(*answer) : "nothing";
                   if (loop.now() > asked)
                     heard += " after " + format_go_duration(loop.now() - asked);
                 });
    EXPECT_EQ(heard, "never");
    while (loop.step()) {
    }
    return heard;
  }

  VirtualLoop loop{Random(1), Time(1000s)};
  Trace trace{loop};
  Zone zone;
  Resolver resolver{loop, trace, Random(1).split("dns"), zone};
  std::vector<std::string> records;
};

TEST_F(ResolverTest, every_answer_is_a_record) {
  ask("nope.ns.svc.cluster.local");
  resolver.set_fault([](const Query&) { return Verdict{.lose = true}; });
  ask("h.ns.svc.cluster.local");
  EXPECT_THAT(records, testing::ElementsAre("dns nope.ns.svc.cluster.local. A = NXDOMAIN",
                                            "dns h.ns.svc.cluster.local. A = lost"));
}

TEST_F(ResolverTest, addresses_come_in_changing_order) {
  std::set<std::string> orders;
  for (int i = 0; i < 50; ++i) orders.insert(ask("h.ns.svc.cluster.local"));
  EXPECT_EQ(orders.size(), 6U);
}

TEST_F(ResolverTest, a_fault_decides_what_is_heard_and_when) {
  const auto with = [&](Verdict verdict) {
    resolver.set_fault([verdict](const Query&) { return verdict; });
    return ask("h.ns.svc.cluster.local");
  };
  EXPECT_EQ(with({.lose = true}), "nothing");
  EXPECT_EQ(with({.rcode = Rcode::server_failure}), "SERVFAIL");
  EXPECT_EQ(with({.addresses = {{Ipv4{10, 9, 9, 9}}}}), "10.9.9.9");
  EXPECT_EQ(with({.delay = 5s, .rcode = Rcode::nx_domain}), "NXDOMAIN after 5s");
}

TEST_F(ResolverTest, wrong_addresses_are_heard_of_a_name_that_is_gone) {
  resolver.set_fault([](const Query&) { return Verdict{.addresses = {{Ipv4{10, 9, 9, 9}}}}; });
  EXPECT_EQ(ask("gone.ns.svc.cluster.local"), "10.9.9.9");
}

// RFC 1034 §3.6.2: a client follows the alias and passes over an address beside it.
TEST_F(ResolverTest, wrong_addresses_of_an_alias_are_of_the_name_it_leads_to) {
  const auto alias = std::make_shared<Service>();
  alias->metadata.namespace_ = "ns";
  alias->metadata.name = "alias";
  alias->spec.edit().type_ = "ExternalName";
  alias->spec.edit().externalName = "h.ns.svc.cluster.local";
  zone.change(nullptr, alias, loop.now());
  resolver.set_fault([](const Query&) { return Verdict{.addresses = {{Ipv4{10, 9, 9, 9}}}}; });
  std::vector<std::string> heard;
  resolver.ask({{*Name::parse("alias.ns.svc.cluster.local"), RecordType::a, class_in}, "test"},
               [&](std::optional<Answer> answer) {
                 for (const auto& record : answer->answers) heard.push_back(to_text(record));
               });
  loop.drain();
  EXPECT_THAT(
      heard, testing::ElementsAre("alias.ns.svc.cluster.local. 30 IN CNAME h.ns.svc.cluster.local.",
                                  "h.ns.svc.cluster.local. 30 IN A 10.9.9.9"));
}

// A late answer says what is true when it is given, as a server that is slow to look does.
TEST_F(ResolverTest, a_late_answer_is_looked_up_late) {
  resolver.set_fault([](const Query&) { return Verdict{.delay = 2s}; });
  Timer later = loop.after(loop.new_lane(), 1s, [&] {
    zone.change(nullptr, slice("h", {endpoint("10.0.0.7")}), loop.now());
  });
  EXPECT_EQ(ask("h.ns.svc.cluster.local"), "10.0.0.7 after 2s");
}

TEST_F(ResolverTest, a_fault_sees_who_asks_what) {
  std::string seen;
  resolver.set_fault([&](const Query& query) {
    seen = query.client + " " + query.question.name.text();
    return Verdict{};
  });
  ask("h.ns.svc.cluster.local");
  EXPECT_EQ(seen, "10.244.0.9 h.ns.svc.cluster.local.");
}

}  // namespace
}  // namespace ddptwin::dns::resolver_test
