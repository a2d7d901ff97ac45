#include "cluster_run.hpp"

#include <boost/json.hpp>

#include "cluster/store/store.hpp"
#include "controller/training_operator/names.hpp"
#include "core/virtual_start.hpp"
#include "dns/resolver.hpp"
#include "scenario/faults/excuses.hpp"

namespace ddptwin::property {
namespace {

namespace pj = controller::pytorchjob;

constexpr int replicas_max = 12;

WorldOptions world_of(std::uint64_t seed, const pj::Profile& profile, WorldFaults* faults) {
  WorldOptions options;
  options.faults = faults;
  options.seed = seed;
  options.scheduler = true;
  options.systems = {{&training_operator, profile.version}};
  options.nodes = {{.name = "n0", .address = "192.168.0.1"},
                   {.name = "n1", .address = "192.168.0.2"}};
  return options;
}

}  // namespace

std::string variable(const Pod& pod, std::string_view name) {
  std::string value;
  for (const EnvVar& one : pod.spec->containers.front().env)
    if (one.name == name) value = one.value;
  return value;
}

ClusterRun::ClusterRun(std::uint64_t seed, const pj::Profile& profile,
                       const scenario::FaultPlan& plan, WorldFaults* witness)
    : loop_(Random(seed).split("loop"), virtual_start),
      runtime_(loop_),
      faults_(plan.faults.empty() ? nullptr
                                  : std::make_unique<scenario::FaultInjector>(loop_, plan)),
      watch_(scenario::kept_under(plan)),
      world_(loop_, world_of(seed, profile, faults_ ? faults_.get() : witness), &runtime_) {
  DDPTWIN_ASSERT(!faults_ || witness == nullptr);  // who would be asked is one
  world_.trace().add_sink([this](const Record& record) {
    on_record(record);
    watch_.on_record(record);
  });
  world_.trace().set_keeper([this](Record&& record) { watch_.keep(std::move(record)); });
  const auto exits = [this](const scenario::RunningContainer& container, int code) {
    runtime_.container_exit(container.namespace_, container.pod, container.name, code);
  };
  if (faults_)
    faults_->attach(world_, {.signal = [exits](const auto& container,
                                               int signal) { exits(container, 128 + signal); },
                             .exit = exits});
  world_.store().seal();
  DDPTWIN_ASSERT(world_.start().has_value());  // our own nodes
  DDPTWIN_ASSERT(world_.add_namespace("other").has_value());
  if (faults_) DDPTWIN_ASSERT(faults_->start().has_value());
}

std::string ClusterRun::first_violation() {
  watch_.pass(loop_.now());
  return watch_.violations().empty() ? std::string() : explain(watch_.violations().front());
}

void ClusterRun::heal() {
  if (faults_) faults_->heal();
}

void ClusterRun::on_record(const Record& record) {
  if (record.kind == RecordKind::object_deleted && as<PyTorchJob>(*record.before) != nullptr)
    job_gone_at_ = record.time;
  if (const auto* job = record.after ? as<PyTorchJob>(*record.after) : nullptr;
      job != nullptr && job->status && key_of(job->metadata) == "default/j")
    for (const JobCondition& condition : job->status->conditions)
      if (condition.status == "True") ever_.insert(condition.type_);
  if (record.actor != "training-operator") return;
  if (record.kind == RecordKind::object_added)
    ++creations_[record.after->kind().plural + " " + key_of(record.after->metadata)];
  if (record.kind == RecordKind::api_refused && record.subject.starts_with("create "))
    ++creations_[std::string(record.subject.substr(7))];
}

int ClusterRun::creations(const std::string& plural, const std::string& key) const {
  const auto found = creations_.find(plural + " " + key);
  return found == creations_.end() ? 0 : found->second;
}

bool ClusterRun::create(const JobShape& shape, const JobName& name, const Edit& edit) {
  const auto job = job_of(shape);
  job->metadata.namespace_ = name.namespace_;
  job->metadata.name = name.name;
  if (edit) edit(*job);
  for (int i = 0; i < replicas_max; ++i)
    runtime_.set(name.namespace_, pj::replica_name(name.name, pj::worker_type, i),
                 "exit.init-pytorch", "0 after 1");
  return world_.call(api::create(job), "user").has_value();
}

void ClusterRun::script(const std::string& pod, const std::string& key, const std::string& text,
                        const std::string& namespace_) {
  runtime_.set(namespace_, pod, key, text);
}

void ClusterRun::evict(const Pod& pod) { static_cast<void>(world_.call(api::evict(pod), "user")); }

void ClusterRun::lose_sandbox(const Pod& pod) {
  runtime_.sandbox_dies(pod.metadata.namespace_.str(), pod.metadata.name.str());
}

void ClusterRun::exit(const std::string& pod, int code, const std::string& namespace_) {
  runtime_.container_exit(namespace_, pod, std::string(pj::container_name), code);
}

void ClusterRun::patch_job(const Json& patch, const JobName& name) {
  if (const auto found = job(name)) patch_object(*found, patch);
}

void ClusterRun::patch_object(const Object& object, const Json& patch) {
  static_cast<void>(world_.call(api::patch(object, api::PatchType::merge, patch), "user"));
}

void ClusterRun::remove(const Object& object, const api::DeleteOptions& options) {
  static_cast<void>(world_.call(api::remove(object, options), "user"));
}

std::shared_ptr<const PyTorchJob> ClusterRun::job(const JobName& name) const {
  return as<PyTorchJob>(world_.find(PyTorchJob::info(), name.namespace_, name.name));
}

template <class T>
std::map<std::string, std::shared_ptr<const T>> ClusterRun::of_job(const JobName& name) const {
  std::map<std::string, std::shared_ptr<const T>> found;
  for (const ObjectPtr& object : world_.objects(T::info(), name.namespace_)) {
    const Text* label = object->metadata.label(pj::label::job_name);
    if (label != nullptr && *label == name.name) found[object->metadata.name.str()] = as<T>(object);
  }
  return found;
}

std::map<std::string, ClusterRun::PodPtr> ClusterRun::pods(const JobName& name) const {
  return of_job<Pod>(name);
}

std::map<std::string, ClusterRun::ServicePtr> ClusterRun::services(const JobName& name) const {
  return of_job<Service>(name);
}

std::set<std::string> ClusterRun::conditions(bool status, const JobName& name) const {
  std::set<std::string> types;
  const auto found = job(name);
  if (found && found->status)
    for (const JobCondition& condition : found->status->conditions)
      if ((condition.status == "True") == status) types.insert(condition.type_);
  return types;
}

std::set<std::string> ClusterRun::resolve(const std::string& service,
                                          const std::string& namespace_) {
  std::set<std::string> addresses;
  const auto name = dns::Name::parse(service + "." + namespace_ + ".svc.cluster.local");
  world_.resolver().ask({{*name, dns::RecordType::a, dns::class_in}, "test"},
                        [&](std::optional<dns::Answer> answer) {
                          if (!answer) return;
                          for (const auto& record : answer->answers)
                            if (const auto* v4 = std::get_if<dns::Ipv4>(&record.data))
                              addresses.insert(dns::to_text(*v4));
                        });
  loop_.drain();
  return addresses;
}

}  // namespace ddptwin::property
