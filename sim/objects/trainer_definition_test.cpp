// What the definitions of Trainer's kinds prune, fill in and refuse (spec/trainjob.md §1.1-1.4).
#include "objects/trainer_definition.hpp"

#include <gmock/gmock.h>

#include <boost/json.hpp>

#include "objects/codec.hpp"
#include "objects/schema.hpp"
#include "objects/schema_rules.hpp"
#include "objects/trainjob.hpp"
#include "objects/validation.hpp"

namespace ddptwin::trainer_definition_test {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

Schema compiled(const RawJson& source) {
  auto schema = Schema::compile(*source.get());
  EXPECT_TRUE(schema.has_value());
  return *std::move(schema);
}
const Schema& of_job() {
  static const Schema schema = compiled(trainjob_schema());
  return schema;
}
const Schema& of_runtime() {
  static const Schema schema = compiled(training_runtime_schema());
  return schema;
}

Json body(std::string_view spec, std::string_view name = "tj") {
  return Json{{"metadata", {{"name", name}}}, {"spec", boost::json::parse(spec)}};
}

// What is wrong with it after what the API server does first.
std::string refusal(const Schema& schema, Json value, const Json* old = nullptr) {
  std::vector<std::string> unknown;
  prune(schema, value, {}, unknown);
  fill_defaults(schema, value);
  const ErrorList errors = validate_schema(schema, value, old);
  return errors.empty() ? "" : summary_of(errors);
}
std::vector<std::string> unknown_fields(const Schema& schema, std::string_view spec) {
  std::vector<std::string> unknown;
  Json value = body(spec);
  prune(schema, value, {}, unknown);
  return unknown;
}
std::string refusal_of_job(std::string_view spec, std::string_view name = "tj") {
  return refusal(of_job(), body(spec, name));
}
std::string refusal_of_runtime(std::string_view spec) { return refusal(of_runtime(), body(spec)); }
// Of spec.trainer, whose reference is right.
std::string refusal_of_trainer(std::string_view trainer) {
  return refusal_of_job(R"({"runtimeRef":{"name":"r"},"trainer":)" + std::string(trainer) + "}");
}

TEST(TrainerDefinition, fills_in_a_trainjob) {
  Json value = body(R"({"runtimeRef":{"name":"r"},"initializer":{"dataset":{"secretRef":{}}}})");
  fill_defaults(of_job(), value);
  EXPECT_EQ(value.at("spec"), boost::json::parse(R"({
    "runtimeRef": {"name": "r", "apiGroup": "trainer.kubeflow.org",
                   "kind": "ClusterTrainingRuntime"},
    "initializer": {"dataset": {"secretRef": {"name": ""}}},
    "suspend": false, "managedBy": "trainer.kubeflow.org/trainjob-controller"})"));
}

TEST(TrainerDefinition, fills_in_a_runtime_and_the_jobset_in_it) {
  Json value = body(R"({"mlPolicy":{"mpi":{}},"podGroupPolicy":{"coscheduling":{},
      "volcano":{"networkTopology":{}}},
      "template":{"spec":{"replicatedJobs":[{"name":"node","template":{}}]}}})");
  fill_defaults(of_runtime(), value);
  const Json& spec = value.at("spec");
  EXPECT_EQ(spec.at("mlPolicy").at("mpi"),
            boost::json::parse(R"({"numProcPerNode":1,"mpiImplementation":"OpenMPI",
                                   "sshAuthMountPath":"/root/.ssh","runLauncherAsNode":false})"));
  EXPECT_EQ(spec.at("podGroupPolicy"),
            boost::json::parse(R"({"coscheduling":{"scheduleTimeoutSeconds":60},
                "volcano":{"networkTopology":{"mode":"hard","highestTierAllowed":1}}})"));
  const Json& job = spec.at("template").at("spec").at("replicatedJobs").at(0);
  EXPECT_EQ(job.at("replicas"), 1);
  EXPECT_EQ(job.at("groupName"), "default");
}

