// What the cluster's DNS answers, against the pods that stand behind each Service at that moment:
// endpoint controllers, zone feed, zone and resolver in one (spec/kubernetes.md §5, §6.1).
#include <algorithm>
#include <boost/json.hpp>
#include <map>
#include <ostream>
#include <set>

#include "dns_run.hpp"
#include "objects/discovery_v1.hpp"
#include "property.hpp"

namespace ddptwin::property::dns_properties_test {
namespace {

using dns::RecordType;

const std::vector<std::string> service_names{"s0", "s1"}, namespaces{"default", "other"};

// --- the model: Services and pods as they are, each rule in its simplest words ---

bool stands_behind(const Pod& pod, const Service& service) {
  const auto app = pod.metadata.labels->find("app");
  if (pod.metadata.namespace_ != service.metadata.namespace_ || pod.status.rest->podIP.empty() ||
      pod.status.phase == "Succeeded" || service.spec->selector.empty() ||
      app->second != service.spec->selector.at("app"))
    return false;
  if (service.spec->publishNotReadyAddresses) return true;
  const auto* ready = pod.status.condition("Ready");
  return ready != nullptr && ready->status == "True" && !pod.metadata.deletionTimestamp;
}

std::string label_of(const Pod& pod, const Service& service) {
  if (!pod.spec->rest->hostname.empty() && pod.spec->rest->subdomain == service.metadata.name)
    return pod.spec->rest->hostname;
  std::string dashed = pod.status.rest->podIP.str();
  std::replace(dashed.begin(), dashed.end(), '.', '-');
  return dashed;
}

std::optional<std::int32_t> number_of(const ServicePort& port, const Pod& pod) {
  if (!port.targetPort || !port.targetPort->is_text) return port.port;
  if (pod.spec->containers.front().ports.empty()) return std::nullopt;
  return pod.spec->containers.front().ports.front().containerPort;
}

DnsSeen answer_of(std::multiset<std::string> records) {
  // Two pods of one name and number are one record.
  std::set<std::string> once(records.begin(), records.end());
  return {records.empty() ? dns::Rcode::nx_domain : dns::Rcode::no_error,
          {once.begin(), once.end()}};
}

using Pods = std::vector<std::shared_ptr<const Pod>>;

// Without any port of its own that leads somewhere, a pod still has its address.
void check_headless(DnsRun& cluster, const Service& service, const Pods& behind) {
  const std::string name =
      service.metadata.name + "." + service.metadata.namespace_ + ".svc.cluster.local";
  std::multiset<std::string> addresses;
  std::map<std::string, std::multiset<std::string>> by_label;
  for (const auto& pod : behind) {
    addresses.insert(pod->status.rest->podIP.str());
    by_label[label_of(*pod, service)].insert(pod->status.rest->podIP.str());
  }
  RC_ASSERT(cluster.ask(name, RecordType::a) == answer_of(addresses));
  const DnsSeen nothing{addresses.empty() ? dns::Rcode::nx_domain : dns::Rcode::no_error, {}};
  RC_ASSERT(cluster.ask(name, RecordType::aaaa) == nothing);
  for (const std::string label : {"h1", "h2", "nobody"})
    RC_ASSERT(cluster.ask(label + "." + name, RecordType::a) == answer_of(by_label[label]));
  for (const auto& [label, wanted] : by_label)
    RC_ASSERT(cluster.ask(label + "." + name, RecordType::a) == answer_of(wanted));
  for (const ServicePort& port : service.spec->ports) {
    std::multiset<std::string> targets;
    for (const auto& pod : behind)
      if (const auto number = number_of(port, *pod))
        targets.insert(std::to_string(*number) + " " + label_of(*pod, service) + "." + name + ".");
    const std::string protocol = port.protocol == "TCP" ? "._tcp." : "._udp.",
                      another = port.protocol == "TCP" ? "._udp." : "._tcp.";
    RC_ASSERT(cluster.ask("_" + port.name + protocol + name, RecordType::srv) ==
              answer_of(targets));
    RC_ASSERT(cluster.ask("_" + port.name + another + name, RecordType::srv) == answer_of({}));
  }
}

// It has its own address whether anybody stands behind it or not.
void check_clustered(DnsRun& cluster, const Service& service) {
  const std::string name =
      service.metadata.name + "." + service.metadata.namespace_ + ".svc.cluster.local";
  RC_ASSERT(cluster.ask(name, RecordType::a) == answer_of({service.spec->clusterIP}));
  RC_ASSERT(cluster.ask("nobody." + name, RecordType::a) == answer_of({}));
  RC_ASSERT(cluster.ask("_job._tcp." + name, RecordType::srv) ==
            answer_of({std::to_string(job_port) + " " + name + "."}));
  std::string reverse;
  for (std::string rest = service.spec->clusterIP; !rest.empty();) {
    const auto dot = rest.find('.');
    reverse = rest.substr(0, dot) + "." + reverse;
    rest = dot == std::string::npos ? "" : rest.substr(dot + 1);
  }
  RC_ASSERT(cluster.ask(reverse + "in-addr.arpa", RecordType::ptr) == answer_of({name + "."}));
}

void check_alias(DnsRun& cluster, const Service& service) {
  const std::string& target = *service.spec->externalName;
  DnsSeen wanted = target == alias_inside ? cluster.ask(target, RecordType::a) : DnsSeen{};
  wanted.rcode = dns::Rcode::no_error;
  wanted.records.insert(target + ".");
  RC_ASSERT(
      cluster.ask(service.metadata.name + "." + service.metadata.namespace_ + ".svc.cluster.local",
                  RecordType::a) == wanted);
}

// Made by the cluster itself: the API's and the DNS's own.
bool is_the_clusters(std::string_view service) {
  return service == "kubernetes" || service == "kube-dns";
}

void check_all(DnsRun& cluster) {
  const Pods pods = cluster.pods();
  std::set<std::string> there;
  for (const auto& service : cluster.services()) {
    if (is_the_clusters(service->metadata.name)) continue;
    there.insert(key_of(service->metadata));
    Pods behind;
    for (const auto& pod : pods)
      if (stands_behind(*pod, *service)) behind.push_back(pod);
    if (service->spec->type_ == "ExternalName")
      check_alias(cluster, *service);
    else if (service->spec->clusterIP == "None")
      check_headless(cluster, *service, behind);
    else
      check_clustered(cluster, *service);
  }
  for (const std::string& namespace_ : namespaces)
    for (const std::string& service : service_names)
      if (!there.contains(namespace_ + "/" + service))
        RC_ASSERT(cluster.ask(service + "." + namespace_ + ".svc.cluster.local", RecordType::a) ==
                  answer_of({}));
}

TEST(DnsProperties, ItAnswersWithThePodsBehindEachService) {
  holds(
      [] {
        const auto seed = *gen::inRange<std::uint64_t>(1, 1000).as("seed");
        const auto changes = *gen::vector_of(any_dns_change()).as("changes");
        DnsRun cluster(seed);
        for (const DnsChange& change : changes) {
          cluster.apply(change);
          cluster.settle();
          check_all(cluster);
        }
      },
      3);
}

// Both the Service that a pod leaves and the one that it comes to hear of it.
TEST(DnsProperties, WhoIsRelabelledStandsBehindAnother) {
  holds(
      [] {
        const auto to = *gen::vector_of(4, gen::inRange(0, 3)).as("whose labels it gets");
        const bool one_write = *gen::arbitrary<bool>().as("all at once");
        DnsRun cluster(*gen::inRange<std::uint64_t>(1, 1000).as("seed"));
        using Kind = DnsChange::Kind;
        for (const std::string& service : service_names)
          cluster.apply({Kind::create_service, "default", service, "", 0});
        for (const Kind kind : {Kind::create_pod, Kind::start_pod, Kind::ready_pod})
          cluster.apply({kind, "default", "", "p0", 0});
        cluster.settle();
        for (const int label : to) {
          cluster.apply({Kind::relabel_pod, "default", "", "p0", label});
          if (one_write) continue;
          cluster.settle();
          check_all(cluster);
        }
        cluster.settle();
        check_all(cluster);
      },
      10);
}

// Of several addresses now this one comes first and now that (§6.3).
TEST(DnsProperties, EachAddressIsTheFirstNowAndThen) {
  holds(
      [] {
        const int count = *gen::inRange(2, 4).as("pods");
        DnsRun cluster(*gen::inRange<std::uint64_t>(1, 1000).as("seed"));
        using Kind = DnsChange::Kind;
        cluster.apply({Kind::create_service, "default", "s0", "", 0});
        for (int i = 0; i < count; ++i) {
          const std::string pod = "p" + std::to_string(i);
          for (const Kind kind : {Kind::create_pod, Kind::start_pod, Kind::ready_pod})
            cluster.apply({kind, "default", "s0", pod, 0});
        }
        cluster.settle();
        std::set<std::string> first;
        for (int question = 0; question < 100; ++question) {
          const auto heard =
              cluster.hear({*dns::Name::parse("s0.default.svc.cluster.local"), RecordType::a});
          RC_ASSERT(heard.answer.has_value());
          RC_ASSERT(heard.answer->answers.size() == static_cast<std::size_t>(count));
          first.insert(data_text(heard.answer->answers.front()));
        }
        RC_ASSERT(first.size() == static_cast<std::size_t>(count));
      },
      10);
}

// A pod that has ended stands behind nothing, not even a Service that asks nobody whether it is
// ready (failure-modes.md FM-093).
TEST(DnsProperties, WhoHasEndedStandsBehindNobody) {
  holds(
      [] {
        const int count = *gen::inRange(1, 4).as("pods");
        const auto ends = *gen::vector_of(3, gen::arbitrary<bool>()).as("ends");
        const bool published = *gen::arbitrary<bool>().as("published");
        DnsRun cluster(*gen::inRange<std::uint64_t>(1, 1000).as("seed"));
        using Kind = DnsChange::Kind;
        cluster.apply({Kind::create_service, "default", "s0", "", 0});
        if (published) cluster.apply({Kind::publish_not_ready, "default", "s0", "", 0});
        for (const bool ending : {false, true})
          for (int i = 0; i < count; ++i) {
            const std::string pod = "p" + std::to_string(i);
            if (ending && ends[static_cast<std::size_t>(i)])
              cluster.apply({Kind::end_pod, "default", "s0", pod, 0});
            if (!ending)
              for (const Kind kind : {Kind::create_pod, Kind::start_pod, Kind::ready_pod})
                cluster.apply({kind, "default", "s0", pod, 0});
            cluster.settle();
            check_all(cluster);
          }
      },
      5);
}

// Changes that come faster than the endpoints follow end in the same answers.
TEST(DnsProperties, ItCatchesUpWithChangesThatComeAtOnce) {
  holds(
      [] {
        const auto seed = *gen::inRange<std::uint64_t>(1, 1000).as("seed");
        const auto changes = *gen::vector_of(any_dns_change()).as("changes");
        DnsRun cluster(seed);
        for (const DnsChange& change : changes) cluster.apply(change);
        cluster.settle();
        check_all(cluster);
      },
      2);
}

// --- faults (sim/dns/resolver.hpp, Verdict; FM-093) ---

// The addresses that a client finds for the name it asked for, which may be an alias.
std::multiset<std::string> addresses_for(dns::Name name, const dns::Answer& answer) {
  std::multiset<std::string> found;
  for (const auto& record : answer.answers) {
    if (record.name.lower() != name.lower()) continue;
    if (const auto* target = std::get_if<dns::Name>(&record.data)) name = *target;
    if (const auto* v4 = std::get_if<dns::Ipv4>(&record.data)) found.insert(dns::to_text(*v4));
  }
  return found;
}

dns::Verdict any_verdict() {
  dns::Verdict verdict;
  verdict.delay = std::chrono::seconds(*gen::element(0, 0, 3, 30).as("delay"));
  verdict.lose = *gen::weightedElement<bool>({{5, false}, {1, true}}).as("lost");
  if (*gen::weightedElement<bool>({{3, false}, {1, true}}).as("another rcode"))
    verdict.rcode =
        *gen::element(dns::Rcode::server_failure, dns::Rcode::nx_domain, dns::Rcode::refused);
  if (*gen::arbitrary<bool>().as("other addresses")) {
    verdict.addresses.emplace();
    for (std::uint8_t n = *gen::inRange<std::uint8_t>(1, 3).as("how many"); n > 0; --n)
      verdict.addresses->push_back({10, 9, 9, n});
  }
  return verdict;
}

std::string any_name() {
  if (*gen::weightedElement<bool>({{8, false}, {1, true}}).as("outside")) return "example.org";
  return *gen::element<std::string>("", "", "h1.", "10-244-0-1.", "_job._tcp.").as("of a pod") +
         *gen::element<std::string>("s0", "s0", "s1", "gone").as("service") + "." +
         *gen::element<std::string>("default", "default", "other", "nowhere").as("namespace") +
         ".svc.cluster.local";
}

// An outdated address too is heard, of whatever name: when its zone no longer has it above all.
TEST(DnsProperties, AFaultSaysWhatIsHeardOfWhateverName) {
  holds([] {
    DnsRun cluster(*gen::inRange<std::uint64_t>(1, 1000).as("seed"));
    const bool alias = *gen::element(false, false, true).as("an alias");
    if (alias)
      cluster.apply({DnsChange::Kind::create_service, "default", "s0", {}, *gen::element(5, 11)});
    for (const DnsChange& change : *gen::vector_of(any_dns_change()).as("before"))
      cluster.apply(change);
    cluster.settle();
    const std::string name = alias ? "s0.default.svc.cluster.local" : any_name();
    const dns::Question question{
        *dns::Name::parse(name),
        *gen::element(RecordType::a, RecordType::a, RecordType::aaaa, RecordType::srv),
        dns::class_in};
    const dns::Answer plain = *cluster.hear(question).answer;
    const dns::Verdict verdict = any_verdict();
    cluster.set_fault(verdict);
    const DnsRun::Heard heard = cluster.hear(question);
    RC_ASSERT(heard.answer.has_value() != verdict.lose);
    if (verdict.lose) return;
    const dns::Answer& answer = *heard.answer;
    RC_ASSERT(heard.after == verdict.delay);
    if (verdict.rcode) {
      RC_ASSERT(answer.rcode == *verdict.rcode);
      RC_ASSERT(answer.answers.empty());
    } else if (verdict.addresses && question.type == RecordType::a) {
      std::multiset<std::string> wanted;
      for (const dns::Ipv4& address : *verdict.addresses) wanted.insert(dns::to_text(address));
      RC_ASSERT(answer.rcode == dns::Rcode::no_error);
      RC_ASSERT(answer.authority.empty());  // no word of a name that does not exist
      RC_ASSERT(addresses_for(question.name, answer) == wanted);
    } else {
      RC_ASSERT(answer.rcode == plain.rcode);
      RC_ASSERT(std::is_permutation(answer.answers.begin(), answer.answers.end(),
                                    plain.answers.begin(), plain.answers.end()));
    }
  });
}

// --- slices and Endpoints that somebody makes by hand, of Services that select nobody ---

struct HandMade {
  enum class Kind : std::uint8_t {
    put_slice,
    delete_slice,
    put_endpoints,  // of which slices are made
    delete_endpoints,
    relabel_endpoints,
    relabel_service,
    remake_service,  // deleted and made anew
  };
  Kind kind = Kind::put_slice;
  std::string slice{};
  std::string service{};                     // "": a slice's label is taken away
  std::vector<std::optional<bool>> ready{};  // of each endpoint, as far as it is said
  int label = 0;                             // of Endpoints or of a Service
};
constexpr const char* hand_names[] = {
    "put ",    "delete ", "put endpoints", "delete endpoints", "relabel endpoints",
    "relabel", "remake"};

void showValue(const HandMade& one, std::ostream& out) {
  using Kind = HandMade::Kind;
  out << hand_names[static_cast<int>(one.kind)];
  if (one.kind <= Kind::delete_slice) out << one.slice;
  out << " of '" << one.service << "' label " << one.label << ":";
  for (const auto& ready : one.ready) out << (!ready ? " unsaid" : *ready ? " ready" : " unready");
}

rc::Gen<HandMade> any_hand_made() {
  using Kind = HandMade::Kind;
  using Ready = std::optional<bool>;
  return gen::build<HandMade>(
      gen::set(&HandMade::kind, gen::weightedElement<Kind>({{6, Kind::put_slice},
                                                            {1, Kind::delete_slice},
                                                            {3, Kind::put_endpoints},
                                                            {1, Kind::delete_endpoints},
                                                            {2, Kind::relabel_endpoints},
                                                            {2, Kind::relabel_service},
                                                            {1, Kind::remake_service}})),
      gen::set(&HandMade::slice, gen::element<std::string>("a", "b", "c")),
      gen::set(&HandMade::service, gen::element<std::string>("s0", "s0", "s1", "s1", "")),
      gen::set(&HandMade::ready,
               gen::resize(4, gen::vector_of(gen::element<Ready>(std::nullopt, true, false)))),
      gen::set(&HandMade::label, gen::element(1, 2, 3)));
}

// What one object by hand says: of slices "a" to "c" and of each Service's Endpoints.
struct Said {
  std::string service{};
  std::set<std::string> ready{};
};

class HandWork {
 public:
  explicit HandWork(std::uint64_t seed) : cluster_(seed) {
    for (const std::string& name : service_names) make_service(name);
    cluster_.settle();
  }
  void apply(const HandMade& deed);
  void check();

