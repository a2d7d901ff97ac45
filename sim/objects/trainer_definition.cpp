#include "objects/trainer_definition.hpp"

#include <fmt/format.h>

#include <array>
#include <boost/json.hpp>

#include "objects/pod_schema_notes.hpp"
#include "objects/schema_of_type.hpp"
#include "objects/trainjob.hpp"

namespace ddptwin {
namespace {

namespace json = boost::json;
using What = SchemaNote::What;

constexpr std::string_view field_is_immutable = "field is immutable";
constexpr std::string_view uri_rule =
    "self == '' || self.matches('^[A-Za-z][A-Za-z0-9+.-]*://.+$')";
constexpr std::string_view uri_message =
    "storageUri may be empty, or it must be a valid URI (scheme://...)";

// ---- TrainJob ----------------------------------------------------------------------------------

constexpr std::array trainjob_notes{
    SchemaNote{"v1alpha1.TrainJobSpec", "", What::required, "runtimeRef"},
    SchemaNote{"v1alpha1.TrainJobSpec", "suspend", What::fallback, "false"},
    SchemaNote{"v1alpha1.TrainJobSpec", "activeDeadlineSeconds", What::minimum, "1"},
    SchemaNote{"v1alpha1.TrainJobSpec", "activeDeadlineSeconds", What::immutable,
               field_is_immutable},
    SchemaNote{"v1alpha1.TrainJobSpec", "managedBy", What::fallback,
               "\"trainer.kubeflow.org/trainjob-controller\""},
    SchemaNote{"v1alpha1.TrainJobSpec", "managedBy", What::rule,
               "self in ['trainer.kubeflow.org/trainjob-controller', 'kueue.x-k8s.io/multikueue']",
               "ManagedBy must be trainer.kubeflow.org/trainjob-controller or "
               "kueue.x-k8s.io/multikueue if set"},
    SchemaNote{"v1alpha1.RuntimeRef", "", What::required, "name"},
    SchemaNote{"v1alpha1.RuntimeRef", "apiGroup", What::fallback, "\"trainer.kubeflow.org\""},
    SchemaNote{"v1alpha1.RuntimeRef", "kind", What::fallback, "\"ClusterTrainingRuntime\""},
    SchemaNote{"v1alpha1.InitializerSource", "env", What::list_map, "name"},
    SchemaNote{"v1alpha1.LocalObjectReference", "name", What::fallback, "\"\""},
    SchemaNote{"v1alpha1.Trainer", "env", What::list_map, "name"},
    SchemaNote{"v1alpha1.ContainerPatch", "", What::required, "name"},
    SchemaNote{"v1alpha1.ContainerPatch", "env", What::list_map, "name"},
    SchemaNote{"v1alpha1.ContainerPatch", "volumeMounts", What::list_map, "name"},
    SchemaNote{"v1alpha1.PodSpecPatch", "volumes", What::list_map, "name"},
    SchemaNote{"v1alpha1.PodSpecPatch", "initContainers", What::list_map, "name"},
    SchemaNote{"v1alpha1.PodSpecPatch", "containers", What::list_map, "name"},
    SchemaNote{"v1alpha1.PodSpecPatch", "imagePullSecrets", What::list_map, "name"},
    SchemaNote{"v1alpha1.PodSpecPatch", "schedulingGates", What::list_map, "name"},
    SchemaNote{"v1alpha1.PodSpecOverride", "", What::required, "targetJobs"},
    SchemaNote{"v1alpha1.PodTemplateOverride", "", What::required, "targetJobs"},
    SchemaNote{"v1alpha1.TrainJobStatus", "conditions", What::list_map, "type"},
    SchemaNote{"v1alpha1.TrainJobStatus", "jobsStatus", What::list_map, "name"},
    SchemaNote{"v1alpha1.JobStatus", "", What::required,
               "active,failed,name,ready,succeeded,suspended"},
    SchemaNote{"v1.Condition", "", What::required, "lastTransitionTime,message,reason,status,type"},
    SchemaNote{"v1.Condition", "status", What::allowed, "True,False,Unknown"},
    SchemaNote{"v1.Condition", "reason", What::min_length, "1"},
    SchemaNote{"v1.Condition", "reason", What::max_length, "1024"},
    SchemaNote{"v1.Condition", "message", What::max_length, "32768"},
    SchemaNote{"v1.Condition", "type", What::max_length, "316"},
};

constexpr std::array name_notes{
    SchemaNote{"v1alpha1.TrainJob", "", What::rule,
               "self.metadata.name.matches('^[a-z]([-a-z0-9]*[a-z0-9])?$')",
               "metadata.name must match RFC 1035 DNS label format"},
    SchemaNote{"v1alpha1.TrainJob", "", What::rule, "size(self.metadata.name) <= 63",
               "metadata.name must be no more than 63 characters"},
    SchemaNote{"v1alpha1.RuntimeRef", "name", What::min_length, "1"},
    SchemaNote{"v1alpha1.TrainJobStatus", "", What::min_properties, "1"},
    SchemaNote{"v1alpha1.JobStatus", "name", What::min_length, "1"},
    SchemaNote{"v1alpha1.JobStatus", "ready", What::minimum, "0"},
    SchemaNote{"v1alpha1.JobStatus", "succeeded", What::minimum, "0"},
    SchemaNote{"v1alpha1.JobStatus", "failed", What::minimum, "0"},
    SchemaNote{"v1alpha1.JobStatus", "active", What::minimum, "0"},
    SchemaNote{"v1alpha1.JobStatus", "suspended", What::minimum, "0"},
};

constexpr std::array uri_notes{
    SchemaNote{"v1alpha1.InitializerSource", "storageUri", What::rule, uri_rule, uri_message},
};

// Up to v2.1.
constexpr std::array early_immutable_notes{
    SchemaNote{"v1alpha1.TrainJobSpec", "runtimeRef", What::immutable, "runtimeRef is immutable"},
    SchemaNote{"v1alpha1.TrainJobSpec", "managedBy", What::immutable,
               "ManagedBy value is immutable"},
};

// From v2.2: patches, and bounds nearly everywhere.
constexpr std::array patch_notes{
    SchemaNote{"v1alpha1.TrainJobSpec", "runtimeRef", What::immutable, field_is_immutable},
    SchemaNote{"v1alpha1.TrainJobSpec", "managedBy", What::immutable, field_is_immutable},
    SchemaNote{"v1alpha1.TrainJobSpec", "managedBy", What::max_length, "253"},
    SchemaNote{"v1alpha1.TrainJobSpec", "runtimePatches", What::list_map, "manager"},
    SchemaNote{"v1alpha1.TrainJobSpec", "runtimePatches", What::max_items, "16"},
    SchemaNote{"v1alpha1.RuntimeRef", "name", What::max_length, "253"},
    SchemaNote{"v1alpha1.RuntimeRef", "apiGroup", What::max_length, "253"},
    SchemaNote{"v1alpha1.RuntimeRef", "kind", What::max_length, "253"},
    SchemaNote{"v1alpha1.InitializerSource", "storageUri", What::max_length, "2048"},
    SchemaNote{"v1alpha1.InitializerSource", "env", What::max_items, "128"},
    SchemaNote{"v1alpha1.Trainer", "image", What::max_length, "500"},
    SchemaNote{"v1alpha1.Trainer", "command", What::max_items, "128"},
    SchemaNote{"v1alpha1.Trainer", "args", What::max_items, "128"},
    SchemaNote{"v1alpha1.Trainer", "env", What::max_items, "128"},
    SchemaNote{"v1alpha1.RuntimePatch", "", What::required, "manager"},
    SchemaNote{"v1alpha1.RuntimePatch", "manager", What::min_length, "1"},
    SchemaNote{"v1alpha1.RuntimePatch", "manager", What::max_length, "253"},
    SchemaNote{"v1alpha1.RuntimePatch", "manager", What::immutable, field_is_immutable},
    SchemaNote{"v1alpha1.JobSetSpecPatch", "replicatedJobs", What::list_map, "name"},
    SchemaNote{"v1alpha1.JobSetSpecPatch", "replicatedJobs", What::max_items, "100"},
    SchemaNote{"v1alpha1.ReplicatedJobPatch", "", What::required, "name"},
    SchemaNote{"v1alpha1.ReplicatedJobPatch", "name", What::min_length, "1"},
    SchemaNote{"v1alpha1.ReplicatedJobPatch", "name", What::max_length, "253"},
    SchemaNote{"v1alpha1.PodSpecPatch", "serviceAccountName", What::max_length, "253"},
    SchemaNote{"v1alpha1.PodSpecPatch", "serviceAccountName", What::immutable, field_is_immutable},
    SchemaNote{"v1alpha1.PodSpecPatch", "volumes", What::max_items, "128"},
    SchemaNote{"v1alpha1.PodSpecPatch", "volumes", What::immutable, field_is_immutable},
    SchemaNote{"v1alpha1.PodSpecPatch", "initContainers", What::max_items, "64"},
    SchemaNote{"v1alpha1.PodSpecPatch", "initContainers", What::immutable, field_is_immutable},
    SchemaNote{"v1alpha1.PodSpecPatch", "containers", What::max_items, "64"},
    SchemaNote{"v1alpha1.PodSpecPatch", "containers", What::immutable, field_is_immutable},
    SchemaNote{"v1alpha1.PodSpecPatch", "imagePullSecrets", What::max_items, "64"},
    SchemaNote{"v1alpha1.PodSpecPatch", "imagePullSecrets", What::immutable, field_is_immutable},
    SchemaNote{"v1alpha1.PodSpecPatch", "securityContext", What::immutable, field_is_immutable},
    SchemaNote{"v1alpha1.PodSpecPatch", "tolerations", What::max_items, "128"},
    SchemaNote{"v1alpha1.PodSpecPatch", "schedulingGates", What::max_items, "16"},
    SchemaNote{"v1alpha1.PodSpecPatch", "terminationGracePeriodSeconds", What::minimum, "0"},
    SchemaNote{"v1alpha1.PodSpecPatch", "terminationGracePeriodSeconds", What::immutable,
               field_is_immutable},
    SchemaNote{"v1alpha1.ContainerPatch", "name", What::min_length, "1"},
    SchemaNote{"v1alpha1.ContainerPatch", "name", What::max_length, "253"},
    SchemaNote{"v1alpha1.ContainerPatch", "env", What::max_items, "128"},
    SchemaNote{"v1alpha1.ContainerPatch", "volumeMounts", What::max_items, "128"},
    SchemaNote{"v1alpha1.TrainJobStatus", "conditions", What::max_items, "8"},
    SchemaNote{"v1alpha1.TrainJobStatus", "jobsStatus", What::max_items, "100"},
    SchemaNote{"v1alpha1.JobStatus", "name", What::max_length, "253"},
    SchemaNote{"v1alpha1.TrainerStatus", "", What::rule, "has(self.lastUpdatedTime)",
               "lastUpdatedTime is required when trainerStatus is present"},
    SchemaNote{"v1alpha1.TrainerStatus", "progressPercentage", What::minimum, "0"},
    SchemaNote{"v1alpha1.TrainerStatus", "progressPercentage", What::maximum, "100"},
    SchemaNote{"v1alpha1.TrainerStatus", "estimatedRemainingSeconds", What::minimum, "0"},
    SchemaNote{"v1alpha1.TrainerStatus", "metrics", What::max_items, "256"},
    SchemaNote{"v1alpha1.Metric", "", What::required, "name,value"},
    SchemaNote{"v1alpha1.Metric", "name", What::min_length, "1"},
    SchemaNote{"v1alpha1.Metric", "name", What::max_length, "64"},
    SchemaNote{"v1alpha1.Metric", "value", What::min_length, "1"},
    SchemaNote{"v1alpha1.Metric", "value", What::max_length, "64"},
};

constexpr std::array kept_trainer_notes{
    SchemaNote{"v1alpha1.TrainJobSpec", "initializer", What::immutable, field_is_immutable},
    SchemaNote{"v1alpha1.TrainJobSpec", "trainer", What::immutable, field_is_immutable},
};

constexpr std::array whole_proc_notes{
    SchemaNote{"v1alpha1.Trainer", "numProcPerNode", What::whole_number, ""},
};
constexpr std::array count_notes{
    SchemaNote{"v1alpha1.Trainer", "numNodes", What::minimum, "0"},
    SchemaNote{"v1alpha1.Trainer", "numProcPerNode", What::rule, "self >= 1",
               "numProcPerNode must be greater than or equal to 1"},
    SchemaNote{"v1alpha1.MPIMLPolicySource", "numProcPerNode", What::rule, "self >= 1",
               "NumProcPerNode in mpiPolicy must be >= 1"},
};

// What a release does not know.
constexpr std::array no_pod_spec_overrides{
    SchemaNote{"v1alpha1.TrainJobSpec", "podSpecOverrides", What::absent, ""}};
constexpr std::array no_pod_template_overrides{
    SchemaNote{"v1alpha1.TrainJobSpec", "podTemplateOverrides", What::absent, ""}};
constexpr std::array no_runtime_patches{
    SchemaNote{"v1alpha1.TrainJobSpec", "runtimePatches", What::absent, ""},
    SchemaNote{"v1alpha1.TrainJobStatus", "trainerStatus", What::absent, ""},
    SchemaNote{"v1alpha1.PodSpecPatch", "securityContext", What::absent, ""},
    SchemaNote{"v1alpha1.ContainerPatch", "securityContext", What::absent, ""}};
constexpr std::array no_template_patches{
    SchemaNote{"v1alpha1.PodSpecPatch", "affinity", What::absent, ""},
    SchemaNote{"v1alpha1.PodSpecPatch", "imagePullSecrets", What::absent, ""}};
constexpr std::array no_grace_period{
    SchemaNote{"v1alpha1.PodSpecPatch", "terminationGracePeriodSeconds", What::absent, ""}};
constexpr std::array no_job_labels{
    SchemaNote{"v1alpha1.TrainJobSpec", "labels", What::absent, ""},
    SchemaNote{"v1alpha1.TrainJobSpec", "annotations", What::absent, ""}};
constexpr std::array no_deadline{
    SchemaNote{"v1alpha1.TrainJobSpec", "activeDeadlineSeconds", What::absent, ""}};

// ---- runtimes ----------------------------------------------------------------------------------

constexpr std::array runtime_notes{
    SchemaNote{"v1alpha1.MPIMLPolicySource", "numProcPerNode", What::fallback, "1"},
    SchemaNote{"v1alpha1.MPIMLPolicySource", "mpiImplementation", What::fallback, "\"OpenMPI\""},
    SchemaNote{"v1alpha1.MPIMLPolicySource", "sshAuthMountPath", What::fallback, "\"/root/.ssh\""},
    SchemaNote{"v1alpha1.MPIMLPolicySource", "runLauncherAsNode", What::fallback, "false"},
    SchemaNote{"v1alpha1.CoschedulingPodGroupPolicySource", "scheduleTimeoutSeconds",
               What::fallback, "60"},
    SchemaNote{"v1beta1.NetworkTopologySpec", "mode", What::fallback, "\"hard\""},
    SchemaNote{"v1beta1.NetworkTopologySpec", "mode", What::allowed, "hard,soft"},
    SchemaNote{"v1beta1.NetworkTopologySpec", "highestTierAllowed", What::fallback, "1"},
};

// From v2.2.
constexpr std::array framework_notes{
    SchemaNote{"v1alpha1.MLPolicy", "", What::rule,
               "[has(self.torch), has(self.mpi), has(self.jax), has(self.xgboost),"
               "has(self.flux)].filter(x, x).size() <= 1",
               "Only one of the policy can be configured"},
    SchemaNote{"v1alpha1.FluxMLPolicySource", "numProcPerNode", What::fallback, "1"},
    SchemaNote{"v1alpha1.FluxMLPolicySource", "numProcPerNode", What::rule, "self >= 1",
               "NumProcPerNode in fluxPolicy must be >= 1"},
    SchemaNote{"v1alpha1.MPIMLPolicySource", "sshAuthMountPath", What::max_length, "4096"},
};
constexpr std::array no_frameworks{
    SchemaNote{"v1alpha1.MLPolicy", "flux", What::absent, ""},
    SchemaNote{"v1alpha1.MLPolicy", "jax", What::absent, ""},
    SchemaNote{"v1alpha1.MLPolicy", "xgboost", What::absent, ""},
    SchemaNote{"v1alpha1.MLPolicy", "", What::rule, "!(has(self.torch) && has(self.mpi))",
               "Only one of the policy can be configured"},
};

// Up to v2.1.
constexpr std::array torch_policy_notes{
    SchemaNote{"v1alpha1.MLPolicy", "", What::rule,
               "!(has(self.numNodes) && (has(self.torch) && has(self.torch.elasticPolicy)))",
               "numNodes should not be set if torch.elasticPolicy is configured"},
    SchemaNote{"v1alpha1.TorchMLPolicySource", "numProcPerNode", What::fallback, "\"auto\""},
    SchemaNote{"v1alpha1.TorchMLPolicySource", "numProcPerNode", What::rule,
               "self > 0 || self in ['auto', 'cpu', 'gpu']",
               "NumProcPerNode must be equal to auto, cpu, gpu, or int value"},
};
constexpr std::array no_torch_policy{
    SchemaNote{"v1alpha1.TorchMLPolicySource", "numProcPerNode", What::absent, ""},
    SchemaNote{"v1alpha1.TorchMLPolicySource", "elasticPolicy", What::absent, ""},
};

constexpr std::array env_injection_notes{
    SchemaNote{"v1alpha1.EnvInjection", "targets", What::list_map, "jobName"},
    SchemaNote{"v1alpha1.EnvInjection", "targets", What::max_items, "16"},
    SchemaNote{"v1alpha1.EnvInjectionTarget", "", What::required, "containerNames,jobName"},
    SchemaNote{"v1alpha1.EnvInjectionTarget", "jobName", What::min_length, "1"},
    SchemaNote{"v1alpha1.EnvInjectionTarget", "jobName", What::max_length, "253"},
    SchemaNote{"v1alpha1.EnvInjectionTarget", "containerNames", What::set, ""},
    SchemaNote{"v1alpha1.EnvInjectionTarget", "containerNames", What::min_items, "1"},
    SchemaNote{"v1alpha1.EnvInjectionTarget", "containerNames", What::max_items, "8"},
    SchemaNote{"v1alpha1.EnvInjectionTarget", "containerNames", What::item_max_length, "63"},
    SchemaNote{"v1alpha1.EnvInjectionTarget", "containerNames", What::rule,
               "!self.exists(c, c == 'node')",
               "containerNames must not include the main node container because PET_* envs are "
               "always injected into it"},
};
constexpr std::array no_env_injection{
    SchemaNote{"v1alpha1.TorchMLPolicySource", "envInjection", What::absent, ""}};

// v2.1 gave the first two: a runtime may be without a template since.
constexpr std::array optional_template_notes{
    SchemaNote{"v1alpha1.TrainingRuntimeSpec", "", What::min_properties, "1"},
    SchemaNote{"v1alpha1.JobSetTemplateSpec", "", What::min_properties, "1"},
    SchemaNote{"v1alpha1.MPIMLPolicySource", "mpiImplementation", What::allowed, "OpenMPI,"},
};
constexpr std::array required_template_notes{
    SchemaNote{"v1alpha1.TrainingRuntimeSpec", "", What::required, "template"},
    SchemaNote{"v1alpha1.MPIMLPolicySource", "mpiImplementation", What::allowed, "OpenMPI"},
};
constexpr std::array no_volcano{SchemaNote{"v1alpha1.PodGroupPolicy", "volcano", What::absent, ""}};

class Notes {
 public:
  // `those` where it holds, else `others`.
  Notes& choose(bool holds, std::span<const SchemaNote> those,
                std::span<const SchemaNote> others = {}) {
    return add(holds ? those : others);
  }
  Notes& add(std::span<const SchemaNote> more) {
    notes_.insert(notes_.end(), more.begin(), more.end());
    return *this;
  }
  const std::vector<SchemaNote>& all() const { return notes_; }

