#include "objects/jobset_definition.hpp"

#include <array>
#include <boost/json.hpp>

#include "objects/jobset.hpp"
#include "objects/pod_schema_notes.hpp"
#include "objects/schema_of_type.hpp"

namespace ddptwin {
namespace {

using What = SchemaNote::What;

constexpr std::string_view immutable_value = "Value is immutable";

constexpr std::array jobset_notes{
    SchemaNote{"v1alpha2.JobSetSpec", "", What::rule,
               "!(has(self.startupPolicy) && self.startupPolicy.startupPolicyOrder == 'InOrder' && "
               "self.replicatedJobs.exists(x, has(x.dependsOn)))",
               "StartupPolicy and DependsOn APIs are mutually exclusive"},
    SchemaNote{"v1alpha2.VolumeClaimPolicy", "", What::rule,
               "self.templates.all(t, !has(t.metadata.namespace) || "
               "size(t.metadata.namespace) == 0)",
               "namespace cannot be set for VolumeClaimPolicies templates"},
    SchemaNote{"v1alpha2.JobSetSpec", "replicatedJobs", What::list_map, "name"},
    SchemaNote{"v1alpha2.JobSetSpec", "network", What::immutable, immutable_value},
    SchemaNote{"v1alpha2.JobSetSpec", "successPolicy", What::immutable, immutable_value},
    SchemaNote{"v1alpha2.JobSetSpec", "failurePolicy", What::immutable, immutable_value},
    SchemaNote{"v1alpha2.JobSetSpec", "startupPolicy", What::immutable, immutable_value},
    SchemaNote{"v1alpha2.JobSetSpec", "volumeClaimPolicies", What::immutable, immutable_value},
    SchemaNote{"v1alpha2.JobSetSpec", "volumeClaimPolicies", What::max_items, "50"},
    SchemaNote{"v1alpha2.JobSetSpec", "ttlSecondsAfterFinished", What::minimum, "0"},
    SchemaNote{"v1alpha2.ReplicatedJob", "", What::required, "name,template"},
    SchemaNote{"v1alpha2.ReplicatedJob", "replicas", What::fallback, "1"},
    SchemaNote{"v1alpha2.ReplicatedJob", "dependsOn", What::list_map, "name"},
    SchemaNote{"v1alpha2.ReplicatedJob", "dependsOn", What::immutable, immutable_value},
    SchemaNote{"v1alpha2.DependsOn", "", What::required, "name,status"},
    SchemaNote{"v1alpha2.DependsOn", "status", What::allowed, "Ready,Complete"},
    SchemaNote{"v1alpha2.SuccessPolicy", "", What::required, "operator"},
    SchemaNote{"v1alpha2.SuccessPolicy", "operator", What::allowed, "All,Any"},
    SchemaNote{"v1alpha2.StartupPolicy", "", What::required, "startupPolicyOrder"},
    SchemaNote{"v1alpha2.StartupPolicy", "startupPolicyOrder", What::allowed, "AnyOrder,InOrder"},
    SchemaNote{"v1alpha2.FailurePolicy", "restartStrategy", What::fallback, "\"Recreate\""},
    SchemaNote{"v1alpha2.FailurePolicyRule", "", What::required, "action,name"},
    SchemaNote{"v1alpha2.Coordinator", "", What::required, "replicatedJob"},
    SchemaNote{"v1alpha2.VolumeClaimPolicy", "templates", What::max_items, "50"},
    SchemaNote{"v1alpha2.VolumeRetentionPolicy", "whenDeleted", What::fallback, "\"Delete\""},
    SchemaNote{"v1alpha2.VolumeRetentionPolicy", "whenDeleted", What::allowed, "Delete,Retain"},
    SchemaNote{"v1alpha2.JobSetStatus", "conditions", What::list_map, "type"},
    SchemaNote{"v1alpha2.JobSetStatus", "replicatedJobsStatus", What::list_map, "name"},
    SchemaNote{"v1alpha2.ReplicatedJobStatus", "", What::required,
               "active,failed,name,ready,succeeded,suspended"},
    SchemaNote{"v1.Condition", "", What::required, "lastTransitionTime,message,reason,status,type"},
    SchemaNote{"v1.Condition", "status", What::allowed, "True,False,Unknown"},
    // Of the Job in it.
    SchemaNote{"v1.JobSpec", "", What::required, "template"},
    SchemaNote{"v1.PodFailurePolicy", "", What::required, "rules"},
    SchemaNote{"v1.PodFailurePolicyRule", "", What::required, "action"},
    SchemaNote{"v1.PodFailurePolicyOnExitCodesRequirement", "", What::required, "operator,values"},
    SchemaNote{"v1.PodFailurePolicyOnPodConditionsPattern", "", What::required, "type"},
    SchemaNote{"v1.SuccessPolicy", "", What::required, "rules"},
};

constexpr std::array first_releases{
    SchemaNote{"v1alpha2.ReplicatedJob", "groupName", What::absent, ""},
    SchemaNote{"v1alpha2.ReplicatedJob", "dependsOn", What::max_items, "1"},
};
constexpr std::array with_groups{
    SchemaNote{"v1alpha2.ReplicatedJob", "groupName", What::fallback, "\"default\""},
    SchemaNote{"v1alpha2.ReplicatedJob", "dependsOn", What::max_items, "5"},
};
constexpr std::array without_message_patterns{
    SchemaNote{"v1alpha2.FailurePolicyRule", "onJobFailureMessagePatterns", What::absent, ""},
};
constexpr std::array without_claim_policies{
    SchemaNote{"v1alpha2.JobSetSpec", "volumeClaimPolicies", What::absent, ""},
    SchemaNote{"v1alpha2.JobSetStatus", "previousInPlaceRestartAttempt", What::absent, ""},
    SchemaNote{"v1alpha2.JobSetStatus", "currentInPlaceRestartAttempt", What::absent, ""},
    SchemaNote{"v1alpha2.FailurePolicy", "restartStrategy", What::allowed,
               "Recreate,BlockingRecreate"},
};
constexpr std::array with_claim_policies{
    SchemaNote{"v1alpha2.FailurePolicy", "restartStrategy", What::allowed,
               "Recreate,BlockingRecreate,InPlaceRestart"},
};
constexpr std::array without_job_restarts{
    SchemaNote{"v1alpha2.ReplicatedJobStatus", "jobRestarts", What::absent, ""},
    SchemaNote{"v1alpha2.ReplicatedJobStatus", "jobRestartsCountTowardsMax", What::absent, ""},
    SchemaNote{"v1alpha2.FailurePolicyRule", "action", What::allowed,
               "FailJobSet,RestartJobSet,RestartJobSetAndIgnoreMaxRestarts"},
};
constexpr std::array with_job_restarts{
    SchemaNote{"v1alpha2.FailurePolicyRule", "action", What::allowed,
               "FailJobSet,RestartJobSet,RestartJobSetAndIgnoreMaxRestarts,RestartJob,"
               "RestartJobAndIgnoreMaxRestarts"},
};

}  // namespace

RawJson jobset_schema(const JobSetSchemaOptions& options) {
  std::vector<SchemaNote> notes(jobset_notes.begin(), jobset_notes.end());
  const auto add = [&notes](std::span<const SchemaNote> more) {
    notes.insert(notes.end(), more.begin(), more.end());
  };
  // The first releases were built with an API that lacks what is younger.
  for (const SchemaNote& one : pod_schema_notes())
    if (one.what != What::absent || !options.groups) notes.push_back(one);
  add(keyed_pod_list_notes());
  add(options.groups ? std::span<const SchemaNote>(with_groups) : first_releases);
  if (!options.message_patterns) add(without_message_patterns);
  add(options.claim_policies ? std::span<const SchemaNote>(with_claim_policies)
                             : without_claim_policies);
  add(options.job_restarts ? std::span<const SchemaNote>(with_job_restarts) : without_job_restarts);
  Json out = schema_of(JobSet::type(), notes);
  out.get_object()["properties"].get_object().erase("metadata");
  return RawJson(std::move(out));
}

}  // namespace ddptwin
