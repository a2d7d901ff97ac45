// What a World is made of: for its own files alone.
#pragma once

#include <list>

#include "cluster/kubelet/cluster_view.hpp"
#include "cluster/kubelet/kubelet.hpp"
#include "cluster/store/store.hpp"
#include "cluster/store/store_client.hpp"
#include "controller/host.hpp"
#include "controller/manager/gc/gc.hpp"
#include "controller/manager/namespace_lifecycle.hpp"
#include "controller/manager/node_lifecycle/controller.hpp"
#include "controller/manager/pod_autoscaler/metrics.hpp"
#include "controller/manager/pod_gc.hpp"
#include "controller/manager/taint_eviction.hpp"
#include "dns/resolver.hpp"
#include "dns/zone_feed.hpp"
#include "scenario/systems/actors.hpp"
#include "scenario/world/world.hpp"

namespace ddptwin {

// How many past changes a watch may resume over. Informers begin to watch at once after their list;
// each change keeps two states of an object alive.
inline constexpr std::size_t watch_history = 10'000;

// Members end in the reverse order of their making: what calls ends before what is called.
struct World::Parts final : Installer {
  Parts(Loop& l, WorldOptions o, PodRuntime* r)
      : loop(l),
        options(std::move(o)),
        runtime(r != nullptr && options.faults != nullptr ? &options.faults->wrap(*r) : r),
        random(options.seed),
        trace(loop),
        store(loop, random.split("store"), trace, kinds, {.history = watch_history}),
        zone({.domain = options.dns.domain,
              .server_ip = options.dns.address,
              .outside_names = options.dns.outside_names}),
        resolver(loop, trace, random.split("dns"), zone) {
    choose_kinds();
  }

  // Of a process of several controllers, that list and watch through a client of their own.
  struct Informers {
    std::unique_ptr<api::ApiClient> client{};
    std::unique_ptr<api::SharedInformers> shared{};
  };
  // A controller with the client and the host that run it.
  struct Hosted {
    const char* actor = "";
    MakeController make{};
    std::unique_ptr<api::ApiClient> client{};
    std::unique_ptr<api::SharedInformers> own_informers{};
    std::unique_ptr<controller::Controller> controller{};
    std::unique_ptr<controller::ControllerHost> host{};
    int second = 0;  // beside another of the same name: which begin_second_controller() made it

    bool is(std::string_view process) const {
      return process == actor || process == controller->name();
    }
  };

  // `actor` is a literal; `instance` tells those of one actor apart.
  std::unique_ptr<api::ApiClient> client(const char* actor, std::string_view instance = {}) {
    std::unique_ptr<api::ApiClient> made = std::make_unique<StoreClient>(loop, store, actor);
    if (options.faults == nullptr) return made;
    callers.push_back({actor, std::string(instance)});
    return std::make_unique<api::FaultyClient>(
        loop, std::move(made), api::Caller{actor, std::string(instance)}, *options.faults);
  }

