#include "scenario/absent_kinds.hpp"

#include <algorithm>
#include <array>

namespace ddptwin::scenario {
namespace {

constexpr std::string_view leave_out = "leave the document out";
constexpr std::string_view claims =
    "leave the document out: every claim of a pod is a folder without it";
constexpr std::string_view pods = "write its pods as documents of kind Pod";
constexpr std::string_view limits = "leave the document out: no namespace is limited";
constexpr std::string_view rights = "leave the document out: every caller may do everything";
constexpr std::string_view outside = "leave the document out: nobody outside calls a pod";
constexpr std::string_view other_job =
    "of the training operator's jobs only PyTorchJob of kubeflow.org/v1 is here";

constexpr std::array kinds{
    AbsentKind{"v1", "List", "write its items as documents of their own"},
    AbsentKind{"v1", "PersistentVolume", claims},
    AbsentKind{"storage.k8s.io/v1", "StorageClass", claims},
    AbsentKind{"storage.k8s.io/v1", "VolumeAttachment", claims},
    AbsentKind{"storage.k8s.io/v1", "CSIDriver", claims},
    AbsentKind{"apps/v1", "Deployment", pods},
    AbsentKind{"apps/v1", "DaemonSet", pods},
    AbsentKind{"apps/v1", "ReplicaSet", pods},
    AbsentKind{"v1", "ReplicationController", pods},
    AbsentKind{"batch/v1", "CronJob", pods},
    AbsentKind{"v1", "PodTemplate", leave_out},
    AbsentKind{"policy/v1", "PodDisruptionBudget",
               "leave the document out: every eviction is granted"},
    AbsentKind{"autoscaling/v1", "HorizontalPodAutoscaler", "write it as autoscaling/v2"},
    AbsentKind{"v1", "LimitRange", limits},
    AbsentKind{"v1", "ResourceQuota", limits},
    AbsentKind{"rbac.authorization.k8s.io/v1", "Role", rights},
    AbsentKind{"rbac.authorization.k8s.io/v1", "RoleBinding", rights},
    AbsentKind{"rbac.authorization.k8s.io/v1", "ClusterRole", rights},
    AbsentKind{"rbac.authorization.k8s.io/v1", "ClusterRoleBinding", rights},
    AbsentKind{"networking.k8s.io/v1", "NetworkPolicy",
               "leave the document out: every pod reaches every other"},
    AbsentKind{"networking.k8s.io/v1", "Ingress", outside},
    AbsentKind{"networking.k8s.io/v1", "IngressClass", outside},
    AbsentKind{"node.k8s.io/v1", "RuntimeClass", leave_out},
    AbsentKind{"coordination.k8s.io/v1", "Lease", leave_out},
    AbsentKind{"apiextensions.k8s.io/v1", "CustomResourceDefinition", leave_out},
    AbsentKind{"admissionregistration.k8s.io/v1", "ValidatingWebhookConfiguration", leave_out},
    AbsentKind{"admissionregistration.k8s.io/v1", "MutatingWebhookConfiguration", leave_out},
    AbsentKind{"kubeflow.org/v1", "TFJob", other_job},
    AbsentKind{"kubeflow.org/v1", "XGBoostJob", other_job},
    AbsentKind{"kubeflow.org/v1", "PaddleJob", other_job},
    AbsentKind{"kubeflow.org/v1", "MXJob", other_job},
    AbsentKind{"kubeflow.org/v1", "JAXJob", other_job},
    AbsentKind{"kubeflow.org/v1", "MPIJob", other_job},
    AbsentKind{"kubeflow.org/v2beta1", "MPIJob", other_job},
    AbsentKind{"trainer.kubeflow.org/v1alpha1", "TrainJob", other_job},
    AbsentKind{"trainer.kubeflow.org/v1alpha1", "TrainingRuntime", other_job},
    AbsentKind{"trainer.kubeflow.org/v1alpha1", "ClusterTrainingRuntime", other_job},
    AbsentKind{"jobset.x-k8s.io/v1alpha2", "JobSet", other_job},
    AbsentKind{"scheduling.volcano.sh/v1beta1", "PodGroup", leave_out},
    AbsentKind{"scheduling.volcano.sh/v1beta1", "Queue", leave_out},
    AbsentKind{"scheduling.x-k8s.io/v1alpha1", "PodGroup", leave_out},
    AbsentKind{"resource.k8s.io/v1", "ResourceClaim", leave_out},
    AbsentKind{"resource.k8s.io/v1", "ResourceClaimTemplate", leave_out},
    AbsentKind{"resource.k8s.io/v1", "DeviceClass", leave_out},
};

}  // namespace

std::span<const AbsentKind> absent_kinds() { return kinds; }

const AbsentKind* find_absent_kind(std::string_view api_version, std::string_view kind) {
  const auto found = std::find_if(kinds.begin(), kinds.end(), [&](const AbsentKind& one) {
    return one.api_version == api_version && one.kind == kind;
  });
  return found == kinds.end() ? nullptr : &*found;
}

}  // namespace ddptwin::scenario
