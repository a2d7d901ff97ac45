// What a gang scheduler is told of a job, and what its pods wait for (spec/pytorchjob.md §3.4).
#include <boost/json.hpp>
#include <optional>
#include <ostream>

#include "bare_store.hpp"
#include "controller/host.hpp"
#include "controller/training_operator/controller.hpp"
#include "generators.hpp"
#include "objects/codec.hpp"
#include "objects/pytorchjob_definition.hpp"
#include "property.hpp"

namespace ddptwin::property::pod_group_properties_test {
namespace {

namespace json = boost::json;
namespace pj = controller::pytorchjob;

// Of a container, in cpus and Gi; 0: not written. The limit is above the request.
struct Needs {
  int cpu = 0, memory = 0, cpu_above = 0;
};
// Zero, empty: not written.
struct Policy {
  int least = 0, cpu = 0, timeout = 0;
  std::string queue{}, priority{};
};
// The job as its author wants it.
struct Wish {
  bool master = false;
  int workers = 1;
  Needs of_master{}, of_worker{}, of_sidecar{};
  std::optional<Policy> policy{};
  int note = 0;  // an annotation
  bool suspended = false;
};

rc::Gen<Wish> any_wish() {
  const auto needs = gen::build<Needs>(gen::set(&Needs::cpu, gen::element(0, 1, 2)),
                                       gen::set(&Needs::memory, gen::element(0, 0, 3)),
                                       gen::set(&Needs::cpu_above, gen::element(0, 0, 4)));
  const auto policy =
      gen::build<Policy>(gen::set(&Policy::least, gen::element(0, 0, 1, 2, 9)),
                         gen::set(&Policy::cpu, gen::element(0, 0, 7)),
                         gen::set(&Policy::timeout, gen::element(0, 60)),
                         gen::set(&Policy::queue, gen::element<std::string>("", "p", "q")),
                         gen::set(&Policy::priority, gen::element<std::string>("", "high")));
  return gen::build<Wish>(
      gen::set(&Wish::master, gen::arbitrary<bool>()), gen::set(&Wish::workers, gen::element(1, 3)),
      gen::set(&Wish::of_master, needs), gen::set(&Wish::of_worker, needs),
      gen::set(&Wish::of_sidecar, needs),
      gen::set(&Wish::policy,
               gen::oneOf(gen::just(std::optional<Policy>()),
                          gen::map(policy, [](const Policy& one) { return std::optional(one); }))),
      gen::set(&Wish::note, gen::inRange(0, 100)),
      gen::set(&Wish::suspended, gen::weightedElement<bool>({{4, false}, {1, true}})));
}

Container container_of(const std::string& name, const Needs& needs) {
  Container container;
  container.name = name;
  container.image = "busybox";
  const auto write = [](ResourceList& list, const char* what, int amount, const char* unit) {
    if (amount != 0) list[what] = *Quantity::parse(std::to_string(amount) + unit);
  };
  write(container.resources.requests.edit(), "cpu", needs.cpu, "");
  write(container.resources.requests.edit(), "memory", needs.memory, "Gi");
  if (needs.cpu_above != 0)
    write(container.resources.limits.edit(), "cpu", needs.cpu + needs.cpu_above, "");
  return container;
}

// `scheduler`: the one that the templates name; empty: none.
std::shared_ptr<PyTorchJob> job_of(const Wish& wish, const std::string& scheduler = {}) {
  const auto job = job_of(JobShape{.master = wish.master, .workers = wish.workers});
  job->metadata.annotations = StringMap{{"note", std::to_string(wish.note)}};
  PyTorchJobSpec& spec = job->spec.edit();
  for (auto& [type, replica] : *spec.pytorchReplicaSpecs) {
    PodSpec& pod = replica.template_.spec.edit();
    pod.rest.edit().schedulerName = scheduler;
    pod.containers = {
        container_of("pytorch", type == pj::master_type ? wish.of_master : wish.of_worker),
        container_of("sidecar", wish.of_sidecar)};
    // Counts for nothing.
    pod.initContainers = {container_of("fetch", {.cpu = 5})};
  }
  spec.runPolicy.suspend = wish.suspended;
  if (!wish.policy) return job;
  SchedulingPolicy& policy = spec.runPolicy.schedulingPolicy.emplace();
  if (wish.policy->least != 0) policy.minAvailable = wish.policy->least;
  if (wish.policy->cpu != 0)
    policy.minResources = ResourceList{{"cpu", Quantity::of(wish.policy->cpu)}};
  if (wish.policy->timeout != 0) policy.scheduleTimeoutSeconds = wish.policy->timeout;
  policy.queue = wish.policy->queue;
  policy.priorityClass = wish.policy->priority;
  return job;
}

void showValue(const Wish& wish, std::ostream& out) { out << to_text(*job_of(wish)); }

// What the first `members` pods ask for, where those of the Master come first or last.
Json resources_of(const Wish& wish, int members, bool master_first) {
  std::vector<Needs> pods(static_cast<std::size_t>(wish.workers), wish.of_worker);
  if (wish.master) pods.insert(master_first ? pods.begin() : pods.end(), wish.of_master);
  if (static_cast<std::size_t>(members) < pods.size())
    pods.resize(static_cast<std::size_t>(members));
  int cpu = 0, memory = 0;
  for (const Needs& main : pods)
    for (const Needs& one : {main, wish.of_sidecar}) {
      const bool requests = one.cpu != 0 || one.memory != 0;
      cpu += requests ? one.cpu : one.cpu_above;
      memory += one.memory;
    }
  json::object sum;
  if (cpu != 0) sum["cpu"] = std::to_string(cpu);
  if (memory != 0) sum["memory"] = std::to_string(memory) + "Gi";
  return sum;
}

json::object spec_of(const Wish& wish, bool volcano, const std::string& queue, bool master_first) {
  const Policy policy = wish.policy.value_or(Policy{});
  const int members = policy.least != 0 ? policy.least : wish.workers + (wish.master ? 1 : 0);
  json::object spec{{"minMember", members}};
  Json resources = resources_of(wish, members, master_first);
  if (policy.cpu != 0) resources = json::object{{"cpu", std::to_string(policy.cpu)}};
  if (!resources.get_object().empty()) spec["minResources"] = resources;
  if (volcano && !queue.empty()) spec["queue"] = queue;
  if (volcano && !policy.priority.empty()) spec["priorityClassName"] = policy.priority;
  if (!volcano && policy.timeout != 0) spec["scheduleTimeoutSeconds"] = policy.timeout;
  return spec;
}

// Compiling takes longer than a case.
std::shared_ptr<const Schema> definition(bool immutable_queue) {
  const auto compiled = [](bool immutable) {
    return std::make_shared<const Schema>(
        *Schema::compile(*pytorchjob_schema({.immutable_queue = immutable}).get()));
  };
  static const auto with = compiled(true), without = compiled(false);
  return immutable_queue ? with : without;
}

std::shared_ptr<const KindInfo> pod_groups(bool volcano) {
  KindInfo kind{.group = volcano ? "scheduling.volcano.sh" : "scheduling.x-k8s.io",
                .version = volcano ? "v1beta1" : "v1alpha1",
                .kind = "PodGroup",
                .plural = "podgroups",
                .singular = "podgroup",
                .custom = true};
  return std::make_shared<const KindInfo>(std::move(kind));
}

// The operator with a gang scheduler, of which there is nothing but its kind.
class Gang {
 public:
  explicit Gang(const pj::Settings& settings)
      : volcano_(settings.gang_scheduler != "mine"),
        kind_(pod_groups(volcano_)),
        controller_(settings) {
    base_.kinds.add(kind_);
    base_.store.set_schema(PyTorchJob::info(), definition(settings.profile.immutable_queue));
    host_ = std::make_unique<controller::ControllerHost>(base_.loop, base_.client, base_.informers,
                                                         base_.trace, Random(1), controller_);
    host_->start();
  }

