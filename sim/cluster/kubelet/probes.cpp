#include "cluster/kubelet/probes.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "cluster/kubelet/node_context.hpp"
#include "cluster/kubelet/phase.hpp"

namespace ddptwin::kubelet {
namespace {

struct KindRow {
  std::string_view name;  // in events
  ProbeResult at_first;   // of a container that has not been probed
};
constexpr std::array<KindRow, 3> kind_rows{{
    {"Liveness", ProbeResult::success},
    {"Readiness", ProbeResult::failure},
    {"Startup", ProbeResult::unknown},
}};
constexpr const KindRow& row(ProbeKind kind) { return kind_rows[static_cast<std::size_t>(kind)]; }

constexpr std::string_view id_scheme = "containerd://";

std::string_view id_of(const ContainerStatus& status) {
  const std::string_view id = status.rest->containerID;
  return id.starts_with(id_scheme) ? id.substr(id_scheme.size()) : id;
}

}  // namespace

struct PodProbes::Worker {
  ProbeKind kind{};
  Container container{};
  Probe probe{};
  ContainerId id{};  // of the container that is probed; empty before there is one
  ProbeResult value{};
  std::optional<ProbeResult> last{};
  int run_length = 0;
  bool on_hold = false;  // until there is another container
  bool in_flight = false;
  bool stopped = false;
  Timer timer{};
  std::shared_ptr<int> alive = std::make_shared<int>(0);  // answers hold it weakly
};

PodProbes::PodProbes(PodHost& host) : host_(host) {}

PodProbes::~PodProbes() = default;

void PodProbes::start() {
  const PodSpec& spec = *host_.pod()->spec;
  for (const auto* list : {&spec.initContainers, &spec.containers})
    for (const Container& container : *list) {
      add(ProbeKind::startup, container, container.startupProbe);
      add(ProbeKind::readiness, container, container.readinessProbe);
      add(ProbeKind::liveness, container, container.livenessProbe);
    }
}

void PodProbes::add(ProbeKind kind, const Container& container, const Rare<Probe>& probe) {
  if (!probe) return;
  Worker& worker = *workers_.emplace_back(std::make_unique<Worker>());
  worker.kind = kind;
  worker.container = container;
  worker.probe = *probe;
  schedule(worker, Duration{0});
}

void PodProbes::stop_liveness_and_startup() {
  for (const auto& worker : workers_)
    if (worker->kind != ProbeKind::readiness) {
      worker->stopped = true;
      worker->timer.cancel();
    }
}

void PodProbes::stop() { workers_.clear(); }

PodProbes::Worker* PodProbes::find(ProbeKind kind, std::string_view container) const {
  for (const auto& worker : workers_)
    if (worker->kind == kind && worker->container.name == container) return worker.get();
  return nullptr;
}

std::optional<ProbeResult> PodProbes::result(ProbeKind kind, const ContainerId& id) const {
  for (const auto& worker : workers_)
    if (worker->kind == kind && !worker->id.empty() && worker->id == id) return worker->value;
  return std::nullopt;
}

Readiness PodProbes::readiness(const Container& container, const ContainerStatus& status) {
  const std::string_view id = id_of(status);
  Readiness found{true, true};
  if (const Worker* startup = find(ProbeKind::startup, container.name))
    found.started = startup->id == id && startup->value == ProbeResult::success;
  if (Worker* ready = find(ProbeKind::readiness, container.name)) {
    found.ready = ready->id == id && ready->value == ProbeResult::success;
    if (found.started && !found.ready)
      host_.node().loop.post(host_.node().lane,
                             [this, ready, alive = std::weak_ptr<int>(ready->alive)] {
                               if (!alive.expired()) look(*ready);
                             });
  }
  return found;
}

void PodProbes::schedule(Worker& worker, Duration delay) {
  if (worker.stopped) return;
  Worker* target = &worker;
  worker.timer =
      host_.node().loop.after(host_.node().lane, delay, [this, target] { tick(*target); });
}

// A container that the probe has not met before is taken over with the first value of its kind.
void PodProbes::adopt(Worker& worker, const ContainerId& id) {
  worker.id = id;
  worker.value = row(worker.kind).at_first;
  worker.on_hold = false;
  worker.last.reset();
  worker.run_length = 0;
  if (worker.kind == ProbeKind::readiness)
    host_.probe_changed(worker.kind, worker.id, worker.value);
}

void PodProbes::tick(Worker& worker) {
  const PodStatus* told = host_.told_status();
  if (told != nullptr && is_terminal_phase(told->phase)) return;
  schedule(worker, std::chrono::seconds(std::max(worker.probe.periodSeconds, 1)));
  look(worker);
}

void PodProbes::look(Worker& worker) {
  const PodStatus* told = host_.told_status();
  if (told == nullptr || worker.in_flight || worker.stopped) return;
  const ContainerStatus* status = find_status(told->containerStatuses, worker.container.name);
  if (status == nullptr) status = find_status(told->initContainerStatuses, worker.container.name);
  if (status == nullptr) return;
  const ContainerId id(id_of(*status));
  // What is told may change below.
  const std::optional<ContainerStateRunning> running = status->state.running;
  const bool started = status->started.value_or(false);
  if (id.empty()) return;
  if (worker.id != id) adopt(worker, id);
  if (worker.on_hold) return;
  if (!running) return set(worker, ProbeResult::failure);
  const Time since = running->startedAt.value_or(Time{});
  if (host_.node().loop.now() - since < std::chrono::seconds(worker.probe.initialDelaySeconds))
    return;
  if (started != (worker.kind == ProbeKind::startup)) run(worker);
}

void PodProbes::run(Worker& worker) {
  worker.in_flight = true;
  const PodStatus* told = host_.told_status();
  const std::string pod_ip = told->rest->podIP.str();
  const ProbeSubject subject{*host_.pod(), worker.container, worker.id, pod_ip};
  host_.node().prober.probe(subject, worker.probe,
                            [this, target = &worker, alive = std::weak_ptr<int>(worker.alive),
                             id = worker.id](Result<ProbeAnswer> answer) {
                              if (alive.expired()) return;
                              target->in_flight = false;
                              answered(*target, id, answer);
                            });
}

void PodProbes::answered(Worker& worker, const ContainerId& id, const Result<ProbeAnswer>& answer) {
  if (worker.stopped || worker.id != id) return;
  const std::string_view name = row(worker.kind).name;
  if (!answer) {
    host_.probe_failed(worker.container,
                       fmt::format("{} probe errored: {}", name, answer.error().message));
    return;
  }
  if (!answer->success)
    host_.probe_failed(worker.container, fmt::format("{} probe failed: {}", name, answer->output));
  const ProbeResult result = answer->success ? ProbeResult::success : ProbeResult::failure;
  worker.run_length = worker.last == result ? worker.run_length + 1 : 1;
  worker.last = result;
  const int wanted =
      answer->success ? worker.probe.successThreshold : worker.probe.failureThreshold;
  if (worker.run_length < wanted) return;
  // What a failed liveness probe or a decided startup probe says stands until the next container.
  if (worker.kind == ProbeKind::startup ||
      (worker.kind == ProbeKind::liveness && result == ProbeResult::failure)) {
    worker.on_hold = true;
    worker.run_length = 0;
  }
  set(worker, result);
}

void PodProbes::set(Worker& worker, ProbeResult result) {
  if (worker.value == result) return;
  worker.value = result;
  host_.probe_changed(worker.kind, worker.id, result);
}

}  // namespace ddptwin::kubelet