 private:
  std::vector<SchemaNote> notes_{};
};

Json without_metadata(Json schema) {
  schema.get_object()["properties"].get_object().erase("metadata");
  return schema;
}

json::object& property(json::object& schema, std::string_view name) {
  return schema["properties"].get_object()[name].get_object();
}

}  // namespace

RawJson trainjob_schema(const TrainerSchemaOptions& options) {
  Notes notes;
  notes.add(trainjob_notes)
      .choose(options.names, name_notes)
      .choose(options.uris, uri_notes)
      .choose(options.runtime_patches, patch_notes, early_immutable_notes)
      .choose(options.keeps_trainer, kept_trainer_notes)
      .choose(!options.proc_words, whole_proc_notes)
      .choose(options.counts, count_notes)
      .choose(!options.pod_spec_overrides, no_pod_spec_overrides)
      .choose(!options.pod_template_overrides, no_pod_template_overrides)
      .choose(!options.runtime_patches, no_runtime_patches)
      .choose(!options.runtime_patches && !options.pod_template_overrides, no_template_patches)
      .choose(!options.grace_period, no_grace_period)
      .choose(!options.job_labels, no_job_labels)
      .choose(!options.deadline, no_deadline)
      .add(pod_schema_notes());
  const std::string longest = fmt::format("{}", options.longest_word);
  const std::array words{SchemaNote{"v1alpha1.Trainer", "command", What::item_max_length, longest},
                         SchemaNote{"v1alpha1.Trainer", "args", What::item_max_length, longest}};
  notes.choose(options.longest_word != 0, words);
  return RawJson(without_metadata(schema_of(TrainJob::type(), notes.all())));
}

RawJson training_runtime_schema(const TrainerSchemaOptions& options) {
  Notes notes;
  notes.add(runtime_notes)
      .choose(options.torch_policy, torch_policy_notes, no_torch_policy)
      .choose(options.frameworks, framework_notes, no_frameworks)
      .choose(options.counts, count_notes)
      .choose(options.env_injection, env_injection_notes, no_env_injection)
      .choose(options.needs_template, required_template_notes, optional_template_notes)
      .choose(!options.volcano, no_volcano);
  Json out = without_metadata(schema_of(TrainingRuntime::type(), notes.all()));
  // The template is a JobSet's, with the whole definition of that release.
  Json set = *jobset_schema(options.jobset).get();
  property(property(property(out.get_object(), "spec"), "template"), "spec") =
      std::move(property(set.get_object(), "spec"));
  return RawJson(std::move(out));
}

}  // namespace ddptwin
