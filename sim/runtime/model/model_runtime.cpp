#include "runtime/model/model_runtime.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <csignal>

#include "core/text_table.hpp"
#include "objects/image_reference.hpp"
#include "runtime/model/chosen_processes.hpp"
#include "runtime/model/commands.hpp"
#include "runtime/model/kernel.hpp"
#include "runtime/process/container_rules.hpp"
#include "runtime/process/pod_addresses.hpp"
#include "runtime/process/start_error.hpp"

namespace ddptwin {
namespace {

using model::ExitStatus;
using model::Kernel;
using model::ModelContainer;
using model::ModelPod;
using model::ProcessId;

std::string reason_of(const ExitStatus& status) {
  if (status.out_of_memory) return "OOMKilled";
  return status.shown() == 0 ? "Completed" : "Error";
}

struct KnownImage {
  Image image{};
  std::optional<model::Workload> workload{};
  bool missing = false;  // no registry has it
  bool pulled = false;
  ImageStatus status{};
};

// A command in a container, beside its own processes.
struct Command {
  std::shared_ptr<std::string> output = std::make_shared<std::string>();
  Done<ExecResult> done{};
  Timer limit{};
  Lane lane{};
  bool timed_out = false;
};

}  // namespace

struct ModelRuntime::Parts {
  Parts(Loop& l, Random random, Options options);

  ModelPod* pod(const SandboxId& id) const;
  ModelPod* pod_of(std::string_view uid) const {
    const auto found = pods_by_uid.find(uid);
    return found == pods_by_uid.end() ? nullptr : pods[found->second].get();
  }
  ModelContainer* container(const ContainerId& id) const;
  ModelContainer* running(const ContainerId& id) const {
    ModelContainer* found = container(id);
    return found != nullptr && found->report.phase == ContainerPhase::running ? found : nullptr;
  }
  KnownImage* known(const std::string& reference);
  std::string new_id(const std::string& of);

  void started(std::uint32_t number, Done<void> done);
  void ended(ModelContainer& container, const ExitStatus& status);
  void over(std::uint32_t number);
  void printed(const ModelContainer& container);
  void tell_lines(std::uint32_t number);
  void process_ended(ProcessId id, const ExitStatus& status);
  void strike(const ContainerId& id, const ProcessChoice& choice, Done<void> done, const auto& act);
  void kill(ModelContainer& container);
  void kill_all(ModelPod& pod);
  void forget(ModelContainer& container);
  static std::string name_of(const ModelPod& pod) {
    return fmt::format("{}/{}", pod.config.namespace_, pod.config.name);
  }
  std::string name_at(const std::string& address) const;
  void tell(const RuntimeEvent& event) const {
    if (listener) listener(event);
  }
  void tell_of_node(const ModelContainer& container, NodeResource resource) {
    RuntimeEvent event = model::event_of(container, RuntimeEvent::Kind::node_is_short);
    event.resource = resource;
    loop.post(container.pod->lane, [this, event] { tell(event); });
  }

  template <class T>
  void answer(Lane to, Done<T> done, Result<T> result) {
    loop.post(to, [done = std::move(done), result = std::move(result)]() mutable {
      done(std::move(result));
    });
  }

