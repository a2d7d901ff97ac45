#include "scenario/run/virtual_run.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "dns/resolver.hpp"
#include "runtime/model/model_runtime.hpp"
#include "scenario/language/cluster_options.hpp"
#include "scenario/language/fault_yaml.hpp"
#include "scenario/run/images.hpp"
#include "scenario/run/judged_faults.hpp"
#include "scenario/run/namespaces.hpp"
#include "scenario/run/trace_hash.hpp"

namespace ddptwin::scenario {
namespace {

// More callbacks than this at one instant, and the run is taken to be stuck: the largest worlds
// need some hundred thousand.
constexpr std::uint64_t callbacks_at_once_max = 20'000'000;

const model::TorchProfile& profile_of(const Scenario& scenario, const VirtualOptions& options) {
  const std::string& name = options.torch.empty() ? scenario.torch : options.torch;
  if (name == model::torch_1.name) return model::torch_1;
  return name == model::torch_1_debian.name ? model::torch_1_debian : model::torch_2;
}

// What pods cost in real runs of ddptwin, so that both modes order things alike. Read off the
// traces of worker-killed-exitcode.yaml and demo.yaml on two cores: 20-32 ms from the end of a
// process to "ended" (libtorch's memory is given back), 16-56 ms from there to the start of the
// next one, 34-63 ms for the first nslookup of a pod. With less a worker that is made again would
// be back before its peers have noticed its death, 12 to 42 ms after it (peer_loss); a machine
// under load shows that too.
const model::Timing& twin_timing() {
  static const model::Timing timing = [] {
    model::Timing made = model::host_timing;
    made.sandbox = 15ms;
    made.container = 25ms;
    made.reap = 25ms;
    made.program_start = 15ms;
    return made;
  }();
  return timing;
}

const model::Timing& timing_of(const Scenario& scenario) {
  return scenario.machine == model::cluster_timing.name ? model::cluster_timing : twin_timing();
}

model::DnsAnswer answer_of(const std::optional<dns::Answer>& answer) {
  using model::DnsOutcome;
  if (!answer) return {DnsOutcome::lost, {}};
  if (answer->rcode == dns::Rcode::nx_domain) return {DnsOutcome::nx_domain, {}};
  if (answer->rcode != dns::Rcode::no_error) return {DnsOutcome::failure, {}};
  model::DnsAnswer found{DnsOutcome::found, {}};
  for (const dns::ResourceRecord& record : answer->answers)
    if (const auto* address = std::get_if<dns::Ipv4>(&record.data))
      found.addresses.push_back(dns::to_text(*address));
  if (found.addresses.empty()) found.outcome = DnsOutcome::no_data;
  return found;
}

}  // namespace

// Members end in the reverse order of their making.
struct VirtualRun::Parts {
  Parts(const Scenario& s, const VirtualOptions& options)
      : scenario(s),
        torch(profile_of(s, options)),
        seed(options.seed),
        judges_faults(options.faults == nullptr && !s.faults.faults.empty()),
        loop(Random(options.seed).split("loop"), virtual_start),
        runtime(loop, Random(options.seed).split("runtime"), runtime_options(options)),
        injector(make_injector(options)),
        world(loop, world_options(options), &runtime),
        client(world.client("user")),
        engine(loop, world.trace(), *client, scenario, ports_of(runtime, world.metrics()), [] {}) {
    if (injector) injector->attach(world, ports());
    if (options.hash) {
      hash = std::make_unique<TraceHash>();
      world.trace().add_sink([this](const Record& record) { hash->on_record(record); });
    }
  }

  // What os.cpu_count() says in a pod there: all that the node has, whatever the pod's limit
  // (ddp-semantics §9.5).
  int cpus_of(const std::string& name) const {
    const ObjectPtr found = world.find(Node::info(), "", name);
    const Node* node = found == nullptr ? nullptr : as<Node>(*found);
    if (node == nullptr) return model::Model{}.cpus;
    const auto cpu = node->status.capacity->find("cpu");
    if (cpu == node->status.capacity->end()) return model::Model{}.cpus;
    return static_cast<int>(std::max<std::int64_t>(cpu->second.value(), 1));
  }

