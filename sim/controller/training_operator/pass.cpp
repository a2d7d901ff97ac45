#include "controller/training_operator/pass.hpp"

#include <algorithm>

#include "controller/training_operator/defaults.hpp"
#include "core/concat.hpp"
#include "objects/pod_phase.hpp"

namespace ddptwin::controller::pytorchjob {
namespace {

const Text pod_deleted = "SuccessfulDeletePod", service_deleted = "SuccessfulDeleteService";
constexpr RefusalText pod_not_deleted{"FailedDeletePod", "Error deleting: "};
constexpr RefusalText service_not_deleted{"FailedDeleteService", "Error deleting: "};

}  // namespace

ReplicaLabels::ReplicaLabels(const ObjectMeta& metadata) {
  const Text* said = metadata.label(label::replica_type);
  if (said == nullptr) return;
  type = *said;
  index = replica_index(metadata);
}

const ReplicaLabels& KnownLabels::at(std::size_t place, const ObjectMeta& metadata) {
  Row& row = rows_[place];
  if (row.labels.untouched() || !row.labels.same_as(metadata.labels))
    row = {metadata.labels, ReplicaLabels(metadata)};
  return row.said;
}

JobFacts::JobFacts(const PyTorchJob& from)
    : of(from.spec.shared()),
      labels(from.metadata.namespace_, StringMap{{label::operator_name, controller_name},
                                                 {label::job_name, from.metadata.name}}) {
  job.metadata.name = from.metadata.name;
  job.metadata.namespace_ = from.metadata.namespace_;
  job.metadata.uid = from.metadata.uid;
  auto spec = defaulted(*from.spec);
  if (spec)
    job.spec = Verbatim<PyTorchJobSpec>(std::move(*spec));
  else
    is_defaulted = fail(std::move(spec.error()));
  const std::string key = key_of(job.metadata);
  for (const auto& [type, replica] : replica_specs(job)) {
    specs.push_back(&replica);
    ReplicaNames& names = types.emplace_back();
    names.type = type;
    names.label = lower(type);
    names.pods_key = expectation_key(key, names.label, "pods");
    names.services_key = expectation_key(key, names.label, "services");
    names.selector = concat({label::job_name, "=", job.metadata.name, ",", label::operator_name,
                             "=", controller_name, ",", label::replica_type, "=", names.label});
  }
  // As its author wrote them: defaulting may have put two under one name.
  for (const auto& [type, replica] : replica_specs(from))
    if (const ReplicaNames* names = names_of(lower(type)); names != nullptr)
      expectation_keys.insert(expectation_keys.end(), {names->pods_key, names->services_key});
    else
      for (const std::string_view what : {"pods", "services"})
        expectation_keys.push_back(expectation_key(key, type, what));
}

bool JobFacts::hold_for(const PyTorchJob& other) const {
  const Cow<PyTorchJobSpec>& spec = other.spec.shared();
  return (of.same_as(spec) || job.spec.shared().same_as(spec)) &&
         job.metadata.uid == other.metadata.uid;
}

const ReplicaNames* JobFacts::names_of(std::string_view label) const {
  for (const ReplicaNames& names : types)  // two, mostly
    if (names.label == label) return &names;
  return nullptr;
}

Pass::Types Pass::types(bool worker_first) const {
  Types types;
  for (const ReplicaNames& names : seen.facts->types) types.push_back(&names);
  if (worker_first) std::reverse(types.begin(), types.end());
  return types;
}

const Cow<std::vector<OwnerReference>>& Pass::owners() {
  if (owners_made.empty()) owners_made = std::vector{owner_of(job)};
  return owners_made;
}

const Pass::Replica& Pass::replica(const ReplicaNames& names, int index) {
  const auto place = static_cast<std::size_t>(index);
  if (place >= replicas_made.size()) replicas_made.resize(place + 1);
  Replica& made = replicas_made[place];
  if (made.name.empty()) {
    made.name = replica_name(name(), names.label, index);
    add_replica_labels(*this, made.labels.edit(), names, index);
  }
  return made;
}

Step& Pass::add(const Rule& rule) {
  Step& step = plan.steps.emplace_back();
  step.rule = &rule;
  return step;
}

void Pass::note(const Rule& rule, std::string_view text) { add(rule).text = text; }

void Pass::event(const Rule& rule, std::string_view type, Text reason, const std::string& message) {
  Step& step = add(rule);
  step.text = Text::of({reason, ": ", message});
  step.event = EventText{type, std::move(reason), message};
}

void Pass::condition(NewCondition next, const Rule* rule) {
  const std::string_view type = next.type, value = next.status ? "=True" : "=False";
  if (set_condition(status, std::move(next), now) && rule != nullptr)
    note(*rule, concat({type, value}));
}

void Pass::abort(const Rule& rule, Error error) {
  note(rule, error.message);
  plan.error = std::move(error);
  over = true;
}

void Pass::panic(const std::string& text) {
  if (profile().recovers_panics)
    return abort(rules::programming_error, Error{.reason = Reason::internal_error,
                                                 .message = "panic: " + text + " [recovered]"});
  note(rules::programming_error, text);
  plan.panic = text;
  over = true;
}

Step Pass::status_step() {
  // Only the status subresource is written: the spec is the cached one, untouched.
  auto updated = std::make_shared<PyTorchJob>();
  updated->metadata = seen.job->metadata;
  updated->spec = seen.job->spec;
  updated->extra = seen.job->extra;
  updated->status = std::move(status);
  // An empty map is left out on the wire.
  if (updated->status->replicaStatuses && updated->status->replicaStatuses->empty())
    updated->status->replicaStatuses.reset();
  return Step{.rule = &rules::write_status, .request = api::update(std::move(updated), "status")};
}

void Pass::write_status() {
  static const JobStatus none{};
  if (!same(status, seen.job->status ? *seen.job->status : none)) add(status_step());
}

Step& Pass::add_deletion(const Rule& rule, const KindInfo& kind, const Text& target) {
  const bool is_pod = &kind == &Pod::info();
  Step& step = add(rule);
  api::Request& request = step.request.emplace();
  request.verb = api::Verb::remove;
  request.target.kind = &kind;
  request.target.namespace_ = job.metadata.namespace_;
  request.target.name = target;
  step.only_if_alive = true;
  step.event = EventText{normal, is_pod ? pod_deleted : service_deleted, target,
                         is_pod ? "Deleted pod: " : "Deleted service: "};
  step.refused = is_pod ? &pod_not_deleted : &service_not_deleted;
  return step;
}

void add_replica_labels(const Pass& pass, StringMap& labels, const ReplicaNames& names, int index) {
  labels.reserve(labels.size() + 5);  // one more says that it is the master
  // In the order of the keys: each comes last, unless the template has labels of its own.
  const auto set = [&](const Text& key, Text value) {
    labels.insert_or_assign(labels.end(), key, std::move(value));
  };
  // All pods share them.
  static const Text job_name_key(label::job_name), operator_key(label::operator_name),
      index_key(label::replica_index), type_key(label::replica_type),
      operator_value(controller_name);
  set(job_name_key, pass.name());
  set(operator_key, operator_value);
  set(index_key, std::to_string(index));
  set(type_key, names.label);
}

bool is_active(const Pod& pod) {
  return !is_terminal_phase(pod.status.phase) && !pod.metadata.deletionTimestamp;
}

bool is_of_type(const ObjectMeta& metadata, std::string_view type) {
  const Text* value = metadata.label(label::replica_type);
  return value != nullptr && *value == lower(type);
}

}  // namespace ddptwin::controller::pytorchjob
