// Which names a process asks for, and what it takes from the answers (resolv.conf(5);
// spec/kubernetes.md §6.4); what the small programs that wait for a name or a port make of them.
#include <algorithm>
#include <map>
#include <ostream>

#include "cluster/kubelet/pod_context.hpp"
#include "cluster/kubelet/resolv_conf.hpp"
#include "core/virtual_loop.hpp"
#include "core/virtual_start.hpp"
#include "property.hpp"
#include "runtime/model/loop_timers.hpp"
#include "runtime/model/resolver.hpp"
#include "runtime/model/test_pods.hpp"

namespace ddptwin::property::resolver_properties_test {
namespace {

using model::DnsAnswer;
using model::DnsOutcome;
using Strings = std::vector<std::string>;

struct Asked {
  model::Resolved answer{};
  Strings names{};
};

Asked resolve(const std::string& name, const DnsConfig& config,
              const std::map<std::string, DnsAnswer>& zone) {
  VirtualLoop loop(Random(1), virtual_start);
  model::LoopTimers timers(loop);
  Asked asked;
  const model::Lookup lookup = [&](const model::DnsQuestion& question,
                                   UniqueFunction<void(DnsAnswer)> done) {
    asked.names.push_back(question.name);
    const auto found = zone.find(question.name);
    const DnsAnswer given =
        found == zone.end() ? DnsAnswer{DnsOutcome::nx_domain, {}} : found->second;
    loop.post(Lane{2}, [done = std::move(done), given]() mutable { done(given); });
  };
  model::Resolution resolution({{}, &config, "10.244.0.3"}, lookup, std::chrono::milliseconds(1),
                               timers);
  resolution.start(name, [&](const model::Resolved& answer) { asked.answer = answer; });
  while (loop.step()) {
  }
  return asked;
}

// With as many dots as `ndots` says a name is tried as it is, and then with each domain; with fewer
// the other way round; with a dot at its end alone.
Strings names_to_try(const std::string& name, int dots, int ndots, const Strings& searches) {
  Strings names;
  for (const std::string& domain : searches) names.push_back(name + "." + domain);
  names.insert(dots >= ndots ? names.begin() : names.end(), name);
  return names;
}

TEST(ResolverProperties, TheFirstNameThatHasAnAddressIsTaken) {
  holds([] {
    const int dots = *gen::inRange(0, 7).as("dots"), ndots = *gen::inRange(1, 7).as("ndots");
    const bool absolute = *gen::weightedElement<bool>({{5, false}, {1, true}}).as("absolute");
    Strings searches{"ns.svc.cluster.local", "svc.cluster.local", "cluster.local"};
    searches.resize(*gen::inRange<std::size_t>(0, 4).as("search domains"));
    std::string name = "n";
    for (int i = 0; i < dots; ++i) name += "." + std::to_string(i);
    const Strings wanted = absolute ? Strings{name} : names_to_try(name, dots, ndots, searches);

    std::map<std::string, DnsAnswer> zone;
    for (const std::string& one : wanted) {
      const auto outcome =
          *gen::weightedElement<DnsOutcome>(
               {{3, DnsOutcome::nx_domain}, {1, DnsOutcome::no_data}, {1, DnsOutcome::found}})
               .as(one);
      zone[one] = {outcome, outcome == DnsOutcome::found ? Strings{"10.0.0.7"} : Strings{}};
    }
    const DnsConfig config{{"10.96.0.10"}, searches, {"ndots:" + std::to_string(ndots)}};
    const Asked asked = resolve(absolute ? name + "." : name, config, zone);

    const auto is = [&](DnsOutcome outcome) {
      return [&zone, outcome](const std::string& one) { return zone.at(one).outcome == outcome; };
    };
    const auto first = std::find_if(wanted.begin(), wanted.end(), is(DnsOutcome::found));
    if (first == wanted.end()) {
      RC_ASSERT(asked.names == wanted);
      const bool known = std::any_of(wanted.begin(), wanted.end(), is(DnsOutcome::no_data));
      RC_ASSERT(asked.answer.error ==
                (known ? model::Resolved::no_address : model::Resolved::no_name));
      RC_ASSERT(asked.answer.addresses.empty());
    } else {
      RC_ASSERT(asked.names == Strings(wanted.begin(), std::next(first)));
      RC_ASSERT(asked.answer.error == 0);
      RC_ASSERT(asked.answer.name == *first);
      RC_ASSERT(asked.answer.addresses == Strings{"10.0.0.7"});
    }
  });
}

// A server that fails is asked again, `attempts` times for each name, and then for the next; after
// one that is silent only the name as it is is asked for, as often (resolv.conf(5), glibc).
TEST(ResolverProperties, EachNameIsAskedForAsOftenAsItTakes) {
  holds([] {
    const int attempts = *gen::inRange(1, 4).as("attempts");
    const Strings names{"n.a", "n.b", "n"};
    std::map<std::string, DnsAnswer> zone;
    for (const std::string& name : names) {
      const auto outcome = *gen::element(DnsOutcome::nx_domain, DnsOutcome::failure,
                                         DnsOutcome::lost, DnsOutcome::found)
                                .as(name);
      zone[name] = {outcome, outcome == DnsOutcome::found ? Strings{"10.0.0.7"} : Strings{}};
    }
    Strings wanted;
    bool failed = false, found = false;
    for (std::size_t i = 0; i < names.size() && !found;) {
      const DnsOutcome outcome = zone[names[i]].outcome;
      const bool again = outcome == DnsOutcome::failure || outcome == DnsOutcome::lost;
      wanted.insert(wanted.end(), again ? static_cast<std::size_t>(attempts) : 1, names[i]);
      failed = failed || again;
      found = outcome == DnsOutcome::found;
      const bool last = i + 1 == names.size();
      i = outcome == DnsOutcome::lost && !last ? names.size() - 1 : i + 1;
    }
    const DnsConfig config{
        {"10.96.0.10"}, {"a", "b"}, {"ndots:5", "attempts:" + std::to_string(attempts)}};
    const Asked asked = resolve("n", config, zone);
    RC_ASSERT(asked.names == wanted);
    RC_ASSERT(asked.answer.error == (found    ? 0
                                     : failed ? model::Resolved::try_again
                                              : model::Resolved::no_name));
  });
}

// What the DNS says of a name before it is there, and for how long.
struct Absence {
  DnsOutcome outcome = DnsOutcome::nx_domain;
  int seconds = 1;
};

void showValue(const Absence& one, std::ostream& out) {
  out << (one.outcome == DnsOutcome::lost      ? "silence"
          : one.outcome == DnsOutcome::failure ? "a failure"
                                               : "no such name")
      << " for " << one.seconds << " s";
}

// The init container that the operator gives a worker ends once its master's name is there, and not
// for a server that is silent or fails.
TEST(ResolverProperties, WhoWaitsForANameGoesOnWhenItIsThere) {
  holds([] {
    const auto absences =
        *gen::resize(
             4,
             gen::vector_of(gen::build<Absence>(
                 gen::set(&Absence::outcome, gen::element(DnsOutcome::nx_domain,
                                                          DnsOutcome::failure, DnsOutcome::lost)),
                 gen::set(&Absence::seconds, gen::resize(rc::kNominalSize, gen::inRange(1, 90))))))
             .as("before the name is there");
    const std::string asks =
        *gen::element<std::string>("nslookup pod-0", "getent hosts pod-0").as("asks by");
    model::TestPods pods;
    pods.pod("p");
    pods.set_dns(DnsOutcome::nx_domain);
    pods.command("p", {"sh", "-c", "until " + asks + "; do sleep 2; done; exit 7"});
    for (const Absence& one : absences) {
      pods.set_dns(one.outcome);
      pods.run(std::chrono::seconds(one.seconds));
      RC_LOG() << pods.all_lines();
      RC_ASSERT(pods.runs("p"));
    }
    pods.pod("pod-0");
    pods.set_dns(DnsOutcome::found);
    const Duration there = pods.now();
    pods.run(60s);
    RC_LOG() << pods.all_lines();
    RC_ASSERT(!pods.runs("p"));
    RC_ASSERT(pods.report("p").exit_code == 7);
    RC_ASSERT(pods.ended_at("p") >= there);
  });
}

// What is behind an address of a name.
enum class Behind : std::uint8_t { listens, refuses, silent };
constexpr const char* behind_names[] = {"listens", "refuses", "silent"};
void showValue(Behind behind, std::ostream& out) { out << behind_names[static_cast<int>(behind)]; }

// nc takes one address of a name after the other until one listens, and gives each the time that -w
// says (openbsd netcat).
TEST(ResolverProperties, NcTriesEachAddressOfAName) {
  holds([] {
    const auto addresses =
        *gen::suchThat(
             gen::resize(5,
                         gen::vector_of(gen::weightedElement<Behind>(
                             {{2, Behind::refuses}, {2, Behind::silent}, {1, Behind::listens}}))),
             [](const auto& all) { return !all.empty(); })
             .as("addresses");
    const int patience = *gen::resize(rc::kNominalSize, gen::inRange(1, 10)).as("-w");
    constexpr std::uint16_t port = 5000;
    model::TestPods pods;
    pods.pod("p");
    ContainerConfig made = pods.config("p", "plain", {});
    auto& network = pods.runtime().network();
    Strings wanted;  // to be told of
    bool listens = false;
    Duration takes{};
    for (std::size_t i = 0; i < addresses.size(); ++i) {
      const std::string name = "q" + std::to_string(i);
      pods.pod(name);
      const std::string& ip = pods.ip(name);
      made.mounts[0].content += ip + "\tsvc\n";
      if (addresses[i] == Behind::listens)
        RC_ASSERT(network.listen(ip, port, 0, nullptr).has_value());
      if (addresses[i] == Behind::silent) network.set_link(pods.ip("p"), ip, {.drop = true});
      if (listens) continue;
      wanted.push_back("svc (" + ip + ")");
      listens = addresses[i] == Behind::listens;
      if (addresses[i] == Behind::silent) takes = takes + std::chrono::seconds(patience);
    }
    made.command = {"nc", "-zv", "-w", std::to_string(patience), "svc", std::to_string(port)};
    const Duration since = pods.now();
    pods.start("p", made);
    pods.run(120s);
    RC_LOG() << pods.all_lines();
    RC_ASSERT(!pods.runs("p"));
    RC_ASSERT((pods.report("p").exit_code == 0) == listens);
    RC_ASSERT(pods.lines().size() == wanted.size());
    for (std::size_t i = 0; i < wanted.size(); ++i)
      RC_ASSERT(pods.lines()[i].text.find(wanted[i]) != std::string::npos);
    const Duration taken = pods.ended_at("p") - since;
    RC_ASSERT(taken >= takes && taken < takes + 1s);
  });
}

// --- whom a pod asks ---

// The cluster's DNS with ClusterFirst, but on its node's network the node's own (FM-089), which
// ClusterFirstWithHostNet does not mind; None has what the pod says alone, which all others have
// too.
TEST(ResolverProperties, APodAsksWhomItsPolicySays) {
  holds([] {
    const auto policy =
        *gen::elementOf(Strings{"ClusterFirst", "ClusterFirstWithHostNet", "Default", "None"});
    const bool host_network = *gen::arbitrary<bool>().as("hostNetwork");
    const bool own = *gen::arbitrary<bool>().as("dnsConfig");
    auto pod = std::make_shared<Pod>();
    pod->metadata.namespace_ = "team";
    PodSpec& spec = pod->spec.edit();
    spec.rest.edit().dnsPolicy = policy;
    spec.hostNetwork = host_network;
    if (own) {
      PodDNSConfig config;
      config.nameservers = {"9.9.9.9"};
      config.searches = {"own.example"};
      spec.rest.edit().dnsConfig = config;
    }
    kubelet::PodContext context;
    context.pod = pod;
    context.settings.edit().cluster_dns = {"10.0.0.10"};
    context.settings.edit().host_resolv_conf = "nameserver 192.168.0.53\nsearch host.example\n";
    const DnsConfig config = kubelet::dns_config(context);

    const bool of_cluster =
        policy == "ClusterFirstWithHostNet" || (policy == "ClusterFirst" && !host_network);
    Strings servers, searches;
    if (of_cluster) {
      servers = {"10.0.0.10"};
      searches = {"team.svc.cluster.local", "svc.cluster.local", "cluster.local", "host.example"};
    } else if (policy != "None") {
      servers = {"192.168.0.53"};
      searches = {"host.example"};
    }
    if (own) {
      servers.push_back("9.9.9.9");
      searches.push_back("own.example");
    }
    RC_ASSERT(config.servers == servers);
    RC_ASSERT(config.searches == searches);
  });
}

}  // namespace
}  // namespace ddptwin::property::resolver_properties_test
