// Endpoints and slices against the Services and pods that they are made of, whoever was away when
// one went (spec/kubernetes.md §5; upstream's endpoint, endpointslice and mirroring controllers).
#include <algorithm>
#include <map>
#include <ostream>
#include <set>
#include <string>
#include <vector>

#include "core/virtual_loop.hpp"
#include "core/virtual_start.hpp"
#include "objects/discovery_v1.hpp"
#include "property.hpp"
#include "scenario/world.hpp"

namespace ddptwin::property {
namespace {

namespace gen = rc::gen;

constexpr const char *endpoints_process = "endpoint-controller",
                     *slice_process = "endpoint-slice-controller",
                     *mirror_process = "endpoint-slice-mirroring-controller";
const std::vector<std::string> processes{endpoints_process, slice_process, mirror_process},
    names{"s0", "s1"};

// Breaks the next streams of one process, or brings every event late.
class Watches final : public WorldFaults {
 public:
  PodRuntime& wrap(PodRuntime& runtime) override { return runtime; }
  api::CallVerdict on_call(const api::Caller&, const api::Request&) override { return {}; }
  void on_answer(const api::Caller&, const api::Request&, const Result<api::Response>&) override {}
  api::EventVerdict on_event(const api::Caller& caller, const KindInfo& kind,
                             const api::WatchEvent&) override {
    if (std::find(processes.begin(), processes.end(), caller.instance) == processes.end())
      return {};
    api::EventVerdict verdict;
    if (cut.erase(caller.instance + " " + std::string(kind.kind)) > 0) verdict.cut = 3s;
    if (!delays.empty()) verdict.delay = std::chrono::milliseconds(delays[seen_++ % delays.size()]);
    return verdict;
  }

  std::set<std::string> cut{};  // "process Kind"
  std::vector<int> delays{};    // ms, of each event in turn

 private:
  std::size_t seen_ = 0;
};

class Cluster {
 public:
  explicit Cluster(std::uint64_t seed)
      : loop_(Random(seed).split("loop"), virtual_start),
        world_(loop_, options(seed, watches), nullptr) {
    DDPTWIN_ASSERT(world_.start().has_value());
    rest(5s);
  }
  void rest(Duration duration) { loop_.run_until(loop_.now() + duration); }
  void call(const api::Request& request) {
    const auto answer = world_.call(request, "user");
    if (!answer) RC_FAIL(answer.error().message);
  }
  void crash(const std::string& process) { DDPTWIN_ASSERT(world_.crash_controller(process)); }
  void start(const std::string& process) { DDPTWIN_ASSERT(world_.start_controller(process)); }
  template <class T>
  std::shared_ptr<const T> find(const std::string& name) const {
    return as<T>(world_.find(T::info(), "default", name));
  }
  template <class T>
  std::vector<std::shared_ptr<const T>> all() const {
    std::vector<std::shared_ptr<const T>> found;
    for (const ObjectPtr& object : world_.objects(T::info(), "default"))
      found.push_back(as<T>(object));
    return found;
  }

  Watches watches{};

 private:
  static WorldOptions options(std::uint64_t seed, Watches& watches) {
    WorldOptions options;
    options.seed = seed;
    options.faults = &watches;
    return options;
  }

