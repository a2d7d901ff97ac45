// Endpoints and slices against the Services and pods that they are made of, whoever was away when
// one went (spec/kubernetes.md §5; upstream's endpoint, endpointslice and mirroring controllers).
#include <map>
#include <ostream>
#include <set>
#include <string>
#include <vector>

#include "endpoints_run.hpp"
#include "property.hpp"

namespace ddptwin::property::endpoints_properties_test {
namespace {

constexpr const char *endpoints_process = EndpointsRun::endpoints_process,
                     *slice_process = EndpointsRun::slice_process,
                     *mirror_process = EndpointsRun::mirror_process;
const std::vector<std::string>& processes = EndpointsRun::processes();
const std::vector<std::string> names{"s0", "s1"};

std::shared_ptr<Endpoints> endpoints_object(const std::string& name) {
  auto endpoints = std::make_shared<Endpoints>();
  endpoints->metadata.name = name;
  endpoints->metadata.namespace_ = "default";
  endpoints->subsets = {{.addresses = {{.ip = "10.9.0.1"}},
                         .ports = {{.name = "job", .port = 23456, .protocol = "TCP"}}}};
  return endpoints;
}

// The Services that have slices of that label.
std::set<std::string> services_with(const EndpointsRun& cluster, const std::string& manager) {
  std::set<std::string> services;
  for (const auto& slice : cluster.all<EndpointSlice>())
    if (*slice->metadata.label("endpointslice.kubernetes.io/managed-by") == manager)
      services.insert(slice->metadata.label("kubernetes.io/service-name")->str());
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
    refuse,     // the process' next write fails
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
                                      "refuse",           "cut watch of"};

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
                                                        {3, Kind::refuse},
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
  EndpointsRun cluster_;
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
  if (step.kind == Kind::refuse) cluster_.watches.refused.insert(step.process);
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
    const auto steps = *gen::resize(24, gen::vector_of(any_step())).as("steps");
    Game game(seed);
    for (const Step& step : steps) {
      game.apply(step);
      game.check();
    }
  });
}

// --- many things at once, all of them told late ---

struct Deed {
  enum class Kind : std::uint8_t {
    make_service,
    delete_service,
    change_service,
    replace_service,  // before anybody but the endpoints' controllers has seen that it was gone
    crash,
    start,
    refuse,
    rest
  };
  Kind kind = Kind::make_service;
  std::string name{};
  std::string process{};
  int ms = 0;
};
constexpr const char* deed_names[] = {"make ",  "delete ", "change ", "replace ",
                                      "crash ", "start ",  "refuse ", "rest "};

void showValue(const Deed& deed, std::ostream& out) {
  out << deed_names[static_cast<int>(deed.kind)];
  if (deed.kind == Deed::Kind::rest)
    out << deed.ms << " ms";
  else
    out << (deed.kind <= Deed::Kind::replace_service ? deed.name : deed.process);
}

rc::Gen<Deed> any_deed() {
  using Kind = Deed::Kind;
  return gen::build<Deed>(
      gen::set(&Deed::kind, gen::weightedElement<Kind>({{3, Kind::make_service},
                                                        {3, Kind::delete_service},
                                                        {2, Kind::change_service},
                                                        {1, Kind::replace_service},
                                                        {1, Kind::crash},
                                                        {2, Kind::start},
                                                        {2, Kind::refuse},
                                                        {3, Kind::rest}})),
      gen::set(&Deed::name, gen::elementOf(names)),
      gen::set(&Deed::process, gen::elementOf(processes)),
      gen::set(&Deed::ms, gen::element(1, 10, 500, 1'500, 4'000)));
}

TEST(EndpointsProperties, NobodyKeepsThemForAServiceThatIsGone) {
  holds(
      [] {
        using Kind = Deed::Kind;
        const auto deeds = *gen::resize(20, gen::vector_of(any_deed())).as("deeds");
        EndpointsRun cluster(*gen::inRange<std::uint64_t>(1, 1000).as("seed"));
        cluster.watches.delays =
            *gen::resize(6, gen::vector_of(gen::element(0, 0, 5, 1'000, 3'000))).as("delays");
        for (const Deed& deed : deeds) {
          const auto service = cluster.find<Service>(deed.name);
          if (deed.kind == Kind::make_service && !service)
            cluster.call(api::create(service_object(deed.name, true)));
          if (deed.kind == Kind::delete_service && service) cluster.call(api::remove(*service));
          if (deed.kind == Kind::change_service && service) {
            const auto next = std::static_pointer_cast<Service>(service->clone());
            bool& all = next->spec.edit().publishNotReadyAddresses;
            all = !all;
            cluster.call(api::update(next));
          }
          if (deed.kind == Kind::replace_service && service) {
            cluster.call(api::remove(*service));
            cluster.rest(0ms);
            cluster.call(api::create(service_object(deed.name, true)));
          }
          if (deed.kind == Kind::crash) cluster.crash(deed.process);
          if (deed.kind == Kind::start) cluster.start(deed.process);
          if (deed.kind == Kind::refuse) cluster.watches.refused.insert(deed.process);
          if (deed.kind == Kind::rest) cluster.rest(std::chrono::milliseconds(deed.ms));
        }
        for (const std::string& process : processes) cluster.start(process);
        cluster.rest(1min);
        std::set<std::string> owners;
        for (const auto& slice : cluster.all<EndpointSlice>()) {
          const bool is_first =
              owners.insert(slice->metadata.ownerReferences->at(0).uid.str()).second;
          RC_ASSERT(is_first);
        }
        std::set<std::string> services;
        for (const std::string& name : names) {
          RC_LOG() << name << "\n";
          const auto service = cluster.find<Service>(name);
          if (service) services.insert(service->metadata.uid.str());
          RC_ASSERT((cluster.find<Endpoints>(name) != nullptr) == (service != nullptr));
        }
        // That of the API itself is nobody's of ours.
        if (const auto api = cluster.find<Service>("kubernetes"))
          owners.erase(api->metadata.uid.str());
        RC_ASSERT(owners == services);
      },
      2);
}

}  // namespace
}  // namespace ddptwin::property::endpoints_properties_test
