// What the cluster's DNS answers, against the pods that stand behind each Service at that moment:
// endpoint controllers, zone feed, zone and resolver in one (spec/kubernetes.md §5, §6.1).
#include <algorithm>
#include <boost/json.hpp>
#include <map>
#include <ostream>
#include <set>

#include "core/virtual_loop.hpp"
#include "core/virtual_start.hpp"
#include "dns/exchange.hpp"
#include "dns/resolver.hpp"
#include "objects/discovery_v1.hpp"
#include "property.hpp"
#include "scenario/world.hpp"

namespace ddptwin::property {
namespace {

namespace gen = rc::gen;
using dns::RecordType;

constexpr Time start = virtual_start;
constexpr Duration propagation = 2s;
constexpr std::string_view user = "user", node = "n0";
constexpr std::int32_t job_port = 23456;
constexpr const char* alias_inside = "kubernetes.default.svc.cluster.local";
const std::vector<std::string> service_names{"s0", "s1"}, pod_names{"p0", "p1", "p2"},
    namespaces{"default", "other"};

struct Change {
  enum class Kind : std::uint8_t {
    create_service,
    delete_service,
    relabel_service,    // which selects as before
    publish_not_ready,  // or no longer
    create_pod,
    start_pod,  // it has its address, and is not ready
    ready_pod,
    unready_pod,
    end_pod,  // Succeeded: nothing of it is ready
    relabel_pod,
    let_pod_terminate,
    delete_pod,
  };
  Kind kind = Kind::create_pod;
  std::string namespace_{};
  std::string service{};
  std::string pod{};
  int shape = 0;  // of what is made
};
constexpr const char* change_names[] = {"create service",
                                        "delete service",
                                        "relabel service",
                                        "publish not ready of",
                                        "create",
                                        "start",
                                        "ready",
                                        "unready",
                                        "end",
                                        "relabel",
                                        "terminate",
                                        "delete"};

void showValue(const Change& change, std::ostream& out) {
  out << change_names[static_cast<int>(change.kind)] << " " << change.namespace_ << "/"
      << (change.kind <= Change::Kind::publish_not_ready ? change.service : change.pod) << " shape "
      << change.shape;
}

rc::Gen<Change> any_change() {
  using Kind = Change::Kind;
  return gen::build<Change>(
      gen::set(&Change::kind, gen::weightedElement<Kind>({{3, Kind::create_service},
                                                          {1, Kind::delete_service},
                                                          {1, Kind::relabel_service},
                                                          {1, Kind::publish_not_ready},
                                                          {4, Kind::create_pod},
                                                          {4, Kind::start_pod},
                                                          {5, Kind::ready_pod},
                                                          {1, Kind::unready_pod},
                                                          {1, Kind::end_pod},
                                                          {1, Kind::relabel_pod},
                                                          {1, Kind::let_pod_terminate},
                                                          {1, Kind::delete_pod}})),
      gen::set(&Change::namespace_,
               gen::weightedElement<std::string>({{3, "default"}, {1, "other"}})),
      gen::set(&Change::service, gen::elementOf(service_names)),
      gen::set(&Change::pod, gen::elementOf(pod_names)),
      gen::set(&Change::shape, gen::resize(rc::kNominalSize, gen::inRange(0, 12))));
}

// A name's answer as its rcode and the data in it; the order of records is chance.
struct Seen {
  dns::Rcode rcode = dns::Rcode::nx_domain;
  std::multiset<std::string> records{};
  bool operator==(const Seen&) const = default;
};
void showValue(const Seen& seen, std::ostream& out) {
  out << dns::to_text(seen.rcode);
  for (const std::string& record : seen.records) out << " " << record;
}

std::string data_text(const dns::ResourceRecord& record) {
  if (const auto* v4 = std::get_if<dns::Ipv4>(&record.data)) return dns::to_text(*v4);
  if (const auto* name = std::get_if<dns::Name>(&record.data)) return name->text();
  if (const auto* srv = std::get_if<dns::Srv>(&record.data))
    return std::to_string(srv->port) + " " + srv->target.text();
  return dns::to_text(record);
}

class Cluster {
 public:
  explicit Cluster(std::uint64_t seed)
      : loop_(Random(seed).split("loop"), start), world_(loop_, options(seed), nullptr) {
    DDPTWIN_ASSERT(world_.start().has_value());
    DDPTWIN_ASSERT(world_.add_namespace("other").has_value());
    settle();
  }

  void apply(const Change& change);
  void settle() { loop_.run_until(loop_.now() + propagation); }

