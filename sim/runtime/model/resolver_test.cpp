#include "runtime/model/resolver.hpp"

#include <gtest/gtest.h>

#include <algorithm>

#include "runtime/model/loop_timers.hpp"
#include "runtime/model/test_pods.hpp"

namespace ddptwin::model::resolver_test {
namespace {

const DnsConfig cluster_dns{
    {"10.0.0.10"}, {"ns.svc.cluster.local", "svc.cluster.local", "cluster.local"}, {"ndots:5"}};

struct Search {
  std::string name;
  DnsConfig config;
  Strings tried;
};

class SearchList : public testing::TestWithParam<Search> {};
INSTANTIATE_TEST_SUITE_P(
    Resolver, SearchList,
    testing::Values(Search{"a",
                           cluster_dns,
                           {"a.ns.svc.cluster.local", "a.svc.cluster.local", "a.cluster.local",
                            "a"}},
                    Search{"a.b.c",
                           cluster_dns,
                           {"a.b.c.ns.svc.cluster.local", "a.b.c.svc.cluster.local",
                            "a.b.c.cluster.local", "a.b.c"}},
                    Search{"a.b.c.d.e.f",
                           cluster_dns,
                           {"a.b.c.d.e.f", "a.b.c.d.e.f.ns.svc.cluster.local",
                            "a.b.c.d.e.f.svc.cluster.local", "a.b.c.d.e.f.cluster.local"}},
                    Search{"a.ns.svc.cluster.local.", cluster_dns, {"a.ns.svc.cluster.local"}},
                    Search{"a.b", {{"10.0.0.10"}, {"x"}, {}}, {"a.b", "a.b.x"}},
                    Search{"a", {{"10.0.0.10"}, {"."}, {}}, {"a"}}),
    [](const auto& one) {
      std::string name = one.param.name + std::to_string(one.index);
      std::replace(name.begin(), name.end(), '.', '_');
      return name;
    });

TEST_P(SearchList, tries_names_in_resolv_confs_order) {
  EXPECT_EQ(search_list(GetParam().name, GetParam().config), GetParam().tried);
}

TEST(Resolver, knows_addresses) {
  EXPECT_TRUE(is_ipv4("10.244.0.3"));
  for (const char* text : {"", "10.244.0", "10.244.0.256", "10.244.0.3.", "a.b.c.d", "::1"})
    EXPECT_FALSE(is_ipv4(text)) << text;
}

constexpr std::string_view hosts =
    "# comment\n127.0.0.1\tlocalhost\n::1\tlocalhost\n10.244.0.3\tpod-0.h.ns.svc\tpod-0 # own\n";

TEST(Resolver, reads_etc_hosts) {
  EXPECT_EQ(hosts_addresses(hosts, "localhost"), Strings{"127.0.0.1"});
  EXPECT_EQ(hosts_addresses(hosts, "POD-0"), Strings{"10.244.0.3"});
  EXPECT_TRUE(hosts_addresses(hosts, "own").empty());
  EXPECT_EQ(hosts_name(hosts, "10.244.0.3"), "pod-0.h.ns.svc");
  EXPECT_EQ(hosts_name(hosts, "10.244.0.4"), "");
}

// One lookup on a loop of its own, by scripted servers: a name's answer, or that of one of them
// ("a.b@10.0.0.1").
struct Asked {
  Resolved answer{};
  Strings names{};
  Duration took{};
};

Asked ask(const std::string& name, const DnsConfig& config,
          const std::map<std::string, DnsAnswer>& answers, DnsOutcome otherwise) {
  VirtualLoop loop(Random(1), Time());
  LoopTimers timers(loop);
  Asked asked;
  const Lookup lookup = [&](DnsQuestion question, UniqueFunction<void(DnsAnswer)> done) {
    asked.names.push_back(question.name + "@" + question.server);
    auto found = answers.find(question.name + "@" + question.server);
    if (found == answers.end()) found = answers.find(question.name);
    const DnsAnswer given = found == answers.end() ? DnsAnswer{otherwise, {}} : found->second;
    loop.post(Lane{2}, [done = std::move(done), given]() mutable { done(given); });
  };
  Resolution resolution({hosts, &config, "10.244.0.3"}, lookup, 1ms, timers);
  resolution.start(name, [&](const Resolved& answer) {
    asked.answer = answer;
    asked.took = loop.now() - Time();
  });
  while (loop.step()) {
  }
  return asked;
}

TEST(Resolver, takes_the_first_name_that_has_an_address) {
  const Asked asked =
      ask("a", cluster_dns, {{"a.svc.cluster.local", {DnsOutcome::found, {"10.0.0.7"}}}},
          DnsOutcome::nx_domain);
  EXPECT_EQ(asked.answer.error, 0);
  EXPECT_EQ(asked.answer.addresses, Strings{"10.0.0.7"});
  EXPECT_EQ(asked.answer.name, "a.svc.cluster.local");
  EXPECT_EQ(asked.took, 2ms);
}

TEST(Resolver, knows_no_name_that_nobody_knows) {
  const Asked asked = ask("a", cluster_dns, {}, DnsOutcome::nx_domain);
  EXPECT_EQ(asked.answer.error, Resolved::no_name);
  EXPECT_EQ(asked.names.size(), 4U);
}

TEST(Resolver, tells_a_name_without_an_address_from_none) {
  const Asked asked = ask("a", cluster_dns, {{"a.cluster.local", {DnsOutcome::no_data, {}}}},
                          DnsOutcome::nx_domain);
  EXPECT_EQ(asked.answer.error, Resolved::no_address);
}

TEST(Resolver, asks_addresses_and_local_names_of_nobody) {
  for (const char* name : {"10.1.2.3", "localhost", "pod-0"}) {
    const Asked asked = ask(name, cluster_dns, {}, DnsOutcome::nx_domain);
    EXPECT_EQ(asked.answer.error, 0) << name;
    EXPECT_TRUE(asked.names.empty()) << name;
  }
}

TEST(Resolver, asks_a_silent_server_twice_and_then_for_the_name_as_it_is) {
  const Asked asked = ask("a", cluster_dns, {}, DnsOutcome::lost);
  EXPECT_EQ(asked.answer.error, Resolved::try_again);
  EXPECT_EQ(asked.names,
            (Strings{"a.ns.svc.cluster.local@10.0.0.10", "a.ns.svc.cluster.local@10.0.0.10",
                     "a@10.0.0.10", "a@10.0.0.10"}));
  EXPECT_GE(asked.took, 20s);
  EXPECT_LT(asked.took, 21s);
}

TEST(Resolver, obeys_timeout_attempts_and_servers) {
  const DnsConfig config{{"10.0.0.1", "10.0.0.2"}, {}, {"timeout:1", "attempts:1"}};
  const Asked asked = ask("a.b", config, {}, DnsOutcome::lost);
  EXPECT_EQ(asked.names, (Strings{"a.b@10.0.0.1", "a.b@10.0.0.2"}));
  EXPECT_LT(asked.took, 3s);
}

// glibc goes on to the next server where one fails or is silent, and to no other one where one says
// that there is no such name, whatever that one would have said (resolv.conf(5)).
TEST(Resolver, servers_that_differ_are_asked_in_their_order_until_one_answers) {
  const DnsConfig config{{"10.0.0.1", "10.0.0.2", "10.0.0.3"}, {}, {"timeout:1", "attempts:2"}};
  const DnsAnswer found{DnsOutcome::found, {"10.0.0.7"}}, none{DnsOutcome::nx_domain, {}},
      empty{DnsOutcome::no_data, {}}, failure{DnsOutcome::failure, {}}, lost{DnsOutcome::lost, {}};
  const Strings each{"a.b@10.0.0.1", "a.b@10.0.0.2", "a.b@10.0.0.3"};
  struct Case {
    DnsAnswer first, second, third;
    std::size_t asked;  // of them, over and over
    int error;
  };
  for (const Case& one : {
           Case{found, none, none, 1, 0},
           Case{failure, found, none, 2, 0},
           Case{lost, found, none, 2, 0},
           Case{failure, lost, found, 3, 0},
           Case{lost, failure, found, 3, 0},
           Case{none, found, found, 1, Resolved::no_name},
           Case{empty, found, found, 1, Resolved::no_address},
           Case{failure, none, found, 2, Resolved::no_name},
           Case{lost, none, found, 2, Resolved::no_name},
           Case{failure, empty, found, 2, Resolved::no_address},
           Case{failure, failure, none, 3, Resolved::no_name},
           Case{failure, lost, failure, 6, Resolved::try_again},
       }) {
    const Asked asked =
        ask("a.b", config, {{each[0], one.first}, {each[1], one.second}, {each[2], one.third}},
            DnsOutcome::nx_domain);
    Strings wanted;
    for (std::size_t i = 0; i < one.asked; ++i) wanted.push_back(each[i % each.size()]);
    EXPECT_EQ(asked.names, wanted);
    EXPECT_EQ(asked.answer.error, one.error) << testing::PrintToString(asked.names);
    EXPECT_EQ(asked.answer.addresses, one.error == 0 ? Strings{"10.0.0.7"} : Strings{});
  }
}

// The tries of a name begin with the first server, and none of them is left out.
TEST(Resolver, the_next_name_begins_with_the_first_server) {
  const DnsConfig config{{"10.0.0.1", "10.0.0.2"}, {"x"}, {"ndots:5", "attempts:2"}};
  const Asked asked =
      ask("a", config,
          {{"a.x@10.0.0.1", {DnsOutcome::failure, {}}}, {"a", {DnsOutcome::found, {"10.0.0.7"}}}},
          DnsOutcome::nx_domain);
  EXPECT_EQ(asked.names, (Strings{"a.x@10.0.0.1", "a.x@10.0.0.2", "a@10.0.0.1"}));
  EXPECT_EQ(asked.answer.name, "a");
}

TEST(Resolver, a_server_that_fails_makes_it_a_temporary_failure) {
  const Asked asked = ask("a.b", {{"10.0.0.1"}, {}, {}}, {}, DnsOutcome::failure);
  EXPECT_EQ(asked.answer.error, Resolved::try_again);
  EXPECT_EQ(gai_text(asked.answer.error), "Temporary failure in name resolution");
  EXPECT_LT(asked.took, 1s);
}

}  // namespace
}  // namespace ddptwin::model::resolver_test
