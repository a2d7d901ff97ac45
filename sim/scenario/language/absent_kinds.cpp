#include "scenario/language/absent_kinds.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <boost/json/value.hpp>

#include "scenario/language/fields.hpp"
#include "scenario/systems/system.hpp"
#include "scenario/systems/workloads.hpp"

namespace ddptwin::scenario {
namespace {

constexpr std::string_view unread = "nothing here reads it";
constexpr std::string_view no_volcano =
    "nobody reads it where spec.cluster.systems does not say {volcano: on}";
constexpr std::string_view no_scheduler_plugins =
    "nobody reads it where spec.cluster.systems does not say {scheduler-plugins: on}";
constexpr std::string_view volumes = "every volume is a folder without it";
constexpr std::string_view pods = "write its pods as documents of kind Pod";
constexpr std::string_view rights = "every caller may do everything";
constexpr std::string_view outside = "nobody outside calls a pod";
constexpr std::string_view unasked = "nobody else is asked about a write";
// Of training jobs that are not here; said in the words of those that are.
constexpr std::string_view other_job;
constexpr std::string_view autoscaler = "write it as autoscaling/v2";

constexpr std::array absent_rows{
    AbsentKind{"storage.k8s.io/v1", "VolumeAttachment", volumes},
    AbsentKind{"storage.k8s.io/v1", "CSIDriver", volumes},
    AbsentKind{"storage.k8s.io/v1", "CSINode", volumes},
    AbsentKind{"storage.k8s.io/v1", "CSIStorageCapacity", volumes},
    AbsentKind{"apps/v1", "Deployment", pods, true},
    AbsentKind{"apps/v1", "DaemonSet", pods, true},
    AbsentKind{"apps/v1", "ReplicaSet", pods, true},
    AbsentKind{"v1", "ReplicationController", pods, true},
    AbsentKind{"v1", "PodTemplate", unread},
    AbsentKind{"autoscaling/v1", "HorizontalPodAutoscaler", autoscaler},
    AbsentKind{"autoscaling/v2beta2", "HorizontalPodAutoscaler", autoscaler},
    AbsentKind{"rbac.authorization.k8s.io/v1", "Role", rights},
    AbsentKind{"rbac.authorization.k8s.io/v1", "RoleBinding", rights},
    AbsentKind{"rbac.authorization.k8s.io/v1", "ClusterRole", rights},
    AbsentKind{"rbac.authorization.k8s.io/v1", "ClusterRoleBinding", rights},
    AbsentKind{"networking.k8s.io/v1", "NetworkPolicy", "every pod reaches every other"},
    AbsentKind{"networking.k8s.io/v1", "Ingress", outside},
    AbsentKind{"networking.k8s.io/v1", "IngressClass", outside},
    AbsentKind{"coordination.k8s.io/v1", "Lease", unread},
    AbsentKind{"apiregistration.k8s.io/v1", "APIService", unread},
    AbsentKind{"certificates.k8s.io/v1", "CertificateSigningRequest", unread},
    AbsentKind{"flowcontrol.apiserver.k8s.io/v1", "FlowSchema", unread},
    AbsentKind{"flowcontrol.apiserver.k8s.io/v1", "PriorityLevelConfiguration", unread},
    AbsentKind{"apiextensions.k8s.io/v1", "CustomResourceDefinition", unread},
    AbsentKind{"admissionregistration.k8s.io/v1", "ValidatingWebhookConfiguration", unasked},
    AbsentKind{"admissionregistration.k8s.io/v1", "MutatingWebhookConfiguration", unasked},
    AbsentKind{"admissionregistration.k8s.io/v1", "ValidatingAdmissionPolicy", unasked},
    AbsentKind{"admissionregistration.k8s.io/v1", "ValidatingAdmissionPolicyBinding", unasked},
    AbsentKind{"events.k8s.io/v1", "Event", "it tells of what is past"},
    AbsentKind{"kubeflow.org/v1", "TFJob", other_job, true},
    AbsentKind{"kubeflow.org/v1", "XGBoostJob", other_job, true},
    AbsentKind{"kubeflow.org/v1", "PaddleJob", other_job, true},
    AbsentKind{"kubeflow.org/v1", "MXJob", other_job, true},
    AbsentKind{"kubeflow.org/v1", "JAXJob", other_job, true},
    AbsentKind{"kubeflow.org/v1", "MPIJob", other_job, true},
    AbsentKind{"kubeflow.org/v2beta1", "MPIJob", other_job, true},
    AbsentKind{"scheduling.volcano.sh/v1beta1", "PodGroup", no_volcano},
    AbsentKind{"scheduling.volcano.sh/v1beta1", "Queue", no_volcano},
    AbsentKind{"scheduling.x-k8s.io/v1alpha1", "PodGroup", no_scheduler_plugins},
    AbsentKind{"resource.k8s.io/v1", "ResourceClaim", unread},
    AbsentKind{"resource.k8s.io/v1", "ResourceClaimTemplate", unread},
    AbsentKind{"resource.k8s.io/v1", "DeviceClass", unread},
    AbsentKind{"resource.k8s.io/v1beta1", "ResourceClaim", unread},
    AbsentKind{"resource.k8s.io/v1beta1", "ResourceClaimTemplate", unread},
    AbsentKind{"resource.k8s.io/v1beta1", "DeviceClass", unread},
};

// Groups that only Kubernetes itself serves, beside those without a dot: what is not in their lists
// is nowhere.
constexpr std::array<std::string_view, 17> own_groups{
    "admissionregistration.k8s.io",
    "apiextensions.k8s.io",
    "apiregistration.k8s.io",
    "authentication.k8s.io",
    "authorization.k8s.io",
    "certificates.k8s.io",
    "coordination.k8s.io",
    "discovery.k8s.io",
    "events.k8s.io",
    "flowcontrol.apiserver.k8s.io",
    "networking.k8s.io",
    "node.k8s.io",
    "rbac.authorization.k8s.io",
    "resource.k8s.io",
    "scheduling.k8s.io",
    "storage.k8s.io",
    "storagemigration.k8s.io",
};

std::string_view group_of(std::string_view api_version) {
  const std::size_t slash = api_version.find('/');
  return slash == api_version.npos ? std::string_view() : api_version.substr(0, slash);
}

// A kind or a group that is one or two letters away from one that the twin has is a slip.
bool is_slip(const KindRegistry& kinds, std::string_view group, std::string_view kind) {
  for (const KindInfo* known : kinds.all()) {
    const std::array<std::string_view, 1> kind_name{known->kind}, group_name{known->group};
    const bool same_group = known->group == group, same_kind = known->kind == kind;
    if (same_group && (same_kind || is_near(kind, kind_name))) return true;
    if (same_kind && !known->group.empty() && is_near(group, group_name)) return true;
  }
  return false;
}

// Whether there is a container or an image in it, at any depth.
bool may_make_pods(const boost::json::value& value) {
  if (const auto* list = value.if_array())
    return std::any_of(list->begin(), list->end(), may_make_pods);
  const auto* object = value.if_object();
  if (object == nullptr) return false;
  return std::any_of(object->begin(), object->end(), [](const auto& member) {
    const std::string_view key = member.key();
    const boost::json::value& inner = member.value();
    return (key == "containers" && inner.is_array()) || (key == "container" && inner.is_object()) ||
           (key == "image" && inner.is_string()) || may_make_pods(inner);
  });
}

}  // namespace

namespace {

const std::string& jobs_in_words() {
  static const std::string words = [] {
    std::vector<std::string> names;
    for (const JobKind& job : job_kinds())
      names.push_back(fmt::format("{} of {}", job.info().kind, job.info().api_version()));
    return fmt::format("of training jobs only {} {} here", fmt::join(names, " and "),
                       names.size() == 1 ? "is" : "are");
  }();
  return words;
}

AbsentKind told(AbsentKind row) {
  if (row.instead == other_job) row.instead = jobs_in_words();
  return row;
}

}  // namespace

std::span<const AbsentKind> absent_kinds() {
  static const std::vector<AbsentKind> all = [] {
    std::vector<AbsentKind> rows;
    for (const AbsentKind& row : absent_rows) rows.push_back(told(row));
    return rows;
  }();
  return all;
}

std::optional<AbsentKind> absent_kind(const KindRegistry& known, std::string_view api_version,
                                      std::string_view kind, const boost::json::value& object) {
  if (known.find(api_version, kind) != nullptr) return std::nullopt;
  const auto row = std::find_if(absent_rows.begin(), absent_rows.end(), [&](const AbsentKind& one) {
    return one.api_version == api_version && one.kind == kind;
  });
  if (row != absent_rows.end()) return told(*row);
  if (system_of_kind(kind, api_version) != nullptr) return std::nullopt;
  const std::string_view group = group_of(api_version);
  if (group.find('.') == group.npos ||
      std::find(own_groups.begin(), own_groups.end(), group) != own_groups.end() ||
      is_slip(known, group, kind))
    return std::nullopt;
  if (kind.ends_with("Job")) return AbsentKind{api_version, kind, jobs_in_words(), true};
  return may_make_pods(object) ? AbsentKind{api_version, kind, pods, true}
                               : AbsentKind{api_version, kind, unread, false};
}

std::string refusal_of(const AbsentKind& absent) {
  return fmt::format("the twin has no kind {} of {}, which real clusters have: {}", absent.kind,
                     absent.api_version, absent.instead);
}

}  // namespace ddptwin::scenario