  bool volcano() const { return volcano_; }
  void rest() { base_.rest(5s); }
  // Makes it or makes it anew; false where the API refuses it.
  bool apply(const std::shared_ptr<PyTorchJob>& job) {
    const auto old = this->job();
    if (old) job->metadata.resourceVersion = old->metadata.resourceVersion;
    // As JSON: the definition judges what comes so.
    api::Request request = old ? api::update(job) : api::create(job);
    request.body = RawJson(encode(*job));
    request.object.reset();
    return base_.store.call(request, "user").has_value();
  }
  void patch_group(const Json& patch) {
    if (const auto found = group())
      RC_ASSERT(base_.store.call(api::patch(*found, api::PatchType::merge, patch), "volcano")
                    .has_value());
  }
  std::shared_ptr<const PyTorchJob> job() const {
    return base_.store.find<PyTorchJob>("default", "j");
  }
  ObjectPtr group() const { return base_.store.find(*kind_, "default", "j"); }
  template <class T>
  std::vector<std::shared_ptr<const T>> all() const {
    std::vector<std::shared_ptr<const T>> out;
    for (const auto& [key, object] : base_.store.objects(T::info())) out.push_back(as<T>(object));
    return out;
  }

 private:
  bool volcano_;
  std::shared_ptr<const KindInfo> kind_;
  BareStore base_{};
  pj::PyTorchJobController controller_;
  std::unique_ptr<controller::ControllerHost> host_{};
};

pj::Settings any_settings() {
  using pj::TypeOrder;
  pj::Settings settings;
  settings.profile = *any_profile().as("version");
  settings.gang_scheduler =
      *gen::element<std::string>("volcano", "Volcano", "mine").as("gang scheduler");
  settings.pod_order =
      *gen::element(TypeOrder::master_first, TypeOrder::worker_first, TypeOrder::random);
  return settings;
}

// Whoever edits the job, or the queue of its group by hand.
TEST(PodGroupProperties, AGroupFollowsItsJobButForTheQueueThatItHas) {
  holds([] {
    const pj::Settings settings = any_settings();
    const bool old = settings.profile.version == "v1.7.0";
    Gang gang(settings);
    Wish wish{};
    bool there = false;
    std::string queue, note;
    for (const Wish& next :
         *gen::nonEmpty(gen::resize(8, gen::vector_of(any_wish()))).as("edits")) {
      const std::string by_hand = *gen::element<std::string>("", "", "a", "b").as("by hand");
      if (there && gang.volcano() && !by_hand.empty()) {
        gang.patch_group(json::object{{"spec", {{"queue", by_hand}}}});
        if (!old) queue = by_hand;
      }
      const auto queue_in = [](const Wish& one) { return one.policy ? one.policy->queue : ""; };
      const bool refused = settings.profile.immutable_queue && !queue_in(wish).empty() &&
                           !queue_in(next).empty() && queue_in(wish) != queue_in(next);
      RC_ASSERT(gang.apply(job_of(next)) == !refused);
      if (!refused) wish = next;
      gang.rest();
      const std::string asked = queue_in(wish);
      if (old || !there || queue.empty()) queue = !asked.empty() ? asked : old ? "" : "default";
      if (!there) note = std::to_string(wish.note);
      there = !wish.suspended;
      const ObjectPtr group = gang.group();
      RC_ASSERT((group != nullptr) == there);
      if (!there) continue;
      const Json seen = encode(*group).at("spec");
      RC_LOG() << "group: " << json::serialize(seen) << "\n";
      const bool is_one = seen == spec_of(wish, gang.volcano(), queue, true);
      const bool is_other = seen == spec_of(wish, gang.volcano(), queue, false);
      RC_ASSERT((is_one || is_other));
      RC_ASSERT(*group->metadata.annotations == (StringMap{{"note", note}}));
      RC_ASSERT(group->metadata.labels.empty());
      const OwnerReference* owner = group->metadata.controller();
      RC_ASSERT(owner != nullptr);
      RC_ASSERT(owner->uid == gang.job()->metadata.uid);
    }
  });
}

// Volcano's alone: it says so by the phase of the group.
TEST(PodGroupProperties, PodsAreMadeOnceTheirGroupIsAdmittedAndNameTheirScheduler) {
  holds([] {
    const pj::Settings settings = any_settings();
    Gang gang(settings);
    Wish wish = *any_wish().as("job");
    wish.suspended = false;
    const std::string named = *gen::element<std::string>("", "other").as("in the templates");
    RC_ASSERT(gang.apply(job_of(wish, named)));
    gang.rest();
    const std::string phase =
        *gen::element<std::string>("", "Pending", "Inqueue", "Running", "Unknown").as("phase");
    if (gang.volcano()) {
      RC_ASSERT(gang.all<Pod>().empty());
      RC_ASSERT(gang.all<Service>().empty());
      gang.patch_group(json::object{{"status", {{"phase", phase}}}});
      gang.rest();
    }
    const bool waits = gang.volcano() && (phase.empty() || phase == "Pending");
    const auto pods = gang.all<Pod>();
    const int wanted = waits ? 0 : wish.workers + (wish.master ? 1 : 0);
    RC_ASSERT(static_cast<int>(pods.size()) == wanted);
    RC_ASSERT(static_cast<int>(gang.all<Service>().size()) == wanted);
    const std::string scheduler = gang.volcano() ? "volcano" : "mine";
    for (const auto& pod : pods) {
      const ObjectMeta& meta = pod->metadata;
      RC_ASSERT(pod->spec->rest->schedulerName == (named.empty() ? scheduler : named));
      const bool is_master = meta.name == "j-master-0";
      if (gang.volcano())
        RC_ASSERT(*meta.annotations ==
                  (StringMap{{"scheduling.k8s.io/group-name", "j"},
                             {"volcano.sh/task-spec", is_master ? "master" : "worker"}}));
      const Text* label = meta.label("scheduling.x-k8s.io/pod-group");
      RC_ASSERT((label != nullptr) == !gang.volcano());
      if (label != nullptr) RC_ASSERT(*label == "j");
    }
  });
}

}  // namespace
}  // namespace ddptwin::property::pod_group_properties_test