  ModelRuntime::Options runtime_options(const VirtualOptions& options) {
    ModelRuntime::Options made;
    made.model.torch = &torch;
    made.model.timing = &timing_of(scenario);
    if (options.cpus)
      made.cpus = [cpus = *options.cpus](const std::string&) { return cpus; };
    else
      made.cpus = [this](const std::string& node) { return cpus_of(node); };
    made.lookup = [this](const model::DnsQuestion& question,
                         UniqueFunction<void(model::DnsAnswer)> done) {
      ask(question, std::move(done));
    };
    made.connection_broke = [this](const ModelRuntime::Options::BrokenConnection& one) {
      const std::string subject = fmt::format("{} -> {}", one.from, one.to);
      world.trace().write({.kind = RecordKind::connection,
                           .actor = "network",
                           .subject = subject,
                           .text = one.how});
    };
    return made;
  }

  WorldOptions world_options(const VirtualOptions& options) {
    WorldOptions made = cluster_options(scenario, options.seed);
    made.faults = injector.get();
    made.kubelet.connect = [this](const std::string& host, std::uint16_t port, Duration timeout,
                                  Done<int> done) {
      connect(host, port, timeout, std::move(done));
    };
    made.kubelet.ask = [this](const PortRequest& request, Duration timeout,
                              UniqueFunction<void(Result<PortReply>)> done) {
      if (!probe_lane) probe_lane = loop.new_lane();
      runtime.network().ask(request, timeout, *probe_lane, std::move(done));
    };
    return made;
  }

  // A node reaches its own pods, whatever is wrong between them and others.
  void connect(const std::string& host, std::uint16_t port, Duration timeout, Done<int> done) {
    if (!probe_lane) probe_lane = loop.new_lane();
    runtime.network().connect(host, host, port, timeout, *probe_lane,
                              [done = std::move(done)](model::Connect outcome) mutable {
                                done(model::errno_of(outcome));
                              });
  }

  std::unique_ptr<FaultInjector> make_injector(const VirtualOptions& options) {
    const FaultPlan& plan = options.faults != nullptr ? *options.faults : scenario.faults;
    if (options.faults == nullptr && plan.faults.empty() && !plan.heal) return nullptr;
    broken = std::any_of(plan.faults.begin(), plan.faults.end(),
                         [](const Fault& fault) { return row_of(fault.kind).port != "process"; });
    return std::make_unique<FaultInjector>(loop, plan);
  }

  RuntimePorts ports() {
    RuntimePorts made;
    made.signal = [this](const RunningContainer& container, int signal) {
      runtime.signal_container(container.id, signal, {}, [](const Result<void>&) {});
    };
    made.signal_chosen = [this](const RunningContainer& container, int signal,
                                const ProcessChoice& choice, Done<void> done) {
      runtime.signal_container(container.id, signal, choice, std::move(done));
    };
    made.is_alive = [this](const RunningContainer& container) {
      return runtime.is_alive(container.id);
    };
    made.exit = [this](const RunningContainer& container, int code) {
      runtime.exit_container(container.id, code, [](const Result<void>&) {});
    };
    made.use(runtime.network());
    return made;
  }

  // As the pod's resolver does over the network: names that are none do not exist.
  void ask(const model::DnsQuestion& question, UniqueFunction<void(model::DnsAnswer)> done) {
    auto name = dns::Name::parse(question.name);
    if (!name) {
      loop.post(dns_lane, [done = std::move(done)]() mutable {
        done({model::DnsOutcome::nx_domain, {}});
      });
      return;
    }
    dns::Query query{{std::move(*name), dns::RecordType::a}, question.client};
    const std::vector<std::string>& nodes = world.options().dns.host.servers;
    const bool is_node = std::find(nodes.begin(), nodes.end(), question.server) != nodes.end();
    (is_node ? world.node_resolver() : world.resolver())
        .ask(std::move(query),
             [done = std::move(done)](const std::optional<dns::Answer>& answer) mutable {
               done(answer_of(answer));
             });
  }

