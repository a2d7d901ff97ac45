#include "cluster/kubelet/kubelet.hpp"

#include <algorithm>

#include "api/informer.hpp"
#include "cluster/kubelet/admission.hpp"
#include "cluster/kubelet/container_stop.hpp"
#include "cluster/kubelet/evictor.hpp"
#include "cluster/kubelet/pod_table.hpp"
#include "cluster/kubelet/pod_worker.hpp"
#include "cluster/kubelet/volumes.hpp"

namespace ddptwin::kubelet {
namespace {

constexpr Duration view_poll = 1ms;  // until the first lists are in

// Whom no kubelet has admitted yet and nobody has told to end.
bool is_newcomer(const Pod& pod) {
  const bool admitted = !pod.status.phase.empty() && pod.status.rest->startTime;
  return !admitted && !pod.metadata.deletionTimestamp;
}

}  // namespace

struct Kubelet::Machine {
  Machine(Loop& loop_, api::ApiClient& client_, Trace& trace_, PodRuntime& runtime_,
          KubeletOptions options_)
      : loop(loop_),
        client(client_),
        trace(trace_),
        runtime(runtime_),
        options(std::move(options_)),
        lane(loop.new_lane()),
        view(options.view ? options.view : std::make_shared<ClusterView>(loop_, client_, runtime_)),
        inventory(runtime_),
        devices(options.node_name) {}

  Loop& loop;
  api::ApiClient& client;
  Trace& trace;
  PodRuntime& runtime;
  KubeletOptions options;
  Lane lane;
  std::shared_ptr<ClusterView> view;
  Inventory inventory;
  Devices devices;
};

// All that a kubelet keeps in memory.
class Kubelet::Process {
 public:
  explicit Process(Machine& machine)
      : machine_(machine),
        random_(machine.options.random),
        events_(machine.loop, machine.client, "kubelet", machine.options.node_name),
        images_(machine.loop, machine.runtime, clocks().back_off, clocks().back_off_max),
        restarts_(clocks().back_off, clocks().back_off_max),
        prober_(machine.loop, machine.lane, machine.runtime, machine.options.connect,
                machine.options.ask),
        node_(std::make_shared<NodeContext>(
            NodeParts{.loop = machine.loop,
                      .clocks = clocks(),
                      .lane = machine.lane,
                      .began = machine.loop.now(),
                      .inventory = machine.inventory,
                      .devices = machine.devices,
                      .client = machine.client,
                      .runtime = machine.runtime,
                      .view = *machine.view,
                      .events = events_,
                      .trace = machine.trace,
                      .options = machine.options,
                      .images = images_,
                      .restarts = restarts_,
                      .prober = prober_,
                      .random = random_,
                      .look = [this] { run_relist(); },
                      .is_short = [this](NodeResource what) { evictor_.is_short(what); }})),
        pods_(machine.loop, machine.client, pods_target(machine), pods_options(machine)) {
    machine.view->start();
    listening_ = machine.view->listen([this](const Object& object) { on_view(object); });
    pods_.add_handler(
        [this](const ObjectPtr& before, const ObjectPtr& after) { on_pod(before, after); });
    pods_.on_listed([this] { add_listed(); });
    wait_for_view();
  }

  bool evict(std::string_view key, PodVerdict verdict, std::optional<std::int64_t> grace) {
    for (const auto& [uid, worker] : workers_) {
      if (key_of(worker->pod()->metadata) != key) continue;
      worker->evict(std::move(verdict), grace);
      return true;
    }
    return false;
  }
  void shut_down(std::int64_t grace) {
    constexpr const char* told = "Pod was terminated in response to imminent node shutdown.";
    for (const auto& [uid, worker] : workers_) {
      if (!worker->may_be_evicted()) continue;
      const auto own = worker->pod()->spec->terminationGracePeriodSeconds;
      worker->evict({"Terminated", told, told}, std::min(own.value_or(grace), grace));
    }
  }
  std::size_t pod_count() const { return workers_.size(); }
  std::vector<std::string> remembered() const {
    std::vector<std::string> uids;
    for (const auto& [uid, worker] : workers_) uids.push_back(uid.str());
    const auto add = [&uids](const std::vector<std::string>& keys) {
      for (const std::string& key : keys) uids.push_back(key.substr(0, key.find_first_of("/_")));
    };
    add(restarts_.keys());
    add(images_.remembered());
    return uids;
  }

