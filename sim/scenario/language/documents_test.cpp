#include "scenario/language/documents.hpp"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "objects/codec.hpp"
#include "scenario/run/preflight.hpp"
#include "scenario/run/virtual_run.hpp"

namespace ddptwin::scenario::documents_test {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

Result<Scenario> parsed(const std::string& text) {
  const KindRegistry kinds;
  return parse_scenario("s.yaml", kinds,
                        [&](const std::string&) { return Result<std::string>(text); });
}

std::string refusal(const std::string& text) {
  const auto scenario = parsed(text);
  if (!scenario) return scenario.error().text();
  const Status checked = preflight(*scenario);
  return checked ? std::string() : checked.error().text();
}

// What is applied, by kind and name.
std::vector<std::string> applied(const Scenario& scenario) {
  std::vector<std::string> names;
  for (const Manifest& manifest : scenario.manifests)
    names.push_back(
        fmt::format("{}/{}", manifest.object->kind().kind, manifest.object->metadata.name));
  return names;
}

std::vector<std::string> notes(const Scenario& scenario) {
  std::vector<std::string> texts;
  for (const ManifestNote& note : scenario.notes) texts.push_back(note.object + " " + note.text);
  return texts;
}

std::string config_map(const std::string& metadata) {
  return "apiVersion: v1\nkind: ConfigMap\nmetadata: " + metadata + "\n";
}
const std::string pod_spec =
    "{restartPolicy: Never, containers: [{name: c, image: "
    "ddptwin-worker, args: [--steps, '2']}]}";

TEST(Documents, the_items_of_a_list_are_objects_however_deep) {
  const auto scenario = parsed(
      "apiVersion: v1\nkind: List\nitems:\n"
      "- {apiVersion: v1, kind: ConfigMap, metadata: {name: a}}\n"
      "- apiVersion: v1\n  kind: List\n  items:\n"
      "  - {apiVersion: v1, kind: ConfigMap, metadata: {name: b}}\n"
      "---\napiVersion: v1\nkind: PodList\nitems:\n- metadata: {name: p}\n  spec: " +
      pod_spec + "\n");
  ASSERT_TRUE(scenario) << scenario.error().text();
  EXPECT_THAT(applied(*scenario), ElementsAre("ConfigMap/a", "ConfigMap/b", "Pod/p"));
  EXPECT_THAT(notes(*scenario),
              ElementsAre("list s.yaml:1:1: a list: its items are applied one by one, 2 of them",
                          "list s.yaml:5:3 items[1]: a list: its items are applied one by one, 1 "
                          "of them",
                          "podlist s.yaml:10:1: a list: its items are applied one by one, 1 of "
                          "them"));
  EXPECT_TRUE(preflight(*scenario));
}

TEST(Documents, a_mistake_in_a_list_has_its_place) {
  EXPECT_EQ(refusal("apiVersion: v1\nkind: List\nitems:\n- kind: Pod\n"),
            "s.yaml:4:3 items[0]: the field apiVersion is missing");
  EXPECT_EQ(refusal("apiVersion: kubeflow.org/v1\nkind: PyTorchJobList\nitems:\n"
                    "- metadata: {name: J}\n  spec: {pytorchReplicaSpecs: {Master: {}}}\n")
                .substr(0, 34),
            "s.yaml:4:14 items[0].metadata.name");
  EXPECT_EQ(refusal("apiVersion: v1\nkind: List\nitems: [a]\n"),
            "s.yaml:3:9 items[0]: must be a Kubernetes object, not \"a\"");
}

TEST(Documents, the_last_of_two_equal_keys_holds) {
  const auto scenario = parsed(
      "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: a\n  labels: {a: b}\n"
      "  labels: {c: d}\ndata: {x: '1', x: '2'}\n");
  ASSERT_TRUE(scenario) << scenario.error().text();
  const std::string object = to_text(*scenario->manifests.front().object);
  EXPECT_THAT(object, HasSubstr(R"("labels":{"c":"d"})"));
  EXPECT_THAT(object, HasSubstr(R"("data":{"x":"2"})"));
  EXPECT_THAT(notes(*scenario),
              ElementsAre("configmap/a s.yaml:6:3: the key \"labels\" is given twice (first on "
                          "line 5); the last one holds",
                          "configmap/a s.yaml:7:16: the key \"x\" is given twice (first on line "
                          "7); the last one holds"));
}

// Nobody but the twin reads it: the first one is no habit of anybody's tools.
TEST(Documents, a_scenario_has_no_key_twice) {
  EXPECT_EQ(refusal("apiVersion: ddptwin.dev/v1alpha1\nkind: Scenario\nspec:\n  steps: [{wait: "
                    "1s}]\n  steps: [{wait: 2s}]\n"),
            "s.yaml:5:3: the key \"steps\" is given twice (first on line 4)");
}

TEST(Documents, what_a_server_wrote_is_not_applied) {
  const auto scenario = parsed(
      config_map("{name: a, resourceVersion: '5', uid: 059391e8-017b-11e9-bf13-06afd8f55a5c, "
                 "creationTimestamp: '2024-01-01T00:00:00Z'}") +
      "---\napiVersion: v1\nkind: Pod\nmetadata: {name: p, uid: u, managedFields: [{manager: m}]}\n"
      "spec: {nodeName: gone, restartPolicy: Never, containers: [{name: c, image: "
      "ddptwin-worker}]}\n"
      "status: {phase: Succeeded, not: known}\n"
      "---\napiVersion: v1\nkind: Service\nmetadata: {name: s, uid: v, generation: 4}\n"
      "spec: {clusterIP: 10.0.3.4, clusterIPs: [10.0.3.4], ports: [{port: 80}]}\n"
      "---\napiVersion: v1\nkind: Service\nmetadata: {name: h, uid: w}\n"
      "spec: {clusterIP: None, clusterIPs: [None], ports: [{port: 80}]}\n");
  ASSERT_TRUE(scenario) << scenario.error().text();
  EXPECT_THAT(
      notes(*scenario),
      ElementsAre("configmap/a s.yaml:1:1: as a server showed it; not applied: "
                  "metadata.resourceVersion, metadata.uid, metadata.creationTimestamp",
                  "pod/p s.yaml:5:1: as a server showed it; not applied: metadata.uid, "
                  "metadata.managedFields, status, spec.nodeName",
                  "service/s s.yaml:11:1: as a server showed it; not applied: metadata.uid, "
                  "metadata.generation, spec.clusterIP, spec.clusterIPs",
                  "service/h s.yaml:16:1: as a server showed it; not applied: metadata.uid"));
  const Status fits = preflight(*scenario);
  EXPECT_TRUE(fits) << fits.error().text();
}

// Admission would add it again; the twin has none.
TEST(Documents, the_token_of_an_exported_pod_is_not_applied) {
  const std::string mounts =
      "volumeMounts: [{name: data, mountPath: /d}, {name: kube-api-access-x1, mountPath: "
      "/var/run}]";
  const std::string pod = "apiVersion: v1\nkind: Pod\nmetadata: {name: p";
  const std::string spec = "}\nspec: {containers: [{name: c, image: ddptwin-worker, " + mounts +
                           "}], initContainers: [{name: i, image: ddptwin-worker, " + mounts +
                           "}], volumes: [{name: data, emptyDir: {}}, {name: kube-api-access-x1, "
                           "emptyDir: {}}]}\n";
  const auto exported = parsed(pod + ", uid: u" + spec), own = parsed(pod + spec);
  ASSERT_TRUE(exported && own);
  const PodSpec& kept = *as<Pod>(*exported->manifests.front().object)->spec;
  EXPECT_EQ(kept.volumes.size(), 1U);
  EXPECT_EQ(kept.containers[0].volumeMounts.size(), 1U);
  EXPECT_EQ(kept.initContainers[0].volumeMounts.size(), 1U);
  EXPECT_THAT(notes(*exported).front(), HasSubstr("metadata.uid, the volume kube-api-access"));
  EXPECT_EQ(as<Pod>(*own->manifests.front().object)->spec->volumes.size(), 2U);
}

// As the rest of the run names it.
TEST(Documents, a_note_names_the_namespace_where_it_is_not_default) {
  const auto scenario = parsed(config_map("{name: a, namespace: team, uid: u}") + "---\n" +
                               config_map("{name: b, namespace: default, uid: v}"));
  ASSERT_TRUE(scenario) << scenario.error().text();
  EXPECT_THAT(notes(*scenario), ElementsAre(testing::StartsWith("configmap/team/a s.yaml"),
                                            testing::StartsWith("configmap/b s.yaml")));
}

TEST(Documents, what_every_cluster_has_is_not_made_again) {
  const auto scenario = parsed(
      "apiVersion: v1\nkind: Service\nmetadata: {name: kubernetes, uid: a}\nspec: {ports: [{port: "
      "443}]}\n---\n" +
      config_map("{name: kube-root-ca.crt, uid: b}") +
      "---\napiVersion: v1\nkind: Event\nmetadata: {name: e.1, uid: c}\n"
      "---\napiVersion: v1\nkind: Node\nmetadata: {name: worker-1, uid: d}\n---\n" +
      config_map("{name: mine, uid: e}"));
  ASSERT_TRUE(scenario) << scenario.error().text();
  EXPECT_THAT(applied(*scenario), ElementsAre("ConfigMap/mine"));
  EXPECT_EQ(scenario->notes.size(), 5U);
}

TEST(Documents, what_a_user_wrote_stays) {
  const auto scenario = parsed(
      "apiVersion: v1\nkind: Pod\nmetadata: {name: p, creationTimestamp: null, generation: 2, "
      "ownerReferences: [{apiVersion: v1, kind: ConfigMap, name: c, uid: u}]}\n"
      "spec: {nodeName: node-0, containers: [{name: c, image: ddptwin-worker}]}\nstatus: {}\n");
  ASSERT_TRUE(scenario) << scenario.error().text();
  EXPECT_THAT(notes(*scenario), IsEmpty());
  EXPECT_EQ(as<Pod>(*scenario->manifests.front().object)->spec->nodeName, "node-0");
  EXPECT_EQ(scenario->manifests.front().object->metadata.ownerReferences.size(), 1U);
}

const std::string exported_job =
    "apiVersion: kubeflow.org/v1\nkind: PyTorchJob\nmetadata: {name: j, uid: job-uid}\n"
    "spec: {pytorchReplicaSpecs: {Master: {replicas: 1, template: {spec: {containers: [{name: "
    "pytorch, image: "
    "ddptwin-worker}]}}}}}\n";

std::string owned_pod(const std::string& owner) {
  return "---\napiVersion: v1\nkind: Pod\nmetadata: {name: p, uid: pod-uid, ownerReferences: [" +
         owner + "]}\nspec: " + pod_spec + "\n";
}

TEST(Documents, what_a_controller_made_is_left_to_it) {
  for (const char* owner :
       {"{apiVersion: kubeflow.org/v1, kind: PyTorchJob, name: j, uid: job-uid, controller: true}",
        "{apiVersion: kubeflow.org/v1, kind: PyTorchJob, name: other, uid: job-uid}"}) {
    const auto scenario = parsed(exported_job + owned_pod(owner));
    ASSERT_TRUE(scenario) << scenario.error().text();
    EXPECT_THAT(applied(*scenario), ElementsAre("PyTorchJob/j")) << owner;
    EXPECT_EQ(notes(*scenario).front(),
              "pytorchjob/j s.yaml:6:1: left to its controller, which makes them anew: pod/p");
  }
  // Its owner is not in the file: it runs by itself.
  const auto alone =
      parsed(owned_pod("{apiVersion: kubeflow.org/v1, kind: PyTorchJob, name: j, uid: job-uid}")
                 .substr(4));
  ASSERT_TRUE(alone) << alone.error().text();
  EXPECT_THAT(applied(*alone), ElementsAre("Pod/p"));
  EXPECT_THAT(notes(*alone), ElementsAre(HasSubstr("metadata.ownerReferences")));
}

// Who only goes with its owner is made by nobody else.
TEST(Documents, a_config_map_is_not_made_by_its_owner) {
  const auto scenario = parsed(
      exported_job + "---\n" +
      config_map("{name: c, uid: c, ownerReferences: [{kind: PyTorchJob, name: j, apiVersion: "
                 "kubeflow.org/v1, uid: job-uid}]}"));
  ASSERT_TRUE(scenario) << scenario.error().text();
  EXPECT_THAT(applied(*scenario), ElementsAre("PyTorchJob/j", "ConfigMap/c"));
}

const std::string deployment =
    "---\napiVersion: apps/v1\nkind: Deployment\nmetadata: {name: web, uid: web-uid}\n"
    "spec: {template: {spec: {containers: [{name: c, image: nginx}]}}}\n";

TEST(Documents, the_pods_of_what_is_set_aside_are_too) {
  const std::string tree = deployment +
                           "---\napiVersion: apps/v1\nkind: ReplicaSet\nmetadata: {name: rs, uid: "
                           "rs-uid, ownerReferences: [{kind: Deployment, name: web, uid: "
                           "web-uid, controller: true}]}\n" +
                           owned_pod("{kind: ReplicaSet, name: rs, uid: rs-uid, controller: true}");
  EXPECT_THAT(refusal(tree), HasSubstr("the twin has no kind Deployment of apps/v1"));
  const auto beside_a_job = parsed(exported_job + tree);
  ASSERT_TRUE(beside_a_job) << beside_a_job.error().text();
  EXPECT_THAT(applied(*beside_a_job), ElementsAre("PyTorchJob/j"));
  const Status fits = preflight(*beside_a_job);
  EXPECT_TRUE(fits) << fits.error().text();
}

TEST(Documents, what_is_named_cannot_be_set_aside) {
  EXPECT_EQ(refusal(exported_job + deployment +
                    "---\napiVersion: autoscaling/v2\nkind: HorizontalPodAutoscaler\nmetadata: "
                    "{name: h}\nspec:\n  maxReplicas: 3\n  scaleTargetRef: {apiVersion: apps/v1, "
                    "kind: Deployment, name: web}\n"),
            "s.yaml:16:3 spec.scaleTargetRef: it names Deployment web of s.yaml:7:1, which cannot "
            "be set aside then: the twin has no kind Deployment of apps/v1, which real clusters "
            "have: write its pods as documents of kind Pod");
  EXPECT_THAT(refusal(exported_job + deployment + "---\n" +
                      config_map("\n  name: c\n  ownerReferences:\n  - {apiVersion: apps/v1, kind: "
                                 "Deployment, name: web, uid: u}")),
              HasSubstr("metadata.ownerReferences[0]: it names Deployment web"));
}

TEST(Documents, a_generated_name_is_refused_by_apply) {
  const std::string refused =
      "from a-: cannot use generate name with apply: give it a metadata.name (kubectl create would "
      "make one up)";
  EXPECT_EQ(refusal(config_map("{generateName: a-}")),
            "s.yaml:3:12 metadata.generateName: " + refused);
  EXPECT_EQ(refusal("apiVersion: v1\nkind: List\nitems:\n- apiVersion: v1\n  kind: Pod\n"
                    "  metadata: {generateName: a-}\n  spec: " +
                    pod_spec + "\n"),
            "s.yaml:6:14 items[0].metadata.generateName: " + refused);
  EXPECT_EQ(refusal("apiVersion: ddptwin.dev/v1alpha1\nkind: Scenario\nspec:\n  steps:\n  - apply: "
                    "{object: {apiVersion: v1, kind: ConfigMap, metadata: {generateName: a-}}}\n"),
            "s.yaml:5:66 spec.steps[0].apply.object.metadata.generateName: " + refused);
  EXPECT_EQ(refusal(config_map("{generateName: a-, name: a}")), "");
  EXPECT_EQ(refusal(config_map("{}")), "s.yaml:3:1 metadata: an object needs metadata.name");
}

// An object of the Scenario's own is as its author wrote it.
TEST(Documents, a_version_in_an_object_of_the_scenario_is_refused_by_its_field) {
  EXPECT_EQ(
      refusal("apiVersion: ddptwin.dev/v1alpha1\nkind: Scenario\nspec:\n  steps:\n  - apply: "
              "{object: {apiVersion: v1, kind: ConfigMap, metadata: {name: a, "
              "resourceVersion: '5'}}}\n"),
      "s.yaml:5:75 spec.steps[0].apply.object.metadata.resourceVersion: resourceVersion should "
      "not be set on objects to be created");
}

std::vector<std::string> first_notes(const Scenario& scenario) {
  VirtualRun run(scenario, {});
  std::vector<std::string> told;
  run.world().trace().add_sink([&told](const Record& record) {
    if (record.kind == RecordKind::image)
      told.push_back(fmt::format("{} {}", record.subject, record.text));
  });
  EXPECT_TRUE(run.start());
  return told;
}

TEST(Namespaces, one_that_nobody_makes_is_there_with_a_note) {
  const auto scenario = parsed(config_map("{name: a, namespace: team}") + "---\n" +
                               config_map("{name: b, namespace: team}") + "---\n" +
                               config_map("{name: c, namespace: kube-system}"));
  ASSERT_TRUE(scenario) << scenario.error().text();
  EXPECT_TRUE(preflight(*scenario));
  EXPECT_THAT(
      first_notes(*scenario),
      ElementsAre("namespace/team s.yaml:3:21 metadata.namespace: no document makes it: made "
                  "at the start, as by kubectl create namespace team"));
}

TEST(Namespaces, one_that_a_document_makes_is_made_by_it) {
  const std::string space = "apiVersion: v1\nkind: Namespace\nmetadata: {name: team}\n";
  const std::string object = config_map("{name: a, namespace: team}");
  const auto scenario = parsed(space + "---\n" + object);
  ASSERT_TRUE(scenario) << scenario.error().text();
  EXPECT_TRUE(preflight(*scenario));
  EXPECT_THAT(first_notes(*scenario), IsEmpty());
  EXPECT_EQ(
      refusal(object + "---\n" + space),
      "s.yaml:3:21 metadata.namespace: namespaces \"team\" not found: the document that makes "
      "it, s.yaml:5:1, comes later: put it before this one");
}

TEST(Namespaces, a_strict_scenario_makes_none) {
  const auto with = [](const std::string& value) {
    return refusal("apiVersion: ddptwin.dev/v1alpha1\nkind: Scenario\nspec: {namespaces: " + value +
                   "}\n---\n" + config_map("{name: a, namespace: team}"));
  };
  EXPECT_THAT(with("strict"), HasSubstr("namespaces \"team\" not found"));
  EXPECT_EQ(with("made"), "");
  EXPECT_THAT(with("some"), HasSubstr("must be strict or made"));
  EXPECT_THAT(refusal(config_map("{name: a, namespace: A_b}")),
              HasSubstr("s.yaml:3:21 metadata.namespace"));
}

}  // namespace
}  // namespace ddptwin::scenario::documents_test
