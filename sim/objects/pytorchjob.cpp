#include "objects/pytorchjob.hpp"

#include "objects/fields.hpp"
#include "objects/kinds.hpp"
#include "objects/pytorchjob_definition.hpp"

namespace ddptwin {

const Type& ReplicaSpec::type() {
  using S = ReplicaSpec;
  static const Type t =
      structure<S>("v1.ReplicaSpec", {F(replicas), F(template_), F(restartPolicy)});
  return t;
}
const Type& SchedulingPolicy::type() {
  using S = SchedulingPolicy;
  static const Type t = structure<S>(
      "v1.SchedulingPolicy",
      {F(minAvailable), F(queue), F(minResources), F(priorityClass), F(scheduleTimeoutSeconds)});
  return t;
}
const Type& RunPolicy::type() {
  using S = RunPolicy;
  static const Type t = structure<S>(
      "v1.RunPolicy", {F(cleanPodPolicy), F(ttlSecondsAfterFinished), F(activeDeadlineSeconds),
                       F(backoffLimit), F(schedulingPolicy), F(suspend), F(managedBy)});
  return t;
}
const Type& RDZVConf::type() {
  using S = RDZVConf;
  static const Type t = structure<S>("v1.RDZVConf", {F(key), F(value)});
  return t;
}
const Type& ElasticPolicy::type() {
  using S = ElasticPolicy;
  static const Type t =
      structure<S>("v1.ElasticPolicy", {F(minReplicas), F(maxReplicas), F(rdzvBackend), F(rdzvPort),
                                        F(rdzvHost), F(rdzvId), F(rdzvConf), F(standalone),
                                        F(nProcPerNode), F(maxRestarts), F(metrics)});
  return t;
}
const Type& PyTorchJobSpec::type() {
  using S = PyTorchJobSpec;
  static const Type t = structure<S>(
      "v1.PyTorchJobSpec",
      {F(runPolicy), F(elasticPolicy), F(pytorchReplicaSpecs, .required = true), F(nprocPerNode)});
  return t;
}
const Type& JobCondition::type() {
  using S = JobCondition;
  static const Type t = structure<S>(
      "v1.JobCondition", {F(type_, .always = true), F(status, .always = true), F(reason),
                          F(message), F(lastUpdateTime), F(lastTransitionTime)});
  return t;
}
const Type& ReplicaStatus::type() {
  using S = ReplicaStatus;
  static const Type t = structure<S>(
      "v1.ReplicaStatus", {F(active), F(succeeded), F(failed), F(labelSelector), F(selector)});
  return t;
}
const Type& JobStatus::type() {
  using S = JobStatus;
  static const Type t = structure<S>(
      "v1.JobStatus",
      {F(conditions), F(replicaStatuses), F(startTime), F(completionTime), F(lastReconcileTime)});
  return t;
}
const JobCondition* JobStatus::condition(std::string_view wanted) const {
  for (const JobCondition& c : conditions)
    if (c.type_ == wanted) return &c;
  return nullptr;
}
bool JobStatus::is_true(std::string_view wanted) const {
  const JobCondition* c = condition(wanted);
  return c != nullptr && c->status == "True";
}
const Type& PyTorchJob::type() {
  using S = PyTorchJob;
  static const Type t = structure<S>("v1.PyTorchJob", {F(metadata), F(spec), F(status)});
  return t;
}

const KindInfo& PyTorchJob::info() {
  static const KindInfo kind{
      .group = "kubeflow.org",
      .version = "v1",
      .kind = "PyTorchJob",
      .plural = "pytorchjobs",
      .singular = "pytorchjob",
      .status = true,
      .scale = ScalePaths{".spec.pytorchReplicaSpecs.Worker.replicas",
                          ".status.replicaStatuses.Worker.active",
                          ".status.replicaStatuses.Worker.selector"},
      .custom = true,
      .schema = pytorchjob_schema(),
      .type = &PyTorchJob::type,
      .make = []() -> std::shared_ptr<Object> { return std::make_shared<PyTorchJob>(); },
      .columns = {{.name = "State", .type = "string", .json_path = ".status.conditions[-1:].type"},
                  {.name = "Age", .type = "date", .json_path = ".metadata.creationTimestamp"}}};
  return kind;
}

}  // namespace ddptwin