 private:
  const KubeletClocks& clocks() const { return machine_.options.clocks; }
  static api::Target pods_target(const Machine& machine) {
    api::Target target;
    target.kind = machine.client.kinds().find("v1", "Pod");
    return target;
  }
  static api::ListOptions pods_options(const Machine& machine) {
    api::ListOptions options;
    options.field_selector = "spec.nodeName=" + machine.options.node_name;
    return options;
  }

  // A kubelet builds no environment before it has read Services, and admits nothing without its
  // Node.
  void wait_for_view() {
    const bool ready =
        machine_.view->synced() && machine_.view->node(machine_.options.node_name) != nullptr;
    if (ready) {
      evictor_.begin();
      pods_.start();
      return wait_for_pods();
    }
    view_timer_ = machine_.loop.after(machine_.lane, view_poll, [this] { wait_for_view(); });
  }

  // Once all pods are known, what else runs has lost its object while no kubelet was there.
  void wait_for_pods() {
    if (!pods_.synced()) {
      view_timer_ = machine_.loop.after(machine_.lane, view_poll, [this] { wait_for_pods(); });
      return;
    }
    std::vector<SharedText> orphans;
    for (const auto& [uid, state] : machine_.inventory.pods())
      if (!workers_.contains(uid)) orphans.push_back(uid);
    for (const SharedText& uid : orphans) stop_orphan(uid);
  }

  // With the least grace there is: upstream has lost the pod's own with its object, and asks for
  // one second (kubelet_pods.go HandlePodCleanups).
  void stop_orphan(const SharedText& uid) {
    const Cow<PodRuntimeState> state = machine_.inventory.state(uid);
    std::vector<ContainerId> living;
    for (const ContainerInstance& instance : state->containers)
      if (instance.stage != ContainerStage::exited) living.push_back(instance.id);
    if (living.empty()) return stop_orphans_sandbox(uid);
    const auto left = std::make_shared<std::size_t>(living.size());
    for (const ContainerId& id : living)
      machine_.runtime.stop_container(
          id, grace_min,
          [this, uid, left, alive = std::weak_ptr<NodeContext>(node_)](Result<void>) {
            if (--*left == 0 && !alive.expired()) stop_orphans_sandbox(uid);
          });
  }

  void stop_orphans_sandbox(const SharedText& uid) {
    const PodRuntimeState& state = *machine_.inventory.state(uid);
    if (state.sandboxes.empty()) return machine_.inventory.remove_pod(uid);
    machine_.runtime.stop_sandbox(
        state.sandboxes.front().id,
        [this, uid, alive = std::weak_ptr<NodeContext>(node_)](Result<void>) {
          if (!alive.expired()) machine_.inventory.remove_pod(uid);
        });
  }

  void on_view(const Object& object) {
    const bool is_of_claims =
        as<PersistentVolumeClaim>(object) != nullptr || as<PersistentVolume>(object) != nullptr;
    for (const auto& [uid, worker] : workers_) {
      if (!shows(*worker->pod(), object)) continue;
      const ContextScope of_this_pod(machine_.loop);
      if (is_of_claims)
        worker->claims_changed();
      else
        worker->volumes_changed();
    }
  }

  void on_pod(const ObjectPtr& before, const ObjectPtr& after) {
    const Pod* old = before ? as<Pod>(*before) : nullptr;
    const auto fresh = as<Pod>(after);
    // Under one name another pod may have come.
    if (old != nullptr && (!fresh || fresh->metadata.uid != old->metadata.uid)) {
      const auto at = workers_.find(old->metadata.uid);
      if (at != workers_.end()) {
        at->second->pod_removed(as<Pod>(before));
        bury(old->metadata.uid);
      }
    }
    if (!fresh) return;
    const auto at = workers_.find(fresh->metadata.uid);
    if (at != workers_.end()) return at->second->pod_changed(fresh);
    if (pods_.listing()) return listed_.push_back(fresh);
    add(fresh);
  }

  // Of those that a list has brought together: first who has its place, whatever its name, then
  // the others as they were made. Source: upstream kubelet.go HandlePodAdditions, which sorts all
  // of them by their creation.
  void add_listed() {
    std::vector<std::shared_ptr<const Pod>> pods = std::exchange(listed_, {});
    const auto newcomers = std::stable_partition(
        pods.begin(), pods.end(), [](const auto& pod) { return !is_newcomer(*pod); });
    std::stable_sort(newcomers, pods.end(), [](const auto& a, const auto& b) {
      return a->metadata.creationTimestamp < b->metadata.creationTimestamp;
    });
    for (const auto& pod : pods) {
      const ContextScope of_this_pod(machine_.loop);
      add(pod);
    }
  }

