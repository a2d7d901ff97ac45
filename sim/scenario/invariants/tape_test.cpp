#include <fmt/format.h>

#include "controller/training_operator/names.hpp"
#include "objects/kinds.hpp"
#include "scenario/invariants/facts.hpp"
#include "scenario/invariants/tape_test_fixture.hpp"

namespace ddptwin::scenario::invariants {
namespace {

namespace pj = controller::pytorchjob;

InvariantPolicy everything() {
  InvariantPolicy policy;
  for (const InvariantRow& row : invariant_rows())
    if (row.strict) policy.also.emplace(row.name);
  return policy;
}

ReplicaSpec replica_of(int replicas) {
  ReplicaSpec spec;
  spec.replicas = replicas;
  spec.restartPolicy = "OnFailure";
  return spec;
}

OwnerReference owner_of_job(const ObjectMeta& job) {
  OwnerReference owner;
  owner.kind = "PyTorchJob";
  owner.name = job.name;
  owner.uid = job.uid;
  owner.controller = true;
  return owner;
}

// "worker-1" in labels and variables, as the operator writes them.
struct Place {
  std::string type, index;
  explicit Place(const std::string& name)
      : type(name.substr(0, name.find('-'))), index(name.substr(name.find('-') + 1)) {}
  int rank() const { return std::stoi(index) + (type == "worker" ? 1 : 0); }
};

StringMap labels_of(const Place& place) {
  return {{std::string(pj::label::job_name), "j"},
          {std::string(pj::label::replica_type), place.type},
          {std::string(pj::label::replica_index), place.index}};
}

}  // namespace

Tape::Tape() : watch_(everything()) {}

void Tape::put(ObjectPtr before, ObjectPtr after, std::string_view actor) {
  Record record;
  record.id = ++id_;
  record.cause = id_ - 1;
  record.time = now_;
  record.kind = before == nullptr  ? RecordKind::object_added
                : after == nullptr ? RecordKind::object_deleted
                                   : RecordKind::object_modified;
  record.actor = actor;
  record.before = before;
  record.after = after;
  const Object& object = after ? *after : *before;
  const std::string key = object.kind().kind + "/" + object.metadata.name;
  if (after)
    objects_[key] = after;
  else
    objects_.erase(key);
  watch_.on_record(record);
  watch_.keep(std::move(record));
}

ObjectPtr Tape::stored(const std::string& kind_and_name) const {
  const auto found = objects_.find(kind_and_name);
  return found == objects_.end() ? nullptr : found->second;
}

void Tape::store(ObjectPtr object, std::string_view actor) {
  ObjectPtr before = stored(object->kind().kind + "/" + object->metadata.name);
  put(std::move(before), std::move(object), actor);
}

void Tape::kill(const std::string& pod) { signal(pod, 9); }

void Tape::signal(const std::string& pod, int number) {
  const std::string text = std::to_string(number);
  write(RecordKind::fault, "scenario", "default/j-" + pod + "/pytorch", "signal " + text,
        {{"port", "process"}, {"signal", text}});
}

void Tape::event(const std::string& pod, const std::string& type, const std::string& reason,
                 const std::string& message, const std::string& related) {
  const Object& about = *objects_.at("Pod/j-" + pod);
  auto event = std::make_shared<Event>();
  event->metadata.name = fmt::format("e{}", id_);
  event->metadata.namespace_ = "default";
  event->type_ = type;
  event->reason = reason;
  event->message = message;
  event->involvedObject.edit().uid = about.metadata.uid;
  if (!related.empty())
    event->rest.edit().related =
        ObjectReference{.kind = "Pod", .namespace_ = "default", .name = related};
  put(nullptr, event, "kubelet");
}

void Tape::other_job_moves() {
  auto job = std::make_shared<PyTorchJob>();
  job->metadata.name = "other";
  job->metadata.namespace_ = "default";
  job->metadata.uid = "uid-other";
  job->metadata.generation = 1;
  put(nullptr, job, "user");
}

void Tape::miss(const std::string& pod) {
  write(RecordKind::fault, "scenario", "default/j-" + pod + "/pytorch", "signal 9 reached nobody",
        {{"port", "process"}, {"missed", "9"}});
}

Record Tape::next(RecordKind kind, std::string_view actor, TextRef subject) {
  Record record;
  record.id = ++id_;
  record.time = now_;
  record.kind = kind;
  record.actor = actor;
  record.subject = subject;
  return record;
}

void Tape::write(RecordKind kind, std::string_view actor, const std::string& subject,
                 const std::string& text, Values values) {
  Record record = next(kind, actor, subject);
  record.text = text;
  record.values = std::move(values);
  watch_.on_record(record);
  watch_.keep(std::move(record));
}

void Tape::rule(std::string_view name, std::string_view controller, const std::string& key) {
  Record record = next(RecordKind::rule, controller, key);
  record.rule = name;
  watch_.on_record(record);
  watch_.keep(std::move(record));
}

void Tape::say(const std::string& pod, const std::string& line) {
  write(RecordKind::log, "container", "default/j-" + pod + "/pytorch", line);
}

void Tape::come_to_rest() {
  now_ = now_ + rest_time + Duration(1s);
  watch_.pass(now_);
}

void Tape::operator_busy_for(Duration duration) {
  auto other = std::make_shared<ConfigMap>();
  other->metadata.name = "of-others";
  constexpr Duration call = std::chrono::milliseconds(50);
  for (Duration passed{}; passed < duration; passed += call) {
    wait(call);
    put(passed == Duration{} ? nullptr : other, other, operator_actor);
  }
}

void Tape::job(int masters, int workers, const EditJob& edit) {
  auto job = std::make_shared<PyTorchJob>();
  job->metadata.name = "j";
  job->metadata.namespace_ = "default";
  job->metadata.uid = fmt::format("uid-{}", ++uids_);
  job->metadata.generation = 1;
  ReplicaSpecs& specs = job->spec.edit().pytorchReplicaSpecs.emplace();
  if (masters > 0) specs.emplace("Master", replica_of(masters));
  if (workers > 0) specs.emplace("Worker", replica_of(workers));
  if (edit) edit(*job);
  put(nullptr, job, "user");
  write(RecordKind::rule, "pytorchjob-controller", "default/j", "");
}

void Tape::remove_job() { put(objects_.at("PyTorchJob/j"), nullptr, operator_actor); }

void Tape::change(std::string_view actor, const EditJob& edit) {
  const auto before = as<PyTorchJob>(objects_.at("PyTorchJob/j"));
  auto after = std::static_pointer_cast<PyTorchJob>(before->clone());
  edit(*after);
  put(before, after, actor);
}

void Tape::status(const std::function<void(JobStatus&)>& edit) {
  change(operator_actor, [&](PyTorchJob& job) {
    if (!job.status) job.status.emplace();
    edit(*job.status);
  });
}

void Tape::condition(const std::string& type, const std::string& value) {
  status([&](JobStatus& status) {
    std::erase_if(status.conditions.edit(),
                  [&](const JobCondition& one) { return one.type_ == type; });
    JobCondition condition;
    condition.type_ = type;
    condition.status = value;
    status.conditions.edit().push_back(std::move(condition));
  });
}

void Tape::finish(const std::string& type) {
  status([&](JobStatus& status) {
    JobCondition condition;
    condition.type_ = type;
    condition.status = "True";
    if (status.conditions.empty()) {
      status.conditions.edit().push_back(condition);
      status.conditions.edit().back().type_ = "Created";
    }
    status.conditions.edit().push_back(std::move(condition));
    status.completionTime = now_;
  });
}

void Tape::counts(const std::string& type, int active, int succeeded, int failed) {
  status([&](JobStatus& status) {
    if (!status.replicaStatuses) status.replicaStatuses.emplace();
    ReplicaStatus& replica = (*status.replicaStatuses)[type];
    replica.active = active;
    replica.succeeded = succeeded;
    replica.failed = failed;
  });
}

void Tape::pod(const std::string& name, const EditPod& edit) {
  const Place place(name);
  const auto job = as<PyTorchJob>(objects_.at("PyTorchJob/j"));
  auto pod = std::make_shared<Pod>();
  pod->metadata.name = "j-" + name;
  pod->metadata.namespace_ = "default";
  pod->metadata.uid = fmt::format("uid-{}", ++uids_);
  pod->metadata.labels = labels_of(place);
  pod->metadata.ownerReferences = std::vector{owner_of_job(job->metadata)};
  Container& container = pod->spec.edit().containers.edit().emplace_back();
  container.name = "pytorch";
  const auto variable = [&](const std::string& key, const std::string& value) {
    EnvVar one;
    one.name = key;
    one.value = value;
    container.env.push_back(std::move(one));
  };
  variable("RANK", std::to_string(place.rank()));
  variable("WORLD_SIZE", std::to_string(pj::total_replicas(*job)));
  variable("MASTER_ADDR", "j-master-0");
  pod->status.phase = "Pending";
  if (edit) edit(*pod);
  put(nullptr, pod, operator_actor);
}

void Tape::edit_pod(const std::string& name, const EditPod& edit, std::string_view actor) {
  const auto before = as<Pod>(objects_.at("Pod/j-" + name));
  auto after = std::static_pointer_cast<Pod>(before->clone());
  edit(*after);
  put(before, after, actor);
}

void Tape::phase(const std::string& name, const std::string& phase) {
  edit_pod(name, [&](Pod& pod) { pod.status.phase = phase; });
}

void Tape::exit(const std::string& name, int code) {
  edit_pod(name, [&](Pod& pod) {
    pod.status.phase = code == 0 ? "Succeeded" : "Failed";
    ContainerStatus status;
    status.name = "pytorch";
    status.state.terminated = ContainerStateTerminated{.exitCode = code, .finishedAt = now_};
    pod.status.containerStatuses = {status};
  });
}

void Tape::run(const std::string& name, const std::string& ip) {
  edit_pod(name, [&](Pod& pod) {
    pod.status.phase = "Running";
    pod.status.rest.edit().podIP = ip;
    PodCondition ready;
    ready.type_ = "Ready";
    ready.status = "True";
    pod.status.conditions = {ready};
  });
}

void Tape::terminate(const std::string& name, std::string_view actor) {
  edit_pod(
      name, [&](Pod& pod) { pod.metadata.deletionTimestamp = now_ + Duration(30s); }, actor);
}

void Tape::remove(const std::string& name, std::string_view actor) {
  put(objects_.at("Pod/j-" + name), nullptr, actor);
}

void Tape::part(const std::string& name) {
  auto part = std::make_shared<ConfigMap>();
  part->metadata.name = name;
  part->metadata.namespace_ = "default";
  part->metadata.uid = fmt::format("uid-{}", ++uids_);
  part->metadata.ownerReferences = std::vector{owner_of_job(objects_.at("PyTorchJob/j")->metadata)};
  put(nullptr, part, operator_actor);
}

void Tape::give_to(const std::string& part, Pod& pod) const {
  pod.metadata.ownerReferences =
      std::vector{owner_of_job(objects_.at("ConfigMap/" + part)->metadata)};
}

void Tape::service(const std::string& name) {
  const auto job = objects_.at("PyTorchJob/j");
  auto service = std::make_shared<Service>();
  service->metadata.name = "j-" + name;
  service->metadata.namespace_ = "default";
  service->metadata.labels = labels_of(Place(name));
  service->metadata.ownerReferences = std::vector{owner_of_job(job->metadata)};
  put(nullptr, service, operator_actor);
}

void Tape::remove_service(const std::string& name, bool foreign) {
  const auto before = as<Service>(objects_.at("Service/j-" + name));
  auto last = std::static_pointer_cast<Service>(before->clone());
  if (foreign) last->metadata.ownerReferences.edit().front().uid = "of an older job";
  put(last, nullptr, operator_actor);
}

void Tape::slice(const std::string& service, const std::string& pod, const std::string& ip,
                 const std::string& name) {
  auto slice = std::make_shared<EndpointSlice>();
  slice->metadata.name = "j-" + service + "-" + name;
  slice->metadata.namespace_ = "default";
  slice->metadata.labels = StringMap{{"kubernetes.io/service-name", "j-" + service}};
  if (!ip.empty()) {
    Endpoint& endpoint = slice->endpoints.emplace_back();
    endpoint.addresses = {ip};
    endpoint.conditions.ready = true;
    endpoint.targetRef = ObjectReference{.kind = "Pod", .name = "j-" + pod};
  }
  const auto before = objects_.find("EndpointSlice/" + slice->metadata.name);
  put(before == objects_.end() ? nullptr : before->second, slice, "kube-controller-manager");
}

void Tape::remove_slice(const std::string& service, const std::string& name) {
  const auto found = objects_.find("EndpointSlice/j-" + service + "-" + name);
  put(found->second, nullptr, "kube-controller-manager");
}

}  // namespace ddptwin::scenario::invariants