// Recorded: trainjob-names.
TEST(TrainerDefinition, judges_names) {
  constexpr std::string_view spec = R"({"runtimeRef":{"name":"r"}})";
  const std::string no_label =
      "<nil>: Invalid value: metadata.name must match RFC 1035 DNS label format";
  EXPECT_EQ(refusal_of_job(spec, std::string(63, 'a')), "");
  EXPECT_EQ(refusal_of_job(spec, std::string(64, 'a')),
            "<nil>: Invalid value: metadata.name must be no more than 63 characters");
  for (const char* wrong : {"has.dot", "1abc", "abc-", "a_b", "Upper", "-a"})
    EXPECT_EQ(refusal_of_job(spec, wrong), no_label) << wrong;
  for (const char* right : {"a", "a-b", "a1", "a--b"})
    EXPECT_EQ(refusal_of_job(spec, right), "") << right;
}

// C085; recorded: trainjob-initializer-refusals.
TEST(TrainerDefinition, judges_addresses_of_data) {
  const auto refused = [](std::string_view uri) {
    return !refusal_of_job(R"({"runtimeRef":{"name":"r"},"initializer":{"model":{"storageUri":")" +
                           std::string(uri) + "\"}}}")
                .empty();
  };
  for (const char* right : {"", "hf://org/ds", "s3://x", "a+b.c-1://y", "A://b"})
    EXPECT_FALSE(refused(right)) << right;
  for (const char* wrong : {"no-scheme", "s3://", "://x", "1a://x", "s3:/x", " s3://x", "a_b://c"})
    EXPECT_TRUE(refused(wrong)) << wrong;
  EXPECT_EQ(
      refusal_of_job(R"({"runtimeRef":{"name":"r"},"initializer":{"dataset":{"storageUri":"x"}}})"),
      "spec.initializer.dataset.storageUri: Invalid value: \"x\": storageUri may be empty, "
      "or it must be a valid URI (scheme://...)");
}

// C086, C087, C089 and their like.
TEST(TrainerDefinition, judges_bounds) {
  EXPECT_EQ(refusal_of_trainer(R"({"command":[")" + std::string(1048576, 'x') + "\"]}"), "");
  EXPECT_THAT(refusal_of_trainer(R"({"args":[")" + std::string(1048577, 'x') + "\"]}"),
              testing::HasSubstr("spec.trainer.args[0]: Too long: may not be more than 1048576"));
  EXPECT_EQ(refusal_of_job(R"({"runtimeRef":{"name":"r"},"managedBy":"me"})"),
            "spec.managedBy: Invalid value: \"me\": ManagedBy must be "
            "trainer.kubeflow.org/trainjob-controller or kueue.x-k8s.io/multikueue if set");
  EXPECT_EQ(refusal_of_job(R"({"runtimeRef":{"name":"r"},"activeDeadlineSeconds":0})"),
            "spec.activeDeadlineSeconds: Invalid value: 0: spec.activeDeadlineSeconds in body "
            "should be greater than or equal to 1");
  EXPECT_EQ(refusal_of_job(R"({"runtimeRef":{"name":""}})"),
            "spec.runtimeRef.name: Invalid value: \"\": spec.runtimeRef.name in body should be at "
            "least 1 chars long");
  EXPECT_EQ(refusal_of_trainer(R"({"env":[{"name":"A"},{"name":"A"}]})"),
            "spec.trainer.env[1]: Duplicate value: {\"name\":\"A\"}");
  // No bound up to v2.3.
  EXPECT_EQ(refusal_of_trainer(R"({"numNodes":-1,"numProcPerNode":-5})"), "");
}

TEST(TrainerDefinition, counts_have_a_minimum_after_v2_3) {
  const Schema schema = compiled(trainjob_schema({.counts = true}));
  EXPECT_EQ(refusal(schema, body(R"({"runtimeRef":{"name":"r"},
                                     "trainer":{"numNodes":-1,"numProcPerNode":0}})")),
            "[spec.trainer.numNodes: Invalid value: -1: spec.trainer.numNodes in body should be "
            "greater than or equal to 0, spec.trainer.numProcPerNode: Invalid value: 0: "
            "numProcPerNode must be greater than or equal to 1]");
  EXPECT_EQ(refusal(schema, body(R"({"runtimeRef":{"name":"r"},
                                     "trainer":{"numNodes":0,"numProcPerNode":1}})")),
            "");
}