  void add(const std::shared_ptr<const Pod>& pod) {
    std::vector<PodClaim> others;
    others.reserve(workers_.size());
    for (const auto& [uid, worker] : workers_)
      if (worker->occupies()) others.push_back(worker->claim());
    auto made = std::make_shared<PodWorker>(*node_, pod);
    PodWorker& worker = *(workers_[pod->metadata.uid] = std::move(made));
    if (worker.was_rejected()) return worker.let_be();
    if (!is_newcomer(*pod)) return admit(worker);
    const std::shared_ptr<const Node> node = machine_.view->node(machine_.options.node_name);
    if (node)
      if (std::optional<PodVerdict> verdict = refuse(worker, *node, others))
        return worker.reject(std::move(*verdict));
    admit(worker);
  }

  // Upstream asks for the node's own state first, then the device manager, then the predicates.
  std::optional<PodVerdict> refuse(PodWorker& worker, const Node& node,
                                   const std::vector<PodClaim>& others) {
    if (auto verdict = evictor_.refuse(*worker.pod()->spec)) return verdict;
    if (auto verdict = allocate_devices(*worker.pod(), node)) return verdict;
    auto verdict = refuse_pod(worker.claim(), node, others);
    if (verdict) machine_.devices.release(worker.pod()->metadata.uid.view());
    return verdict;
  }

  std::optional<PodVerdict> allocate_devices(const Pod& pod, const Node& node) {
    if (!machine_.options.settings->gpu_plugin) return std::nullopt;
    return machine_.devices.allocate(pod, node, [this](std::string_view uid) {
      return std::any_of(workers_.begin(), workers_.end(), [uid](const auto& one) {
        return one.first == uid && one.second->occupies();
      });
    });
  }

  void admit(PodWorker& worker) {
    worker.admit();
    evictor_.heed(worker);
  }

  // The runtime forgets a pod once its object is gone and nothing of it runs.
  void bury(const SharedText& uid) {
    const auto at = workers_.find(uid);
    if (at == workers_.end() || !at->second->is_over()) return;
    machine_.devices.release(uid.view());
    workers_.erase(at);
    machine_.inventory.remove_pod(uid);
  }

  // What asks for a look meanwhile waits for the next tick.
  void run_relist() {
    std::vector<PodWorker*> waiting;
    waiting.reserve(workers_.size());
    for (const auto& [uid, worker] : workers_)
      if (worker->take_relist()) waiting.push_back(worker.get());
    for (PodWorker* worker : waiting) {
      const ContextScope of_this_pod(machine_.loop, worker->relist_context());
      worker->relisted();
      if (!worker->is_over()) continue;
      const std::shared_ptr<const Pod> pod = worker->pod();
      bury(pod->metadata.uid);
    }
  }

  Machine& machine_;
  Random random_;
  api::EventRecorder events_;
  ImagePuller images_;
  BackOff restarts_;
  Prober prober_;
  std::shared_ptr<NodeContext> node_;
  PodTable<std::shared_ptr<PodWorker>> workers_{};
  Evictor evictor_{*node_, workers_};
  api::Informer pods_;
  std::vector<std::shared_ptr<const Pod>> listed_{};  // while a list is taken in
  std::shared_ptr<void> listening_{};
  Timer view_timer_{};
};

Kubelet::Kubelet(Loop& loop, api::ApiClient& client, Trace& trace, PodRuntime& runtime,
                 KubeletOptions options)
    : machine_(std::make_unique<Machine>(loop, client, trace, runtime, std::move(options))) {}

Kubelet::~Kubelet() = default;

void Kubelet::start() {
  if (!process_) process_ = std::make_unique<Process>(*machine_);
}

void Kubelet::stop() { process_.reset(); }

void Kubelet::restart() {
  stop();
  start();
}

bool Kubelet::evict(std::string_view namespace_, std::string_view name, PodVerdict verdict,
                    std::optional<std::int64_t> grace) {
  if (!process_) return false;
  return process_->evict(std::string(namespace_) + "/" + std::string(name), std::move(verdict),
                         grace);
}

void Kubelet::shut_down(std::int64_t grace) {
  if (process_) process_->shut_down(grace);
}

const std::string& Kubelet::node_name() const { return machine_->options.node_name; }

bool Kubelet::running() const { return process_ != nullptr; }

std::vector<std::string> Kubelet::remembered() const {
  return process_ ? process_->remembered() : std::vector<std::string>();
}

std::size_t Kubelet::pod_count() const { return process_ ? process_->pod_count() : 0; }

}  // namespace ddptwin::kubelet