  const Scenario& scenario;
  const model::TorchProfile& torch;
  std::uint64_t seed;
  bool judges_faults;   // those that the scenario has itself
  bool broken = false;  // for a while, by the plan of faults; the end of a process is over at once
  VirtualLoop loop;
  Lane dns_lane = loop.new_lane();
  std::optional<Lane> probe_lane{};  // from the first probe on
  std::unique_ptr<TraceHash> hash{};
  ModelRuntime runtime;
  std::unique_ptr<FaultInjector> injector;  // null: no faults in this run
  World world;
  std::unique_ptr<api::ApiClient> client;
  Engine engine;
  Time instant{};
  std::uint64_t callbacks = 0;  // at this instant
};

VirtualRun::VirtualRun(const Scenario& scenario, const VirtualOptions& options)
    : parts_(std::make_unique<Parts>(scenario, options)) {}
VirtualRun::~VirtualRun() = default;

VirtualLoop& VirtualRun::loop() { return parts_->loop; }
World& VirtualRun::world() { return parts_->world; }
ModelRuntime& VirtualRun::runtime() { return parts_->runtime; }
Engine& VirtualRun::engine() { return parts_->engine; }
const Engine& VirtualRun::engine() const { return parts_->engine; }
FaultInjector* VirtualRun::injector() { return parts_->injector.get(); }

Status VirtualRun::start(const std::function<void()>& ready) {
  Parts& parts = *parts_;
  const auto images = images_of(parts.scenario, "");
  for (const NamedImage& image : images) {
    if (image.missing)
      parts.runtime.add_missing_image(image.name);
    else
      parts.runtime.add_image(image.name, image.image, image.model);
  }
  TRY_VOID(parts.world.start());
  if (ready) ready();
  TRY_VOID(add_namespaces(parts.world, parts.scenario));
  TRY_VOID(add_claims(parts.world, parts.scenario));
  write_notes(parts.world.trace(), images, parts.scenario, Mode::virtual_);
  if (parts.injector) TRY_VOID(parts.injector->start());
  parts.engine.start();
  return {};
}

bool VirtualRun::step() { return !parts_->engine.over() && advance(); }

// One callback, as long as there is no end of them at one instant.
bool VirtualRun::advance() {
  Parts& parts = *parts_;
  if (stuck() || !parts.loop.step()) return false;
  if (parts.loop.now() != parts.instant) {
    parts.instant = parts.loop.now();
    parts.callbacks = 0;
  }
  ++parts.callbacks;
  return true;
}

void VirtualRun::come_to_rest(const std::function<bool()>& stop) {
  Parts& parts = *parts_;
  constexpr Duration slack = std::chrono::seconds(2);
  Time until = parts.loop.now() + (parts.broken ? progress_within + slack : rest_judged_within);
  // Nobody waits here: what has not ended may have all the time that it may stand still.
  const auto standstill = parts.broken ? parts.engine.standstill_at() : std::nullopt;
  if (standstill) until = std::max(until, std::min(*standstill, until + silence_within) + slack);
  const auto goes_on = [&] {
    if (!parts.loop.idle()) return true;
    const auto next = parts.loop.next_timer();
    return next && *next <= until;
  };
  while (goes_on() && advance())
    if (stop && stop()) return;
  if (stuck()) return;
  // Each at its moment, so that the trace tells it then.
  for (auto at = parts.engine.next_alarm(); at && *at < until; at = parts.engine.next_alarm()) {
    parts.loop.run_until(*at);
    parts.engine.pass();
  }
  parts.loop.run_until(until);
  parts.engine.pass();
}

Result<RunResult> VirtualRun::finish(const std::function<bool()>& stop) {
  while (step()) {
    if (stop && stop()) {
      parts_->engine.interrupt();
      return result();
    }
  }
  if (parts_->engine.over()) come_to_rest(stop);
  if (stuck())
    return fail(Reason::internal_error,
                "the run is stuck: there is no end of things to do at one instant, after " +
                    format_go_duration(parts_->loop.now() - parts_->engine.started_at()),
                result().repeat());
  return result();
}

RunResult VirtualRun::result() const {
  RunResult result = result_of(parts_->scenario, parts_->engine);
  result.mode = Mode::virtual_;
  result.seed = parts_->seed;
  result.torch = parts_->torch.name;
  if (parts_->hash) result.trace_hash = trace_hash();
  result.records = records();
  if (parts_->judges_faults)
    result.faults = judged_faults(parts_->scenario.faults, *parts_->injector,
                                  parts_->engine.started_at(), parts_->loop.now());
  return result;
}

std::uint64_t VirtualRun::trace_hash() const { return parts_->hash ? parts_->hash->value() : 0; }
std::uint64_t VirtualRun::records() const { return parts_->world.trace().last(); }
bool VirtualRun::stuck() const { return parts_->callbacks > callbacks_at_once_max; }

Result<RunResult> run_virtually(const Scenario& scenario, const VirtualOptions& options) {
  VirtualRun run(scenario, options);
  TRY_VOID(run.start());
  return run.finish();
}

}  // namespace ddptwin::scenario
