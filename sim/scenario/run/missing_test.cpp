#include "scenario/run/missing.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "scenario/language/scenario_parser.hpp"
#include "scenario/run/preflight.hpp"

namespace ddptwin::scenario::missing_test {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

std::vector<std::string> told(const std::string& text) {
  const KindRegistry kinds;
  const auto scenario = parse_scenario(
      "s.yaml", kinds, [&](const std::string&) { return Result<std::string>(text); });
  EXPECT_TRUE(scenario) << scenario.error().text();
  std::vector<std::string> notes;
  if (!scenario) return notes;
  for (const ManifestNote& note : missing_of(*scenario))
    notes.push_back(note.object + " " + note.text);
  return notes;
}

// A pod whose specification has this beside one container, of which more may be said.
std::string pod(const std::string& spec, const std::string& container = {}) {
  return "apiVersion: v1\nkind: Pod\nmetadata: {name: p}\nspec: {" + spec +
         (spec.empty() ? "" : ", ") + "containers: [{name: c, image: ddptwin-worker" +
         (container.empty() ? "" : ", ") + container + "}]}\n";
}

struct Row {
  const char* name;
  std::string text;
  const char* note;
};
class Missing : public testing::TestWithParam<Row> {};
TEST_P(Missing, is_told_with_what_a_cluster_would_do) {
  EXPECT_THAT(told(GetParam().text), ElementsAre("pod/p s.yaml:4:" + std::string(GetParam().note)));
}
INSTANTIATE_TEST_SUITE_P(
    Table, Missing,
    testing::Values(
        Row{"claim", pod("volumes: [{name: v, persistentVolumeClaim: {claimName: x}}]"),
            "52 spec.volumes[0].persistentVolumeClaim.claimName: nobody makes "
            "PersistentVolumeClaim "
            "x; on a cluster pods stay Pending: persistentvolumeclaim \"x\" not found"},
        Row{"account", pod("serviceAccountName: x"),
            "8 spec.serviceAccountName: nobody makes ServiceAccount x; on a cluster no pod is "
            "made: "
            "error looking up service account: serviceaccount \"x\" not found"},
        Row{"runtime_class", pod("runtimeClassName: x"),
            "8 spec.runtimeClassName: nobody makes RuntimeClass x; on a cluster no pod is made: "
            "pod "
            "rejected: RuntimeClass \"x\" not found"},
        Row{"priority_class", pod("priorityClassName: x"),
            "8 spec.priorityClassName: nobody makes PriorityClass x; on a cluster no pod is made: "
            "no "
            "PriorityClass with name x was found"},
        Row{"config_map_of_a_variable",
            pod("", "env: [{name: A, valueFrom: {configMapKeyRef: {name: x, key: k}}}]"),
            "100 spec.containers[0].env[0].valueFrom.configMapKeyRef.name: nobody makes ConfigMap "
            "x; "
            "on a cluster containers do not start: CreateContainerConfigError: configmap \"x\" not "
            "found"},
        Row{"secret_of_variables", pod("", "envFrom: [{secretRef: {name: x}}]"),
            "77 spec.containers[0].envFrom[0].secretRef.name: nobody makes Secret x; on a cluster "
            "containers do not start: CreateContainerConfigError: secret \"x\" not found"},
        Row{"secret_of_a_volume", pod("volumes: [{name: v, secret: {secretName: x}}]"),
            "37 spec.volumes[0].secret.secretName: nobody makes Secret x; on a cluster pods stay "
            "ContainerCreating: MountVolume.SetUp failed for volume \"v\": secret \"x\" not found"},
        Row{"config_map_of_a_projection",
            pod("volumes: [{name: v, projected: {sources: [{configMap: {name: x}}]}}]"),
            "63 spec.volumes[0].projected.sources[0].configMap.name: nobody makes ConfigMap x; on "
            "a "
            "cluster pods stay ContainerCreating: MountVolume.SetUp failed for volume \"v\": "
            "configmap \"x\" not found"},
        Row{"pull_secret", pod("imagePullSecrets: [{name: x}]"),
            "28 spec.imagePullSecrets[0].name: nobody makes Secret x; on a cluster images are "
            "pulled "
            "without it (FailedToRetrieveImagePullSecret), which a private registry refuses; here "
            "nothing is pulled"},
        Row{"scheduler", pod("schedulerName: volcano"),
            "8 spec.schedulerName: pods stay Pending without a word: no scheduler volcano runs, "
            "only "
            "default-scheduler; spec.cluster.systems: {volcano: on} brings it"},
        Row{"unknown_scheduler", pod("schedulerName: x"),
            "8 spec.schedulerName: pods stay Pending without a word: no scheduler x runs, only "
            "default-scheduler"},
        Row{"node", pod("nodeName: x"), "8 spec.nodeName: pods stay Pending: there is no node x"},
        Row{"node_label", pod("nodeSelector: {disk: ssd}"),
            "1 spec: pods stay Pending: 0/1 nodes are available: 1 node(s) didn't match Pod's node "
            "affinity/selector."},
        Row{"node_affinity",
            pod("affinity: {nodeAffinity: {requiredDuringSchedulingIgnoredDuringExecution: "
                "{nodeSelectorTerms: [{matchExpressions: [{key: gpu, operator: Exists}]}]}}}"),
            "1 spec: pods stay Pending: 0/1 nodes are available: 1 node(s) didn't match Pod's node "
            "affinity/selector."},
        Row{"room", pod("", "resources: {limits: {nvidia.com/gpu: 9}}"),
            "1 spec: pods stay Pending: 0/1 nodes are available: 1 Insufficient nvidia.com/gpu."}),
    [](const auto& row) { return std::string(row.param.name); });

TEST(Missing, a_taint_that_nothing_tolerates) {
  const std::string cluster =
      "apiVersion: ddptwin.dev/v1alpha1\nkind: Scenario\nspec: {cluster: {nodes: [{name: a, "
      "unschedulable: true}]}}\n---\n";
  EXPECT_THAT(told(cluster + pod("")),
              ElementsAre("pod/p s.yaml:8:1 spec: pods stay Pending: 0/1 nodes are available: 1 "
                          "node(s) were unschedulable."));
  EXPECT_THAT(told(cluster + pod("tolerations: [{key: node.kubernetes.io/unschedulable, operator: "
                                 "Exists}]")),
              IsEmpty());
}

TEST(Missing, what_is_made_given_or_optional_is_not) {
  for (const std::string& spec :
       {std::string("serviceAccountName: default"),
        std::string("priorityClassName: system-node-critical"),
        std::string("schedulerName: default-scheduler"),
        std::string("volumes: [{name: v, configMap: {name: kube-root-ca.crt}}]"),
        std::string("volumes: [{name: v, secret: {secretName: x, optional: true}}]"),
        std::string("affinity: {podAffinity: {requiredDuringSchedulingIgnoredDuringExecution: "
                    "[{topologyKey: zone, labelSelector: {}}]}}")})
    EXPECT_THAT(told(pod(spec)), IsEmpty()) << spec;
  // A document that is set aside makes what it says too.
  EXPECT_THAT(told(pod("volumes: [{name: v, persistentVolumeClaim: {claimName: x}}]") +
                   "---\napiVersion: v1\nkind: PersistentVolumeClaim\nmetadata: {name: x}\n"),
              IsEmpty());
  // In its own namespace only.
  const std::string account = pod("serviceAccountName: x") +
                              "---\napiVersion: v1\nkind: ServiceAccount\nmetadata: {name: x";
  EXPECT_THAT(told(account + "}\n"), IsEmpty());
  EXPECT_EQ(told(account + ", namespace: other}\n").size(), 1U);
}

TEST(Missing, what_a_later_step_makes_is_made) {
  const auto with = [](const std::string& step) {
    return told("apiVersion: ddptwin.dev/v1alpha1\nkind: Scenario\nspec: {steps: [" + step +
                "]}\n---\n" + pod("serviceAccountName: x, nodeSelector: {disk: ssd}"));
  };
  EXPECT_EQ(with("{wait: 1s}").size(), 2U);
  EXPECT_EQ(
      with("{apply: {object: {apiVersion: v1, kind: ServiceAccount, metadata: {name: x}}}}").size(),
      1U);
  EXPECT_EQ(with("{patch: {of: node/node-0, patch: {metadata: {labels: {disk: ssd}}}}}").size(),
            1U);
}

// Whatever kind they are in, and once where two of them say the same.
TEST(Missing, templates_of_jobs_are_looked_at) {
  const std::string template_ =
      "{template: {spec: {containers: [{name: pytorch, image: ddptwin-worker}], serviceAccount: "
      "x}}}";
  EXPECT_THAT(told("apiVersion: kubeflow.org/v1\nkind: PyTorchJob\nmetadata: {name: j}\nspec: "
                   "{pytorchReplicaSpecs: {Master: " +
                   template_ + ", Worker: " + template_ + "}}\n"),
              ElementsAre(testing::StartsWith(
                  "pytorchjob/j s.yaml:4:111 spec.pytorchReplicaSpecs.Master.template.spec."
                  "serviceAccount: nobody makes ServiceAccount x; ")));
}

}  // namespace
}  // namespace ddptwin::scenario::missing_test
