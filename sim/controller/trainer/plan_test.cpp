#include "controller/trainer/plan.hpp"

#include <gtest/gtest.h>

#include <algorithm>

#include "controller/trainer/apply_values.hpp"
#include "controller/trainer/status.hpp"
#include "controller/trainer/torch.hpp"
#include "core/virtual_start.hpp"
#include "objects/codec.hpp"
#include "objects/pod_groups.hpp"
#include "objects/yaml.hpp"

namespace ddptwin::controller::trainer::plan_test {
namespace {

namespace json = boost::json;

Json value_of(std::string_view yaml) {
  auto documents = parse_yaml(yaml, "test");
  EXPECT_TRUE(documents.has_value() && documents->size() == 1) << yaml;
  return documents->front().value;
}

std::shared_ptr<TrainJob> job_of(std::string_view spec) {
  auto job = std::make_shared<TrainJob>();
  job->metadata.name = "j";
  job->metadata.namespace_ = "default";
  job->metadata.uid = "uid-of-j";
  job->metadata.creationTimestamp = virtual_start;
  auto read = from_json<TrainJobSpec>(value_of(spec));
  EXPECT_TRUE(read.has_value()) << read.error().text();
  job->spec = *read;
  return job;
}

constexpr std::string_view ref =
    "runtimeRef: {name: r, kind: ClusterTrainingRuntime, "
    "apiGroup: trainer.kubeflow.org}\n";
std::shared_ptr<TrainJob> job_with(std::string_view rest) {
  return job_of(std::string(ref) + std::string(rest));
}

std::shared_ptr<ClusterTrainingRuntime> runtime_of(std::string_view policies,
                                                   std::string_view containers,
                                                   std::string_view more = {}) {
  const std::string text = std::string(policies) +
                           "\ntemplate:\n  spec:\n    replicatedJobs:\n"
                           "    - name: node\n      replicas: 1\n      template:\n"
                           "        metadata: {labels: {trainer.kubeflow.org/"
                           "trainjob-ancestor-step: trainer}}\n"
                           "        spec: {template: {spec: {containers: " +
                           std::string(containers) + "}}}\n" + std::string(more);
  auto runtime = std::make_shared<ClusterTrainingRuntime>();
  runtime->metadata.name = "r";
  auto read = from_json<TrainingRuntimeSpec>(value_of(text));
  EXPECT_TRUE(read.has_value()) << read.error().text();
  runtime->spec = *read;
  return runtime;
}
std::shared_ptr<ClusterTrainingRuntime> torch_runtime(
    std::string_view containers = "[{name: node, image: i}]") {
  return runtime_of("mlPolicy: {numNodes: 1, torch: {}}", containers);
}

constexpr std::string_view initializer =
    "    - name: dataset-initializer\n      replicas: 1\n      template:\n"
    "        metadata: {labels: {trainer.kubeflow.org/trainjob-ancestor-step: "
    "dataset-initializer}}\n"
    "        spec: {template: {spec: {containers: [{name: dataset-initializer, image: d, env: "
    "[{name: STORAGE_URI, value: hf://r}]}]}}}\n";

std::vector<Applied> built(const TrainJob& job, const ClusterTrainingRuntime& runtime,
                           const Existing& there = {}) {
  auto info = assemble(job, *runtime.spec, default_profile());
  EXPECT_TRUE(info.has_value());
  const auto done = run_plugins(*info, job);
  EXPECT_TRUE(done.has_value()) << done.error().text();
  return build(std::move(*info), job, there, Random(1));
}

const Applied* find_kind(const std::vector<Applied>& objects, const KindInfo& kind) {
  for (const Applied& one : objects)
    if (one.kind == &kind) return &one;
  return nullptr;
}

json::object jobset_spec(const TrainJob& job, const ClusterTrainingRuntime& runtime) {
  const auto objects = built(job, runtime);
  const Applied* set = find_kind(objects, JobSet::info());
  EXPECT_NE(set, nullptr);
  return set->body.at("spec").get_object();
}

json::object container_of(json::object spec, std::size_t replicated_job = 0) {
  json::object& one = list_in(spec, "replicatedJobs")[replicated_job].get_object();
  return list_in(pod_spec_of(one), "containers")[0].get_object();
}

// "A=1 B=2 C=<metadata.annotations[...]>"
std::string env_of(json::object container) {
  std::string text;
  for (const Json& one : list_in(container, "env")) {
    const json::object& variable = one.get_object();
    text += (text.empty() ? "" : " ") + std::string(text_in(variable, "name")) + "=";
    text += variable.contains("valueFrom") ? "<from>" : std::string(text_in(variable, "value"));
  }
  return text;
}
std::string value_in(json::object container, std::string_view name) {
  for (const Json& one : list_in(container, "env"))
    if (text_in(one.get_object(), "name") == name)
      return std::string(text_in(one.get_object(), "value"));
  return "(none)";
}

// ---- torch (spec/trainjob.md §11.1) ------------------------------------------------------------

TEST(TrainJobPlanTest, torch_gets_its_variables_behind_the_jobs_own) {
  const auto job = job_with("trainer: {numNodes: 2, env: [{name: A, value: x}]}");
  const json::object node = container_of(jobset_spec(*job, *torch_runtime()));
  EXPECT_EQ(env_of(node),
            "A=x PET_NNODES=2 PET_NPROC_PER_NODE=1 PET_NODE_RANK=<from> "
            "PET_MASTER_ADDR=j-node-0-0.j PET_MASTER_PORT=29500");
  EXPECT_EQ(json::serialize(node.at("ports")), R"([{"containerPort":29500}])");
}

TEST(TrainJobPlanTest, a_variable_of_the_template_stays_in_its_place) {
  const auto runtime = torch_runtime(
      "[{name: node, image: i, env: [{name: A, value: rt}, {name: PET_NNODES, value: '99'}]}]");
  const auto job = job_with("trainer: {env: [{name: A, value: job}, {name: M, value: m}]}");
  EXPECT_EQ(env_of(container_of(jobset_spec(*job, *runtime))),
            "A=job PET_NNODES=1 M=m PET_NPROC_PER_NODE=1 PET_NODE_RANK=<from> "
            "PET_MASTER_ADDR=j-node-0-0.j PET_MASTER_PORT=29500");
}

TEST(TrainJobPlanTest, without_a_trainer_there_are_no_variables_and_no_port) {
  const auto runtime = runtime_of("mlPolicy: {numNodes: 2, torch: {}}", "[{name: node, image: i}]");
  const json::object spec = jobset_spec(*job_with(""), *runtime);
  const json::object node = container_of(spec);
  EXPECT_FALSE(node.contains("env"));
  EXPECT_FALSE(node.contains("ports"));
  EXPECT_EQ(spec.at("replicatedJobs").at(0).at("template").at("spec").at("parallelism"), 2);
}

TEST(TrainJobPlanTest, processes_per_node) {
  struct Case {
    std::string_view trainer;
    std::string_view expected;
  };
  const Case cases[] = {
      {"{}", "1"},
      {"{resourcesPerNode: {requests: {cpu: 4}}}", "4"},
      {"{resourcesPerNode: {requests: {cpu: 2500m}}}", "3"},
      {"{resourcesPerNode: {requests: {cpu: 0.7}}}", "1"},
      {"{resourcesPerNode: {requests: {cpu: 3.7}}}", "4"},
      {"{resourcesPerNode: {limits: {cpu: 6}}}", "6"},
      {"{resourcesPerNode: {requests: {example.com/gpu: 2}}}", "auto"},
      {"{resourcesPerNode: {requests: {cpu: 6, example.com/GPU: 2}}}", "auto"},
      {"{resourcesPerNode: {limits: {nvidia.com/gpu: 8}, requests: {cpu: 4}}}", "auto"},
      {"{resourcesPerNode: {requests: {nvidia.com/mig-1g.5gb: 2, cpu: 3}}}", "3"},
      {"{numProcPerNode: 3, resourcesPerNode: {requests: {cpu: 8}}}", "3"},
      {"{numProcPerNode: 8, resourcesPerNode: {limits: {nvidia.com/gpu: 8}}}", "8"},
      {"{numProcPerNode: 0}", "0"},
      {"{numProcPerNode: -5}", "-5"},
  };
  for (const Case& one : cases) {
    const auto job = job_with("trainer: " + std::string(one.trainer));
    EXPECT_EQ(value_in(container_of(jobset_spec(*job, *torch_runtime())), "PET_NPROC_PER_NODE"),
              one.expected)
        << one.trainer;
  }
}

// C010, C013: by the TrainJob's own amounts alone, limits before requests.
TEST(TrainJobPlanTest, processes_per_node_of_v2_0) {
  struct Case {
    std::string_view said;  // of the runtime
    std::string_view trainer;
    std::string_view expected;
  };
  const Case cases[] = {
      {"auto", "{}", "auto"},
      {"gpu", "{}", "gpu"},
      {"cpu", "{resourcesPerNode: {requests: {cpu: 6, example.com/gpu: 2}}}", "6"},
      {"cpu", "{resourcesPerNode: {requests: {memory: 1Gi}}}", "1"},
      {"auto", "{resourcesPerNode: {requests: {cpu: 2500m}}}", "3"},
      {"auto", "{resourcesPerNode: {requests: {cpu: 4}, limits: {cpu: 2}}}", "2"},
      {"auto", "{resourcesPerNode: {requests: {cpu: 6, example.com/gpu: 2}}}", "auto"},
      {"auto", "{resourcesPerNode: {limits: {example.com/gpu: 2}}}", "1"},
      {"8", "{resourcesPerNode: {limits: {example.com/gpu: 8}}}", "1"},
      {"8", "{resourcesPerNode: {requests: {cpu: 2}}}", "8"},
      {"8", "{}", "8"},
  };
  for (const Case& one : cases) {
    const auto runtime = runtime_of(
        "mlPolicy: {numNodes: 1, torch: {numProcPerNode: " + std::string(one.said) + "}}",
        "[{name: node, image: i, resources: {requests: {cpu: 5}}}]");
    const auto job = job_with("trainer: " + std::string(one.trainer));
    auto info = assemble(*job, *runtime->spec, *find_profile("v2.0"));
    ASSERT_TRUE(info.has_value());
    EXPECT_EQ(processes_per_node(*info, *job).text(), one.expected)
        << one.said << " " << one.trainer;
  }
}

TEST(TrainJobPlanTest, the_runtimes_resources_count_where_the_job_says_none) {
  const auto runtime =
      torch_runtime("[{name: node, image: i, resources: {requests: {cpu: 4, memory: 1Gi}}}]");
  const json::object alone = container_of(jobset_spec(*job_with("trainer: {}"), *runtime));
  EXPECT_EQ(value_in(alone, "PET_NPROC_PER_NODE"), "4");
  const auto job = job_with("trainer: {resourcesPerNode: {limits: {nvidia.com/gpu: 8}}}");
  const json::object merged = container_of(jobset_spec(*job, *runtime));
  EXPECT_EQ(value_in(merged, "PET_NPROC_PER_NODE"), "auto");
  EXPECT_EQ(json::serialize(merged.at("resources")),
            R"({"limits":{"nvidia.com/gpu":"8"},"requests":{"cpu":"4","memory":"1Gi"}})");
}

TEST(TrainJobPlanTest, env_injection_reaches_init_containers_and_fails_without_its_target) {
  const auto text = [](std::string_view container) {
    return "mlPolicy: {numNodes: 2, torch: {envInjection: {targets: [{jobName: node, "
           "containerNames: [" +
           std::string(container) + "]}]}}}";
  };
  const auto job = job_with("trainer: {}");
  constexpr std::string_view containers =
      "[{name: node, image: i}], initContainers: [{name: check, image: c}]";
  json::object spec = jobset_spec(*job, *runtime_of(text("check"), containers));
  json::object& pod = pod_spec_of(list_in(spec, "replicatedJobs")[0].get_object());
  EXPECT_EQ(env_of(list_in(pod, "initContainers")[0].get_object()),
            "PET_NNODES=2 PET_NPROC_PER_NODE=1 PET_NODE_RANK=<from> "
            "PET_MASTER_ADDR=j-node-0-0.j PET_MASTER_PORT=29500");
  const auto bad = runtime_of(text("nobody"), containers);
  auto info = assemble(*job, *bad->spec, default_profile());
  ASSERT_TRUE(info.has_value());
  const auto refused = run_plugins(*info, *job);
  ASSERT_FALSE(refused.has_value());
  EXPECT_EQ(refused.error().text(),
            "envInjection target podSet \"node\" container \"nobody\" not found in runtime "
            "template");
}

TEST(TrainJobPlanTest, ports_without_a_name_are_one) {
  const auto ports = [](std::string_view of_template) {
    const auto runtime =
        torch_runtime("[{name: node, image: i, ports: " + std::string(of_template) + "}]");
    return json::serialize(
        container_of(jobset_spec(*job_with("trainer: {}"), *runtime)).at("ports"));
  };
  EXPECT_EQ(ports("[{containerPort: 8080}]"), R"([{"containerPort":29500}])");
  EXPECT_EQ(ports("[{containerPort: 8080, name: http}]"),
            R"([{"name":"http","containerPort":8080},{"containerPort":29500}])");
  EXPECT_EQ(ports("[{containerPort: 29500, name: ddp}]"), R"([{"containerPort":29500}])");
  EXPECT_EQ(ports("[{containerPort: 8080}, {containerPort: 9090}]"),
            R"([{"containerPort":9090},{"containerPort":9090}])");
}

TEST(TrainJobPlanTest, torchtune_has_its_command_line_made) {
  const auto runtime = torch_runtime(
      "[{name: node, image: i, command: [tune, run, output_dir=/o, tokenizer.path=/t, x=y]}]");
  const auto job = [](std::string_view trainer) {
    auto made = job_with("trainer: " + std::string(trainer));
    made->spec.edit().runtimeRef.name = "torchtune-llama3.2-1b";
    return made;
  };
  const auto command = [&](std::string_view trainer) {
    const json::object node = container_of(jobset_spec(*job(trainer), *runtime));
    EXPECT_EQ(value_in(node, "PET_MASTER_ADDR"), "(none)");
    return json::serialize(node.at("command"));
  };
  EXPECT_EQ(command("{command: [tune, run], numProcPerNode: 1}"),
            R"(["tune","run","full_finetune_single_device","--config",)"
            R"("llama3_2/1B_full_single_device","output_dir=/o","tokenizer.path=/t"])");
  EXPECT_EQ(command("{command: [tune, run], numNodes: 2, numProcPerNode: 8}"),
            R"(["tune","run","--rdzv_endpoint=j-node-0-0.j:29500","full_finetune_distributed",)"
            R"("--config","llama3_2/1B_full_multinode","output_dir=/o","tokenizer.path=/t"])");
  EXPECT_EQ(command("{command: [tune, run], args: ['model.lora_attn_modules=[q]', "
                    "model.quantize_base=True], resourcesPerNode: {limits: {nvidia.com/gpu: 2}}}"),
            R"(["tune","run","--rdzv_endpoint=j-node-0-0.j:29500","lora_finetune_distributed",)"
            R"("--config","llama3_2/1B_qlora","output_dir=/o","tokenizer.path=/t"])");
}

TEST(TrainJobPlanTest, models_are_told_by_three_parts) {
  EXPECT_EQ(model_of_runtime("torchtune-llama3.2-1b"), "llama3_2/1B");
  EXPECT_EQ(model_of_runtime("torchtune-qwen2.5-1.5b"), "qwen2_5/1.5B");
  EXPECT_EQ(model_of_runtime("torch-distributed"), "");
  EXPECT_EQ(model_of_runtime("a-b-c-d"), "");
  EXPECT_EQ(model_of_runtime(""), "");
  EXPECT_FALSE(asks_for_qlora({"model.quantize_base=False"}));
  EXPECT_FALSE(asks_for_qlora({"model.quantize_base=true", "model.use_dora=True"}));
  EXPECT_TRUE(asks_for_qlora({"model.quantize_base=TRUE"}));
}

// ---- merging and building (§11.2) --------------------------------------------------------------

TEST(TrainJobPlanTest, image_command_and_args_replace_and_an_empty_list_takes_away) {
  const auto runtime =
      torch_runtime("[{name: node, image: i, command: [a], args: [b], env: [{name: R}]}]");
  const json::object taken = container_of(
      jobset_spec(*job_with("trainer: {image: new, command: [], args: [c]}"), *runtime));
  EXPECT_EQ(text_in(taken, "image"), "new");
  EXPECT_FALSE(taken.contains("command"));
  EXPECT_EQ(json::serialize(taken.at("args")), R"(["c"])");
  const json::object kept = container_of(jobset_spec(*job_with("trainer: {}"), *runtime));
  EXPECT_EQ(json::serialize(kept.at("command")), R"(["a"])");
}

TEST(TrainJobPlanTest, patches_merge_and_the_later_one_wins) {
  const auto job = job_with(
      "runtimePatches:\n"
      "- {manager: a.io/x, trainingRuntimeSpec: {template: {metadata: {labels: {l: a}}, spec: "
      "{replicatedJobs: [{name: node, template: {spec: {template: {spec: {nodeSelector: {k: a, "
      "own: a}, containers: [{name: node, env: [{name: J, value: a}, {name: K, value: a}]}]}}}}}]"
      "}}}}\n"
      "- {manager: b.io/x, trainingRuntimeSpec: {template: {spec: {replicatedJobs: [{name: node, "
      "template: {spec: {template: {spec: {nodeSelector: {k: b}}}}}}]}}}}\n");
  const auto runtime =
      torch_runtime("[{name: node, image: i, env: [{name: I, value: rt}, {name: J, value: rt}]}]");
  const auto objects = built(*job, *runtime);
  const Applied* set = find_kind(objects, JobSet::info());
  ASSERT_NE(set, nullptr);
  EXPECT_EQ(json::serialize(set->body.at("metadata").at("labels")), R"({"l":"a"})");
  json::object spec = set->body.at("spec").get_object();
  json::object& pod = pod_spec_of(list_in(spec, "replicatedJobs")[0].get_object());
  EXPECT_EQ(json::serialize(pod.at("nodeSelector")), R"({"k":"b","own":"a"})");
  EXPECT_EQ(env_of(list_in(pod, "containers")[0].get_object()), "I=rt J=a K=a");
}

TEST(TrainJobPlanTest, an_initializer_gets_its_source_and_stays_single) {
  const auto runtime =
      runtime_of("mlPolicy: {numNodes: 1, torch: {}}", "[{name: node, image: i}]", initializer);
  const auto job = job_with(
      "initializer: {dataset: {storageUri: 'hf://mine', env: [{name: E, value: e}], secretRef: "
      "{name: s}}}");
  const json::object container = container_of(jobset_spec(*job, *runtime), 1);
  EXPECT_EQ(env_of(container), "STORAGE_URI=hf://mine E=e");
  EXPECT_EQ(json::serialize(container.at("envFrom")), R"([{"secretRef":{"name":"s"}}])");
}

TEST(TrainJobPlanTest, a_gang_counts_all_its_pods) {
  const auto runtime = runtime_of(
      "mlPolicy: {numNodes: 1, torch: {}}\npodGroupPolicy: {coscheduling: "
      "{scheduleTimeoutSeconds: 30}, volcano: {}}",
      "[{name: node, image: i, resources: {requests: {cpu: 500m, memory: 1Gi}}}]", initializer);
  const auto job = job_with("trainer: {numNodes: 2}");
  const auto objects = built(*job, *runtime);
  const Applied* group = find_kind(objects, CoschedulingGroup::info());
  ASSERT_NE(group, nullptr);
  EXPECT_EQ(json::serialize(group->body.at("spec")),
            R"({"minMember":3,"minResources":{"cpu":"1","memory":"2Gi"},)"
            R"("scheduleTimeoutSeconds":30})");
  const json::value& pod = find_kind(objects, JobSet::info())
                               ->body.at("spec")
                               .at("replicatedJobs")
                               .at(1)
                               .at("template")
                               .at("spec")
                               .at("template")
                               .at("metadata");
  EXPECT_EQ(json::serialize(pod.at("labels")), R"({"scheduling.x-k8s.io/pod-group":"j"})");
  EXPECT_EQ(json::serialize(pod.at("annotations")), R"({"scheduling.k8s.io/group-name":"j"})");
  // One that is there stays until the TrainJob is suspended.
  Existing there;
  there.coscheduling_group = std::make_shared<CoschedulingGroup>();
  EXPECT_EQ(find_kind(built(*job, *runtime, there), CoschedulingGroup::info()), nullptr);
  job->spec.edit().suspend = true;
  EXPECT_NE(find_kind(built(*job, *runtime, there), CoschedulingGroup::info()), nullptr);
}

TEST(TrainJobPlanTest, a_launcher_that_is_a_node_takes_one_of_them) {
  const std::string more =
      "    - name: launcher\n      replicas: 1\n      template:\n"
      "        metadata: {labels: {trainer.kubeflow.org/trainjob-ancestor-step: trainer}}\n"
      "        spec: {template: {spec: {containers: [{name: node, image: l}]}}}\n";
  const auto runtime = std::make_shared<ClusterTrainingRuntime>(
      *runtime_of("mlPolicy: {numNodes: 1, mpi: {numProcPerNode: 1, mpiImplementation: OpenMPI, "
                  "sshAuthMountPath: /ssh, runLauncherAsNode: true}}",
                  "[{name: node, image: m}]", more));
  runtime->spec.edit().template_.spec.replicatedJobs[0].template_.metadata.labels = StringMap();
  const auto objects = built(*job_with("trainer: {numNodes: 3, numProcPerNode: 2}"), *runtime);
  EXPECT_NE(find_kind(objects, Secret::info()), nullptr);
  const Applied* hosts = find_kind(objects, ConfigMap::info());
  ASSERT_NE(hosts, nullptr);
  EXPECT_EQ(text_in(hosts->body.at("data").get_object(), "hostfile"),
            "j-node-0-0.j slots=2\nj-node-0-1.j slots=2\nj-launcher-0-0.j slots=2\n");
}

// ---- the plan (§11.5) --------------------------------------------------------------------------

std::vector<std::string> rules_of(const Plan& plan) {
  std::vector<std::string> names;
  for (const Step& step : plan.steps) names.emplace_back(step.rule->name);
  return names;
}
using Names = std::vector<std::string>;

Plan plan_of(const View& view, Time now = virtual_start) {
  return plan(view, default_profile(), now);
}

View seen(std::shared_ptr<TrainJob> job) {
  View view{.random = Random(1)};
  view.job = std::move(job);
  view.runtime = torch_runtime();
  return view;
}

std::shared_ptr<JobSet> set_with(std::string_view condition, std::string_view reason = "R") {
  auto set = std::make_shared<JobSet>();
  set->metadata.name = "j";
  set->spec.edit().suspend = false;
  set->status.emplace();
  if (condition.empty()) return set;
  JobSetCondition& one = set->status->conditions.emplace_back();
  one.type_ = condition;
  one.status = "True";
  one.reason = reason;
  one.message = "because";
  one.lastTransitionTime = virtual_start;
  return set;
}

std::string status_patch_of(const Plan& plan) {
  for (const Step& step : plan.steps)
    if (step.rule->name == "write_status") return json::serialize(*step.request->body.get());
  return "(none)";
}

TEST(TrainJobPlanTest, a_new_one_gets_a_snapshot_and_a_jobset) {
  const Plan plan = plan_of(seen(job_with("trainer: {}")));
  EXPECT_EQ(rules_of(plan), (Names{"take_snapshot", "make_jobset", "await_jobset"}));
  EXPECT_TRUE(plan.error.has_value());  // until the JobSet is seen
}

TEST(TrainJobPlanTest, one_managed_elsewhere_is_left_alone) {
  const Plan plan = plan_of(seen(job_with("managedBy: kueue.x-k8s.io/multikueue")));
  EXPECT_EQ(rules_of(plan), Names{"managed_elsewhere"});
  EXPECT_FALSE(plan.error.has_value());
}

TEST(TrainJobPlanTest, a_missing_runtime_is_told_and_tried_again) {
  View view = seen(job_with("suspend: true"));
  view.runtime = nullptr;
  const Plan plan = plan_of(view);
  EXPECT_EQ(rules_of(plan), (Names{"resources_failed", "await_jobset", "write_status"}));
  EXPECT_EQ(plan.steps.front().event->reason, "TrainJobResourcesCreationFailed");
  EXPECT_EQ(plan.steps.front().text,
            "not found ClusterTrainingRuntime specified in TrainJob: "
            "ClusterTrainingRuntime.trainer.kubeflow.org \"r\" not found");
  EXPECT_TRUE(plan.error.has_value());
}

TEST(TrainJobPlanTest, a_foreign_snapshot_is_refused) {
  View view = seen(job_with(""));
  auto snapshot = std::make_shared<ConfigMap>();
  snapshot->metadata.name = "j-runtime-snapshot";
  view.snapshot = snapshot;
  const Plan plan = plan_of(view);
  EXPECT_EQ(plan.steps.front().text,
            "getting runtime snapshot: invalid runtime snapshot: a snapshot configmap exists but "
            "is owned by another object");
}

TEST(TrainJobPlanTest, its_end_is_the_jobsets) {
  View view = seen(job_with("trainer: {}"));
  view.there.set = set_with("Completed", "AllJobsCompleted");
  const Plan plan = plan_of(view);
  for (const std::string_view part :
       {R"("type":"Complete")", R"("reason":"AllJobsCompleted","message":"because")"})
    EXPECT_NE(status_patch_of(plan).find(part), std::string::npos) << status_patch_of(plan);
}

TEST(TrainJobPlanTest, a_failed_one_whose_jobset_is_gone_runs_again_in_v2_3_and_never_after) {
  auto job = job_with("trainer: {}");
  job->status.emplace();
  fail_with(*job->status, "FailedJobs", "m", virtual_start);
  EXPECT_EQ(rules_of(plan_of(seen(job))),
            (Names{"take_snapshot", "make_jobset", "await_jobset", "write_status"}));
  const Plan later = plan(seen(job), *find_profile("master"), virtual_start);
  EXPECT_EQ(rules_of(later), Names{});
}

TEST(TrainJobPlanTest, suspension_is_told_from_the_spec) {
  TrainJobStatus status;
  auto job = job_with("");
  tell_suspension(status, *job, virtual_start);
  EXPECT_TRUE(status.conditions.empty());
  job->spec.edit().suspend = true;
  tell_suspension(status, *job, virtual_start);
  ASSERT_EQ(status.conditions.size(), 1U);
  EXPECT_EQ(status.conditions[0].status, "True");
  EXPECT_EQ(status.conditions[0].reason, "Suspended");
  job->spec.edit().suspend = false;
  tell_suspension(status, *job, virtual_start + std::chrono::seconds(5));
  EXPECT_EQ(status.conditions[0].status, "False");
  EXPECT_EQ(status.conditions[0].reason, "Resumed");
  EXPECT_EQ(*status.conditions[0].lastTransitionTime, virtual_start + std::chrono::seconds(5));
}

// The definition refuses a status that has nothing in it.
TEST(TrainJobPlanTest, a_status_of_which_nothing_is_left_goes) {
  const auto job = job_with("trainer: {}");
  job->status.emplace().jobsStatus.emplace_back().name = "node";
  View view = seen(job);
  view.there.set = set_with("");  // made anew: it tells nothing yet
  EXPECT_EQ(status_patch_of(plan_of(view)), R"({"status":null})");
}

TEST(TrainJobPlanTest, a_deadline_ends_it_and_begins_anew_after_a_pause) {
  View view = seen(job_with("activeDeadlineSeconds: 10"));
  view.there.set = set_with("");
  const Plan waiting = plan_of(view, virtual_start + std::chrono::seconds(4));
  EXPECT_EQ(waiting.requeue_after, Duration(std::chrono::seconds(6)));
  const Plan over = plan_of(view, virtual_start + std::chrono::seconds(11));
  const Names names = rules_of(over);
  EXPECT_NE(std::find(names.begin(), names.end(), "deadline_is_over"), names.end());
  EXPECT_NE(status_patch_of(over).find("DeadlineExceeded"), std::string::npos);
  TrainJobStatus status;
  JobSetCondition resumed;
  resumed.type_ = "Suspended";
  resumed.status = "False";
  resumed.lastTransitionTime = virtual_start + std::chrono::seconds(60);
  status.conditions.push_back(resumed);
  EXPECT_EQ(*deadline_of(*view.job, status), virtual_start + std::chrono::seconds(70));
}

// It crashed between the two: the set would train on, and end well behind the failure.
TEST(TrainJobPlanTest, a_jobset_that_a_deadline_has_left_behind_goes) {
  const auto job = job_with("activeDeadlineSeconds: 10");
  fail_with(job->status.emplace(), deadline_exceeded, "late", virtual_start);
  View view = seen(job);
  const auto deletes = [&view] {
    const Names names = rules_of(plan_of(view, virtual_start + std::chrono::seconds(20)));
    return std::find(names.begin(), names.end(), "deadline_is_over") != names.end();
  };
  EXPECT_FALSE(deletes());
  auto set = set_with("");
  view.there.set = set;
  EXPECT_TRUE(deletes());
  set->metadata.deletionTimestamp = virtual_start;
  EXPECT_FALSE(deletes());
}

TEST(TrainJobPlanTest, a_deadlines_failure_stays_and_beats_the_jobsets) {
  TrainJobStatus status;
  fail_with(status, deadline_exceeded, "late", virtual_start);
  forget_failure(status, default_profile());
  EXPECT_TRUE(status.is_true("Failed"));
  take_over(status, *set_with("Failed", "FailedJobs")->status, default_profile(), virtual_start);
  EXPECT_EQ(status.condition("Failed")->reason, deadline_exceeded);
}

TEST(TrainJobPlanTest, a_running_jobset_is_left_alone_and_a_suspended_one_is_resumed) {
  View view = seen(job_with("trainer: {image: new}"));
  auto set = set_with("");
  view.there.set = set;
  EXPECT_EQ(rules_of(plan_of(view)), Names{"take_snapshot"});
  set->spec.edit().suspend = true;
  const Names names = rules_of(plan_of(view));
  EXPECT_EQ(names, (Names{"take_snapshot", "apply_jobset"}));
}

}  // namespace
}  // namespace ddptwin::controller::trainer::plan_test
