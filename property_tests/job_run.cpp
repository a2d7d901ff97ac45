#include "job_run.hpp"

#include <fmt/format.h>

#include <boost/json.hpp>
#include <ostream>

#include "cluster/store/store.hpp"
#include "controller/training_operator/conditions.hpp"
#include "controller/training_operator/names.hpp"
#include "core/virtual_start.hpp"
#include "objects/codec.hpp"
#include "objects/describe.hpp"

namespace ddptwin::property {
namespace {

namespace json = boost::json;
namespace pj = controller::pytorchjob;

constexpr int workers_max = 6;
constexpr int seconds_max = 40;  // of rest after an event: less than this
constexpr std::size_t events_max = 12;

constexpr const char* event_names[] = {
    "exit",   "lose sandbox of",  "delete pod",     "scale workers", "suspend",
    "resume", "restart kubelets", "crash operator", "wait",
};

WorldOptions world_of(const RunPlan& plan) {
  WorldOptions options;
  options.seed = plan.seed;
  options.scheduler = true;
  options.systems = {{&training_operator, plan.profile.version}};
  options.nodes = {{.name = "n0", .address = "192.168.0.1"},
                   {.name = "n1", .address = "192.168.0.2"}};
  return options;
}

// A job that ends stops Running in place: when it began to run is still told (spec/pytorchjob.md
// §5.1).
bool ends_in_place(const Record& record) {
  const auto* before = record.before ? as<PyTorchJob>(*record.before) : nullptr;
  const auto* after = record.after ? as<PyTorchJob>(*record.after) : nullptr;
  if (before == nullptr || after == nullptr || !before->status || !after->status) return true;
  const auto* was = before->status->condition("Running");
  const auto* is = after->status->condition("Running");
  if (was == nullptr || is == nullptr || pj::is_finished(*before->status) ||
      !pj::is_finished(*after->status))
    return true;
  JobCondition wanted = *was;
  wanted.status = "False";
  return equal(wanted, *is);
}

// The init container of a worker looks up its master; here it finds it after a second.
void script_init_containers(ScriptRuntime& runtime) {
  for (int i = 0; i < workers_max; ++i)
    runtime.set("default", pj::replica_name("j", pj::worker_type, i), "exit.init-pytorch",
                "0 after 1");
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
                                                         {1, Kind::operator_crash},
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
    plan.events = *gen::vector_of(count, any_event(plan.shape));
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

JobRun::JobRun(const RunPlan& plan)
    : loop_(Random(plan.seed).split("loop"), virtual_start),
      runtime_(loop_),
      world_(loop_, world_of(plan), &runtime_),
      job_(job_of(plan.shape)) {
  world_.trace().add_sink([this](const Record& record) {
    lines_.push_back(fmt::format("{} {}", record.cause, describe(record)));
    if (!ends_in_place(record)) redated_.push_back("redated: " + lines_.back());
    watch_.on_record(record);
  });
  world_.store().seal();
  script_init_containers(runtime_);
  DDPTWIN_ASSERT(world_.start().has_value());  // our own nodes
}

bool JobRun::create() {
  const auto answer = world_.call(api::create(job_), "user");
  if (!answer) return false;
  job_ = as<PyTorchJob>(answer->object);
  return true;
}

void JobRun::rest(Duration duration) {
  loop_.run_until(loop_.now() + duration);
  watch_.pass(loop_.now());
}

std::vector<std::string> JobRun::violations() const {
  std::vector<std::string> all = redated_;
  for (const scenario::Violation& one : watch_.violations()) all.push_back(explain(one));
  return all;
}

void JobRun::patch_job(const Json& patch) {
  // A refusal is an answer too: a finished or deleted job, a number the webhook does not like.
  static_cast<void>(world_.call(api::patch(*job_, api::PatchType::merge, patch), "user"));
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
        static_cast<void>(world_.call(api::remove(*pod), "user"));
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
    case Kind::operator_crash:
      world_.crash_controller("training-operator");
      world_.start_controller("training-operator");
      break;
    case Kind::rest:
      break;
  }
  rest(std::chrono::seconds(event.seconds));
}

void JobRun::remove_job() { static_cast<void>(world_.call(api::remove(*job_), "user")); }

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
