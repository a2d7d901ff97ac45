#include "objects/pod_schema_notes.hpp"

#include <array>

namespace ddptwin {
namespace {

using What = SchemaNote::What;

constexpr std::array pod_notes{
    SchemaNote{"v1.PodSpec", "", What::required, "containers"},
    SchemaNote{"v1.Container", "", What::required, "name"},
    SchemaNote{"v1.ContainerPort", "", What::required, "containerPort"},
    SchemaNote{"v1.ContainerPort", "protocol", What::fallback, "\"TCP\""},
    SchemaNote{"v1.EnvVar", "", What::required, "name"},
    SchemaNote{"v1.VolumeMount", "", What::required, "mountPath,name"},
    SchemaNote{"v1.Volume", "", What::required, "name"},
    SchemaNote{"v1.HostPathVolumeSource", "", What::required, "path"},
    SchemaNote{"v1.PersistentVolumeClaimVolumeSource", "", What::required, "claimName"},
    SchemaNote{"v1.KeyToPath", "", What::required, "key,path"},
    SchemaNote{"v1.ObjectFieldSelector", "", What::required, "fieldPath"},
    SchemaNote{"v1.ResourceFieldSelector", "", What::required, "resource"},
    SchemaNote{"v1.HTTPGetAction", "", What::required, "port"},
    SchemaNote{"v1.HTTPHeader", "", What::required, "name,value"},
    SchemaNote{"v1.TCPSocketAction", "", What::required, "port"},
    SchemaNote{"v1.GRPCAction", "", What::required, "port"},
    SchemaNote{"v1.GRPCAction", "service", What::fallback, "\"\""},
    SchemaNote{"v1.HostAlias", "", What::required, "ip"},
    SchemaNote{"v1.PodReadinessGate", "", What::required, "conditionType"},
    SchemaNote{"v1.NodeSelector", "", What::required, "nodeSelectorTerms"},
    SchemaNote{"v1.PreferredSchedulingTerm", "", What::required, "preference,weight"},
    SchemaNote{"v1.PodAffinityTerm", "", What::required, "topologyKey"},
    SchemaNote{"v1.WeightedPodAffinityTerm", "", What::required, "podAffinityTerm,weight"},
    SchemaNote{"v1.LabelSelectorRequirement", "", What::required, "key,operator"},
    SchemaNote{"v1.TopologySpreadConstraint", "", What::required,
               "maxSkew,topologyKey,whenUnsatisfiable"},
    SchemaNote{"v1.Container", "ports", What::list_map, "containerPort,protocol"},
    SchemaNote{"v1.PodSpec", "topologySpreadConstraints", What::list_map,
               "topologyKey,whenUnsatisfiable"},
    // Younger than the API that the operator was built with.
    SchemaNote{"v1.Container", "restartPolicyRules", What::absent, ""},
    SchemaNote{"v1.Lifecycle", "stopSignal", What::absent, ""},
    SchemaNote{"v1.EnvVarSource", "fileKeyRef", What::absent, ""},
    SchemaNote{"v1.PodSpec", "resources", What::absent, ""},
    SchemaNote{"v1.PodSpec", "hostnameOverride", What::absent, ""},
    SchemaNote{"v1.PodSpec", "workloadRef", What::absent, ""},
    SchemaNote{"v1.PodSpec", "schedulingGroup", What::absent, ""},
};

constexpr std::array keyed_list_notes{
    SchemaNote{"v1.PodSpec", "containers", What::list_map, "name"},
    SchemaNote{"v1.PodSpec", "initContainers", What::list_map, "name"},
    SchemaNote{"v1.PodSpec", "volumes", What::list_map, "name"},
    SchemaNote{"v1.PodSpec", "imagePullSecrets", What::list_map, "name"},
    SchemaNote{"v1.PodSpec", "hostAliases", What::list_map, "ip"},
    SchemaNote{"v1.PodSpec", "schedulingGates", What::list_map, "name"},
    SchemaNote{"v1.Container", "env", What::list_map, "name"},
    SchemaNote{"v1.Container", "volumeMounts", What::list_map, "mountPath"},
};

}  // namespace

std::span<const SchemaNote> pod_schema_notes() { return pod_notes; }
std::span<const SchemaNote> keyed_pod_list_notes() { return keyed_list_notes; }

}  // namespace ddptwin
