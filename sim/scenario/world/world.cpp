#include "scenario/world/world.hpp"

#include <algorithm>
#include <array>
#include <boost/json.hpp>
#include <functional>

#include "cluster/scheduler/scheduler.hpp"
#include "cluster/store/namespace_limits.hpp"
#include "cluster/store/store.hpp"
#include "controller/manager/claim_protection/controller.hpp"
#include "controller/manager/cronjob/controller.hpp"
#include "controller/manager/disruption/controller.hpp"
#include "controller/manager/endpoints/endpoints_controller.hpp"
#include "controller/manager/endpoints/mirroring_controller.hpp"
#include "controller/manager/endpoints/slice_controller.hpp"
#include "controller/manager/job/controller.hpp"
#include "controller/manager/pod_autoscaler/controller.hpp"
#include "controller/manager/resource_quota/controller.hpp"
#include "controller/manager/statefulset/controller.hpp"
#include "controller/manager/volume_binder/binder.hpp"
#include "controller/manager/volume_binder/protection.hpp"
#include "controller/manager/volume_binder/provisioner.hpp"
#include "objects/apps_v1.hpp"
#include "objects/batch_v1.hpp"
#include "objects/cronjob.hpp"
#include "objects/disruption_budget.hpp"
#include "objects/limit_range.hpp"
#include "objects/resource_quota.hpp"
#include "objects/volumes.hpp"
#include "scenario/world/first_objects.hpp"
#include "scenario/world/world_parts.hpp"