  // The question's letters are now of one case and now of the other: nobody may mind.
  Seen ask(const std::string& name, RecordType type) {
    std::string mixed = name;
    for (std::size_t i = name.size() % 3; i < mixed.size(); i += 3)
      mixed[i] = static_cast<char>(std::toupper(static_cast<unsigned char>(mixed[i])));
    std::optional<dns::Answer> answer;
    world_.resolver().ask({{*dns::Name::parse(mixed), type, dns::class_in}, "test"},
                          [&](std::optional<dns::Answer> got) { answer = std::move(got); });
    loop_.drain();
    RC_ASSERT(answer.has_value());
    Seen seen{answer->rcode, {}};
    // What an alias leads to is of the name that the alias names.
    std::string owner = mixed + ".";
    for (const auto& record : answer->answers) {
      RC_ASSERT(record.name.text() == owner);
      seen.records.insert(data_text(record));
      if (const auto* alias = std::get_if<dns::Name>(&record.data);
          alias != nullptr && type == RecordType::a)
        owner = alias->text();
    }
    return seen;
  }
  // What is heard of a question, and after how long; nothing: no answer within a minute.
  struct Heard {
    std::optional<dns::Answer> answer{};
    Duration after{};
  };
  Heard hear(const dns::Question& question) {
    Heard heard;
    const Time asked = loop_.now();
    world_.resolver().ask({question, "test"}, [&](std::optional<dns::Answer> got) {
      heard = {std::move(got), loop_.now() - asked};
    });
    loop_.run_until(asked + 1min);
    return heard;
  }
  void set_fault(const dns::Verdict& verdict) {
    world_.resolver().set_fault([verdict](const dns::Query&) { return verdict; });
  }

  std::vector<std::shared_ptr<const Service>> services() const { return all<Service>(); }
  std::vector<std::shared_ptr<const Pod>> pods() const { return all<Pod>(); }
  template <class T>
  std::vector<std::shared_ptr<const T>> all() const {
    std::vector<std::shared_ptr<const T>> out;
    for (const ObjectPtr& object : world_.objects(T::info(), "")) out.push_back(as<T>(object));
    return out;
  }
  // What a user does by hand; it may be refused, and is there or gone already then.
  void call(const api::Request& request) { static_cast<void>(world_.call(request, user)); }

 private:
  static WorldOptions options(std::uint64_t seed) {
    WorldOptions options;
    options.seed = seed;
    options.nodes = {{.name = std::string(node), .kubelet = false}};
    return options;
  }
  std::shared_ptr<const Pod> pod(const Change& change) const {
    return as<Pod>(world_.find(Pod::info(), change.namespace_, change.pod));
  }
  void create_service(const Change& change);
  void create_pod(const Change& change);
  void write_status(const Change& change);