 private:
  void make_service(const std::string& name);
  void put_slice(const HandMade& deed);
  void put_endpoints(const HandMade& deed);
  // Of every slice and Endpoints.
  std::map<std::string, std::string> versions() const {
    std::map<std::string, std::string> found;
    for (const auto& slice : cluster_.all<EndpointSlice>())
      found[slice->metadata.name.str()] = slice->metadata.resourceVersion.str();
    for (const auto& endpoints : cluster_.all<Endpoints>())
      found["Endpoints " + endpoints->metadata.name] = endpoints->metadata.resourceVersion;
    return found;
  }

  DnsRun cluster_;
  std::map<std::string, Said> slices_{};     // by name
  std::map<std::string, Said> endpoints_{};  // by Service
};

void HandWork::make_service(const std::string& name) {
  auto service = std::make_shared<Service>();
  service->metadata.name = name;
  service->metadata.namespace_ = "default";
  service->spec.edit().clusterIP = "None";
  cluster_.call(api::create(service));
}

void HandWork::put_slice(const HandMade& deed) {
  auto slice = std::make_shared<EndpointSlice>();
  slice->metadata.name = deed.slice;
  slice->metadata.namespace_ = "default";
  if (!deed.service.empty())
    slice->metadata.labels = {{"kubernetes.io/service-name", deed.service}};
  slice->addressType = "IPv4";
  slice->ports = {{.name = "job", .protocol = "TCP", .port = job_port}};
  Said said{deed.service, {}};
  for (const auto& ready : deed.ready) {
    const std::string ip = "10.9." + std::to_string(deed.slice.front() - 'a') + "." +
                           std::to_string(slice->endpoints.size() + 1);
    slice->endpoints.push_back({.addresses = {ip}, .conditions = {.ready = ready}});
    if (ready.value_or(true)) said.ready.insert(ip);  // EndpointConditions.ready
  }
  const bool known = slices_.contains(deed.slice);
  cluster_.call(known ? api::update(slice) : api::create(slice));
  slices_[deed.slice] = said;
}

void HandWork::put_endpoints(const HandMade& deed) {
  auto endpoints = std::make_shared<Endpoints>();
  endpoints->metadata.name = deed.service;
  endpoints->metadata.namespace_ = "default";
  endpoints->metadata.labels = {{"shape", std::to_string(deed.label)}};
  EndpointSubset subset{.ports = {{.name = "job", .port = job_port, .protocol = "TCP"}}};
  Said said{deed.service, {}};
  for (std::size_t i = 0; i < deed.ready.size(); ++i) {
    const bool ready = deed.ready[i].value_or(true);
    const std::string ip = "10.8." + deed.service.substr(1) + "." + std::to_string(i + 1);
    (ready ? subset.addresses : subset.notReadyAddresses).push_back({.ip = ip});
    if (ready) said.ready.insert(ip);
  }
  if (!deed.ready.empty()) endpoints->subsets = {subset};
  const bool known = endpoints_.contains(deed.service);
  cluster_.call(known ? api::update(endpoints) : api::create(endpoints));
  endpoints_[deed.service] = said;
}

void HandWork::apply(const HandMade& deed) {
  using Kind = HandMade::Kind;
  Service service;
  service.metadata.name = deed.service;
  service.metadata.namespace_ = "default";
  Endpoints endpoints;
  endpoints.metadata = service.metadata;
  const auto before = versions();
  if (deed.kind == Kind::put_slice) put_slice(deed);
  if (deed.kind == Kind::delete_slice && slices_.erase(deed.slice) > 0) {
    EndpointSlice slice;
    slice.metadata.name = deed.slice;
    slice.metadata.namespace_ = "default";
    cluster_.call(api::remove(slice));
  }
  if (deed.service.empty()) return cluster_.settle();
  if (deed.kind == Kind::put_endpoints) put_endpoints(deed);
  if (deed.kind == Kind::delete_endpoints && endpoints_.erase(deed.service) > 0)
    cluster_.call(api::remove(endpoints));
  const auto relabel = [&](const Object& object) {
    boost::json::object labels{{"shape", std::to_string(deed.label)}};
    cluster_.call(api::patch(object, api::PatchType::merge,
                             boost::json::object{{"metadata", {{"labels", std::move(labels)}}}}));
  };
  if (deed.kind == Kind::relabel_service) relabel(service);
  if (deed.kind == Kind::relabel_endpoints) relabel(endpoints);
  if (deed.kind == Kind::remake_service) {
    cluster_.call(api::remove(service));
    cluster_.settle();
    endpoints_.erase(deed.service);  // they go with it; the slices are nobody's
    make_service(deed.service);
  }
  cluster_.settle();
  // Its labels are not theirs.
  if (deed.kind == Kind::relabel_service) RC_ASSERT(versions() == before);
}

void HandWork::check() {
  for (const std::string& name : service_names) {
    std::multiset<std::string> addresses;
    for (const auto* kind : {&slices_, &endpoints_})
      for (const auto& [made, said] : *kind)
        if (said.service == name) addresses.insert(said.ready.begin(), said.ready.end());
    RC_ASSERT(cluster_.ask(name + ".default.svc.cluster.local", RecordType::a) ==
              answer_of(addresses));
  }
  for (const auto& slice : cluster_.all<EndpointSlice>()) {
    if (slices_.contains(slice->metadata.name.str())) continue;
    const Text& of = *slice->metadata.label("kubernetes.io/service-name");
    if (is_the_clusters(of)) continue;
    RC_ASSERT(endpoints_.contains(of.str()));  // a mirror
    for (const auto& endpoints : cluster_.all<Endpoints>())
      if (endpoints->metadata.name == of)
        RC_ASSERT(*slice->metadata.label("shape") == *endpoints->metadata.label("shape"));
  }
}

TEST(DnsProperties, ItAnswersWithWhatIsMadeByHand) {
  holds([] {
    const auto deeds = *gen::resize(20, gen::vector_of(any_hand_made())).as("deeds");
    HandWork work(*gen::inRange<std::uint64_t>(1, 1000).as("seed"));
    for (const HandMade& deed : deeds) {
      work.apply(deed);
      work.check();
    }
  });
}

}  // namespace
}  // namespace ddptwin::property::dns_properties_test
