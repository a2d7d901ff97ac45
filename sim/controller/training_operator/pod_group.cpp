// The PodGroup of a gang scheduler: Volcano's, or that of scheduler-plugins (spec/pytorchjob.md
// §3.4, §4.2 M9).
#include "controller/training_operator/pod_group.hpp"

#include <algorithm>
#include <boost/json.hpp>

#include "controller/training_operator/pass.hpp"
#include "controller/training_operator/pods.hpp"
#include "objects/codec.hpp"
#include "objects/json_text.hpp"

namespace ddptwin::controller::pytorchjob {
namespace {

namespace json = boost::json;

constexpr RefusalText group_not_deleted{"FailedDeletePodGroup", "Error deleting: "};
constexpr std::string_view volcano = "volcano";
constexpr std::string_view volcano_api = "scheduling.volcano.sh/v1beta1";
constexpr std::string_view scheduler_plugins_api = "scheduling.x-k8s.io/v1alpha1";

bool is_volcano(const Settings& settings) { return lower(settings.gang_scheduler) == volcano; }

std::string scheduler_name(const Settings& settings) {
  return is_volcano(settings) ? std::string(volcano) : settings.gang_scheduler;
}

// A part of the group, whichever of the two kinds it is of; nothing: it has none.
json::object member(const ObjectPtr& group, std::string_view name) {
  if (group == nullptr) return {};
  Json body = encode(*group);
  Json* found = body.get_object().if_contains(name);
  return found != nullptr && found->is_object() ? std::move(found->get_object()) : json::object();
}

std::string queue_of(const Pass& pass, const SchedulingPolicy* policy) {
  const std::string kept = text_member(member(pass.seen.pod_group, "spec"), "queue");
  if (pass.profile().keeps_queue && !kept.empty()) return kept;
  if (policy != nullptr && !policy->queue.empty()) return policy->queue;
  return std::string(pass.profile().default_queue);
}

json::object spec_of(const Pass& pass) {
  const auto& chosen = pass.job.spec->runPolicy.schedulingPolicy;
  const SchedulingPolicy* policy = chosen ? &*chosen : nullptr;
  const int members =
      policy != nullptr && policy->minAvailable ? *policy->minAvailable : total_replicas(pass.job);
  json::object spec;
  spec["minMember"] = members;
  std::vector<std::string> order;
  for (const ReplicaNames* names : pass.types(pass.seen.pods_worker_first))
    order.push_back(names->type);
  const ResourceList resources = policy != nullptr && policy->minResources
                                     ? *policy->minResources
                                     : min_resources(pass.job, members, order);
  if (!resources.empty()) spec["minResources"] = to_json(resources);
  if (is_volcano(pass.settings)) {
    if (const std::string queue = queue_of(pass, policy); !queue.empty()) spec["queue"] = queue;
    if (policy != nullptr && !policy->priorityClass.empty())
      spec["priorityClassName"] = policy->priorityClass;
  } else if (policy != nullptr && policy->scheduleTimeoutSeconds) {
    spec["scheduleTimeoutSeconds"] = *policy->scheduleTimeoutSeconds;
  }
  return spec;
}

std::shared_ptr<Object> object_of(const KindInfo& kind, json::object body) {
  KindRegistry kinds;
  // The kind lives as long as the cluster's registry, which outlives every plan.
  kinds.add(std::shared_ptr<const KindInfo>(std::shared_ptr<void>(), &kind));
  auto decoded = decode_object(kinds, std::move(body), &kind);
  DDPTWIN_ASSERT(decoded.has_value());  // our own words, and what the API has answered
  return std::move(decoded->object);
}

// Made anew, or the one there is with the spec replaced.
std::shared_ptr<Object> wanted_group(Pass& pass) {
  const KindInfo& kind = *pass.seen.pod_group_kind;
  json::object body;
  if (pass.seen.pod_group) body = std::move(encode(*pass.seen.pod_group).get_object());
  body["apiVersion"] = kind.api_version();
  body["kind"] = kind.kind;
  body["spec"] = spec_of(pass);
  std::shared_ptr<Object> group = object_of(kind, std::move(body));
  if (pass.seen.pod_group) return group;
  group->metadata.name = pass.name();
  group->metadata.namespace_ = pass.job.metadata.namespace_;
  group->metadata.annotations = pass.seen.job->metadata.annotations;
  group->metadata.ownerReferences = pass.owners();
  return group;
}

// Volcano admits the group first; scheduler-plugins never makes pods wait.
bool is_gate_closed(const Pass& pass) {
  if (!is_volcano(pass.settings)) return false;
  const std::string phase = text_member(member(pass.seen.pod_group, "status"), "phase");
  return phase.empty() || phase == "Pending";
}

// The write brings the next pass; the only place where lastReconcileTime is set.
Step waiting_step(const Pass& pass) {
  Pass waiting = pass;
  waiting.status.lastReconcileTime = pass.now;
  Step step = waiting.status_step();
  step.rule = &rules::await_pod_group;
  step.text = "wait for the PodGroup";
  return step;
}

}  // namespace

bool has_foreign_scheduler(const PyTorchJob& job, std::string_view gang) {
  for (const auto& [type, spec] : replica_specs(job)) {
    const std::string& named = spec.template_.spec->rest->schedulerName;
    if (!named.empty() && named != gang) return true;
  }
  return false;
}

ResourceList min_resources(const PyTorchJob& job, int members,
                           const std::vector<std::string>& order) {
  ResourceList sum;
  int left = members;
  for (const std::string& type : order) {
    const ReplicaSpec* spec = replica_spec(job, type);
    if (spec == nullptr) continue;
    const int counted = std::min(left, static_cast<int>(spec->replicas.value_or(1)));
    for (int i = 0; i < counted; ++i)
      for (const Container& container : spec->template_.spec->containers) {
        const ResourceRequirements& needs = container.resources;
        for (const auto& [name, amount] : needs.requests.empty() ? needs.limits : needs.requests)
          sum[name] += amount;
      }
    left -= std::max(counted, 0);
  }
  return sum;
}

const KindInfo* pod_group_kind(const KindRegistry& kinds, const Settings& settings) {
  if (settings.gang_scheduler.empty()) return nullptr;
  return kinds.find(is_volcano(settings) ? volcano_api : scheduler_plugins_api, "PodGroup");
}

bool sync_pod_group(Pass& pass) {
  if (pass.settings.gang_scheduler.empty()) return false;
  if (pass.seen.pod_group_kind == nullptr) {
    pass.add(waiting_step(pass));
    return true;
  }
  const std::shared_ptr<Object> group = wanted_group(pass);
  const bool exists = pass.seen.pod_group != nullptr;
  pass.add(Step{.rule = exists ? &rules::update_pod_group : &rules::create_pod_group,
                .request = exists ? api::update(group) : api::create(group),
                .instead = std::vector{waiting_step(pass)}});
  if (!is_gate_closed(pass)) return false;
  pass.add(waiting_step(pass));
  return true;
}

void decorate_for_gang(Pass& pass, Pod& pod, std::string_view type) {
  if (pass.settings.gang_scheduler.empty()) return;
  if (has_foreign_scheduler(pass.job, scheduler_name(pass.settings)))
    pass.event(rules::foreign_scheduler, warning,
               pass.profile().set_event_reasons ? "SetPodTemplateSchedulerName"
                                                : "SettedPodTemplateSchedulerName",
               "Another scheduler is specified when gang-scheduling is enabled and it will not be "
               "overwritten");
  PodSpec& spec = pod.spec.edit();
  if (spec.rest->schedulerName.empty())
    spec.rest.edit().schedulerName = scheduler_name(pass.settings);
  if (is_volcano(pass.settings)) {
    StringMap& annotations = pod.metadata.annotations.edit();
    annotations["scheduling.k8s.io/group-name"] = pass.name();
    annotations["volcano.sh/task-spec"] = lower(type);
  } else {
    pod.metadata.labels.edit()["scheduling.x-k8s.io/pod-group"] = pass.name();
  }
}

void delete_pod_group(Pass& pass) {
  if (pass.settings.gang_scheduler.empty()) return;
  pass.event(rules::delete_pod_group, normal, "JobTerminated",
             "Job has been terminated. Deleting PodGroup");
  // Told even when it was gone already (Q27).
  Step step{
      .rule = &rules::delete_pod_group,
      .text = "delete PodGroup",
      .event = EventText{normal, "SuccessfulDeletePodGroup", pass.name(), "Deleted PodGroup: "}};
  if (pass.seen.pod_group) {
    step.request = api::remove(*pass.seen.pod_group);
    step.refused = &group_not_deleted;
  }
  pass.add(std::move(step));
}

}  // namespace ddptwin::controller::pytorchjob