namespace ddptwin {
namespace {

template <class T>
std::unique_ptr<controller::Controller> make_controller() {
  return std::make_unique<T>();
}

// A kind that a world serves only when it is told of it, or has somebody who makes such objects,
// and its controller in kube-controller-manager, if it has one of its own. Of several it has as
// many rows.
struct KindOnDemand {
  const KindInfo& (*info)();
  std::unique_ptr<controller::Controller> (*controller)() = nullptr;
  std::string_view flag{};  // what --controllers calls that
  // Whose controller makes them; null: nobody's in any case.
  const KindInfo& (*maker)() = nullptr;
  // The binder looks at all of these: it makes one for another, and waits for a third.
  bool is_bound = false;
  // What the API server has on for them; null: nothing.
  void (*admission)(Store&) = nullptr;
  // Served by every world: others make such objects where nobody acts on them.
  bool is_always_served = false;
};
constexpr std::array kinds_on_demand{
    KindOnDemand{&CronJob::info, &make_controller<controller::CronJobController>,
                 "cronjob-controller"},
    KindOnDemand{&Job::info, &make_controller<controller::JobController>, "job-controller",
                 &CronJob::info},
    KindOnDemand{&Job::info, &make_controller<controller::JobOrphanController>, "job-controller"},
    KindOnDemand{&Job::info, &make_controller<controller::TtlAfterFinishedController>,
                 "ttl-after-finished-controller"},
    KindOnDemand{&StatefulSet::info, &make_controller<controller::StatefulSetController>,
                 "statefulset-controller"},
    KindOnDemand{&ControllerRevision::info, nullptr, {}, &StatefulSet::info},
    KindOnDemand{&PersistentVolumeClaim::info,
                 &make_controller<controller::ClaimProtectionController>,
                 "persistentvolumeclaim-protection-controller", &StatefulSet::info, true},
    KindOnDemand{&PersistentVolume::info, &make_controller<controller::volume_binder::Protection>,
                 "persistentvolume-protection-controller", nullptr, true},
    KindOnDemand{&StorageClass::info, &make_controller<controller::volume_binder::Binder>,
                 volume_binder_flag, nullptr, true},
    KindOnDemand{.info = &PodDisruptionBudget::info,
                 .controller = &make_controller<controller::DisruptionController>,
                 .flag = "disruption-controller"},
    KindOnDemand{.info = &PodDisruptionBudget::info,
                 .controller = &make_controller<controller::DoubleBudgetController>,
                 .flag = "disruption-controller"},
    KindOnDemand{.info = &LimitRange::info, .admission = &add_limit_admission},
    KindOnDemand{.info = &ResourceQuota::info,
                 .controller = &make_controller<controller::ResourceQuotaController>,
                 .flag = "resourcequota-controller",
                 .admission = &add_quota_admission},
    KindOnDemand{
        .info = &HorizontalPodAutoscaler::info, .flag = autoscaler_flag, .is_always_served = true},
};

}  // namespace

// Which systems there are, and which kinds are served: options.kinds names all of them afterwards
// that not every world has.
void World::Parts::choose_kinds() {
  const auto add = [this](const KindInfo& kind) {
    if (!is_told_of(kind)) options.kinds.push_back(&kind);
  };
  // What one system makes another may be about, which makes more: until no kind comes.
  for (std::size_t known = options.kinds.size() + 1; known != options.kinds.size();) {
    known = options.kinds.size();
    for (const InstalledSystem& one : options.systems)
      if (is_installed(*one.system, options.kinds))
        for (const KindOf made : one.system->makes) add(made());
  }
  std::erase_if(options.systems, [this](const InstalledSystem& one) {
    return !is_installed(*one.system, options.kinds);
  });
  for (const KindOnDemand& row : kinds_on_demand)
    if (row.maker != nullptr && is_told_of(row.maker())) add(row.info());
  binds_claims =
      options.controller_manager && !options.flags.without.contains(volume_binder_flag) &&
      std::any_of(kinds_on_demand.begin(), kinds_on_demand.end(), [this](const KindOnDemand& row) {
        return row.is_bound && is_told_of(row.info());
      });
  for (const KindOnDemand& row : kinds_on_demand) {
    if (row.is_bound && binds_claims) add(row.info());
    if (!row.is_always_served && !is_told_of(row.info()))
      kinds.remove(row.info().group, row.info().kind);
  }
  kinds = kinds_with(options.systems, kinds);
  // What it is told of it serves, whether or not somebody acts on it.
  for (const KindInfo* kind : options.kinds)
    if (kinds.find(kind->api_version(), kind->kind) == nullptr)
      kinds.add(std::shared_ptr<const KindInfo>(std::shared_ptr<void>(), kind));
}

void World::Parts::install_controller_manager() {
  api::SharedInformers& informers = new_manager_informers();
  add_controller(
      manager_actor, [] { return std::make_unique<controller::EndpointsController>(); },
      &informers);
  add_controller(
      manager_actor, [] { return std::make_unique<controller::EndpointSliceController>(); },
      &informers);
  add_controller(
      manager_actor,
      [] { return std::make_unique<controller::EndpointSliceMirroringController>(); }, &informers);
  const auto manager_client = [this](const char* part) -> api::ApiClient& {
    return *manager_clients.emplace_back(client(manager_actor, part));
  };
  garbage_collector =
      std::make_unique<GarbageCollector>(loop, manager_client("garbage-collector"), informers);
  namespaces =
      std::make_unique<NamespaceLifecycle>(loop, manager_client("namespace-controller"), informers);
  pod_garbage = std::make_unique<PodGarbageCollector>(
      loop, manager_client("pod-garbage-collector"), informers,
      PodGarbageCollector::Options{options.flags.terminated_pod_gc_threshold});
  if (!options.flags.without.contains(taint_eviction_flag))
    taint_eviction = std::make_unique<TaintEviction>(
        loop, manager_client("taint-eviction-controller"), informers);
  if (!options.flags.without.contains(node_lifecycle_flag))
    node_lifecycle = std::make_unique<NodeLifecycle>(loop, manager_client("node-controller"),
                                                     informers, heartbeats);
  for (const KindOnDemand& row : kinds_on_demand)
    if (row.controller != nullptr && !options.flags.without.contains(row.flag) &&
        is_told_of(row.info()))
      add_controller(manager_actor, row.controller, &informers);
  if (is_told_of(HorizontalPodAutoscaler::info()) &&
      !options.flags.without.contains(autoscaler_flag))
    add_controller(
        manager_actor,
        [this] { return std::make_unique<controller::PodAutoscalerController>(metrics); },
        &informers);
  if (binds_claims)
    add_controller(provisioner_actor, &make_controller<controller::volume_binder::Provisioner>,
                   nullptr);
}

void World::Parts::define(const KindInfo& kind, std::shared_ptr<const Schema> definition) {
  store.set_schema(kind, std::move(definition));
}

void World::Parts::admit(AdmissionPhase phase, AdmissionHook hook, const KindInfo& kind,
                         std::optional<api::Verb> verb) {
  store.add_admission(phase, std::move(hook), &kind, verb);
}

void World::Parts::host(const char* actor, MakeController make) {
  add_controller(actor, std::move(make), nullptr);
}

void World::Parts::schedule(const char* actor, MakeScheduler make) {
  if (options.scheduler) add_scheduler(actor, std::move(make));
}

void World::Parts::provide(std::shared_ptr<const Object> object) {
  provided.push_back(std::move(object));
}

void World::Parts::add_kubelet(const NodeOptions& node) {
  DDPTWIN_ASSERT(runtime != nullptr);
  if (!kubelet_view) {
    view_client = client("kubelet", "");
    kubelet_view = std::make_shared<kubelet::ClusterView>(loop, *view_client, *runtime);
  }
  kubelet_clients.push_back(client("kubelet", node.name));
  kubelet::KubeletOptions options_of = options.kubelet;
  options_of.node_name = node.name;
  options_of.node_ip = node.address;
  kubelet::NodeSettings& settings = options_of.settings.edit();
  settings.cluster_dns = {options.dns.address};
  settings.cluster_domain = options.dns.domain;
  settings.binds_claims = binds_claims;
  settings.host_resolv_conf = resolv_conf(options.dns.host);
  // As the images of clouds and installers write it: a node knows its own name.
  settings.host_hosts += node.address + "\t" + node.name + "\n";
  options_of.random = random.split("kubelet").split(node.name);
  options_of.view = kubelet_view;
  kubelets.push_back(std::make_unique<kubelet::Kubelet>(loop, *kubelet_clients.back(), trace,
                                                        *runtime, std::move(options_of)));
  kubelets.back()->start();
}

std::vector<std::string_view> switchable_controllers() {
  std::vector<std::string_view> names{node_lifecycle_flag, taint_eviction_flag};
  for (const KindOnDemand& row : kinds_on_demand)
    if (!row.flag.empty() && (names.empty() || names.back() != row.flag)) names.push_back(row.flag);
  return names;
}

World::World(Loop& loop, WorldOptions options, PodRuntime* runtime)
    : parts_(std::make_unique<Parts>(loop, std::move(options), runtime)) {
  Parts& parts = *parts_;
  parts.dns_client = parts.client("coredns", "");
  parts.zone_feed = std::make_unique<dns::ZoneFeed>(loop, *parts.dns_client, parts.zone);
  if (parts.options.pod_references) add_pod_reference_admission(parts.store);
  if (parts.binds_claims) add_default_class_admission(parts.store);
  if (parts.options.controller_manager) parts.install_controller_manager();
  for (const InstalledSystem& one : parts.options.systems) one.system->install(parts, one);
  for (const KindOnDemand& row : kinds_on_demand)
    if (row.admission != nullptr && parts.is_told_of(row.info())) row.admission(parts.store);
  if (parts.options.scheduler)
    parts.add_scheduler("kube-scheduler", [](Loop& l, api::ApiClient& client, Trace& trace) {
      return std::make_unique<Scheduler>(l, client, trace);
    });
}

World::~World() = default;

Status World::start() {
  parts_->started = true;
  {
    const ContextScope of_this_service(parts_->loop);
    (void)call(api::create(api_service()), "ddptwin");
    (void)call(api::create(dns_service(parts_->options.dns.address)), "ddptwin");
  }
  if (parts_->options.default_class && parts_->binds_claims) {
    const ContextScope of_this_class(parts_->loop);
    (void)call(api::create(standard_class()), "ddptwin");
  }
  TRY_VOID(create_provided());
  parts_->zone_feed->start();
  for (auto& hosted : parts_->controllers) hosted.host->start();
  parts_->each_manager_part([](auto& part) { part.start(); });
  for (auto& one : parts_->schedulers) one.process->start();
  for (const NodeOptions& node : parts_->options.nodes) TRY_VOID(add_node(node));
  return {};
}

Status World::create_provided() {
  for (const ObjectPtr& one : parts_->provided) {
    const ContextScope of_this_object(parts_->loop);
    TRY_VOID(call(api::create(one), "ddptwin"));
  }
  return {};
}

Loop& World::loop() { return parts_->loop; }
Trace& World::trace() { return parts_->trace; }
Store& World::store() { return parts_->store; }
const Store& World::store() const { return parts_->store; }
dns::Resolver& World::resolver() { return parts_->resolver; }

// Few ask it, and what is not made draws no lane.
dns::Resolver& World::node_resolver() {
  Parts& parts = *parts_;
  if (!parts.node_resolver)
    parts.node_resolver = std::make_unique<dns::Resolver>(
        parts.loop, parts.trace, parts.random.split("node dns"),
        parts.empty_zone.emplace(
            dns::ZoneOptions{.outside_names = parts.options.dns.outside_names}));
  return *parts.node_resolver;
}
controller::pod_autoscaler::MetricsApi& World::metrics() { return parts_->metrics; }
const KindRegistry& World::kinds() const { return parts_->kinds; }
const WorldOptions& World::options() const { return parts_->options; }

std::unique_ptr<api::ApiClient> World::client(const char* actor) { return parts_->client(actor); }

Result<api::Response> World::call(const api::Request& request, std::string_view actor) {
  return parts_->store.call(request, actor);
}

ObjectPtr World::find(const KindInfo& kind, std::string_view namespace_,
                      std::string_view name) const {
  return parts_->store.find(kind, namespace_, name);
}

std::vector<ObjectPtr> World::objects(const KindInfo& kind, std::string_view namespace_) const {
  std::vector<ObjectPtr> found;
  for (const auto& [key, object] : parts_->store.objects(kind))
    if (namespace_.empty() || object->metadata.namespace_ == namespace_) found.push_back(object);
  return found;
}

Status World::add_namespace(const std::string& name) {
  auto object = std::make_shared<Namespace>();
  object->metadata.name = name;
  const ContextScope of_this_namespace(parts_->loop);
  TRY_VOID(call(api::create(std::move(object)), "ddptwin"));
  return {};
}

Status World::add_node(const NodeOptions& node) {
  const ContextScope of_this_node(parts_->loop);  // its kubelet begins because of it
  auto object = node_object(node, parts_->loop.now());
  if (parts_->node_lifecycle && node.is_known) {
    parts_->node_lifecycle->know(node.name);
    node_lifecycle::mirror_labels(*object);
  }
  TRY(const auto made, call(api::create(object), "ddptwin"));
  // A node is made with the taint not-ready, which goes when it is Ready.
  auto ready = std::static_pointer_cast<Node>(made.object->clone());
  ready->spec.taints = node.taints;
  TRY(const auto updated, call(api::update(ready), "ddptwin"));
  auto with_status = std::static_pointer_cast<Node>(updated.object->clone());
  with_status->status = object->status;
  TRY_VOID(call(api::update(with_status, "status"), "ddptwin"));
  if (node.kubelet && parts_->kubelet_of(node.name) == nullptr) parts_->add_kubelet(node);
  return {};
}

std::vector<std::string> World::controllers() const {
  std::vector<std::string> names;
  for (const Parts::Hosted& hosted : parts_->controllers)
    if (hosted.second == 0) names.emplace_back(hosted.controller->name());
  return names;
}

const std::vector<api::Caller>& World::callers() const { return parts_->callers; }

}  // namespace ddptwin