// C092; recorded: trainjob-immutable-fields.
TEST(TrainerDefinition, keeps_what_is_immutable_while_it_exists) {
  const Json old = body(R"({"runtimeRef":{"name":"r"},"trainer":{"numNodes":2},
      "runtimePatches":[{"manager":"a.io/x","trainingRuntimeSpec":{"template":{"spec":{
        "replicatedJobs":[{"name":"node","template":{"spec":{"template":{"spec":{
          "terminationGracePeriodSeconds":30,"nodeSelector":{"a":"b"}}}}}}]}}}}]})");
  const auto changed = [&old](std::string_view path, Json value) {
    Json now = old;
    now.at_pointer(path) = std::move(value);
    const ErrorList errors = validate_schema(of_job(), now, &old);
    return errors.empty() ? std::string() : summary_of(errors);
  };
  const std::string pod =
      "/spec/runtimePatches/0/trainingRuntimeSpec/template/spec/replicatedJobs/0/template/spec/"
      "template/spec/";
  EXPECT_EQ(changed("/spec/trainer/numNodes", 3),
            "spec.trainer: Invalid value: field is immutable");
  EXPECT_EQ(changed("/spec/runtimeRef/name", "s"),
            "spec.runtimeRef: Invalid value: field is immutable");
  EXPECT_EQ(changed(pod + "terminationGracePeriodSeconds", 31),
            "spec.runtimePatches[0].trainingRuntimeSpec.template.spec.replicatedJobs[0].template."
            "spec.template.spec.terminationGracePeriodSeconds: Invalid value: 31: field is "
            "immutable");
  EXPECT_EQ(changed(pod + "nodeSelector", boost::json::object{{"a", "c"}}), "");
  Json without = old;
  without.at("spec").get_object().erase("trainer");
  EXPECT_THAT(validate_schema(of_job(), without, &old), IsEmpty());
  EXPECT_THAT(validate_schema(of_job(), old, &without), IsEmpty());
}

// What is older than a rule stays as it is.
TEST(TrainerDefinition, judges_only_what_has_changed) {
  const Json old =
      body(R"({"runtimeRef":{"name":"r"},"initializer":{"model":{"storageUri":"x"}}})", "has.dot");
  EXPECT_THAT(validate_schema(of_job(), old, &old), IsEmpty());
}

// Recorded: trainingruntime-refusals.
TEST(TrainerDefinition, judges_runtimes) {
  EXPECT_EQ(refusal_of_runtime(R"({"mlPolicy":{"torch":{},"mpi":{}}})"),
            "spec.mlPolicy: Invalid value: Only one of the policy can be configured");
  EXPECT_EQ(refusal_of_runtime(R"({"mlPolicy":{"jax":{},"flux":{}}})"),
            "spec.mlPolicy: Invalid value: Only one of the policy can be configured");
  EXPECT_EQ(refusal_of_runtime("{}"),
            "spec: Invalid value: 0: spec in body should have at least 1 properties");
  EXPECT_EQ(refusal_of_runtime(R"({"mlPolicy":{"mpi":{"mpiImplementation":"Other"}}})"),
            "spec.mlPolicy.mpi.mpiImplementation: Unsupported value: \"Other\": supported values: "
            "\"OpenMPI\", \"\"");
  EXPECT_EQ(
      refusal_of_runtime(R"({"mlPolicy":{"flux":{"numProcPerNode":0}}})"),
      "spec.mlPolicy.flux.numProcPerNode: Invalid value: 0: NumProcPerNode in fluxPolicy must "
      "be >= 1");
  EXPECT_EQ(refusal_of_runtime(R"({"mlPolicy":{"torch":{"envInjection":{"targets":[
                {"jobName":"node","containerNames":["side","node"]}]}}}})"),
            "spec.mlPolicy.torch.envInjection.targets[0].containerNames: Invalid value: "
            "containerNames must not include the main node container because PET_* envs are always "
            "injected into it");
  EXPECT_EQ(refusal_of_runtime(R"({"template":{"spec":{"startupPolicy":
                {"startupPolicyOrder":"InOrder"},"replicatedJobs":[
                {"name":"a","template":{},"dependsOn":[{"name":"b","status":"Ready"}]}]}}})"),
            "spec.template.spec: Invalid value: StartupPolicy and DependsOn APIs are mutually "
            "exclusive");
}