  VirtualLoop loop_;
  World world_;
};

std::shared_ptr<Service> service_object(const std::string& name, bool selects) {
  auto service = std::make_shared<Service>();
  service->metadata.name = name;
  service->metadata.namespace_ = "default";
  ServiceSpec& spec = service->spec.edit();
  spec.clusterIP = "None";
  if (selects) spec.selector = {{"app", name}};
  spec.ports = {{.name = "job", .protocol = "TCP", .port = 23456}};
  return service;
}

std::shared_ptr<Endpoints> endpoints_object(const std::string& name) {
  auto endpoints = std::make_shared<Endpoints>();
  endpoints->metadata.name = name;
  endpoints->metadata.namespace_ = "default";
  endpoints->subsets = {{.addresses = {{.ip = "10.9.0.1"}},
                         .ports = {{.name = "job", .port = 23456, .protocol = "TCP"}}}};
  return endpoints;
}

// The Services that have slices of that label.
std::set<std::string> services_with(const Cluster& cluster, const std::string& manager) {
  std::set<std::string> services;
  for (const auto& slice : cluster.all<EndpointSlice>())
    if (*slice->metadata.label("endpointslice.kubernetes.io/managed-by") == manager)
      services.insert(*slice->metadata.label("kubernetes.io/service-name"));
  return services;
}

// --- one thing after the other ---

struct Step {
  enum class Kind : std::uint8_t {
    make_service,
    delete_service,
    make_endpoints,  // by hand
    delete_endpoints,
    crash,
    start,
    cut_watch,  // the next event of it is lost with what follows, until it lists again
  };
  Kind kind = Kind::make_service;
  std::string name{};
  std::string process{};
  bool selects = true;  // a Service
  bool leads = false;   // Endpoints that somebody's leader election keeps
  std::string watched{};
};
constexpr const char* step_names[] = {"make service",     "delete service", "make endpoints",
                                      "delete endpoints", "crash",          "start",
                                      "cut watch of"};

void showValue(const Step& step, std::ostream& out) {
  using Kind = Step::Kind;
  out << step_names[static_cast<int>(step.kind)] << " ";
  if (step.kind >= Kind::crash)
    out << step.process;
  else
    out << step.name;
  if (step.kind == Kind::make_service) out << (step.selects ? " selecting" : " without selector");
  if (step.kind == Kind::make_endpoints && step.leads) out << " of a leader election";
  if (step.kind == Kind::cut_watch) out << " for " << step.watched;
}

rc::Gen<Step> any_step() {
  using Kind = Step::Kind;
  return gen::build<Step>(
      gen::set(&Step::kind, gen::weightedElement<Kind>({{4, Kind::make_service},
                                                        {3, Kind::delete_service},
                                                        {3, Kind::make_endpoints},
                                                        {1, Kind::delete_endpoints},
                                                        {3, Kind::crash},
                                                        {3, Kind::start},
                                                        {2, Kind::cut_watch}})),
      gen::set(&Step::name, gen::elementOf(names)),
      gen::set(&Step::process, gen::element<std::string>(endpoints_process, endpoints_process,
                                                         slice_process, mirror_process)),
      gen::set(&Step::selects, gen::arbitrary<bool>()),
      gen::set(&Step::leads, gen::arbitrary<bool>()),
      gen::set(&Step::watched, gen::element<std::string>("Service", "Endpoints")));
}

// What is there of one name.
struct Naive {
  enum class Made : std::uint8_t { not_at_all, by_hand, by_controller };
  bool service = false;
  bool selects = false;
  Made endpoints = Made::not_at_all;
  bool leads = false;
  bool slices = false;   // of the Service
  bool mirrors = false;  // of the Endpoints

  void go(Made endpoints_now) {
    endpoints = endpoints_now;
    if (endpoints == Made::not_at_all) leads = mirrors = false;  // owner and owned
  }
  // What those who run make of it.
  void settle(const std::set<std::string>& running) {
    const bool chosen = service && selects;
    if (chosen && running.contains(endpoints_process)) endpoints = Made::by_controller;
    if (!chosen)
      slices = slices && service;
    else if (running.contains(slice_process))
      slices = true;
    if (running.contains(mirror_process))
      mirrors = service && !selects && endpoints == Made::by_hand && !leads;
  }
};

class Game {
 public:
  explicit Game(std::uint64_t seed) : cluster_(seed) {}

  void apply(const Step& step);
  void check() const;

