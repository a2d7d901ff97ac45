#include "dns/zone.hpp"

#include <gmock/gmock.h>

#include "dns/test_objects.hpp"

namespace ddptwin::dns::zone_test {
namespace {

using namespace test;

const std::string soa =
    "cluster.local. 30 IN SOA ns.dns.cluster.local. hostmaster.cluster.local. 100 7200 1800 86400 "
    "30";

// `ns` holds: h, headless with a ready and an unready endpoint; empty, headless with nothing ready;
// bare, headless without ports; web, with a cluster address; ext and alias, names for others.
Zone cluster() {
  Zone zone({.server_ip = "10.0.0.10",
             .outside_names = {{"store.example.org", {"192.0.2.7", "2001:db8::7"}}}});
  const auto add = [&](const ObjectPtr& object) { zone.change(nullptr, object, Time(100s)); };
  const std::vector<Port> port{{"pytorchjob-port", 23456}};
  add(namespace_("ns"));
  add(service("h", "None", port));
  add(slice(
      "h",
      {endpoint("10.244.0.1", "s-0"), endpoint("10.244.0.2"), endpoint("10.244.0.3", "s-2", false)},
      port));
  add(service("empty", "None", port));
  add(slice("empty", {endpoint("10.244.0.9", "e-0", false)}, port));
  add(service("bare", "None"));
  add(slice("bare", {endpoint("10.244.0.4")}));
  add(service("web", "10.0.0.50", {{"http", 80}, {"dns", 53, "UDP"}}));
  add(slice("web", {endpoint("10.244.0.5")}, {{"http", 8080}}));
  const auto external = [&](const std::string& name, const std::string& target) {
    auto object = service(name, "");
    object->spec.edit().type_ = "ExternalName";
    object->spec.edit().externalName = target;
    add(object);
  };
  external("ext", "example.org");
  external("bucket", "store.example.org");
  external("alias", "web.ns.svc.cluster.local");
  external("loop", "loop.ns.svc.cluster.local");
  return zone;
}

// The answer as lines: rcode, then each record, "auth" and "add" naming its section.
std::string ask(const Zone& zone, const std::string& name, RecordType type) {
  const Answer answer = zone.answer({*Name::parse(name), type, class_in});
  std::string out = to_text(answer.rcode);
  for (const auto& record : answer.answers) out += "\n" + to_text(record);
  for (const auto& record : answer.authority) out += "\nauth " + to_text(record);
  for (const auto& record : answer.additional) out += "\nadd " + to_text(record);
  return out;
}

struct Row {
  const char* name;
  RecordType type;
  std::string answer;
};

constexpr auto A = RecordType::a;
constexpr auto AAAA = RecordType::aaaa;
constexpr auto SRV = RecordType::srv;
constexpr auto PTR = RecordType::ptr;
constexpr auto TXT = RecordType::txt;
const std::string nodata = "NOERROR\nauth " + soa;
const std::string nxdomain = "NXDOMAIN\nauth " + soa;

void check(const Zone& zone, const std::vector<Row>& rows) {
  for (const Row& row : rows)
    EXPECT_EQ(ask(zone, row.name, row.type), row.answer) << row.name << " " << to_text(row.type);
}

TEST(Zone, headless_service_has_its_ready_endpoints) {
  check(cluster(), {
                       {"h.ns.svc.cluster.local", A,
                        "NOERROR\nh.ns.svc.cluster.local. 30 IN A 10.244.0.1\n"
                        "h.ns.svc.cluster.local. 30 IN A 10.244.0.2"},
                       {"s-0.h.ns.svc.cluster.local", A,
                        "NOERROR\ns-0.h.ns.svc.cluster.local. 30 IN A 10.244.0.1"},
                       {"10-244-0-2.h.ns.svc.cluster.local", A,
                        "NOERROR\n10-244-0-2.h.ns.svc.cluster.local. 30 IN A 10.244.0.2"},
                       {"10-244-0-1.h.ns.svc.cluster.local", A, nxdomain},
                       {"bare.ns.svc.cluster.local", A,
                        "NOERROR\nbare.ns.svc.cluster.local. 30 IN A 10.244.0.4"},
                   });
}

// C189, C193: what is not ready has no name, and a service with nothing ready has none either.
TEST(Zone, what_is_not_ready_does_not_exist) {
  check(cluster(), {
                       {"s-2.h.ns.svc.cluster.local", A, nxdomain},
                       {"empty.ns.svc.cluster.local", A, nxdomain},
                       {"empty.ns.svc.cluster.local", AAAA, nxdomain},
                       {"e-0.empty.ns.svc.cluster.local", A, nxdomain},
                   });
}

// C190: the endpoints controller writes ready, and that is all the zone looks at.
TEST(Zone, a_name_comes_and_goes_with_its_endpoint) {
  Zone zone = cluster();
  const auto before = slice("empty", {endpoint("10.244.0.9", "e-0", false)});
  const auto after = slice("empty", {endpoint("10.244.0.9", "e-0", true)});
  zone.change(before, after, Time(200s));
  EXPECT_EQ(ask(zone, "e-0.empty.ns.svc.cluster.local", A),
            "NOERROR\ne-0.empty.ns.svc.cluster.local. 30 IN A 10.244.0.9");
  zone.change(after, nullptr, Time(300s));
  EXPECT_THAT(ask(zone, "e-0.empty.ns.svc.cluster.local", A),
              testing::AllOf(testing::StartsWith("NXDOMAIN"), testing::HasSubstr(" 300 7200 ")));
}

TEST(Zone, a_service_that_is_gone_takes_its_names_along) {
  Zone zone = cluster();
  zone.change(service("h", "None"), nullptr, Time(100s));
  check(zone,
        {{"h.ns.svc.cluster.local", A, nxdomain}, {"s-0.h.ns.svc.cluster.local", A, nxdomain}});
}

// C194: the name exists, so the lack of an IPv6 address is no NXDOMAIN.
TEST(Zone, another_type_of_an_existing_name_is_nodata) {
  check(cluster(), {
                       {"h.ns.svc.cluster.local", AAAA, nodata},
                       {"s-0.h.ns.svc.cluster.local", AAAA, nodata},
                       {"web.ns.svc.cluster.local", AAAA, nodata},
                       {"web.ns.svc.cluster.local", TXT, nodata},
                       {"web.ns.svc.cluster.local", RecordType::any, nodata},
                       {"h.ns.svc.cluster.local", RecordType::mx, nodata},
                       {"cluster.local", A, nodata},
                       {"svc.cluster.local", A, nodata},
                       {"pod.cluster.local", A, nodata},
                       {"ns.svc.cluster.local", A, nodata},
                       {"ns.pod.cluster.local", A, nodata},
                       {"dns-version.cluster.local", A, nodata},
                   });
}

TEST(Zone, what_nobody_made_is_nxdomain) {
  check(cluster(), {
                       {"nope.ns.svc.cluster.local", A, nxdomain},
                       {"h.nope.svc.cluster.local", A, nxdomain},
                       {"nope.svc.cluster.local", A, nxdomain},
                       {"nope.pod.cluster.local", A, nxdomain},
                       {"nope.cluster.local", A, nxdomain},
                       {"x.dns-version.cluster.local", TXT, nxdomain},
                       {"a.b.s-0.h.ns.svc.cluster.local", A, nxdomain},
                       {"not-an-ip.ns.pod.cluster.local", A, nxdomain},
                   });
}

// C195: the answer repeats the question's spelling.
TEST(Zone, case_is_ignored_and_echoed) {
  check(cluster(),
        {
            {"S-0.H.NS.SVC.Cluster.Local", A,
             "NOERROR\nS-0.H.NS.SVC.Cluster.Local. 30 IN A 10.244.0.1"},
            {"_HTTP._Tcp.WEB.ns.svc.cluster.local", SRV,
             "NOERROR\n_HTTP._Tcp.WEB.ns.svc.cluster.local. 30 IN SRV 0 100 80 "
             "web.ns.svc.cluster.local.\nadd web.ns.svc.cluster.local. 30 IN A 10.0.0.50"},
        });
}

TEST(Zone, service_with_a_cluster_address) {
  check(cluster(),
        {
            {"web.ns.svc.cluster.local", A, "NOERROR\nweb.ns.svc.cluster.local. 30 IN A 10.0.0.50"},
            {"_http._tcp.web.ns.svc.cluster.local", A,
             "NOERROR\n_http._tcp.web.ns.svc.cluster.local. 30 IN A 10.0.0.50"},
            {"_http._udp.web.ns.svc.cluster.local", SRV, nxdomain},
            {"_nope._tcp.web.ns.svc.cluster.local", SRV, nxdomain},
            {"web.ns.svc.cluster.local", SRV,
             "NOERROR\nweb.ns.svc.cluster.local. 30 IN SRV 0 50 80 web.ns.svc.cluster.local.\n"
             "web.ns.svc.cluster.local. 30 IN SRV 0 50 53 web.ns.svc.cluster.local.\n"
             "add web.ns.svc.cluster.local. 30 IN A 10.0.0.50"},
            {"10-244-0-5.web.ns.svc.cluster.local", A,
             "NOERROR\n10-244-0-5.web.ns.svc.cluster.local. 30 IN A 10.244.0.5"},
        });
}

TEST(Zone, srv_of_a_headless_service_names_each_ready_endpoint) {
  const std::string name = "_pytorchjob-port._tcp.h.ns.svc.cluster.local";
  check(cluster(),
        {
            {name.c_str(), SRV,
             "NOERROR\n" + name + ". 30 IN SRV 0 50 23456 s-0.h.ns.svc.cluster.local.\n" + name +
                 ". 30 IN SRV 0 50 23456 10-244-0-2.h.ns.svc.cluster.local.\n"
                 "add s-0.h.ns.svc.cluster.local. 30 IN A 10.244.0.1\n"
                 "add 10-244-0-2.h.ns.svc.cluster.local. 30 IN A 10.244.0.2"},
            {"bare.ns.svc.cluster.local", SRV, nodata},
        });
}

// C196
TEST(Zone, reverse_names) {
  const std::string reverse_soa =
      "NXDOMAIN\nauth in-addr.arpa. 30 IN SOA ns.dns.cluster.local. hostmaster.cluster.local. 100 "
      "7200 1800 86400 30";
  check(cluster(), {
                       {"1.0.244.10.in-addr.arpa", PTR,
                        "NOERROR\n1.0.244.10.in-addr.arpa. 30 IN PTR s-0.h.ns.svc.cluster.local."},
                       {"50.0.0.10.in-addr.arpa", PTR,
                        "NOERROR\n50.0.0.10.in-addr.arpa. 30 IN PTR web.ns.svc.cluster.local."},
                       {"2.0.244.10.in-addr.arpa", PTR, reverse_soa},  // no hostname
                       {"3.0.244.10.in-addr.arpa", PTR, reverse_soa},  // not ready
                       {"1.1.1.1.in-addr.arpa", PTR, reverse_soa},
                       {"300.0.244.10.in-addr.arpa", PTR, reverse_soa},
                       {"0.244.10.in-addr.arpa", PTR, reverse_soa},
                   });
}

TEST(Zone, names_of_the_zone_itself) {
  check(cluster(),
        {
            {"cluster.local", RecordType::soa, "NOERROR\n" + soa},
            {"cluster.local", RecordType::ns,
             "NOERROR\ncluster.local. 30 IN NS ns.dns.cluster.local.\n"
             "add ns.dns.cluster.local. 30 IN A 10.0.0.10"},
            {"ns.dns.cluster.local", A, "NOERROR\nns.dns.cluster.local. 30 IN A 10.0.0.10"},
            {"dns-version.cluster.local", TXT,
             "NOERROR\ndns-version.cluster.local. 30 IN TXT \"1.1.0\""},
            {"10-1-2-3.ns.pod.cluster.local", A,
             "NOERROR\n10-1-2-3.ns.pod.cluster.local. 30 IN A 10.1.2.3"},
        });
}

TEST(Zone, external_names_are_aliases) {
  check(cluster(),
        {
            {"ext.ns.svc.cluster.local", A,
             "NOERROR\next.ns.svc.cluster.local. 30 IN CNAME example.org."},
            {"alias.ns.svc.cluster.local", A,
             "NOERROR\nalias.ns.svc.cluster.local. 30 IN CNAME web.ns.svc.cluster.local.\n"
             "web.ns.svc.cluster.local. 30 IN A 10.0.0.50"},
            {"alias.ns.svc.cluster.local", RecordType::cname,
             "NOERROR\nalias.ns.svc.cluster.local. 30 IN CNAME web.ns.svc.cluster.local."},
        });
  // An alias of itself ends after a bounded number of hops.
  const Answer loop = cluster().answer({*Name::parse("loop.ns.svc.cluster.local"), A, class_in});
  EXPECT_EQ(loop.answers.size(), 9U);
}

TEST(Zone, other_names_are_not_asked_of_anybody) {
  Zone zone;
  EXPECT_EQ(ask(zone, "example.org", A), "NXDOMAIN");
  EXPECT_EQ(ask(Zone({.outside = Rcode::refused}), "example.org", A), "REFUSED");
  EXPECT_EQ(to_text(zone.answer({*Name::parse("version.bind"), TXT, 3}).rcode), "REFUSED");
}

TEST(Zone, names_outside_are_what_the_options_say) {
  const Zone zone = cluster();
  EXPECT_EQ(ask(zone, "Store.example.org", A), "NOERROR\nStore.example.org. 30 IN A 192.0.2.7");
  EXPECT_EQ(ask(zone, "store.example.org", AAAA),
            "NOERROR\nstore.example.org. 30 IN AAAA 2001:db8::7");
  EXPECT_EQ(ask(zone, "store.example.org", SRV), "NOERROR");
  EXPECT_EQ(ask(zone, "example.org", A), "NXDOMAIN");
  EXPECT_EQ(ask(zone, ".", A), "NXDOMAIN");
  EXPECT_EQ(ask(zone, "bucket.ns.svc.cluster.local", A),
            "NOERROR\nbucket.ns.svc.cluster.local. 30 IN CNAME store.example.org.\n"
            "store.example.org. 30 IN A 192.0.2.7");
}

}  // namespace
}  // namespace ddptwin::dns::zone_test
