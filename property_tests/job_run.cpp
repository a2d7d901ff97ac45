#include "job_run.hpp"

#include <fmt/format.h>

#include <boost/json.hpp>
#include <ostream>
#include <set>

#include "controller/pytorchjob/names.hpp"
#include "objects/codec.hpp"
#include "objects/describe.hpp"

namespace ddptwin::property {
namespace {

namespace gen = rc::gen;
namespace json = boost::json;
namespace pj = controller::pytorchjob;

constexpr Time start{std::chrono::seconds(1'767'225'600)};  // 2026-01-01T00:00:00Z
constexpr std::string_view user = "user";
constexpr int workers_max = 6;
constexpr int seconds_max = 40;  // of rest after an event: less than this
constexpr std::size_t events_max = 12;

constexpr const char* event_names[] = {
    "exit",    "lose sandbox of", "delete pod",       "scale workers",
    "suspend", "resume",          "restart kubelets", "wait",
};

WorldOptions world_of(const RunPlan& plan) {
  WorldOptions options;
  options.seed = plan.seed;
  options.scheduler = true;
  options.training_operator = plan.profile;
  options.nodes = {{.name = "n0", .address = "192.168.0.1"},
                   {.name = "n1", .address = "192.168.0.2"}};
  return options;
}

// The init container of a worker looks up its master; here it finds it after a second.
void script_init_containers(ScriptRuntime& runtime) {
  for (int i = 0; i < workers_max; ++i)
    runtime.set("default", pj::replica_name("j", pj::worker_type, i), "exit.init-pytorch",
                "0 after 1");
}

std::string variable(const Pod& pod, std::string_view name) {
  std::string value;
  for (const EnvVar& one : pod.spec->containers.front().env)
    if (one.name == name) value = one.value;
  return value;
}

}  // namespace

rc::Gen<Event> any_event(const JobShape& shape) {
  using Kind = Event::Kind;
  std::vector<std::string> pods;
  if (shape.master) pods.push_back(pj::replica_name("j", pj::master_type, 0));
  for (int i = 0; i < shape.workers; ++i) pods.push_back(pj::replica_name("j", pj::worker_type, i));
  return gen::build<Event>(
      gen::set(&Event::kind, gen::weightedElement<Kind>({{8, Kind::exit},
                                                         {2, Kind::node_fault},
                                                         {3, Kind::remove_pod},
                                                         {1, Kind::scale},
                                                         {1, Kind::suspend},
                                                         {2, Kind::resume},
                                                         {1, Kind::kubelets_restart},
                                                         {1, Kind::rest}})),
      gen::set(&Event::pod, gen::elementOf(pods)),
      gen::set(&Event::number, gen::element(0, 0, 0, 1, 3, 137, 138, 143)),
      gen::set(&Event::seconds, gen::resize(rc::kNominalSize, gen::inRange(0, seconds_max))));
}

void showValue(const Event& event, std::ostream& out) {
  out << event_names[static_cast<int>(event.kind)];
  if (event.kind <= Event::Kind::remove_pod) out << " " << event.pod;
  if (event.kind == Event::Kind::exit) out << " with " << event.number;
  if (event.kind == Event::Kind::scale) out << " to " << event.number;
  out << ", " << event.seconds << " s";
}

rc::Gen<RunPlan> run_plan() {
  return gen::exec([] {
    RunPlan plan;
    plan.shape = *job_shape();
    plan.shape.empty_worker = false;  // the webhook of v1.9 refuses it
    plan.profile = *any_profile();
    plan.seed = *gen::resize(rc::kNominalSize, gen::inRange<std::uint64_t>(1, 1'000'000));
    const std::size_t count =
        *gen::resize(rc::kNominalSize, gen::inRange<std::size_t>(1, events_max));
    plan.events = *gen::container<std::vector<Event>>(count, any_event(plan.shape));
    return plan;
  });
}

void showValue(const RunPlan& plan, std::ostream& out) {
  out << "seed " << plan.seed << ", training-operator " << plan.profile.version << "\njob ";
  showValue(plan.shape, out);
  for (const Event& event : plan.events) {
    out << "\n- ";
    showValue(event, out);
  }
}

void SafetyWatch::require(bool holds, std::string_view rule, const Record& record) {
  if (!holds) violations_.push_back(fmt::format("{}, after: {}", rule, describe(record)));
}

void SafetyWatch::look_at(const PyTorchJob& job) {
  if (!job.status) return;
  const JobStatus& status = *job.status;
  std::set<std::string> types;
  for (const JobCondition& condition : status.conditions)
    require(types.insert(condition.type_).second, "B1: one condition per type", *now_);
  require(!(status.is_true("Running") && status.is_true("Restarting")),
          "B2: Running and Restarting never coexist", *now_);
  require(!status.completionTime || status.is_true("Succeeded") || status.is_true("Failed"),
          "B7: completionTime implies Succeeded or Failed", *now_);
}

void SafetyWatch::look_at_change(const PyTorchJob& before, const PyTorchJob& after,
                                 std::string_view actor) {
  require(actor == user || equal(*before.spec, *after.spec), "B12: the spec is never modified",
          *now_);
  if (!before.status) return;
  require(after.status.has_value(), "a status stays", *now_);
  if (!after.status) return;
  if (before.status->is_true("Failed"))
    require(to_json(before.status->conditions) == to_json(after.status->conditions),
            "B3: once Failed is stored the conditions are frozen", *now_);
  if (before.status->is_true("Succeeded"))
    require(after.status->is_true("Succeeded"), "B4: Succeeded is never withdrawn", *now_);
  const bool started_anew =
      before.status->startTime && before.status->startTime != after.status->startTime;
  require(!started_anew || before.status->is_true("Suspended"),
          "B8: startTime changes on resume only", *now_);
}

void SafetyWatch::look_at_pod(const Record& record) {
  const Pod& pod = *as<Pod>(record.after ? *record.after : *record.before);
  const std::string* type = pod.metadata.label(pj::label::replica_type);
  const std::string* index = pod.metadata.label(pj::label::replica_index);
  if (type == nullptr || index == nullptr) return;
  auto& replica = live_[*type + "/" + *index];
  if (record.after && !pod.metadata.deletionTimestamp) {
    // RANK itself may be the user's own where the job has no Master.
    replica[pod.metadata.uid] = variable(pod, "PET_NODE_RANK");
  } else {
    replica.erase(pod.metadata.uid);
  }
  require(replica.size() <= 1, "B6: at most one live pod of an index", record);
  std::set<std::string> ranks;
  for (const auto& [name, pods] : live_)
    for (const auto& [uid, rank] : pods)
      require(rank.empty() || ranks.insert(rank).second, "B10: ranks are distinct", record);
}

void SafetyWatch::on_record(const Record& record) {
  const Object* object = record.after ? record.after.get() : record.before.get();
  if (object == nullptr) return;
  now_ = &record;
  if (as<Pod>(*object) != nullptr) look_at_pod(record);
  if (as<PyTorchJob>(*object) == nullptr || !record.after) return;
  const auto& after = *as<PyTorchJob>(*record.after);
  look_at(after);
  if (record.before) look_at_change(*as<PyTorchJob>(*record.before), after, record.actor);
}

JobRun::JobRun(const RunPlan& plan)
    : loop_(Random(plan.seed).split("loop"), start),
      runtime_(loop_),
      world_(loop_, world_of(plan), &runtime_),
      job_(job_of(plan.shape)) {
  world_.trace().add_sink([this](const Record& record) {
    lines_.push_back(fmt::format("{} {}", record.cause, describe(record)));
    watch_.on_record(record);
  });
  script_init_containers(runtime_);
  DDPTWIN_ASSERT(world_.start().has_value());  // our own nodes
}

bool JobRun::create() {
  const auto answer = world_.call(api::create(job_), user);
  if (!answer) return false;
  job_ = as<PyTorchJob>(answer->object);
  return true;
}

void JobRun::rest(Duration duration) { loop_.run_until(loop_.now() + duration); }

void JobRun::patch_job(const Json& patch) {
  // A refusal is an answer too: a finished or deleted job, a number the webhook does not like.
  static_cast<void>(world_.call(api::patch(*job_, api::PatchType::merge, patch), user));
}

void JobRun::apply(const Event& event) {
  using Kind = Event::Kind;
  switch (event.kind) {
    case Kind::exit:
      runtime_.container_exit("default", event.pod, std::string(pj::container_name), event.number);
      break;
    case Kind::node_fault:
      runtime_.sandbox_dies("default", event.pod);
      break;
    case Kind::remove_pod:
      if (const auto pod = world_.find(Pod::info(), "default", event.pod))
        static_cast<void>(world_.call(api::remove(*pod), user));
      break;
    case Kind::scale:
      patch_job(json::object{
          {"spec",
           {{"pytorchReplicaSpecs", {{"Worker", {{"replicas", event.number % workers_max}}}}}}}});
      break;
    case Kind::suspend:
    case Kind::resume:
      patch_job(
          json::object{{"spec", {{"runPolicy", {{"suspend", event.kind == Kind::suspend}}}}}});
      break;
    case Kind::kubelets_restart:
      world_.restart_kubelets();
      break;
    case Kind::rest:
      break;
  }
  rest(std::chrono::seconds(event.seconds));
}

void JobRun::remove_job() { static_cast<void>(world_.call(api::remove(*job_), user)); }

std::vector<ObjectPtr> JobRun::owned(const KindInfo& kind) const {
  std::vector<ObjectPtr> out;
  for (const ObjectPtr& object : world_.objects(kind, "default"))
    if (const auto* owner = object->metadata.controller(); owner && owner->kind == "PyTorchJob")
      out.push_back(object);
  return out;
}

std::vector<std::shared_ptr<const Pod>> JobRun::pods() const {
  std::vector<std::shared_ptr<const Pod>> out;
  for (const ObjectPtr& object : owned(Pod::info())) out.push_back(as<Pod>(object));
  return out;
}

std::vector<ObjectPtr> JobRun::services() const { return owned(Service::info()); }

}  // namespace ddptwin::property
