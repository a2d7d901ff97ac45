// What Endpoints, slices and mirrors say of the ports and pods behind a Service, or of what
// somebody made by hand (spec/kubernetes.md §5; upstream's endpoint, endpointslice and mirroring
// controllers).
#include <algorithm>
#include <boost/json.hpp>
#include <map>
#include <ostream>
#include <set>
#include <string>
#include <vector>

#include "endpoints_run.hpp"
#include "objects/codec.hpp"
#include "property.hpp"

namespace ddptwin::property::endpoint_contents_properties_test {
namespace {

const std::string service_name = "s0";

// --- what they say of ports and pods ---

// How a Service names the port of a pod: by itself, by another number, by a name.
struct PortShape {
  bool udp = false;
  int number = 0;      // 0: not said
  std::string text{};  // instead
};
// Whose ports a pod's are: what initialises has none once the pod runs.
enum class Holder : std::uint8_t { container, sidecar, init_container };
struct PodShape {
  int address = 1;
  std::map<std::string, int> ports{};  // by name, TCP
  Holder holder = Holder::container;
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
  if (pod.holder == Holder::sidecar) out << " sidecar";
  if (pod.holder == Holder::init_container) out << " init";
  for (const auto& [name, number] : pod.ports) out << " " << name << ":" << number;
}

StringMap any_of(const std::vector<std::string>& keys) {
  StringMap map;
  for (const std::string& key : keys)
    if (const auto value = *gen::element<std::string>("", "a", "b"); !value.empty())
      map.insert_or_assign(key, value);
  return map;
}

PortShape any_port() {
  return {.udp = *gen::weightedElement<bool>({{4, false}, {1, true}}),
          .number = *gen::element(0, 4'000),
          .text = *gen::element<std::string>("", "", "a", "a", "b")};
}
PodShape any_pod() {
  PodShape pod{.address = *gen::inRange(1, 120),
               .holder = *gen::weightedElement<Holder>(
                   {{3, Holder::container}, {1, Holder::sidecar}, {1, Holder::init_container}}),
               .ready = *gen::arbitrary<bool>()};
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
    publish,    // those that are not ready, or no longer
    put_label,  // on the Service
    meddle,     // somebody empties a slice
    delete_slice,
    let_go,  // of what a finalizer held
  };
  Kind kind = Kind::put_pod;
  std::string name{};
  PodShape pod{};
  std::vector<PortShape> ports{};
  bool held = false;  // by a finalizer: a slice that is deleted
  // Then its controller ends and begins anew: it knows of no earlier writes.
  bool forgotten = false;
  int which = 0;  // of the slices
};
constexpr const char* happening_names[] = {"put ",  "turn ",  "let end ",      "ports", "publish",
                                           "label", "meddle", "delete slice ", "let go"};

void showValue(const Happening& one, std::ostream& out) {
  using Kind = Happening::Kind;
  out << happening_names[static_cast<int>(one.kind)];
  if (one.kind < Kind::put_ports) out << one.name << " ";
  if (one.kind == Kind::put_pod) showValue(one.pod, out);
  if (one.kind == Kind::put_ports) out << " " << rc::toString(one.ports);
  if (one.kind == Kind::delete_slice)
    out << one.which << (one.held ? ", held" : "") << (one.forgotten ? ", forgotten" : "");
}

rc::Gen<std::vector<PortShape>> any_ports() {
  return gen::resize(3, gen::vector_of(gen::resize(rc::kNominalSize, gen::exec(any_port))));
}

rc::Gen<Happening> any_happening() {
  using Kind = Happening::Kind;
  return gen::build<Happening>(
      gen::set(&Happening::kind, gen::weightedElement<Kind>({{6, Kind::put_pod},
                                                             {3, Kind::turn_ready},
                                                             {1, Kind::let_pod_end},
                                                             {2, Kind::put_ports},
                                                             {1, Kind::publish},
                                                             {1, Kind::put_label},
                                                             {1, Kind::meddle},
                                                             {2, Kind::delete_slice},
                                                             {1, Kind::let_go}})),
      gen::set(&Happening::name, gen::element<std::string>("p0", "p1", "p2", "p3")),
      gen::set(&Happening::pod, gen::resize(rc::kNominalSize, gen::exec(any_pod))),
      gen::set(&Happening::ports, any_ports()),
      gen::set(&Happening::held, gen::weightedElement<bool>({{2, true}, {1, false}})),
      gen::set(&Happening::forgotten, gen::arbitrary<bool>()),
      gen::set(&Happening::which, gen::resize(rc::kNominalSize, gen::inRange(0, 100))));
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
void write_ready(EndpointsRun& cluster, const Pod& pod, const std::string& address, bool ready) {
  const auto next = std::static_pointer_cast<Pod>(pod.clone());
  next->status.phase = "Running";
  next->status.rest.edit().podIP = address;
  next->status.rest.edit().podIPs = {{address}};
  PodCondition condition;
  condition.type_ = "Ready";
  condition.status = ready ? "True" : "False";
  next->status.conditions = {condition};
  cluster.call(api::update(next, "status"));
}

void put_pod(EndpointsRun& cluster, const std::string& name, const PodShape& shape) {
  if (const auto old = cluster.find<Pod>(name)) {
    api::DeleteOptions at_once;
    at_once.grace_period_seconds = 0;
    cluster.call(api::remove(*old, at_once));
  }
  const auto pod = std::make_shared<Pod>();
  pod->metadata.name = name;
  pod->metadata.namespace_ = "default";
  pod->metadata.labels = StringMap{{"app", service_name}};
  Container container{.name = "c", .image = "busybox"};
  for (const auto& [port, number] : shape.ports)
    container.ports.edit().push_back({.name = port, .containerPort = number, .protocol = "TCP"});
  if (shape.holder != Holder::container) {
    Container other{.name = "i", .image = "busybox"};
    std::swap(other.ports, container.ports);
    if (shape.holder == Holder::sidecar) other.restartPolicy = "Always";
    pod->spec.edit().initContainers = {std::move(other)};
  }
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
      const bool open = named != pod.ports.end() && pod.holder != Holder::init_container;
      if (!open || port.protocol != "TCP") continue;
      number = named->second;
    } else if (port.targetPort) {
      number = port.targetPort->number;
    }
    texts.push_back(port_text(port.name, port.protocol, number));
  }
  return texts;
}

void check_endpoints(const EndpointsRun& cluster, const Service& service,
                     const std::map<std::string, PodShape>& shapes) {
  const bool all = service.spec->publishNotReadyAddresses;
  Lines wanted, found;
  for (const auto& pod : cluster.all<Pod>()) {
    const PodShape& shape = shapes.at(pod->metadata.name.str());
    if (pod->metadata.deletionTimestamp && !all) continue;
    const std::string text = (shape.ready || all ? "ready " : "not ready ") + pod->metadata.name +
                             " " + pod->status.rest->podIP.str() + " ";
    for (const std::string& port : ports_in(service, shape)) wanted.insert(text + port);
    if (service.spec->ports.empty()) wanted.insert(text);
  }
  std::set<std::string> ports, addresses;
  std::size_t ports_count = 0;
  const auto endpoints = cluster.find<Endpoints>(service.metadata.name.str());
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

using SlicePtr = std::shared_ptr<const EndpointSlice>;

// Of the Service, being deleted or not.
std::vector<SlicePtr> slices_of(const EndpointsRun& cluster, const std::string& service,
                                bool ending) {
  std::vector<SlicePtr> found;
  for (const SlicePtr& slice : cluster.all<EndpointSlice>())
    if (*slice->metadata.label("kubernetes.io/service-name") == service &&
        slice->metadata.deletionTimestamp.has_value() == ending)
      found.push_back(slice);
  return found;
}

// What is being deleted is nobody's to fill: it stays as it was (kubernetes#108779). A controller
// that has written it waits until it is gone; one that has not looks after the others.
class HeldSlices {
 public:
  bool are_waited_for() const { return waited_for_; }
  void remove(EndpointsRun& cluster, const Happening& one) {
    const auto slices = slices_of(cluster, service_name, false);
    if (slices.empty()) return;
    const SlicePtr& slice = slices[static_cast<std::size_t>(one.which) % slices.size()];
    const std::string name = slice->metadata.name.str();
    if (one.held) {
      const auto held = std::static_pointer_cast<EndpointSlice>(slice->clone());
      held->metadata.finalizers = {"ddptwin.test/held"};
      cluster.call(api::update(held));
    }
    cluster.call(api::remove(*slice));
    if (one.held) texts_[name] = text_of(*cluster.find<EndpointSlice>(name));
    waited_for_ = waited_for_ || one.held;
    if (!one.forgotten) return;
    cluster.crash(EndpointsRun::slice_process);
    cluster.start(EndpointsRun::slice_process);
    waited_for_ = false;
  }
  void let_go(EndpointsRun& cluster) {
    for (const SlicePtr& slice : slices_of(cluster, service_name, true)) {
      const auto free = std::static_pointer_cast<EndpointSlice>(slice->clone());
      free->metadata.finalizers.edit().clear();
      cluster.call(api::update(free));
    }
    texts_.clear();
    waited_for_ = false;
  }
  void check(const EndpointsRun& cluster) const {
    std::map<std::string, std::string> found;
    for (const SlicePtr& slice : slices_of(cluster, service_name, true))
      found[slice->metadata.name.str()] = text_of(*slice);
    RC_ASSERT(found == texts_);
  }

 private:
  static std::string text_of(const EndpointSlice& slice) {
    return boost::json::serialize(to_json(slice));
  }
  std::map<std::string, std::string> texts_{};  // by name
  bool waited_for_ = false;
};

void check_slices(const EndpointsRun& cluster, const Service& service,
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
    const PodShape& shape = shapes.at(pod->metadata.name.str());
    const bool ends = pod->metadata.deletionTimestamp.has_value();
    wanted.insert(line(pod->metadata.name.str(), pod->status.rest->podIP.str(),
                       (shape.ready && !ends) || service.spec->publishNotReadyAddresses,
                       shape.ready, ends, ports_in(service, shape)));
  }
  for (const auto& slice : slices_of(cluster, service.metadata.name.str(), false)) {
    const Text *label = slice->metadata.label("tier"), *of = service.metadata.label("tier");
    RC_ASSERT((label == nullptr ? "" : *label) == (of == nullptr ? "" : *of));
    std::vector<std::string> ports;
    for (const SlicePort& port : slice->ports)
      ports.push_back(port_text(*port.name, *port.protocol, *port.port));
    for (const Endpoint& endpoint : slice->endpoints)
      found.insert(line((*endpoint.targetRef).name.str(), endpoint.addresses.at(0).str(),
                        *endpoint.conditions.ready, *endpoint.conditions.serving,
                        *endpoint.conditions.terminating, ports));
  }
  RC_ASSERT(found == wanted);
}

TEST(EndpointContents, TheyTellEachPodsPortsAndWhetherItIsReady) {
  holds(
      [] {
        using Kind = Happening::Kind;
        EndpointsRun cluster(*gen::inRange<std::uint64_t>(1, 1000).as("seed"));
        const auto service = service_object(service_name, true);
        service->spec.edit().ports = service_ports(*any_ports().as("ports"));
        cluster.call(api::create(service));
        std::map<std::string, PodShape> shapes;
        HeldSlices held;
        for (const Happening& one :
             *gen::resize(20, gen::vector_of(any_happening())).as("happenings")) {
          const auto pod = cluster.find<Pod>(one.name);
          const auto next =
              std::static_pointer_cast<Service>(cluster.find<Service>(service_name)->clone());
          if (one.kind == Kind::put_pod) {
            put_pod(cluster, one.name, one.pod);
            shapes[one.name] = one.pod;
          }
          if (one.kind == Kind::turn_ready && pod) {
            bool& ready = shapes[one.name].ready;
            ready = !ready;
            write_ready(cluster, *pod, pod->status.rest->podIP.str(), ready);
          }
          if (one.kind == Kind::let_pod_end && pod) cluster.call(api::remove(*pod));
          if (one.kind == Kind::put_ports) next->spec.edit().ports = service_ports(one.ports);
          if (one.kind == Kind::publish)
            next->spec.edit().publishNotReadyAddresses = !next->spec->publishNotReadyAddresses;
          if (one.kind == Kind::put_label) next->metadata.labels = any_of({"tier"});
          if (one.kind == Kind::delete_slice) held.remove(cluster, one);
          if (one.kind == Kind::let_go) held.let_go(cluster);
          if (one.kind == Kind::meddle) {
            for (const auto& slice : slices_of(cluster, service_name, false)) {
              const auto emptied = std::static_pointer_cast<EndpointSlice>(slice->clone());
              emptied->endpoints.clear();
              cluster.call(api::update(emptied));
            }
          } else if (one.kind >= Kind::put_ports && one.kind < Kind::meddle) {
            cluster.call(api::update(next));
          }
          // Not to the moment of the pod garbage collector's look, which comes every 20 s.
          cluster.rest(4'900ms);
          const auto now = cluster.find<Service>(service_name);
          check_endpoints(cluster, *now, shapes);
          if (!held.are_waited_for()) check_slices(cluster, *now, shapes);
          held.check(cluster);
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
  const auto endpoints = std::make_shared<Endpoints>();
  endpoints->metadata.name = service_name;
  endpoints->metadata.namespace_ = "default";
  endpoints->metadata.labels = shape.labels;
  endpoints->metadata.annotations = shape.annotations;
  for (const auto& [port, addresses] : shape.subsets) {
    EndpointSubset subset{.ports = {{.name = "p", .port = port, .protocol = "TCP"}}};
    for (const auto& [number, behind] : addresses)
      (behind.ready ? subset.addresses : subset.notReadyAddresses)
          .push_back({.ip = "10.9.0." + std::to_string(number), .hostname = behind.hostname});
    endpoints->subsets.push_back(std::move(subset));
  }
  return endpoints;
}

void check_mirrors(const EndpointsRun& cluster, const ByHand& shape) {
  StringMap labels = shape.labels, annotations = shape.annotations;
  labels.insert_or_assign("kubernetes.io/service-name", service_name);
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
    if (*slice->metadata.label("kubernetes.io/service-name") != service_name) continue;
    RC_ASSERT(*slice->metadata.labels == labels);
    RC_ASSERT(*slice->metadata.annotations == annotations);
    for (const Endpoint& endpoint : slice->endpoints)
      found.insert(line(endpoint.addresses.at(0).str(), *endpoint.conditions.ready,
                        endpoint.hostname ? *endpoint.hostname : "", *slice->ports.at(0).port));
  }
  RC_ASSERT(found == wanted);
}

TEST(EndpointContents, AMirrorSaysWhatIsMadeByHand) {
  holds(
      [] {
        EndpointsRun cluster(*gen::inRange<std::uint64_t>(1, 1000).as("seed"));
        cluster.call(api::create(service_object(service_name, false)));
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
}  // namespace ddptwin::property::endpoint_contents_properties_test