  Loop& loop;
  Lane lane;
  std::function<void(const RuntimeEvent&)> listener{};
  std::uint64_t ids = 0;
  PodAddresses addresses{PodAddresses::ranges_limit};
  std::map<std::string, KnownImage, std::less<>>
      images{};  // by described_image(), canonical_image()
  std::map<std::string, std::string, std::less<>> canonical{};  // what references were called
  std::vector<std::unique_ptr<ModelPod>> pods{};                // by number; null: removed
  std::vector<std::unique_ptr<ModelContainer>> containers{};    // by number; null: removed
  TextTable<std::uint32_t> pod_numbers{}, container_numbers{};  // by id
  std::map<std::string, std::uint32_t, std::less<>> pods_by_uid{};
  std::map<ProcessId, std::unique_ptr<Command>> commands{};
  std::map<std::string, std::string, std::less<>> names{};  // of who had each address last
  std::function<void(const Options::BrokenConnection&)> connection_broke;
  Kernel kernel;  // last: its processes end first
};

ModelRuntime::Parts::Parts(Loop& l, Random random, Options options)
    : loop(l),
      lane(l.new_lane()),
      connection_broke(std::move(options.connection_broke)),
      kernel(
          l, random.split("model_runtime"), options.model, std::move(options.lookup),
          options.step_lines,
          {.ended = [this](ModelContainer& c, const ExitStatus& s) { ended(c, s); },
           .printed = [this](ModelContainer& c) { printed(c); },
           .process_ended = [this](ProcessId id, const ExitStatus& s) { process_ended(id, s); },
           .connection_broke =
               [this](const ModelContainer& c, const std::string& address, std::string_view how) {
                 if (connection_broke) connection_broke({name_of(*c.pod), name_at(address), how});
               },
           .cpus = std::move(options.cpus),
           .on_disk =
               [this](const std::string& node) {
                 return model::disk_use(node, pods, kernel.files());
               },
           .node_is_short = [this](const ModelContainer& c,
                                   NodeResource resource) { tell_of_node(c, resource); }}) {}

ModelRuntime::ModelRuntime(Loop& loop, Random random, Options options)
    : parts_(std::make_unique<Parts>(loop, random, std::move(options))) {}
ModelRuntime::~ModelRuntime() = default;

ModelPod* ModelRuntime::Parts::pod(const SandboxId& id) const {
  const auto found = pod_numbers.find(id);
  return found == pod_numbers.end() ? nullptr : pods[found->second].get();
}

ModelContainer* ModelRuntime::Parts::container(const ContainerId& id) const {
  const auto found = container_numbers.find(id.view());
  return found == container_numbers.end() ? nullptr : containers[found->second].get();
}

std::string ModelRuntime::Parts::name_at(const std::string& address) const {
  const auto found = names.find(address);
  return found == names.end() ? address : found->second;
}

KnownImage* ModelRuntime::Parts::known(const std::string& reference) {
  auto name = canonical.find(reference);
  if (name == canonical.end())
    name = canonical.emplace(reference, canonical_image(reference)).first;
  auto found = images.find(name->second);
  if (found == images.end()) {
    // Each tag of a description is an image of its own, pulled by itself.
    const auto described = images.find(ImageReference::cut(reference).repository());
    if (described == images.end() || described->second.missing) return nullptr;
    const KnownImage& of = described->second;
    found = images
                .emplace(name->second, KnownImage{.image = of.image,
                                                  .workload = of.workload,
                                                  .status = image_status(name->second)})
                .first;
  }
  return found->second.missing ? nullptr : &found->second;
}

std::string ModelRuntime::Parts::new_id(const std::string& of) { return hex_name(of, ++ids); }

void ModelRuntime::listen(std::function<void(const RuntimeEvent&)> listener) {
  parts_->listener = std::move(listener);
}

model::Network& ModelRuntime::network() { return parts_->kernel.network(); }

std::string ModelRuntime::address_of(const std::string& pod_uid) const {
  const ModelPod* pod = parts_->pod_of(pod_uid);
  return pod == nullptr ? std::string() : pod->address;
}

SandboxId ModelRuntime::sandbox_of(const std::string& pod_uid) const {
  const ModelPod* pod = parts_->pod_of(pod_uid);
  return pod == nullptr ? SandboxId() : pod->id;
}

// --- images ---

void ModelRuntime::add_image(const std::string& reference, Image image,
                             std::optional<model::Workload> workload) {
  parts_->images.insert_or_assign(described_image(reference),
                                  KnownImage{.image = std::move(image),
                                             .workload = std::move(workload),
                                             .status = image_status(canonical_image(reference))});
}

void ModelRuntime::add_missing_image(const std::string& reference) {
  parts_->images.insert_or_assign(described_image(reference), KnownImage{.missing = true});
}

std::optional<ImageStatus> ModelRuntime::image(const std::string& reference) {
  const KnownImage* known = parts_->known(reference);
  if (known == nullptr || !(known->pulled || known->image.present)) return std::nullopt;
  return known->status;
}

void ModelRuntime::pull_image(const std::string& reference, const SandboxMetadata&,
                              Done<ImageStatus> done) {
  KnownImage* known = parts_->known(reference);
  if (known == nullptr) {
    return parts_->answer<ImageStatus>(parts_->lane, std::move(done),
                                       fail(image_not_found(canonical_image(reference))));
  }
  known->pulled = true;
  const Duration time = parts_->kernel.model().timing->image_pull;
  if (time == Duration::zero())
    return parts_->answer<ImageStatus>(parts_->lane, std::move(done), known->status);
  // Nobody cancels a pull: its timer lives until it fires.
  auto timer = std::make_shared<Timer>();
  *timer = parts_->loop.after(
      parts_->lane, time,
      [timer, status = known->status, done = std::move(done)]() mutable { done(status); });
}

// --- sandboxes ---

void ModelRuntime::run_sandbox(SandboxOrder order, Done<SandboxStatus> done) {
  SandboxConfig config = std::move(order).config();
  Parts& parts = *parts_;
  Result<std::string> address = parts.addresses.take(config);
  if (!address)
    return parts.answer<SandboxStatus>(parts.lane, std::move(done), fail(address.error()));
  auto made = std::make_unique<ModelPod>();
  ModelPod& pod = *made;
  pod.id = parts.new_id(config.uid.str());
  pod.number = static_cast<std::uint32_t>(parts.pods.size());
  pod.config = std::move(config);
  pod.lane = parts.loop.new_lane();
  pod.address = std::move(*address);
  parts.pod_numbers.emplace(pod.id, pod.number);
  parts.pods_by_uid.insert_or_assign(pod.config.uid.str(), pod.number);
  parts.pods.push_back(std::move(made));
  parts.names.insert_or_assign(pod.address, parts.name_of(pod));
  parts.kernel.network().attach(pod.address);
  pod.timer = parts.loop.after(pod.lane, parts.kernel.model().timing->sandbox,
                               [status = SandboxStatus{pod.id, pod.address},
                                done = std::move(done)]() mutable { done(std::move(status)); });
}

void ModelRuntime::Parts::kill(ModelContainer& container) {
  if (container.processes.empty()) return;
  kernel.hit(container);
  kernel.signal(container.processes.front(), SIGKILL);
}

void ModelRuntime::Parts::kill_all(ModelPod& pod) {
  pod.stopping = true;
  const std::vector<ModelContainer*> inside = pod.containers;
  for (ModelContainer* one : inside) kill(*one);
  // The node answers when its pods are gone.
  if (!pod.config.host_network) kernel.network().detach(pod.address);
}

void ModelRuntime::stop_sandbox(const SandboxId& id, Done<void> done) {
  ModelPod* pod = parts_->pod(id);
  if (pod == nullptr) return parts_->answer<void>(parts_->lane, std::move(done), {});
  if (!pod->stopping) parts_->kill_all(*pod);
  parts_->answer<void>(pod->lane, std::move(done), {});
}

void ModelRuntime::sandbox_dies(const SandboxId& id) {
  ModelPod* pod = parts_->pod(id);
  if (pod == nullptr || pod->stopping) return;
  parts_->kill_all(*pod);
  RuntimeEvent event;
  event.kind = RuntimeEvent::Kind::sandbox_died;
  event.pod_uid = pod->config.uid;
  parts_->loop.post(pod->lane,
                    [parts = parts_.get(), event = std::move(event)] { parts->tell(event); });
}

bool ModelRuntime::is_ready(const SandboxId& id) const {
  const ModelPod* pod = parts_->pod(id);
  return pod != nullptr && !pod->stopping;
}

void ModelRuntime::remove_sandbox(const SandboxId& id) {
  Parts& parts = *parts_;
  ModelPod* pod = parts.pod(id);
  if (pod == nullptr) return;
  if (!pod->stopping) parts.kill_all(*pod);
  const std::vector<ModelContainer*> inside = pod->containers;
  for (ModelContainer* one : inside) parts.forget(*one);
  parts.addresses.give_back(pod->address);
  if (parts.pod_of(pod->config.uid.view()) == pod) {
    parts.kernel.files().forget_pod(pod->config.uid.str());
    parts.pods_by_uid.erase(pod->config.uid.str());
  }
  parts.pod_numbers.erase(id);
  // What is already posted for its containers looks them up, and its lane lives on.
  parts.loop.post(pod->lane, [&parts, number = pod->number] { parts.pods[number].reset(); });
}

// --- containers ---

void ModelRuntime::create_container(const SandboxId& sandbox, ContainerOrder order,
                                    Done<ContainerId> done) {
  Parts& parts = *parts_;
  ModelPod* pod = parts.pod(sandbox);
  if (pod == nullptr || pod->stopping) {
    return parts.answer<ContainerId>(
        parts.lane, std::move(done),
        fail(Reason::not_found, fmt::format("failed to find sandbox id \"{}\": not found", sandbox),
             "NotFound"));
  }
  static const Image none;
  auto made = std::make_unique<ModelContainer>();
  ModelContainer& container = *made;
  container.id = parts.new_id(pod->config.uid.str());
  container.number = static_cast<std::uint32_t>(parts.containers.size());
  container.pod = pod;
  container.config = std::move(order).config();
  RuntimeMount hostname;  // the runtime's own
  hostname.container_path = "/etc/hostname";
  hostname.content = pod->config.hostname + "\n";
  container.config.mounts.push_back(std::move(hostname));
  container.report.id = container.id;
  container.report.created_at = parts.loop.now();
  const KnownImage* known = parts.known(
      container.config.user_image.empty() ? container.config.image : container.config.user_image);
  container.image = known == nullptr ? &none : &known->image;
  if (known != nullptr && known->workload) container.workload = &*known->workload;
  pod->containers.push_back(&container);
  parts.container_numbers.emplace(container.id.str(), container.number);
  parts.containers.push_back(std::move(made));
  parts.answer<ContainerId>(pod->lane, std::move(done), container.id);
}

void ModelRuntime::start_container(const ContainerId& id, Done<void> done) {
  Parts& parts = *parts_;
  ModelContainer* container = parts.container(id);
  if (container == nullptr)
    return parts.answer<void>(parts.lane, std::move(done), fail(no_such_container(id)));
  container->start =
      parts.loop.after(container->pod->lane, parts.kernel.model().timing->container,
                       [&parts, number = container->number, done = std::move(done)]() mutable {
                         parts.started(number, std::move(done));
                       });
}

void ModelRuntime::Parts::started(std::uint32_t number, Done<void> done) {
  if (containers[number] == nullptr || containers[number]->pod->stopping)
    return done(fail(Reason::not_found, "the container was killed while it started", "NotFound"));
  ModelContainer& container = *containers[number];
  ContainerConfig& config = container.config;
  const auto refuse = [&](const std::string& message) {
    start_failed(container.report, message, loop.now());
    done(fail(Reason::unknown, message, "Unknown"));
  };
  if (const std::string why = too_little_to_start(config.memory_limit); !why.empty())
    return refuse(why);
  std::vector<std::string> argv = command_line(*container.image, config.command, config.args);
  model::CommandContext context{container.image, container.workload, false, config.role};
  context.folder = config.working_dir;
  if (container.workload != nullptr && container.workload->stands_in) {
    container.report.stands_in = model::stands_in(argv, context);
    if (argv.empty()) argv.emplace_back("entrypoint");
  }
  auto program = model::make_program(argv, context);
  if (!program)
    return refuse(argv.empty() ? program.error().message
                               : cannot_execute(argv.front(), program.error().message));
  Kernel::Start start;
  start.argv = std::move(argv);
  container.environment = container_environment(*container.image, container.pod->config.hostname,
                                                std::move(config.env));
  start.env = container.environment;
  start.program = std::move(*program);
  const ProcessId process = kernel.make(container, std::move(start));
  container.report.phase = ContainerPhase::running;
  container.report.started_at = loop.now();
  done({});
  if (kernel.find(process) != nullptr) kernel.begin(process);
}

// Its end is told when all that it printed has been.
void ModelRuntime::Parts::ended(ModelContainer& container, const ExitStatus& status) {
  ContainerReport& report = container.report;
  report.exit_code = status.shown();
  report.reason = reason_of(status);
  report.finished_at = loop.now();
  if (!container.config.termination_log.empty()) {
    auto written = kernel.files().read(container, container.config.termination_log);
    if (written) report.termination_log = termination_text(*written);
  }
  container.grace.cancel();
  const Duration reap = kernel.model().timing->reap;
  if (reap == Duration::zero())
    return loop.post(container.pod->lane, [this, number = container.number] { over(number); });
  auto timer = std::make_shared<Timer>();  // nobody cancels it
  *timer = loop.after(container.pod->lane, reap,
                      [this, timer, number = container.number] { over(number); });
}

void ModelRuntime::Parts::over(std::uint32_t number) {
  if (containers[number] == nullptr) return;
  ModelContainer& container = *containers[number];
  container.report.phase = ContainerPhase::exited;
  for (Done<void>& done : std::exchange(container.stops, {}))
    answer<void>(container.pod->lane, std::move(done), {});
  tell(model::event_of(container, RuntimeEvent::Kind::container_exited));
  kernel.told(container);
  if (containers[number] != nullptr && container.removed) forget(container);
}

void ModelRuntime::Parts::printed(const ModelContainer& container) {
  loop.post(container.pod->lane, [this, number = container.number] { tell_lines(number); });
}

void ModelRuntime::Parts::tell_lines(std::uint32_t number) {
  ModelContainer* container = containers[number].get();
  if (container == nullptr) return;
  RuntimeEvent event = model::event_of(*container, RuntimeEvent::Kind::log_line);
  for (model::PrintedLine& line : std::exchange(container->untold, {})) {
    event.line = std::move(line.text);
    event.standard_error = line.standard_error;
    const ContextScope of_this_line(loop);
    tell(event);
    kernel.told(*container);
  }
}

void ModelRuntime::stop_container(const ContainerId& id, std::int64_t grace_period,
                                  Done<void> done) {
  Parts& parts = *parts_;
  ModelContainer* container = parts.running(id);
  if (container == nullptr) return parts.answer<void>(parts.lane, std::move(done), {});
  container->stops.push_back(std::move(done));
  parts.kernel.hit(*container);
  const ProcessId process = container->processes.front();
  const int number = grace_period > 0 ? stop_signal_number(container->config.stop_signal) : SIGKILL;
  if (grace_period > 0)
    container->grace =
        parts.loop.after(container->pod->lane, std::chrono::seconds(grace_period),
                         [&parts, process] { parts.kernel.signal(process, SIGKILL); });
  // Not now: the caller is told later even of an end that comes at once.
  parts.loop.post(container->pod->lane,
                  [&parts, process, number] { parts.kernel.signal(process, number); });
}

// Who is not there is answered with NotFound.
void ModelRuntime::Parts::strike(const ContainerId& id, const ProcessChoice& choice,
                                 Done<void> done, const auto& act) {
  ModelContainer* container = running(id);
  std::vector<ProcessId> meant;
  if (container != nullptr) meant = model::meant_by(kernel, *container, choice);
  if (container == nullptr || (meant.empty() && !choice.is_first()))
    return answer<void>(lane, std::move(done),
                        fail(Reason::not_found, "no such process", "NotFound"));
  kernel.hit(*container);
  for (const ProcessId process : meant) act(process);
  answer<void>(container->pod->lane, std::move(done), {});
}

void ModelRuntime::signal_container(const ContainerId& id, int number, const ProcessChoice& choice,
                                    Done<void> done) {
  const auto act = [&](ProcessId process) { parts_->kernel.signal(process, number); };
  parts_->strike(id, choice, std::move(done), act);
}

bool ModelRuntime::is_alive(const ContainerId& id) const {
  const ModelContainer* container = parts_->running(id);
  return container != nullptr && parts_->kernel.find(container->processes.front()) != nullptr;
}

void ModelRuntime::exit_container(const ContainerId& id, int code, Done<void> done) {
  const auto act = [&](ProcessId process) { parts_->kernel.end(process, {code & 0xff}); };
  parts_->strike(id, {}, std::move(done), act);
}

void ModelRuntime::remove_container(const ContainerId& id) {
  ModelContainer* container = parts_->container(id);
  if (container == nullptr) return;
  if (container->report.phase != ContainerPhase::running) return parts_->forget(*container);
  container->removed = true;
  parts_->kill(*container);
}

void ModelRuntime::Parts::forget(ModelContainer& container) {
  container.start.cancel();
  std::erase(container.pod->containers, &container);
  kernel.files().forget_container(container);
  container_numbers.erase(container.id.str());
  // Its ended processes may still be on the stack, or wait to be buried on this lane.
  loop.post(container.pod->lane, [this, number = container.number] { containers[number].reset(); });
}

const ContainerReport* ModelRuntime::report(const ContainerId& id) const {
  const ModelContainer* container = parts_->container(id);
  return container == nullptr ? nullptr : &container->report;
}

std::string ModelRuntime::log_tail(const ContainerId& id, std::size_t lines,
                                   std::size_t bytes) const {
  const ModelContainer* container = parts_->container(id);
  return container == nullptr ? std::string() : container->log.tail(lines, bytes);
}

void ModelRuntime::update_volume(const std::string& pod_uid,
                                 std::shared_ptr<const VolumeSource> source) {
  const ModelPod* pod = parts_->pod_of(pod_uid);
  if (pod == nullptr) return;
  for (ModelContainer* container : pod->containers) {
    for (RuntimeMount& mount : container->config.mounts) {
      // What a subPath mounts keeps the content that it began with (spec/kubernetes.md §2.10).
      const bool follows = mount.source != nullptr && mount.sub_path.empty();
      if (follows && mount.source->name == source->name) mount.source = source;
    }
  }
}

void ModelRuntime::usage(std::vector<SharedText> pod_uids, Done<std::vector<PodUsage>> done) {
  std::vector<PodUsage> usage;
  for (const SharedText& uid : pod_uids) {
    const ModelPod* pod = parts_->pod_of(uid.view());
    if (pod != nullptr && !pod->stopping)
      usage.push_back(model::usage_of(*pod, parts_->kernel.files()));
  }
  parts_->answer<std::vector<PodUsage>>(parts_->lane, std::move(done), std::move(usage));
}

NodeWatch ModelRuntime::watch_node(const std::string& node, NodeResource resource,
                                   std::int64_t bytes) {
  return parts_->kernel.watch_node(node, resource, bytes);
}

// --- commands in containers ---

void ModelRuntime::exec(const ContainerId& id, std::vector<std::string> command, Duration timeout,
                        Done<ExecResult> done) {
  Parts& parts = *parts_;
  ModelContainer* container = parts.running(id);
  if (container == nullptr || container->processes.front() == 0)
    return parts.answer<ExecResult>(parts.lane, std::move(done), fail(no_such_container(id)));
  auto program = model::make_exec(command, *container->image);
  // What is not here is not asked.
  if (!program && container->workload != nullptr && container->workload->stands_in)
    program = model::make_exit(0);
  if (!program) {
    Result<ExecResult> refused = fail(program.error());
    if (const std::string name = command.empty() ? "" : command.front();
        program.error().reason == Reason::not_found)
      refused = fail(Reason::unknown, cannot_execute(name, program.error().message), "Unknown");
    return parts.answer<ExecResult>(container->pod->lane, std::move(done), std::move(refused));
  }
  auto running = std::make_unique<Command>();
  running->done = std::move(done);
  running->lane = container->pod->lane;
  Kernel::Start start;
  start.argv = std::move(command);
  start.env = container->environment;
  start.program = std::move(*program);
  start.new_session = true;
  const auto sink = std::make_shared<model::Sink>(
      model::Sink{.to = model::Sink::To::text, .text = running->output});
  start.output.sink = start.error_output.sink = sink;
  const ProcessId process = parts.kernel.make(*container, std::move(start));
  if (timeout > Duration::zero()) {
    running->limit = parts.loop.after(running->lane, timeout, [&parts, process] {
      const auto late = parts.commands.find(process);
      if (late == parts.commands.end()) return;
      late->second->timed_out = true;
      parts.kernel.signal(process, SIGKILL);
    });
  }
  parts.commands.emplace(process, std::move(running));
  parts.loop.post(container->pod->lane, [&parts, process] {
    if (parts.kernel.find(process) != nullptr) parts.kernel.begin(process);
  });
}

void ModelRuntime::Parts::process_ended(ProcessId id, const ExitStatus& status) {
  const auto found = commands.find(id);
  if (found == commands.end()) return;
  const std::unique_ptr<Command> over = std::move(found->second);
  commands.erase(found);
  over->limit.cancel();
  answer<ExecResult>(over->lane, std::move(over->done),
                     ExecResult{status.shown(), *over->output, over->timed_out});
}

}  // namespace ddptwin
