#include "scenario/run/rehearsal.hpp"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "scenario/language/scenario_parser.hpp"
#include "scenario/run/images.hpp"
#include "scenario/run/preflight.hpp"
#include "scenario/words/names.hpp"

namespace ddptwin::scenario::rehearsal_test {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;
using testing::Pair;

Scenario parsed(const std::string& text) {
  const KindRegistry kinds;
  auto scenario = parse_scenario("s.yaml", kinds,
                                 [&](const std::string&) { return Result<std::string>(text); });
  EXPECT_TRUE(scenario) << scenario.error().text();
  return scenario ? std::move(*scenario) : Scenario();
}

std::string container(const std::string& name, const std::string& more = {}) {
  return "{name: " + name + ", image: ddptwin-worker" + (more.empty() ? "" : ", ") + more + "}";
}

std::string set(const std::string& spec, const std::string& more = {}) {
  return "apiVersion: apps/v1\nkind: StatefulSet\nmetadata: {name: web}\nspec: {selector: "
         "{matchLabels: {a: b}}, serviceName: s, " +
         spec + ", template: {metadata: {labels: {a: b}}, spec: {containers: [" +
         container("c", more) + "]}}}\n";
}

std::string job(const std::string& master, const std::string& worker,
                const std::string& more = {}) {
  return "apiVersion: kubeflow.org/v1\nkind: PyTorchJob\nmetadata: {name: j}\nspec:\n" + more +
         "  pytorchReplicaSpecs:\n    Master: {replicas: 1, template: {spec: {containers: [" +
         master + "]}}}\n    Worker: {replicas: 2, template: {spec: {containers: [" + worker +
         "]}}}\n";
}

std::string ddpset(const std::string& replicas, const std::string& more = {}) {
  return "apiVersion: platform.ddptwin.dev/v1alpha1\nkind: DDPSet\nmetadata: {name: t}\nspec: "
         "{replicas: " +
         replicas + ", template: {spec: {containers: [" + container("c", more) + "]}}}\n";
}

// Each by name, and whose it is.
std::vector<std::string> pods_of(const std::string& text) {
  const Scenario scenario = parsed(text);
  std::vector<std::string> names;
  for (const RehearsedPod& one : rehearse(scenario))
    names.push_back(one.pod->metadata.name.str() + " of " +
                    (one.of == nullptr ? "nobody" : short_name(*one.of->object)));
  std::sort(names.begin(), names.end());
  return names;
}

TEST(Rehearsal, a_pod_is_its_own) {
  EXPECT_THAT(pods_of("apiVersion: v1\nkind: Pod\nmetadata: {name: p}\nspec: {containers: [" +
                      container("c") + "]}\n"),
              ElementsAre("p of pod/p"));
}

// Each is made when the one before is Ready.
TEST(Rehearsal, of_an_ordered_set_all_pods_are_made) {
  EXPECT_THAT(pods_of(set("replicas: 3")),
              ElementsAre("web-0 of statefulset/web", "web-1 of statefulset/web",
                          "web-2 of statefulset/web"));
}

TEST(Rehearsal, a_pod_is_of_what_was_applied_however_many_made_it) {
  EXPECT_THAT(pods_of(ddpset("2")), ElementsAre("t-0 of ddpset/t", "t-1 of ddpset/t"));
}

// The second group waits for the first one's end, and the third for the second to be ready.
TEST(Rehearsal, of_a_jobset_in_order_all_groups_are_made) {
  const auto group = [](const std::string& name, const std::string& depends) {
    return "{name: " + name + ", " + depends +
           "template: {spec: {parallelism: 1, completions: 1, template: {spec: {restartPolicy: "
           "Never, containers: [" +
           container("c") + "]}}}}}";
  };
  const auto on = [](const std::string& name, const std::string& status) {
    return "dependsOn: [{name: " + name + ", status: " + status + "}], ";
  };
  const Scenario scenario = parsed(
      "apiVersion: jobset.x-k8s.io/v1alpha2\nkind: JobSet\nmetadata: {name: s}\nspec: "
      "{replicatedJobs: [" +
      group("fetch", "") + ", " + group("first", on("fetch", "Complete")) + ", " +
      group("second", on("first", "Ready")) + "]}\n");
  std::vector<std::string> jobs;
  for (const RehearsedPod& pod : rehearse(scenario)) {
    EXPECT_EQ(pod.of, &scenario.manifests.front());
    ASSERT_EQ(pod.owners.size(), 2U);
    jobs.push_back(pod.owners.front()->metadata.name.str());
  }
  EXPECT_THAT(jobs, ElementsAre("s-fetch-0", "s-first-0", "s-second-0"));
  EXPECT_EQ(image_uses(scenario).size(), 3U);
}

// Nobody waits for two at night; a change of the template makes another one, that of a switch none.
TEST(Rehearsal, of_a_cronjob_a_job_is_made_at_once) {
  const auto cron_job = [](const std::string& more) {
    return "apiVersion: batch/v1\nkind: CronJob\nmetadata: {name: nightly}\nspec: {schedule: '0 2 "
           "* * "
           "*', " +
           more + "jobTemplate: {spec: {template: {spec: {restartPolicy: Never, containers: [" +
           container("c") + "]}}}}}\n";
  };
  const auto owners = [](const std::string& text) {
    const Scenario scenario = parsed(text);
    std::vector<std::string> names;
    for (const RehearsedPod& one : rehearse(scenario)) {
      EXPECT_EQ(one.owners.size(), 2u);
      names.push_back(one.of == nullptr ? "nobody" : short_name(*one.of->object));
    }
    return names;
  };
  const std::string name = "cronjob/nightly";
  EXPECT_THAT(owners(cron_job("")), ElementsAre(name));
  EXPECT_THAT(owners(cron_job("suspend: true, ")), IsEmpty());
  const std::string steps =
      "apiVersion: ddptwin.dev/v1alpha1\nkind: Scenario\nspec:\n  steps:\n"
      "  - patch: {of: cronjob/nightly, patch: {spec: {suspend: false}}}\n"
      "  - patch: {of: cronjob/nightly, patch: {spec: {schedule: '0 3 * * *'}}}\n";
  EXPECT_THAT(owners(steps + "---\n" + cron_job("suspend: true, ")), ElementsAre(name));
  const std::string changed =
      "  - patch: {of: cronjob/nightly, patch: {spec: {jobTemplate: {spec: {backoffLimit: 1}}}}}\n";
  EXPECT_THAT(owners(steps + changed + "---\n" + cron_job("")), ElementsAre(name, name));
}

TEST(Rehearsal, steps_that_apply_and_patch_are_done) {
  const std::string steps =
      "---\napiVersion: ddptwin.dev/v1alpha1\nkind: Scenario\nmetadata: {name: s}\nspec: {steps: "
      "[{patch: "
      "{of: statefulset/web, patch: {spec: {replicas: 2}}}}]}\n";
  EXPECT_THAT(pods_of(set("replicas: 0")), IsEmpty());
  EXPECT_THAT(pods_of(set("replicas: 0") + steps),
              ElementsAre("web-0 of statefulset/web", "web-1 of statefulset/web"));
}

TEST(Rehearsal, more_pods_than_a_client_may_make_in_the_time_are_all_there) {
  EXPECT_EQ(pods_of(job(container("pytorch"), container("pytorch"), "") +
                    "---\napiVersion: batch/v1\nkind: Job\nmetadata: {name: big}\nspec: "
                    "{parallelism: 700, completions: 700, template: {spec: {restartPolicy: Never, "
                    "containers: [" +
                    container("c") + "]}}}\n")
                .size(),
            703U);
}

// "NAME: RULE (REPLACED)" of the pod's first container. A name that ends in "-" is how it begins.
std::vector<std::string> put_into(const std::string& text, const std::string& pod) {
  const Scenario scenario = parsed(text);
  std::vector<std::string> told;
  Rehearsal rehearsal(scenario);
  rehearsal.play();
  for (const RehearsedPod& one : rehearsal.pods()) {
    const std::string_view name_of_pod = one.pod->metadata.name;
    if (pod.ends_with('-') ? !name_of_pod.starts_with(pod) : name_of_pod != pod) continue;
    for (const auto& [name, put] : rehearsal.put_into(one, one.pod->spec->containers->front()))
      told.push_back(fmt::format("{}: {}{}", name, put.rule,
                                 put.replaced ? " (" + *put.replaced + ")" : std::string()));
  }
  return told;
}

TEST(Rehearsal, a_variable_is_followed_to_who_put_it_there) {
  EXPECT_THAT(
      put_into(ddpset("2", "env: [{name: POD_PORT, value: '1'}, {name: MINE, value: x}]"), "t-1"),
      ElementsAre("POD_NAME: ddpset: the pod's own name",
                  "POD_NAMESPACE: ddpset: the pod's namespace",
                  "POD_NUMS: ddpset: spec.replicas when the template was rendered",
                  "SVC_NAME: ddpset: the headless Service"));
  EXPECT_THAT(put_into(set("replicas: 1", "env: [{name: POD_NUMS, value: '1'}]"), "web-0"),
              IsEmpty());
  EXPECT_THAT(
      put_into("apiVersion: batch/v1\nkind: Job\nmetadata: {name: j, uid: u}\nspec: "
               "{completionMode: Indexed, completions: 1, template: {spec: {restartPolicy: Never, "
               "containers: [" +
                   container("c") + "]}}}\n",
               "j-0"),
      IsEmpty());  // such a pod's name is drawn
}

TEST(Rehearsal, what_a_rule_replaces_is_told_of_the_template_that_the_pod_is_made_from) {
  const std::string text = job(container("pytorch"), container("pytorch",
                                                               "env: [{name: RANK, "
                                                               "value: '7'}]"));
  EXPECT_THAT(put_into(text, "j-worker-0"),
              testing::Contains("RANK: pytorchjob: the job has a Master (spec/pytorchjob.md §2.2) "
                                "(7)"));
  EXPECT_THAT(
      put_into(text, "j-master-0"),
      testing::Contains("RANK: pytorchjob: the job has a Master (spec/pytorchjob.md §2.2)"));
}

// A TrainJob has no container of its own; the patch below names its runtime's.
TEST(Rehearsal, of_a_trainjob_each_variable_is_a_plugins_its_runtimes_or_its_users) {
  const std::string text =
      "apiVersion: trainer.kubeflow.org/v1alpha1\nkind: TrainingRuntime\nmetadata: {name: ours}\n"
      "spec: {mlPolicy: {torch: {}}, template: {spec: {replicatedJobs: [{name: node, template: "
      "{metadata: {labels: {trainer.kubeflow.org/trainjob-ancestor-step: trainer}}, spec: "
      "{template: {spec: {containers: [" +
      container("node",
                "env: [{name: PET_NNODES, value: '9'}, {name: A, value: '1'}, {name: B, value: "
                "'1'}]") +
      "]}}}}}]}}}\n---\n"
      "apiVersion: trainer.kubeflow.org/v1alpha1\nkind: TrainJob\nmetadata: {name: t}\nspec: "
      "{runtimeRef: {kind: TrainingRuntime, name: ours}, trainer: {env: [{name: A, value: '2'}, "
      "{name: C, value: x}]}, runtimePatches: [{manager: example.org/me, trainingRuntimeSpec: "
      "{template: {spec: {replicatedJobs: [{name: node, template: {spec: {template: {spec: "
      "{volumes: [{name: v, emptyDir: {}}], containers: [{name: node, volumeMounts: [{name: v, "
      "mountPath: /v}]}]}}}}}]}}}}]}\n";
  EXPECT_THAT(put_into(text, "t-node-0-0-"),
              testing::IsSupersetOf(
                  {"A: trainjob/t: spec.trainer.env[0] (1)",
                   "B: trainingruntime/ours: its template", "C: trainjob/t: spec.trainer.env[1]",
                   "PET_NNODES: trainjob: plugin torch: spec.trainer.numNodes, or numNodes of the "
                   "runtime (9)",
                   "PET_MASTER_PORT: trainjob: plugin torch: always 29500",
                   "JOB_COMPLETION_INDEX: job: the pod's index (spec/trainjob.md §6.5)"}));
}

// "CONTAINER where command variables".
std::vector<std::string> uses_of(const std::string& text) {
  const Scenario scenario = parsed(text);
  std::vector<std::string> told;
  for (const ImageUse& use : image_uses(scenario))
    told.push_back(fmt::format("{} {} {}", use.object, use.container, use.where));
  return told;
}

TEST(ImageUses, are_of_templates_once_with_their_places) {
  EXPECT_THAT(uses_of(job(container("pytorch"), container("pytorch", "command: [x]"))),
              ElementsAre("pytorchjob/j pytorch s.yaml:6:74 "
                          "spec.pytorchReplicaSpecs.Master.template.spec.containers[0].image",
                          "pytorchjob/j pytorch s.yaml:7:74 "
                          "spec.pytorchReplicaSpecs.Worker.template.spec.containers[0].image",
                          "pytorchjob/j init-pytorch s.yaml:3:12 metadata.name"));
}

TEST(ImageUses, of_a_job_that_is_suspended_are_as_it_is_written) {
  EXPECT_EQ(uses_of(job(container("pytorch"), container("pytorch", "command: [x]"),
                        "  runPolicy: {suspend: true}\n"))
                .size(),
            2U);
  EXPECT_EQ(uses_of(set("replicas: 0")).size(), 1U);
}

// What all pods of a template have alike is known before the run.
TEST(ImageUses, know_what_the_system_puts_into_a_container) {
  const Scenario scenario = parsed(job(container("pytorch"), container("pytorch", "command: [x]")));
  const auto uses = image_uses(scenario);
  ASSERT_EQ(uses.size(), 3U);
  const VariableUses& worker = uses[1].variables;
  EXPECT_EQ(worker.at("WORLD_SIZE").value, "3");
  EXPECT_EQ(worker.at("MASTER_ADDR").value, "j-master-0");
  EXPECT_EQ(worker.at("RANK").value, std::nullopt);
  EXPECT_EQ(uses[0].variables.at("RANK").value, "0");
}

TEST(ImageUses, a_refusal_names_the_field_that_a_variable_comes_from) {
  const Scenario scenario = parsed(job(container("pytorch", "command: [torchrun, x.py]"),
                                       container("pytorch", "command: [torchrun, x.py]"),
                                       "  elasticPolicy: {rdzvBackend: etcd}\n"));
  const auto uses = image_uses(scenario);
  ASSERT_FALSE(uses.empty());
  EXPECT_EQ(uses[0].variables.at("PET_RDZV_BACKEND").value, "etcd");
  EXPECT_THAT(uses[0].variables.at("PET_RDZV_BACKEND").where,
              testing::EndsWith("spec.elasticPolicy.rdzvBackend"));
}

}  // namespace
}  // namespace ddptwin::scenario::rehearsal_test