 private:
  Cluster cluster_;
  std::set<std::string> running_{processes.begin(), processes.end()};
  std::map<std::string, Naive> naive_{{names[0], {}}, {names[1], {}}};
};

void Game::apply(const Step& step) {
  using Kind = Step::Kind;
  using Made = Naive::Made;
  Naive& naive = naive_[step.name];
  const bool is_there = naive.endpoints != Made::not_at_all;
  if (step.kind == Kind::make_service && !naive.service) {
    cluster_.call(api::create(service_object(step.name, step.selects)));
    naive.service = true;
    naive.selects = step.selects;
  }
  // Who sees a Service go deletes the Endpoints of its name, whoever made them.
  if (step.kind == Kind::delete_service && naive.service) {
    cluster_.call(api::remove(*cluster_.find<Service>(step.name)));
    naive.service = naive.slices = false;
    if (running_.contains(endpoints_process)) naive.go(Made::not_at_all);
  }
  if (step.kind == Kind::make_endpoints && !is_there) {
    const auto endpoints = endpoints_object(step.name);
    if (step.leads)
      endpoints->metadata.annotations = StringMap{{"control-plane.alpha.kubernetes.io/leader", ""}};
    cluster_.call(api::create(endpoints));
    naive.go(Made::by_hand);
    naive.leads = step.leads;
  }
  if (step.kind == Kind::delete_endpoints && is_there) {
    cluster_.call(api::remove(*cluster_.find<Endpoints>(step.name)));
    naive.go(Made::not_at_all);
  }
  if (step.kind == Kind::crash) {
    cluster_.crash(step.process);
    running_.erase(step.process);
  }
  // A new process looks once for Endpoints that have no Service.
  if (step.kind == Kind::start && running_.insert(step.process).second) {
    cluster_.start(step.process);
    for (auto& [name, one] : naive_)
      if (step.process == endpoints_process && !one.service && !one.leads) one.go(Made::not_at_all);
  }
  if (step.kind == Kind::cut_watch) cluster_.watches.cut.insert(step.process + " " + step.watched);
  for (auto& [name, one] : naive_) one.settle(running_);
  cluster_.rest(10s);
}

void Game::check() const {
  const auto slices = services_with(cluster_, "endpointslice-controller.k8s.io"),
             mirrors = services_with(cluster_, "endpointslicemirroring-controller.k8s.io");
  for (const auto& [name, naive] : naive_) {
    RC_LOG() << name << "\n";
    const auto endpoints = cluster_.find<Endpoints>(name);
    RC_ASSERT((endpoints != nullptr) == (naive.endpoints != Naive::Made::not_at_all));
    if (endpoints)
      RC_ASSERT(endpoints->subsets.empty() == (naive.endpoints == Naive::Made::by_controller));
    RC_ASSERT(slices.contains(name) == naive.slices);
    RC_ASSERT(mirrors.contains(name) == naive.mirrors);
  }
}

TEST(EndpointsProperties, TheyGoWithTheirServiceWhoeverWasAway) {
  holds([] {
    const auto seed = *gen::inRange<std::uint64_t>(1, 1000).as("seed");
    const auto steps = *gen::resize(24, gen::container<std::vector<Step>>(any_step())).as("steps");
    Game game(seed);
    for (const Step& step : steps) {
      game.apply(step);
      game.check();
    }
  });
}

// --- many things at once, all of them told late ---

struct Deed {
  enum class Kind : std::uint8_t { make_service, delete_service, crash, start, rest };
  Kind kind = Kind::make_service;
  std::string name{};
  std::string process{};
  int ms = 0;
};
constexpr const char* deed_names[] = {"make ", "delete ", "crash ", "start ", "rest "};

void showValue(const Deed& deed, std::ostream& out) {
  out << deed_names[static_cast<int>(deed.kind)];
  if (deed.kind == Deed::Kind::rest)
    out << deed.ms << " ms";
  else
    out << (deed.kind <= Deed::Kind::delete_service ? deed.name : deed.process);
}

rc::Gen<Deed> any_deed() {
  using Kind = Deed::Kind;
  return gen::build<Deed>(
      gen::set(&Deed::kind, gen::weightedElement<Kind>({{3, Kind::make_service},
                                                        {3, Kind::delete_service},
                                                        {1, Kind::crash},
                                                        {2, Kind::start},
                                                        {3, Kind::rest}})),
      gen::set(&Deed::name, gen::elementOf(names)),
      gen::set(&Deed::process, gen::elementOf(processes)),
      gen::set(&Deed::ms, gen::element(1, 10, 500, 1'500, 4'000)));
}

TEST(EndpointsProperties, NobodyKeepsThemForAServiceThatIsGone) {
  holds(
      [] {
        using Kind = Deed::Kind;
        const auto deeds =
            *gen::resize(20, gen::container<std::vector<Deed>>(any_deed())).as("deeds");
        Cluster cluster(*gen::inRange<std::uint64_t>(1, 1000).as("seed"));
        cluster.watches.delays =
            *gen::resize(6, gen::container<std::vector<int>>(gen::element(0, 0, 5, 1'000, 3'000)))
                 .as("delays");
        for (const Deed& deed : deeds) {
          const auto service = cluster.find<Service>(deed.name);
          if (deed.kind == Kind::make_service && !service)
            cluster.call(api::create(service_object(deed.name, true)));
          if (deed.kind == Kind::delete_service && service) cluster.call(api::remove(*service));
          if (deed.kind == Kind::crash) cluster.crash(deed.process);
          if (deed.kind == Kind::start) cluster.start(deed.process);
          if (deed.kind == Kind::rest) cluster.rest(std::chrono::milliseconds(deed.ms));
        }
        for (const std::string& process : processes) cluster.start(process);
        cluster.rest(1min);
        std::set<std::string> owners;
        for (const auto& slice : cluster.all<EndpointSlice>())
          owners.insert(slice->metadata.ownerReferences->at(0).uid);
        std::set<std::string> services;
        for (const std::string& name : names) {
          RC_LOG() << name << "\n";
          const auto service = cluster.find<Service>(name);
          if (service) services.insert(service->metadata.uid);
          RC_ASSERT((cluster.find<Endpoints>(name) != nullptr) == (service != nullptr));
        }
        // That of the API itself is nobody's of ours.
        if (const auto api = cluster.find<Service>("kubernetes")) owners.erase(api->metadata.uid);
        RC_ASSERT(owners == services);
      },
      2);
}

// --- what they say of ports and pods ---

// How a Service names the port of a pod: by itself, by another number, by a name.
struct PortShape {
  bool udp = false;
  int number = 0;      // 0: not said
  std::string text{};  // instead
};
struct PodShape {
  int address = 1;
  std::map<std::string, int> ports{};  // by name, TCP
  bool ready = true;
};

void showValue(const PortShape& port, std::ostream& out) {
  out << (port.udp ? "udp " : "tcp ");
  if (port.text.empty())
    out << port.number;
  else
    out << port.text;
}
void showValue(const PodShape& pod, std::ostream& out) {
  out << pod.address << (pod.ready ? " ready" : " not ready");
  for (const auto& [name, number] : pod.ports) out << " " << name << ":" << number;
}

PortShape any_port() {
  return {.udp = *gen::weightedElement<bool>({{4, false}, {1, true}}),
          .number = *gen::element(0, 4'000),
          .text = *gen::element<std::string>("", "", "a", "a", "b")};
}
PodShape any_pod() {
  PodShape pod{.address = *gen::inRange(1, 120), .ready = *gen::arbitrary<bool>()};
  for (const char* name : {"a", "b"})
    if (*gen::weightedElement<bool>({{3, true}, {1, false}}))
      pod.ports[name] = name[0] == 'b' ? 5'000 : *gen::element(4'000, 4'001);
  return pod;
}

struct Happening {
  enum class Kind : std::uint8_t {
    put_pod,     // in the place of that of its name
    turn_ready,  // or not ready any more
    let_pod_end,
    put_ports,
    publish,  // those that are not ready, or no longer
  };
  Kind kind = Kind::put_pod;
  std::string name{};
  PodShape pod{};
  std::vector<PortShape> ports{};
};
constexpr const char* happening_names[] = {"put ", "turn ", "let end ", "ports", "publish"};

void showValue(const Happening& one, std::ostream& out) {
  using Kind = Happening::Kind;
  out << happening_names[static_cast<int>(one.kind)];
  if (one.kind < Kind::put_ports) out << one.name << " ";
  if (one.kind == Kind::put_pod) showValue(one.pod, out);
  if (one.kind == Kind::put_ports) out << " " << rc::toString(one.ports);
}

rc::Gen<std::vector<PortShape>> any_ports() {
  return gen::resize(3, gen::container<std::vector<PortShape>>(
                            gen::resize(rc::kNominalSize, gen::exec(any_port))));
}

rc::Gen<Happening> any_happening() {
  using Kind = Happening::Kind;
  return gen::build<Happening>(
      gen::set(&Happening::kind, gen::weightedElement<Kind>({{6, Kind::put_pod},
                                                             {3, Kind::turn_ready},
                                                             {1, Kind::let_pod_end},
                                                             {2, Kind::put_ports},
                                                             {1, Kind::publish}})),
      gen::set(&Happening::name, gen::element<std::string>("p0", "p1", "p2", "p3")),
      gen::set(&Happening::pod, gen::resize(rc::kNominalSize, gen::exec(any_pod))),
      gen::set(&Happening::ports, any_ports()));
}

std::vector<ServicePort> service_ports(const std::vector<PortShape>& shapes) {
  std::vector<ServicePort> ports;
  for (const PortShape& shape : shapes) {
    const int n = static_cast<int>(ports.size());
    ServicePort& port = ports.emplace_back();
    port.name = "port" + std::to_string(n);
    port.protocol = shape.udp ? "UDP" : "TCP";
    port.port = 10 + n;
    if (!shape.text.empty())
      port.targetPort = IntOrString{.text = shape.text, .is_text = true};
    else if (shape.number != 0)
      port.targetPort = IntOrString{.number = shape.number};
  }
  return ports;
}

// As a kubelet would write it.
void write_ready(Cluster& cluster, const Pod& pod, const std::string& address, bool ready) {
  const auto next = std::static_pointer_cast<Pod>(pod.clone());
  next->status.phase = "Running";
  next->status.podIP = address;
  next->status.podIPs = {{address}};
  PodCondition condition;
  condition.type_ = "Ready";
  condition.status = ready ? "True" : "False";
  next->status.conditions = {condition};
  cluster.call(api::update(next, "status"));
}

void put_pod(Cluster& cluster, const std::string& name, const PodShape& shape) {
  if (const auto old = cluster.find<Pod>(name)) {
    api::DeleteOptions at_once;
    at_once.grace_period_seconds = 0;
    cluster.call(api::remove(*old, at_once));
  }
  const auto pod = std::make_shared<Pod>();
  pod->metadata.name = name;
  pod->metadata.namespace_ = "default";
  pod->metadata.labels = StringMap{{"app", names[0]}};
  Container container{.name = "c", .image = "busybox"};
  for (const auto& [port, number] : shape.ports)
    container.ports.push_back({.name = port, .containerPort = number, .protocol = "TCP"});
  pod->spec.edit().containers = {std::move(container)};
  pod->spec.edit().nodeName = "n";
  cluster.call(api::create(pod));
  write_ready(cluster, *cluster.find<Pod>(name), "10.244.0." + std::to_string(shape.address),
              shape.ready);
}

// Addresses, ports and readiness, one line for each of each; sorted.
using Lines = std::multiset<std::string>;

std::string port_text(const std::string& name, const std::string& protocol, int number) {
  return name + "=" + protocol + "/" + std::to_string(number);
}

// What the Service's ports are in that pod.
std::vector<std::string> ports_in(const Service& service, const PodShape& pod) {
  std::vector<std::string> texts;
  for (const ServicePort& port : service.spec->ports) {
    int number = port.port;
    if (port.targetPort && port.targetPort->is_text) {
      const auto named = pod.ports.find(port.targetPort->text);
      if (named == pod.ports.end() || port.protocol != "TCP") continue;
      number = named->second;
    } else if (port.targetPort) {
      number = port.targetPort->number;
    }
    texts.push_back(port_text(port.name, port.protocol, number));
  }
  return texts;
}

void check_endpoints(const Cluster& cluster, const Service& service,
                     const std::map<std::string, PodShape>& shapes) {
  const bool all = service.spec->publishNotReadyAddresses;
  Lines wanted, found;
  for (const auto& pod : cluster.all<Pod>()) {
    const PodShape& shape = shapes.at(pod->metadata.name);
    if (pod->metadata.deletionTimestamp && !all) continue;
    const std::string text = (shape.ready || all ? "ready " : "not ready ") + pod->metadata.name +
                             " " + pod->status.podIP + " ";
    for (const std::string& port : ports_in(service, shape)) wanted.insert(text + port);
    if (service.spec->ports.empty()) wanted.insert(text);
  }
  std::set<std::string> ports, addresses;
  std::size_t ports_count = 0;
  const auto endpoints = cluster.find<Endpoints>(service.metadata.name);
  for (const EndpointSubset& subset : endpoints->subsets) {
    std::vector<std::string> here;
    for (const EndpointPort& port : subset.ports)
      here.push_back(port_text(port.name, port.protocol, port.port));
    ports.insert(here.begin(), here.end());
    ports_count += here.size();
    if (here.empty()) here.emplace_back();
    std::string together;
    for (const bool ready : {true, false}) {
      std::string last;
      for (const EndpointAddress& address : ready ? subset.addresses : subset.notReadyAddresses) {
        const std::string text =
            (ready ? "ready " : "not ready ") + (*address.targetRef).name + " " + address.ip + " ";
        together += text;
        for (const std::string& port : here) found.insert(text + port);
        RC_ASSERT(last <= address.ip);
        last = address.ip;
      }
    }
    // Ports with the same addresses behind them share a subset.
    RC_ASSERT(addresses.insert(together).second);
  }
  RC_ASSERT(ports.size() == ports_count);
  RC_ASSERT(found == wanted);
}

void check_slices(const Cluster& cluster, const Service& service,
                  const std::map<std::string, PodShape>& shapes) {
  Lines wanted, found;
  const auto line = [](const std::string& pod, const std::string& ip, bool ready, bool serving,
                       bool terminating, std::vector<std::string> ports) {
    std::sort(ports.begin(), ports.end());
    std::string text = pod + " " + ip + (ready ? " ready" : "") + (serving ? " serving" : "") +
                       (terminating ? " terminating" : "");
    for (const std::string& port : ports) text += " " + port;
    return text;
  };
  for (const auto& pod : cluster.all<Pod>()) {
    const PodShape& shape = shapes.at(pod->metadata.name);
    const bool ends = pod->metadata.deletionTimestamp.has_value();
    wanted.insert(line(pod->metadata.name, pod->status.podIP,
                       (shape.ready && !ends) || service.spec->publishNotReadyAddresses,
                       shape.ready, ends, ports_in(service, shape)));
  }
  for (const auto& slice : cluster.all<EndpointSlice>()) {
    if (*slice->metadata.label("kubernetes.io/service-name") != service.metadata.name) continue;
    std::vector<std::string> ports;
    for (const SlicePort& port : slice->ports)
      ports.push_back(port_text(*port.name, *port.protocol, *port.port));
    for (const Endpoint& endpoint : slice->endpoints)
      found.insert(line((*endpoint.targetRef).name, endpoint.addresses.at(0),
                        *endpoint.conditions.ready, *endpoint.conditions.serving,
                        *endpoint.conditions.terminating, ports));
  }
  RC_ASSERT(found == wanted);
}

TEST(EndpointsProperties, TheyTellEachPodsPortsAndWhetherItIsReady) {
  holds(
      [] {
        using Kind = Happening::Kind;
        Cluster cluster(*gen::inRange<std::uint64_t>(1, 1000).as("seed"));
        const auto service = service_object(names[0], true);
        service->spec.edit().ports = service_ports(*any_ports().as("ports"));
        cluster.call(api::create(service));
        std::map<std::string, PodShape> shapes;
        for (const Happening& one :
             *gen::resize(20, gen::container<std::vector<Happening>>(any_happening()))
                  .as("happenings")) {
          const auto pod = cluster.find<Pod>(one.name);
          const auto next =
              std::static_pointer_cast<Service>(cluster.find<Service>(names[0])->clone());
          if (one.kind == Kind::put_pod) {
            put_pod(cluster, one.name, one.pod);
            shapes[one.name] = one.pod;
          }
          if (one.kind == Kind::turn_ready && pod) {
            bool& ready = shapes[one.name].ready;
            ready = !ready;
            write_ready(cluster, *pod, pod->status.podIP, ready);
          }
          if (one.kind == Kind::let_pod_end && pod) cluster.call(api::remove(*pod));
          if (one.kind == Kind::put_ports) next->spec.edit().ports = service_ports(one.ports);
          if (one.kind == Kind::publish)
            next->spec.edit().publishNotReadyAddresses = !next->spec->publishNotReadyAddresses;
          if (one.kind >= Kind::put_ports) cluster.call(api::update(next));
          cluster.rest(5s);
          const auto now = cluster.find<Service>(names[0]);
          check_endpoints(cluster, *now, shapes);
          check_slices(cluster, *now, shapes);
        }
      },
      2);
}

// --- mirrors of what is made by hand ---

struct Behind {
  bool ready = true;
  std::string hostname{};
};
// One subset a port; its addresses by the last of their numbers.
using Subset = std::map<int, Behind>;
struct ByHand {
  StringMap labels{}, annotations{};
  std::map<int, Subset> subsets{};  // by port
};

void showValue(const ByHand& shape, std::ostream& out) {
  for (const auto& [name, value] : shape.labels) out << "label " << name << "=" << value << " ";
  for (const auto& [name, value] : shape.annotations) out << "note " << name << "=" << value << " ";
  for (const auto& [port, subset] : shape.subsets)
    for (const auto& [address, behind] : subset)
      out << address << ":" << port << (behind.ready ? " " : " (not ready) ") << behind.hostname
          << " ";
}

constexpr const char* last_applied = "kubectl.kubernetes.io/last-applied-configuration";

StringMap any_of(const std::vector<std::string>& keys) {
  StringMap map;
  for (const std::string& key : keys)
    if (const auto value = *gen::element<std::string>("", "a", "b"); !value.empty())
      map.insert_or_assign(key, value);
  return map;
}
Subset any_subset() {
  Subset subset;
  for (int address = 1; address <= 3; ++address)
    if (*gen::arbitrary<bool>())
      subset[address] = {.ready = *gen::weightedElement<bool>({{3, true}, {1, false}}),
                         .hostname = *gen::element<std::string>("", "", "h")};
  return subset;
}

// Of the one before a part or all.
ByHand any_after(ByHand shape) {
  const int part = *gen::inRange(0, 4);
  if (part == 0 || part == 1) shape.labels = any_of({"tier", "app"});
  if (part == 0 || part == 2) shape.annotations = any_of({"note", last_applied});
  if (part == 0 || part == 3) {
    shape.subsets.clear();
    for (const int port : {80, 81})
      if (Subset subset = any_subset(); !subset.empty()) shape.subsets[port] = std::move(subset);
  }
  return shape;
}

std::shared_ptr<Endpoints> object_of(const ByHand& shape) {
  const auto endpoints = endpoints_object(names[0]);
  endpoints->metadata.labels = shape.labels;
  endpoints->metadata.annotations = shape.annotations;
  endpoints->subsets.clear();
  for (const auto& [port, addresses] : shape.subsets) {
    EndpointSubset subset{.ports = {{.name = "p", .port = port, .protocol = "TCP"}}};
    for (const auto& [number, behind] : addresses)
      (behind.ready ? subset.addresses : subset.notReadyAddresses)
          .push_back({.ip = "10.9.0." + std::to_string(number), .hostname = behind.hostname});
    endpoints->subsets.push_back(std::move(subset));
  }
  return endpoints;
}

void check_mirrors(const Cluster& cluster, const ByHand& shape) {
  StringMap labels = shape.labels, annotations = shape.annotations;
  labels.insert_or_assign("kubernetes.io/service-name", names[0]);
  labels.insert_or_assign("endpointslice.kubernetes.io/managed-by",
                          "endpointslicemirroring-controller.k8s.io");
  annotations.erase(last_applied);
  const auto line = [](const std::string& ip, bool ready, const std::string& hostname, int port) {
    return ip + (ready ? " ready " : " not ready ") + hostname + ":" + std::to_string(port);
  };
  Lines wanted, found;
  for (const auto& [port, subset] : shape.subsets)
    for (const auto& [number, behind] : subset)
      wanted.insert(line("10.9.0." + std::to_string(number), behind.ready, behind.hostname, port));
  for (const auto& slice : cluster.all<EndpointSlice>()) {
    if (*slice->metadata.label("kubernetes.io/service-name") != names[0]) continue;
    RC_ASSERT(*slice->metadata.labels == labels);
    RC_ASSERT(*slice->metadata.annotations == annotations);
    for (const Endpoint& endpoint : slice->endpoints)
      found.insert(line(endpoint.addresses.at(0), *endpoint.conditions.ready,
                        endpoint.hostname ? *endpoint.hostname : "", *slice->ports.at(0).port));
  }
  RC_ASSERT(found == wanted);
}

TEST(EndpointsProperties, AMirrorSaysWhatIsMadeByHand) {
  holds(
      [] {
        Cluster cluster(*gen::inRange<std::uint64_t>(1, 1000).as("seed"));
        cluster.call(api::create(service_object(names[0], false)));
        ByHand shape;
        const int changes = *gen::inRange(1, 8).as("changes");
        for (int i = 0; i < changes; ++i) {
          shape = *gen::exec([&] { return any_after(shape); }).as("made by hand");
          cluster.call(i == 0 ? api::create(object_of(shape)) : api::update(object_of(shape)));
          cluster.rest(10s);
          check_mirrors(cluster, shape);
        }
      },
      2);
}

}  // namespace
}  // namespace ddptwin::property