// §0.2: the same version, other fields.
TEST(TrainerDefinition, releases_differ_in_their_fields) {
  constexpr std::string_view job = R"({"runtimeRef":{"name":"r"},"labels":{"a":"b"},
      "trainer":{"numProcPerNode":"auto"},"podSpecOverrides":[],"podTemplateOverrides":[],
      "runtimePatches":[],"activeDeadlineSeconds":5})";
  const TrainerSchemaOptions v2_1{.pod_template_overrides = true,
                                  .runtime_patches = false,
                                  .proc_words = true,
                                  .torch_policy = true,
                                  .job_labels = true,
                                  .deadline = false,
                                  .keeps_trainer = false,
                                  .frameworks = false,
                                  .env_injection = false};
  const Schema old_job = compiled(trainjob_schema(v2_1));
  EXPECT_THAT(unknown_fields(of_job(), job),
              ElementsAre("spec.labels", "spec.podSpecOverrides", "spec.podTemplateOverrides"));
  EXPECT_THAT(
      unknown_fields(old_job, job),
      ElementsAre("spec.podSpecOverrides", "spec.runtimePatches", "spec.activeDeadlineSeconds"));
  EXPECT_EQ(refusal(old_job, body(job)), "");
  EXPECT_THAT(refusal_of_job(job), testing::HasSubstr("must be of type integer: \"string\""));

  constexpr std::string_view runtime =
      R"({"mlPolicy":{"torch":{"numProcPerNode":"most"},"jax":{}}})";
  EXPECT_THAT(unknown_fields(of_runtime(), runtime),
              ElementsAre("spec.mlPolicy.torch.numProcPerNode"));
  EXPECT_EQ(refusal(compiled(training_runtime_schema(v2_1)), body(runtime)),
            "spec.mlPolicy.torch.numProcPerNode: Invalid value: \"most\": NumProcPerNode must be "
            "equal to auto, cpu, gpu, or int value");
}

// Recorded: trainingruntime-refusals, api-cr-trainjob-defaults.
TEST(TrainerDefinition, a_specification_that_nobody_wrote_is_none) {
  KindRegistry kinds;
  const auto again = [&kinds](std::string_view body) {
    const auto decoded = decode_object(kinds, boost::json::parse(body));
    EXPECT_TRUE(decoded.has_value());
    return encode(*decoded->object).as_object().contains("spec");
  };
  EXPECT_FALSE(again(R"({"apiVersion":"trainer.kubeflow.org/v1alpha1","kind":"TrainingRuntime",
                         "metadata":{"name":"g"}})"));
  EXPECT_TRUE(again(R"({"apiVersion":"trainer.kubeflow.org/v1alpha1","kind":"TrainingRuntime",
                        "metadata":{"name":"g"},"spec":{"template":{}}})"));
  EXPECT_FALSE(encode(TrainJob()).as_object().contains("spec"));
}

TEST(TrainerDefinition, knows_each_of_its_rules) {
  const auto count = [](const auto& self, const Schema& schema) -> int {
    int unknown = 0;
    for (const SchemaRule& rule : schema.rules)
      if (rule.holds == nullptr && rule.rule != "self == oldSelf") ++unknown;
    for (const auto& [name, child] : schema.properties) unknown += self(self, child);
    if (schema.items != nullptr) unknown += self(self, *schema.items);
    if (schema.additional != nullptr) unknown += self(self, *schema.additional);
    return unknown;
  };
  EXPECT_EQ(count(count, of_job()), 0);
  EXPECT_EQ(count(count, of_runtime()), 0);
  EXPECT_EQ(count(count, compiled(training_runtime_schema(
                             {.torch_policy = true, .frameworks = false, .counts = true}))),
            0);
  EXPECT_EQ(find_rule("self.of.somebody == 'else'"), nullptr);
}

}  // namespace
}  // namespace ddptwin::trainer_definition_test