  VirtualLoop loop_;
  World world_;
  int last_address_ = 0;
};

void Cluster::create_service(const Change& change) {
  auto service = std::make_shared<Service>();
  service->metadata.name = change.service;
  service->metadata.namespace_ = change.namespace_;
  ServiceSpec& spec = service->spec.edit();
  if (change.shape % 6 == 5) {
    spec.type_ = "ExternalName";
    spec.externalName = change.shape == 5 ? alias_inside : "example.org";
    return call(api::create(service));
  }
  spec.selector = {{"app", change.service}};
  spec.publishNotReadyAddresses = change.shape % 3 == 1;
  if (change.shape % 4 != 3) spec.clusterIP = "None";
  if (change.shape % 5 != 4 || change.shape % 4 == 3)
    spec.ports = {{.name = "job", .protocol = "TCP", .port = job_port}};
  if (change.shape % 2 == 1)
    spec.ports.push_back({.name = "log",
                          .protocol = "UDP",
                          .port = 99,
                          .targetPort = IntOrString{0, "named", true}});
  call(api::create(service));
}

void Cluster::create_pod(const Change& change) {
  auto pod = std::make_shared<Pod>();
  pod->metadata.name = change.pod;
  pod->metadata.namespace_ = change.namespace_;
  pod->metadata.labels =
      StringMap{{"app", service_names[static_cast<std::size_t>(change.shape % 2)]}};
  PodSpec& spec = pod->spec.edit();
  spec.nodeName = node;
  if (change.shape % 3 != 0) spec.hostname = "h" + std::to_string(change.shape % 3);
  if (change.shape % 4 != 0)
    spec.subdomain = service_names[static_cast<std::size_t>(change.shape / 4 % 2)];
  Container container;
  container.name = "c";
  container.image = "busybox";
  if (change.shape % 5 != 0)
    container.ports = {{.name = "named", .containerPort = 4000, .protocol = "UDP"}};
  spec.containers.edit().push_back(std::move(container));
  call(api::create(pod));
}

// As a kubelet would write it.
void Cluster::write_status(const Change& change) {
  using Kind = Change::Kind;
  const auto known = pod(change);
  if (!known) return;
  const bool started = !known->status.podIP.empty();
  const auto* condition = known->status.condition("Ready");
  const bool ready = condition != nullptr && condition->status == "True";
  const bool over = known->status.phase == "Succeeded";
  if (over || started == (change.kind == Kind::start_pod)) return;
  // An end that nobody can see in the readiness goes unnoticed
  // (sim/controller/endpoints/README.md).
  if (change.kind == Kind::end_pod && !ready) return;
  auto next = std::static_pointer_cast<Pod>(known->clone());
  next->status.phase = change.kind == Kind::end_pod ? "Succeeded" : "Running";
  if (!started) {
    next->status.podIP = "10.244.0." + std::to_string(++last_address_ % 250);
    next->status.podIPs = {{next->status.podIP}};
  }
  PodCondition now;
  now.type_ = "Ready";
  now.status = change.kind == Kind::ready_pod ? "True" : "False";
  next->status.conditions = {now};
  call(api::update(next, "status"));
}

void Cluster::apply(const Change& change) {
  using Kind = Change::Kind;
  api::DeleteOptions at_once;
  at_once.grace_period_seconds = 0;
  const ObjectPtr service = world_.find(Service::info(), change.namespace_, change.service);
  switch (change.kind) {
    case Kind::create_service:
      return create_service(change);
    case Kind::delete_service:
      if (service) call(api::remove(*service));
      return;
    case Kind::relabel_service:
      if (service)
        call(
            api::patch(*service, api::PatchType::merge,
                       boost::json::object{
                           {"metadata", {{"labels", {{"shape", std::to_string(change.shape)}}}}}}));
      return;
    case Kind::publish_not_ready:
      if (service)
        call(api::patch(
            *service, api::PatchType::merge,
            boost::json::object{{"spec", {{"publishNotReadyAddresses", change.shape % 2 == 0}}}}));
      return;
    case Kind::create_pod:
      return create_pod(change);
    case Kind::relabel_pod:
      if (const auto known = pod(change))
        call(api::patch(
            *known, api::PatchType::merge,
            boost::json::object{
                {"metadata", {{"labels", {{"app", "s" + std::to_string(change.shape % 3)}}}}}}));
      return;
    case Kind::let_pod_terminate:
      if (const auto known = pod(change)) call(api::remove(*known));
      return;
    case Kind::delete_pod:
      if (const auto known = pod(change)) call(api::remove(*known, at_once));
      return;
    default:
      return write_status(change);
  }
}

// --- the model: Services and pods as they are, each rule in its simplest words ---

bool stands_behind(const Pod& pod, const Service& service) {
  const auto app = pod.metadata.labels->find("app");
  if (pod.metadata.namespace_ != service.metadata.namespace_ || pod.status.podIP.empty() ||
      pod.status.phase == "Succeeded" || service.spec->selector.empty() ||
      app->second != service.spec->selector.at("app"))
    return false;
  if (service.spec->publishNotReadyAddresses) return true;
  const auto* ready = pod.status.condition("Ready");
  return ready != nullptr && ready->status == "True" && !pod.metadata.deletionTimestamp;
}

std::string label_of(const Pod& pod, const Service& service) {
  if (!pod.spec->hostname.empty() && pod.spec->subdomain == service.metadata.name)
    return pod.spec->hostname;
  std::string dashed = pod.status.podIP;
  std::replace(dashed.begin(), dashed.end(), '.', '-');
  return dashed;
}

std::optional<std::int32_t> number_of(const ServicePort& port, const Pod& pod) {
  if (!port.targetPort || !port.targetPort->is_text) return port.port;
  if (pod.spec->containers.front().ports.empty()) return std::nullopt;
  return pod.spec->containers.front().ports.front().containerPort;
}

Seen answer_of(std::multiset<std::string> records) {
  // Two pods of one name and number are one record.
  std::set<std::string> once(records.begin(), records.end());
  return {records.empty() ? dns::Rcode::nx_domain : dns::Rcode::no_error,
          {once.begin(), once.end()}};
}

using Pods = std::vector<std::shared_ptr<const Pod>>;

// Without any port of its own that leads somewhere, a pod still has its address.
void check_headless(Cluster& cluster, const Service& service, const Pods& behind) {
  const std::string name =
      service.metadata.name + "." + service.metadata.namespace_ + ".svc.cluster.local";
  std::multiset<std::string> addresses;
  std::map<std::string, std::multiset<std::string>> by_label;
  for (const auto& pod : behind) {
    addresses.insert(pod->status.podIP);
    by_label[label_of(*pod, service)].insert(pod->status.podIP);
  }
  RC_ASSERT(cluster.ask(name, RecordType::a) == answer_of(addresses));
  const Seen nothing{addresses.empty() ? dns::Rcode::nx_domain : dns::Rcode::no_error, {}};
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
void check_clustered(Cluster& cluster, const Service& service) {
  const std::string name =
      service.metadata.name + "." + service.metadata.namespace_ + ".svc.cluster.local";
  RC_ASSERT(cluster.ask(name, RecordType::a) == answer_of({service.spec->clusterIP}));
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

void check_alias(Cluster& cluster, const Service& service) {
  const std::string& target = *service.spec->externalName;
  Seen wanted = target == alias_inside ? cluster.ask(target, RecordType::a) : Seen{};
  wanted.rcode = dns::Rcode::no_error;
  wanted.records.insert(target + ".");
  RC_ASSERT(
      cluster.ask(service.metadata.name + "." + service.metadata.namespace_ + ".svc.cluster.local",
                  RecordType::a) == wanted);
}

void check_all(Cluster& cluster) {
  const Pods pods = cluster.pods();
  std::set<std::string> there;
  for (const auto& service : cluster.services()) {
    if (service->metadata.name == "kubernetes") continue;
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
        const auto changes = *gen::container<std::vector<Change>>(any_change()).as("changes");
        Cluster cluster(seed);
        for (const Change& change : changes) {
          cluster.apply(change);
          cluster.settle();
          check_all(cluster);
        }
      },
      3);
}

// Changes that come faster than the endpoints follow end in the same answers.
TEST(DnsProperties, ItCatchesUpWithChangesThatComeAtOnce) {
  holds(
      [] {
        const auto seed = *gen::inRange<std::uint64_t>(1, 1000).as("seed");
        const auto changes = *gen::container<std::vector<Change>>(any_change()).as("changes");
        Cluster cluster(seed);
        for (const Change& change : changes) cluster.apply(change);
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
    Cluster cluster(*gen::inRange<std::uint64_t>(1, 1000).as("seed"));
    const bool alias = *gen::element(false, false, true).as("an alias");
    if (alias)
      cluster.apply({Change::Kind::create_service, "default", "s0", {}, *gen::element(5, 11)});
    for (const Change& change : *gen::container<std::vector<Change>>(any_change()).as("before"))
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
    const Cluster::Heard heard = cluster.hear(question);
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
               gen::resize(4, gen::container<std::vector<Ready>>(
                                  gen::element<Ready>(std::nullopt, true, false)))),
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
      found[slice->metadata.name] = slice->metadata.resourceVersion;
    for (const auto& endpoints : cluster_.all<Endpoints>())
      found["Endpoints " + endpoints->metadata.name] = endpoints->metadata.resourceVersion;
    return found;
  }

  Cluster cluster_;
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
    if (slices_.contains(slice->metadata.name)) continue;
    const std::string& of = *slice->metadata.label("kubernetes.io/service-name");
    if (of == "kubernetes") continue;
    RC_ASSERT(endpoints_.contains(of));  // a mirror
    for (const auto& endpoints : cluster_.all<Endpoints>())
      if (endpoints->metadata.name == of)
        RC_ASSERT(*slice->metadata.label("shape") == *endpoints->metadata.label("shape"));
  }
}

TEST(DnsProperties, ItAnswersWithWhatIsMadeByHand) {
  holds([] {
    const auto deeds =
        *gen::resize(20, gen::container<std::vector<HandMade>>(any_hand_made())).as("deeds");
    HandWork work(*gen::inRange<std::uint64_t>(1, 1000).as("seed"));
    for (const HandMade& deed : deeds) {
      work.apply(deed);
      work.check();
    }
  });
}

// Over UDP a reply is cut to what the client takes, between 512 and 1232 bytes, record by record,
// and says so; over TCP it is whole (RFC 6891 §6.2.3; spec/kubernetes.md §6.3).
TEST(DnsProperties, AReplyIsNoLargerThanItsClientTakes) {
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
                                .type = RecordType::a,
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
TEST(DnsProperties, AnotherVersionOfEdnsIsRefused) {
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
}  // namespace ddptwin::property
