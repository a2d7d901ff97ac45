#include "controller/pytorchjob/pass.hpp"

#include <algorithm>

#include "objects/pod_phase.hpp"

namespace ddptwin::controller::pytorchjob {

std::vector<std::string> Pass::types(bool worker_first) const {
  std::vector<std::string> types;
  for (const auto& [type, spec] : replica_specs(job)) types.push_back(type);
  if (worker_first) std::reverse(types.begin(), types.end());
  return types;
}

const Cow<std::vector<OwnerReference>>& Pass::owners() {
  if (owners_made.empty()) owners_made = std::vector{owner_of(job)};
  return owners_made;
}

void Pass::note(const Rule& rule, std::string text) {
  add(Step{.rule = &rule, .text = std::move(text)});
}

void Pass::event(const Rule& rule, std::string_view type, std::string_view reason,
                 std::string message) {
  std::string text = std::string(reason) + ": " + message;
  add(Step{.rule = &rule,
           .text = std::move(text),
           .event = EventText{type, std::string(reason), std::move(message)}});
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

Step Pass::status_step() const {
  // Only the status subresource is written: the spec is the cached one, untouched.
  auto updated = std::make_shared<PyTorchJob>(*seen.job);
  updated->status = status;
  // An empty map is left out on the wire.
  if (updated->status->replicaStatuses && updated->status->replicaStatuses->empty())
    updated->status->replicaStatuses.reset();
  return Step{.rule = &rules::write_status, .request = api::update(std::move(updated), "status")};
}

void Pass::write_status() {
  static const JobStatus none{};
  if (!same(status, seen.job->status ? *seen.job->status : none)) add(status_step());
}

Step delete_step(const Rule& rule, const KindInfo& kind, const PyTorchJob& job,
                 const std::string& name) {
  api::Request request;
  request.verb = api::Verb::remove;
  request.target = {&kind, job.metadata.namespace_, name, {}};
  const bool is_pod = &kind == &Pod::info();
  return Step{.rule = &rule,
              .request = std::move(request),
              .only_if_alive = true,
              .event = EventText{normal, is_pod ? "SuccessfulDeletePod" : "SuccessfulDeleteService",
                                 (is_pod ? "Deleted pod: " : "Deleted service: ") + name},
              .refused = RefusalText{is_pod ? "FailedDeletePod" : "FailedDeleteService",
                                     "Error deleting: "}};
}

void add_replica_labels(const Pass& pass, StringMap& labels, std::string_view type, int index) {
  labels.reserve(labels.size() + 5);  // one more says that it is the master
  // In the order of the keys, so that nothing is moved.
  labels[std::string(label::job_name)] = pass.name();
  labels[std::string(label::operator_name)] = controller_name;
  labels[std::string(label::replica_index)] = std::to_string(index);
  labels[std::string(label::replica_type)] = lower(type);
}

bool is_active(const Pod& pod) {
  return !is_terminal_phase(pod.status.phase) && !pod.metadata.deletionTimestamp;
}

bool is_of_type(const ObjectMeta& metadata, std::string_view type) {
  const std::string* value = metadata.label(label::replica_type);
  return value != nullptr && *value == lower(type);
}

}  // namespace ddptwin::controller::pytorchjob
