#include "dns_run.hpp"

#include <algorithm>
#include <boost/json.hpp>
#include <cctype>

#include "cluster/store/store.hpp"
#include "core/virtual_start.hpp"

namespace ddptwin::property {
namespace {

using dns::RecordType;

constexpr std::string_view only_node = "n0";
const std::vector<std::string> service_names{"s0", "s1"}, pod_names{"p0", "p1", "p2"};

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

WorldOptions options_of(std::uint64_t seed) {
  WorldOptions options;
  options.seed = seed;
  options.nodes = {{.name = std::string(only_node), .kubelet = false}};
  return options;
}

}  // namespace

void showValue(const DnsChange& change, std::ostream& out) {
  out << change_names[static_cast<int>(change.kind)] << " " << change.namespace_ << "/"
      << (change.kind <= DnsChange::Kind::publish_not_ready ? change.service : change.pod)
      << " shape " << change.shape;
}

rc::Gen<DnsChange> any_dns_change() {
  using Kind = DnsChange::Kind;
  return gen::build<DnsChange>(
      gen::set(&DnsChange::kind, gen::weightedElement<Kind>({{3, Kind::create_service},
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
      gen::set(&DnsChange::namespace_,
               gen::weightedElement<std::string>({{3, "default"}, {1, "other"}})),
      gen::set(&DnsChange::service, gen::elementOf(service_names)),
      gen::set(&DnsChange::pod, gen::elementOf(pod_names)),
      gen::set(&DnsChange::shape, gen::resize(rc::kNominalSize, gen::inRange(0, 12))));
}

void showValue(const DnsSeen& seen, std::ostream& out) {
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

DnsRun::DnsRun(std::uint64_t seed)
    : loop_(Random(seed).split("loop"), virtual_start), world_(loop_, options_of(seed), nullptr) {
  world_.store().seal();
  DDPTWIN_ASSERT(world_.start().has_value());
  DDPTWIN_ASSERT(world_.add_namespace("other").has_value());
  settle();
}

DnsSeen DnsRun::ask(const std::string& name, RecordType type) {
  std::string mixed = name;
  for (std::size_t i = name.size() % 3; i < mixed.size(); i += 3)
    mixed[i] = static_cast<char>(std::toupper(static_cast<unsigned char>(mixed[i])));
  std::optional<dns::Answer> answer;
  world_.resolver().ask({{*dns::Name::parse(mixed), type, dns::class_in}, "test"},
                        [&](std::optional<dns::Answer> got) { answer = std::move(got); });
  loop_.drain();
  RC_ASSERT(answer.has_value());
  DnsSeen seen{answer->rcode, {}};
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

DnsRun::Heard DnsRun::hear(const dns::Question& question) {
  Heard heard;
  const Time asked = loop_.now();
  world_.resolver().ask({question, "test"}, [&](std::optional<dns::Answer> got) {
    heard = {std::move(got), loop_.now() - asked};
  });
  loop_.run_until(asked + 1min);
  return heard;
}

void DnsRun::create_service(const DnsChange& change) {
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

void DnsRun::create_pod(const DnsChange& change) {
  auto pod = std::make_shared<Pod>();
  pod->metadata.name = change.pod;
  pod->metadata.namespace_ = change.namespace_;
  pod->metadata.labels =
      StringMap{{"app", service_names[static_cast<std::size_t>(change.shape % 2)]}};
  PodSpec& spec = pod->spec.edit();
  spec.nodeName = only_node;
  if (change.shape % 3 != 0) spec.rest.edit().hostname = "h" + std::to_string(change.shape % 3);
  if (change.shape % 4 != 0)
    spec.rest.edit().subdomain = service_names[static_cast<std::size_t>(change.shape / 4 % 2)];
  Container container;
  container.name = "c";
  container.image = "busybox";
  if (change.shape % 5 != 0)
    container.ports = {{.name = "named", .containerPort = 4000, .protocol = "UDP"}};
  spec.containers.edit().push_back(std::move(container));
  call(api::create(pod));
}

// As a kubelet would write it.
void DnsRun::write_status(const DnsChange& change) {
  using Kind = DnsChange::Kind;
  const auto known = pod(change);
  if (!known) return;
  const bool started = !known->status.rest->podIP.empty();
  const auto* condition = known->status.condition("Ready");
  const bool ready = condition != nullptr && condition->status == "True";
  const bool over = known->status.phase == "Succeeded";
  if (over || started == (change.kind == Kind::start_pod)) return;
  // An end that nobody can see in the readiness goes unnoticed
  // (sim/controller/manager/endpoints/README.md).
  if (change.kind == Kind::end_pod && !ready) return;
  auto next = std::static_pointer_cast<Pod>(known->clone());
  next->status.phase = change.kind == Kind::end_pod ? "Succeeded" : "Running";
  if (!started) {
    next->status.rest.edit().podIP = "10.244.0." + std::to_string(++last_address_ % 250);
    next->status.rest.edit().podIPs = {{next->status.rest->podIP.str()}};
  }
  PodCondition now;
  now.type_ = "Ready";
  now.status = change.kind == Kind::ready_pod ? "True" : "False";
  next->status.conditions = {now};
  call(api::update(next, "status"));
}

void DnsRun::apply(const DnsChange& change) {
  using Kind = DnsChange::Kind;
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

}  // namespace ddptwin::property
