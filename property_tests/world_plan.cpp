#include "world_plan.hpp"

#include <boost/json.hpp>
#include <ostream>

#include "scenario/language/fault_yaml.hpp"

namespace ddptwin::property {
namespace {

namespace json = boost::json;
using Kind = WorldEvent::Kind;
using scenario::Fault;
using scenario::FaultKind;

constexpr int workers_max = 6, events_max = 14, faults_max = 6, weight_max = 4;
constexpr int rest_max = 40;        // seconds
constexpr int quiet_seconds = 400;  // longer than any grace period and restart delay
constexpr const char* event_names[] = {
    "create",  "delete",  "scale workers of", "suspend",      "resume",          "touch",
    "exit in", "hang in", "delete pod of",    "evict pod of", "lose sandbox of", "restart kubelets",
    "rest"};

const std::vector<Kind>& event_kinds() {
  static const std::vector<Kind> all{Kind::create_job, Kind::remove_job,   Kind::scale,
                                     Kind::suspend,    Kind::resume,       Kind::touch,
                                     Kind::exit,       Kind::hang,         Kind::delete_pod,
                                     Kind::evict_pod,  Kind::lose_sandbox, Kind::restart_kubelets,
                                     Kind::rest};
  return all;
}

// Links and DNS answers have nobody here who uses them.
const std::vector<FaultKind>& fault_kinds() {
  static const std::vector<FaultKind> all{
      FaultKind::api_conflict,      FaultKind::api_error,      FaultKind::api_timeout,
      FaultKind::api_latency,       FaultKind::api_lost_reply, FaultKind::watch_delay,
      FaultKind::watch_drop,        FaultKind::watch_relist,   FaultKind::controller_crash,
      FaultKind::controller_double, FaultKind::scheduler_down, FaultKind::node_lost,
      FaultKind::node_dead,         FaultKind::node_deleted,   FaultKind::node_reboot,
      FaultKind::node_shutdown,     FaultKind::node_cordon,    FaultKind::kubelet_restart,
      FaultKind::process_kill};
  return all;
}

// The kinds of this run, each as often as it weighs.
template <class T>
std::vector<T> swarm(const std::vector<T>& all) {
  std::vector<T> bag;
  for (const T kind : all)
    for (int n = *gen::arbitrary<bool>() ? *gen::inRange(1, weight_max) : 0; n > 0; --n)
      bag.push_back(kind);
  return bag.empty() ? all : bag;
}

WorldEvent any_event(const std::vector<Kind>& kinds) {
  WorldEvent event;
  event.kind = *gen::elementOf(kinds);
  event.job = *gen::inRange(0, static_cast<int>(job_names().size()));
  event.pod = *gen::inRange(0, workers_max);
  switch (event.kind) {
    case Kind::scale:
      event.number = *gen::inRange(1, workers_max);
      break;
    case Kind::exit:
      event.number = *gen::element(0, 0, 1, 127, 128, 137, 143);
      break;
    case Kind::delete_pod:
      event.number = *gen::element(-1, -1, 0, 1, 5);
      break;
    default:
      break;
  }
  event.seconds = *gen::inRange(0, rest_max);
  return event;
}

std::optional<Duration> maybe_seconds(int least, int most) {
  if (*gen::arbitrary<bool>()) return std::nullopt;
  return std::chrono::seconds(*gen::inRange(least, most));
}

Fault any_fault(const std::vector<FaultKind>& kinds) {
  static const std::vector<std::string> actors{"", "training-operator", "kubelet", "kube-scheduler",
                                               "kube-controller-manager"};
  Fault fault;
  fault.kind = *gen::elementOf(kinds);
  const scenario::FaultRow& row = row_of(fault.kind);
  fault.at = std::chrono::seconds(*gen::inRange(0, 120));
  if (row.counts != scenario::Occurrence::none && *gen::arbitrary<bool>())
    fault.nth = *gen::inRange(1, 12);
  if (row.port == "api" || row.port == "watch") fault.of = *gen::elementOf(actors);
  if (row.port == "controller")
    fault.of = *gen::element<std::string>("training-operator", "kube-controller-manager");
  if (row.port == "node" || row.port == "kubelet")
    fault.of = *gen::element<std::string>("n0", "n1");
  if (row.port == "process") fault.of = *gen::element<std::string>("j-master-0", "j-worker-0");
  if (row.port == "node")
    fault.lasts = std::chrono::seconds(*gen::inRange(5, 500));
  else if (takes(row, "for"))
    fault.lasts = maybe_seconds(1, 60);
  if (takes(row, "delay")) fault.delay = maybe_seconds(1, 10);
  return fault;
}

JobShape any_shape(const controller::pytorchjob::Profile& profile) {
  JobShape shape = *job_shape();
  shape.empty_worker = false;  // the webhook of v1.9 refuses it
  shape.workers = std::min(shape.workers, 4);
  if (!shape.master && shape.workers == 0) shape.master = true;
  // Its operator crashes on such a job as long as there is one (Q12).
  if (profile.version == "v1.7.0") shape.elastic_nproc = false;
  return shape;
}

WorldPlan any_plan(bool faulty) {
  WorldPlan plan;
  plan.profile = *any_profile();
  plan.seed = *gen::inRange<std::uint64_t>(1, 1'000'000);
  for (std::size_t i = 0; i < job_names().size(); ++i)
    plan.shapes.push_back(any_shape(plan.profile));
  const auto kinds = swarm(event_kinds());
  for (int i = 0; i < static_cast<int>(job_names().size()); ++i)
    if (i == 0 || *gen::arbitrary<bool>())
      plan.events.push_back({.kind = Kind::create_job, .job = i, .seconds = *gen::inRange(0, 20)});
  for (int n = *gen::inRange(1, events_max); n > 0; --n) plan.events.push_back(any_event(kinds));
  if (!faulty) return plan;
  const auto fault_bag = swarm(fault_kinds());
  for (int n = *gen::inRange(0, faults_max); n > 0; --n)
    plan.faults.faults.push_back(any_fault(fault_bag));
  return plan;
}

bool takes_a_pod_away(Kind kind) {
  return kind == Kind::delete_pod || kind == Kind::evict_pod || kind == Kind::scale;
}

std::shared_ptr<const Pod> pod_of(const ClusterRun& run, const WorldEvent& event) {
  const auto pods = run.pods(job_names()[static_cast<std::size_t>(event.job)]);
  if (pods.empty()) return nullptr;
  return std::next(pods.begin(), event.pod % static_cast<int>(pods.size()))->second;
}

Json job_patch(const WorldEvent& event) {
  const auto spec = [](json::object inner) { return json::object{{"spec", std::move(inner)}}; };
  if (event.kind == Kind::scale)
    return spec({{"pytorchReplicaSpecs", {{"Worker", {{"replicas", event.number}}}}}});
  if (event.kind == Kind::touch)
    return json::object{
        {"metadata", {{"annotations", {{"touched", std::to_string(event.seconds)}}}}}};
  return spec({{"runPolicy", {{"suspend", event.kind == Kind::suspend}}}});
}

void hit_pod(ClusterRun& run, const WorldEvent& event) {
  const auto pod = pod_of(run, event);
  if (!pod) return;
  const ObjectMeta& metadata = pod->metadata;
  api::DeleteOptions options;
  if (event.number >= 0) options.grace_period_seconds = event.number;
  switch (event.kind) {
    case Kind::exit:
      return run.exit(metadata.name.str(), event.number, metadata.namespace_.str());
    case Kind::hang:
      return run.script(metadata.name.str(), "term.pytorch", "ignore", metadata.namespace_.str());
    case Kind::delete_pod:
      return run.remove(*pod, options);
    case Kind::evict_pod:
      return run.evict(*pod);
    default:
      return run.lose_sandbox(*pod);
  }
}

}  // namespace

const std::vector<JobName>& job_names() {
  static const std::vector<JobName> names{
      {"default", "j"}, {"default", "j-worker"}, {"other", "j"}};
  return names;
}

void showValue(const WorldEvent& event, std::ostream& out) {
  const JobName& job = job_names()[static_cast<std::size_t>(event.job)];
  out << event_names[static_cast<int>(event.kind)];
  if (event.kind < Kind::restart_kubelets) out << " " << job.namespace_ << "/" << job.name;
  if (event.kind >= Kind::exit && event.kind < Kind::restart_kubelets) out << " #" << event.pod;
  out << " " << event.number << ", then " << event.seconds << " s";
}

void showValue(const WorldPlan& plan, std::ostream& out) {
  out << "seed " << plan.seed << ", training-operator " << plan.profile.version;
  for (std::size_t i = 0; i < plan.shapes.size(); ++i) {
    out << "\njob " << job_names()[i].namespace_ << "/" << job_names()[i].name << " ";
    showValue(plan.shapes[i], out);
  }
  for (const WorldEvent& event : plan.events) {
    out << "\n- ";
    showValue(event, out);
  }
  for (const Fault& fault : plan.faults.faults) out << "\n- fault: " << to_yaml(fault);
}

rc::Gen<WorldPlan> world_plan() {
  return gen::resize(rc::kNominalSize, gen::exec([] { return any_plan(true); }));
}

rc::Gen<WorldPlan> quiet_plan() {
  return gen::resize(rc::kNominalSize, gen::exec([] {
                       WorldPlan plan = any_plan(false);
                       for (WorldEvent& event : plan.events) {
                         event.seconds = quiet_seconds;
                         // Whether a pass sees the pod while it goes decides over the job (Q8).
                         const auto& shape = plan.shapes[static_cast<std::size_t>(event.job)];
                         if (shape.restart_policy == "Never" && takes_a_pod_away(event.kind))
                           event.kind = Kind::rest;
                       }
                       // No clock ends them: whatever wakes the operator does (Q4). And what has
                       // reached a limit may be made anew before the end is in the cache (Q37).
                       for (JobShape& shape : plan.shapes) {
                         shape.active_deadline_seconds = 0;
                         shape.backoff_limit = -1;
                       }
                       return plan;
                     }));
}

void apply(ClusterRun& run, const WorldPlan& plan, const WorldEvent& event) {
  const auto job = static_cast<std::size_t>(event.job);
  const JobName& name = job_names()[job];
  switch (event.kind) {
    case Kind::create_job:
      run.create(plan.shapes[job], name);
      break;
    case Kind::remove_job:
      if (const auto known = run.job(name)) run.remove(*known);
      break;
    case Kind::scale:
      // Who scales what is not there writes an invalid job, which nobody touches again (Q28).
      if (plan.shapes[job].workers > 0) run.patch_job(job_patch(event), name);
      break;
    case Kind::suspend:
    case Kind::resume:
    case Kind::touch:
      run.patch_job(job_patch(event), name);
      break;
    case Kind::restart_kubelets:
      run.world().restart_kubelets();
      break;
    case Kind::rest:
      break;
    default:
      hit_pod(run, event);
  }
  run.rest(std::chrono::seconds(event.seconds));
}

bool may_never_end(const WorldPlan& plan, const JobShape& shape) {
  const bool old = plan.profile.version == "v1.7.0";
  const bool stuck = old && shape.restart_policy == "ExitCode";                          // Q2
  const bool unsuspended = shape.ttl_seconds >= 0 && !plan.profile.suspended_keeps_ttl;  // Q16
  return stuck || unsuspended || shape.restart_policy == "Always";
}

}  // namespace ddptwin::property