  api::SharedInformers& new_manager_informers() {
    Informers& made = manager_informers.emplace_back();
    made.client = client(manager_actor, ddptwin::manager_informers);
    made.shared = std::make_unique<api::SharedInformers>(loop, *made.client);
    return *made.shared;
  }
  // Without `shared` it is all of its process. Without `chance` it has its own by name.
  Hosted& add_controller(const char* actor, MakeController make, api::SharedInformers* shared,
                         std::optional<Random> chance = std::nullopt) {
    Hosted& hosted = controllers.emplace_back();
    hosted.actor = actor;
    hosted.make = std::move(make);
    hosted.controller = hosted.make();
    hosted.client = client(actor, hosted.controller->name());
    if (shared == nullptr) {
      hosted.own_informers = std::make_unique<api::SharedInformers>(loop, *hosted.client);
      shared = hosted.own_informers.get();
    }
    hosted.host = std::make_unique<controller::ControllerHost>(
        loop, *hosted.client, *shared, trace,
        chance ? *chance : random.split(hosted.controller->name()), *hosted.controller,
        controller::HostOptions{
            .client_per_second = std::max<double>(options.flags.kube_api_qps, 0),
            .client_burst = options.flags.kube_api_burst,
            .own_writes_of = own_writes_of(*options.flags.manager, hosted.controller->name())});
    return hosted;
  }
  // The cluster's own, and those that systems bring.
  struct Scheduling {
    const char* actor = "";
    MakeScheduler make{};
    std::unique_ptr<api::ApiClient> client{};
    std::unique_ptr<SchedulerProcess> process{};
  };
  void add_scheduler(const char* actor, MakeScheduler make) {
    Scheduling& added = schedulers.emplace_back();
    added.actor = actor;
    added.make = std::move(make);
    added.client = client(actor, "");
    added.process = added.make(loop, *added.client, trace);
  }
  kubelet::Kubelet* kubelet_of(std::string_view node) {
    for (auto& one : kubelets)
      if (one->node_name() == node) return one.get();
    return nullptr;
  }

  bool is_told_of(const KindInfo& kind) const {
    return std::find(options.kinds.begin(), options.kinds.end(), &kind) != options.kinds.end();
  }
  void choose_kinds();

  // What kube-controller-manager has beside its hosted controllers.
  template <class Deed>
  void each_manager_part(const Deed& deed) {
    if (!garbage_collector) return;
    deed(*garbage_collector);
    deed(*namespaces);
    deed(*pod_garbage);
    if (taint_eviction) deed(*taint_eviction);
    if (node_lifecycle) deed(*node_lifecycle);
  }
  void install_controller_manager();
  void define(const KindInfo& kind, std::shared_ptr<const Schema> definition) override;
  void admit(AdmissionPhase phase, AdmissionHook hook, const KindInfo& kind,
             std::optional<api::Verb> verb) override;
  void host(const char* actor, MakeController make) override;
  void schedule(const char* actor, MakeScheduler make) override;
  void provide(std::shared_ptr<const Object> object) override;
  const Store& cluster() const override { return store; }
  void add_kubelet(const NodeOptions& node);

  Loop& loop;
  WorldOptions options;
  PodRuntime* runtime;
  Random random;
  Trace trace;
  KindRegistry kinds{};
  Store store;
  dns::Zone zone;
  dns::Resolver resolver;
  std::optional<dns::Zone> empty_zone{};  // of node_resolver
  std::unique_ptr<dns::Resolver> node_resolver{};
  std::unique_ptr<api::ApiClient> dns_client{};
  std::unique_ptr<dns::ZoneFeed> zone_feed{};
  std::list<Informers> manager_informers{};  // of each process of it
  std::vector<std::unique_ptr<api::ApiClient>> manager_clients{};
  std::unique_ptr<GarbageCollector> garbage_collector{};
  std::unique_ptr<NamespaceLifecycle> namespaces{};
  std::unique_ptr<PodGarbageCollector> pod_garbage{};
  std::unique_ptr<TaintEviction> taint_eviction{};
  NodeHeartbeats heartbeats{};
  std::unique_ptr<NodeLifecycle> node_lifecycle{};
  controller::pod_autoscaler::MetricsApi metrics{};
  std::list<Hosted> controllers{};
  std::vector<ObjectPtr> provided{};
  std::list<Scheduling> schedulers{};
  std::unique_ptr<api::ApiClient> view_client{};
  std::vector<std::unique_ptr<api::ApiClient>> kubelet_clients{};
  std::shared_ptr<kubelet::ClusterView> kubelet_view{};
  std::list<std::unique_ptr<kubelet::Kubelet>> kubelets{};
  std::vector<api::Caller> callers{};
  int seconds = 0;
  bool started = false;
  bool binds_claims = false;  // the binder runs, and has something to look at
};

}  // namespace ddptwin
