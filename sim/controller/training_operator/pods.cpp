// The pods of one replica type (spec/pytorchjob.md §3.1, §4.3).
#include "controller/training_operator/pods.hpp"

#include <algorithm>

#include "controller/training_operator/environment.hpp"
#include "controller/training_operator/pass.hpp"

namespace ddptwin::controller::pytorchjob {

using namespace std::string_view_literals;
namespace {

const Text pod_created = "SuccessfulCreatePod";
constexpr RefusalText pod_not_created{"FailedCreatePod", "Error creating: "};
constexpr int no_exit_code = 0xbeef;  // upstream's "no status yet", retryable by its size

bool is_master_role(const Pass& pass, std::string_view type, int index) {
  if (type == master_type) return true;
  return pass.profile().first_worker_is_master && !has_master(pass.job) && index == 0;
}

Cow<StringMap> labels_of(Pass& pass, const Cow<StringMap>& of_template, const ReplicaNames& names,
                         int index) {
  Cow<StringMap> labels = of_template;
  if (labels.empty())
    labels = pass.replica(names, index).labels;
  else
    add_replica_labels(pass, labels.edit(), names, index);
  if (is_master_role(pass, names.type, index)) labels.edit()[label::job_role] = "master";
  return labels;
}

// Everything of the pod but its environment, and what the gang scheduler adds.
std::shared_ptr<Pod> pod_from_template(Pass& pass, const ReplicaSpec& spec,
                                       const ReplicaNames& names, int index) {
  auto pod = std::make_shared<Pod>();
  const ObjectMeta& from = spec.template_.metadata;
  pod->metadata.name = pass.replica(names, index).name;
  pod->metadata.namespace_ = pass.job.metadata.namespace_;
  pod->metadata.labels = labels_of(pass, from.labels, names, index);
  pod->metadata.annotations = from.annotations;
  pod->metadata.finalizers = from.finalizers;
  pod->metadata.ownerReferences = pass.owners();
  pod->spec = spec.template_.spec;
  return pod;
}

// False: the pass is over.
bool add_init_containers(Pass& pass, PodSpec& spec, std::string_view type) {
  auto known = pass.init_containers.find(type);
  if (known == pass.init_containers.end()) {
    auto made = init_containers(pass.job, type, pass.settings.init_container);
    if (!made) {
      pass.abort(rules::create_missing_pod, made.error());
      return false;
    }
    known = pass.init_containers.emplace(type, std::move(*made)).first;
  }
  const Cow<std::vector<Container>>& added = known->second;
  if (spec.initContainers.empty()) {
    spec.initContainers = added;
  } else if (!added.empty()) {
    std::vector<Container>& all = spec.initContainers.edit();
    all.insert(all.end(), added.begin(), added.end());
  }
  return true;
}

// False: the pass is over.
bool inject(Pass& pass, PodSpec& spec, std::string_view type, int index) {
  if (pass.variables_made.empty()) {
    auto made = environment(pass.job, type, index, pass.profile());
    if (!made) {
      if (made.error().reason == Reason::internal_error)
        pass.panic(made.error().message);
      else
        pass.abort(rules::create_missing_pod, made.error());
      return false;
    }
    pass.variables_made = std::move(*made);
  } else {
    set_rank(pass.variables_made, type, index);
  }
  for (Container& container : spec.containers.edit()) {
    container.env.reserve(container.env.size() + pass.variables_made.size());
    for (const InjectedVariable& variable : pass.variables_made) {
      EnvVar& added = container.env.emplace_back();
      added.name = variable.name;
      added.value = variable.value;
    }
  }
  return add_init_containers(pass, spec, type);
}

void create_pod(Pass& pass, const ReplicaNames& names, const ReplicaSpec& spec, int index) {
  std::shared_ptr<Pod> pod = pod_from_template(pass, spec, names, index);
  PodSpec& pod_spec = pod->spec.edit();
  if (!inject(pass, pod_spec, names.type, index)) return;
  if (!pod_spec.restartPolicy.empty())
    pass.event(rules::overwrite_restart_policy, warning,
               pass.profile().set_event_reasons ? "SetPodTemplateRestartPolicy"
                                                : "SettedPodTemplateRestartPolicy",
               "Restart policy in pod template will be overwritten by restart policy in replica "
               "spec");
  pod_spec.restartPolicy = pod_restart_policy(spec.restartPolicy);
  decorate_for_gang(pass, *pod, names.type);
  Step& step = pass.add(rules::create_missing_pod);
  step.event = EventText{normal, pod_created, pod->metadata.name, "Created pod: "};
  step.request = api::create(std::move(pod));
  step.expected.push_back({.key = names.pods_key, .adds = 1});
  step.refused = &pod_not_created;
  step.tolerated = Reason::timeout;
}

void delete_pod(Pass& pass, const Rule& rule, const ReplicaNames& names, const Pod& pod) {
  pass.add_deletion(rule, Pod::info(), pod.metadata.name)
      .expected.push_back({.when = Expected::When::after_call, .key = names.pods_key, .dels = 1});
}

int exit_code_of(Pass& pass, const Pod& pod) {
  int code = no_exit_code;
  for (const ContainerStatus& status : pod.status.containerStatuses) {
    // Most go on: that is seen without a look at their names.
    if (!status.state.terminated || status.name != container_name) continue;
    code = status.state.terminated->exitCode;
    pass.event(rules::report_exit_code, normal, "ExitedWithCode",
               "Pod: " + pod.metadata.namespace_ + "." + pod.metadata.name + " exited with code " +
                   std::to_string(code));
  }
  return code;
}

void handle_failed(Pass& pass, const ReplicaNames& names, const ReplicaSpec& spec, const Pod& pod,
                   int exit_code) {
  const std::string& type = names.type;
  const std::string& policy = spec.restartPolicy;
  const bool by_code = policy == "ExitCode";
  if (policy == "OnFailure" || policy == "Always" || (by_code && is_retryable(exit_code))) {
    delete_pod(pass, rules::replace_failed_pod, names, pod);
    const std::string message =
        "job " + pass.name() + " is restarting because " + type + " replica(s) failed.";
    pass.event(rules::replace_failed_pod, warning, reason::restarting, message);
    pass.condition({condition::restarting, true, reason::restarting, message});
  } else if (by_code && pass.profile().permanent_exit_code_fails) {
    const std::string message =
        "job \"" + pass.name() + "\" is failing because \"" + type + "\" replica(s) failed.";
    pass.event(rules::permanent_exit_code, warning, reason::failed, message);
    pass.condition({condition::failed, true, reason::failed, message});
  }
}

}  // namespace

std::string pod_restart_policy(const std::string& replica_policy) {
  return replica_policy == "ExitCode" ? "Never" : replica_policy;
}

// Counted from the list, also when it was deleted a moment ago.
void count(ReplicaStatus& counters, const Pod& pod) {
  if (pod.status.phase == "Running"sv)
    ++(pod.metadata.deletionTimestamp ? counters.failed : counters.active);
  else if (pod.status.phase == "Succeeded"sv)
    ++counters.succeeded;
  else if (pod.status.phase == "Failed"sv)
    ++counters.failed;
}

void reconcile_pods(Pass& pass, const ReplicaNames& names, const AllLabelled<Pod>& pods) {
  const std::string& type = names.type;
  const ReplicaSpec& spec = pass.seen.facts->spec_of(names);
  const int replicas = spec.replicas.value_or(1);
  if (!pass.status.replicaStatuses) pass.status.replicaStatuses.emplace();
  ReplicaStatus& counters = (*pass.status.replicaStatuses)[type] = ReplicaStatus{};
  const auto slices = by_index(pods, names.label, replicas);
  const auto is_missing = [](const auto& slice) { return slice.size == 0; };
  // Where a pod is missing its Service is, too, as a job begins.
  pass.expect_steps(
      2 * static_cast<std::size_t>(std::count_if(slices.begin(), slices.end(), is_missing)));
  for (std::size_t i = 0; i < slices.size() && !pass.over; ++i) {
    const int index = static_cast<int>(i);
    if (slices[i].size == 0) {
      create_pod(pass, names, spec, index);
    } else if (slices[i].size > 1) {
      pass.note(rules::several_pods_at_index, type + " " + std::to_string(index));
    } else {
      const Pod& pod = *slices[i].one;
      if (index >= replicas) delete_pod(pass, rules::scale_down_pod, names, pod);
      const int exit_code = exit_code_of(pass, pod);
      if (pod.status.phase == "Failed"sv) handle_failed(pass, names, spec, pod, exit_code);
      count(counters, pod);
    }
  }
}

}  // namespace ddptwin::controller::pytorchjob
