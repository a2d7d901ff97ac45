// The pod's names, /etc/hosts and resolv.conf.
#include <gtest/gtest.h>

#include "cluster/kubelet/test_cluster.hpp"

namespace ddptwin::kubelet::names_test {
namespace {

std::string a(std::size_t count) { return std::string(count, 'a'); }

TEST(PodNames, HostnameAndFullName) {
  struct Row {
    std::string name;
    std::string spec;
    std::string hostname;
    std::string domain;
    std::string kernel;
  };
  const std::string ring = "ring.default.svc.cluster.local";
  const Row rows[] = {
      {"p", "restartPolicy: Never", "p", "", "p"},
      {"p", "hostname: h", "h", "", "h"},
      {"p", "hostname: h, subdomain: ring", "h", ring, "h"},
      {"p", "subdomain: ring", "p", ring, "p"},
      {"p", "hostname: h, subdomain: ring, setHostnameAsFQDN: true", "h", ring, "h." + ring},
      {"p", "hostname: h, setHostnameAsFQDN: true", "h", "", "h"},
      {"x.y", "restartPolicy: Never", "x.y", "", "x.y"},
      {a(70), "restartPolicy: Never", a(63), "", a(63)},
      {a(60) + "-.-bc", "restartPolicy: Never", a(60), "", a(60)},
      {"p", "hostnameOverride: t.example.org, subdomain: ring", "t.example.org", "",
       "t.example.org"},
      {"p", "hostNetwork: true, nodeName: node-3, hostname: h", "h", "", "node-3"},
  };
  for (const Row& row : rows) {
    const TestCluster cluster("apiVersion: v1\nkind: Pod\nmetadata: {name: " + row.name +
                              "}\nspec: {" + row.spec + ", containers: [{name: c, image: i}]}\n");
    const PodContext context = cluster.context();
    const auto names = pod_names(context);
    ASSERT_TRUE(names);
    EXPECT_EQ(names->hostname, row.hostname) << row.name << " " << row.spec;
    EXPECT_EQ(names->domain, row.domain) << row.name << " " << row.spec;
    const auto kernel = kernel_hostname(context);
    ASSERT_TRUE(kernel);
    EXPECT_EQ(*kernel, row.kernel) << row.name << " " << row.spec;
  }
}

TEST(PodNames, AFullNameOfMoreThan64CharactersIsRefused) {
  const std::string longest = a(64 - std::string(".s.default.svc.cluster.local").size());
  for (const std::string extra : {"", "a"}) {
    const TestCluster cluster(
        pod_yaml("", "hostname: " + longest + extra + ", subdomain: s, setHostnameAsFQDN: true"));
    const auto config = sandbox_config(cluster.context(), 0);
    EXPECT_EQ(config.has_value(), extra.empty());
    if (config) continue;
    EXPECT_EQ(config.error().message,
              "failed to construct FQDN from pod hostname and cluster domain, FQDN " + longest +
                  "a.s.default.svc.cluster.local is too long (64 characters is the max, 65 "
                  "characters requested)");
  }
}

TEST(HostsFile, AHostNetworkPodSeesTheNodesFileAndItsOwnAliases) {
  const TestCluster cluster(
      pod_yaml("", "hostNetwork: true, hostAliases: [{ip: 10.1.2.3, hostnames: [a, b]}]"));
  PodContext context = cluster.context();
  context.settings.edit().host_hosts = "127.0.0.1\tlocalhost\n10.9.9.9\tnode\n";
  EXPECT_EQ(hosts_file(context, *pod_names(context)),
            "# Kubernetes-managed hosts file (host network).\n127.0.0.1\tlocalhost\n"
            "10.9.9.9\tnode\n\n# Entries added by HostAliases.\n10.1.2.3\ta\tb\n");
}

TEST(HostsFile, EachAddressOfThePodHasALine) {
  const TestCluster cluster(pod_yaml("", "hostname: h, subdomain: s"));
  PodContext context = cluster.context();
  context.pod_ips = {"10.1.1.1", "fd00::1"};
  const std::string text = hosts_file(context, *pod_names(context));
  EXPECT_NE(text.find("10.1.1.1\th.s.default.svc.cluster.local\th\nfd00::1\th.s.default.svc."
                      "cluster.local\th\n"),
            std::string::npos)
      << text;
}

std::string text_of(const DnsConfig& dns) {
  std::string out;
  for (const std::string& server : dns.servers) out += "s:" + server + " ";
  for (const std::string& search : dns.searches) out += search + " ";
  for (const std::string& option : dns.options) out += "o:" + option + " ";
  return out;
}

TEST(Dns, ThePolicyDecidesWhereThePodAsks) {
  const std::string cluster_first =
      "s:10.0.0.10 default.svc.cluster.local svc.cluster.local cluster.local example.org "
      "o:ndots:5 ";
  const std::string host = "s:192.168.0.254 example.org o:timeout:2 ";
  const std::pair<std::string, std::string> rows[] = {
      {"dnsPolicy: ClusterFirst", cluster_first},
      {"dnsPolicy: Default", host},
      {"dnsPolicy: None, dnsConfig: {nameservers: [1.1.1.1]}", "s:1.1.1.1 "},
      {"dnsPolicy: ClusterFirst, hostNetwork: true", host},
      {"dnsPolicy: ClusterFirstWithHostNet, hostNetwork: true", cluster_first},
      {"dnsPolicy: Default, dnsConfig: {options: [{name: timeout, value: '9'}, {name: debug}]}",
       "s:192.168.0.254 example.org o:debug o:timeout:9 "},
      {"dnsPolicy: Default, dnsConfig: {nameservers: [192.168.0.254, 1.1.1.1], searches: "
       "[example.org, b]}",
       "s:192.168.0.254 s:1.1.1.1 example.org b o:timeout:2 "},
  };
  for (const auto& [spec, want] : rows) {
    const TestCluster cluster(pod_yaml("", spec));
    Notices notices;
    EXPECT_EQ(text_of(dns_config(cluster.context(), &notices)), want) << spec;
    EXPECT_TRUE(notices.empty()) << spec;
  }
}

TEST(Dns, ANodeWithoutClusterDnsFallsBackToItsOwnAndSaysSo) {
  const TestCluster cluster(pod_yaml("", "dnsPolicy: ClusterFirst"));
  PodContext context = cluster.context();
  context.settings.edit().cluster_dns.clear();
  Notices notices;
  EXPECT_EQ(dns_config(context, &notices).servers, std::vector<std::string>{"192.168.0.254"});
  ASSERT_EQ(notices.size(), 1U);
  EXPECT_EQ(notices[0].reason, "MissingClusterDNS");
  EXPECT_EQ(notices[0].message,
            "pod: \"p_default(uid-p)\". kubelet does not have ClusterDNS IP configured and cannot "
            "create Pod using \"ClusterFirst\" policy. Falling back to \"Default\" policy.");
}

TEST(Dns, MoreThanThreeNameserversAreCutWithANotice) {
  const TestCluster cluster(pod_yaml(
      "", "dnsPolicy: None, dnsConfig: {nameservers: [1.1.1.1, 2.2.2.2, 3.3.3.3, 4.4.4.4]}"));
  Notices notices;
  EXPECT_EQ(dns_config(cluster.context(), &notices).servers.size(), 3U);
  ASSERT_EQ(notices.size(), 1U);
  EXPECT_EQ(notices[0].reason, "DNSConfigForming");
  EXPECT_EQ(notices[0].message,
            "Nameserver limits were exceeded, some nameservers have been omitted, the applied "
            "nameserver line is: 1.1.1.1 2.2.2.2 3.3.3.3");
}

TEST(Dns, TheSearchListKeepsToItsLimits) {
  struct Row {
    std::string what;
    std::vector<std::string> searches;
    std::size_t kept;
  };
  std::vector<std::string> many;
  for (int i = 0; i < 40; ++i) many.push_back("d" + std::to_string(i));
  std::vector<std::string> wide;
  for (int i = 0; i < 20; ++i)
    wide.push_back(a(198) + std::to_string(i % 10) + (i < 10 ? "x" : "y"));
  const Row rows[] = {
      {"32 are allowed", {many.begin(), many.begin() + 32}, 32},
      {"no more than 32", many, 32},
      {"2048 characters in all", wide, 10},
      {"none longer than 253", {"a", a(254), "b"}, 2},
  };
  for (const Row& row : rows) {
    const TestCluster cluster(pod_yaml("", "dnsPolicy: None"));
    PodContext context = cluster.context();
    auto pod = std::make_shared<Pod>(*context.pod);
    pod->spec.edit().rest.edit().dnsConfig = PodDNSConfig{{}, row.searches, {}};
    context.pod = pod;
    Notices notices;
    EXPECT_EQ(dns_config(context, &notices).searches.size(), row.kept) << row.what;
    EXPECT_EQ(notices.size(), row.kept == row.searches.size() ? 0U : 1U) << row.what;
  }
}

TEST(ResolvConf, ReadsWhatResolversRead) {
  const DnsConfig dns = parse_resolv_conf(
      "# generated\nnameserver 1.1.1.1\nnameserver 2.2.2.2 # second\n\nsearch a b\nsearch c. d\n"
      "options ndots:2 rotate\noptions timeout:1\n; end\n");
  EXPECT_EQ(text_of(dns), "s:1.1.1.1 s:2.2.2.2 c d o:ndots:2 o:rotate o:timeout:1 ");
}

}  // namespace
}  // namespace ddptwin::kubelet::names_test
