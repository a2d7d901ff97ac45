// What is filled into TrainJobs, and refused of them and of runtimes (spec/trainjob.md §1.5).
#include "controller/trainer/webhook.hpp"

#include <gmock/gmock.h>

#include <boost/json.hpp>

#include "controller/trainer/stock_runtimes.hpp"
#include "objects/codec.hpp"
#include "objects/scheduling_v1.hpp"

namespace ddptwin::controller::trainer::webhook_test {
namespace {

using testing::HasSubstr;

template <class Kind, class Spec>
std::shared_ptr<Kind> made_of(std::string_view name, std::string_view spec) {
  auto object = std::make_shared<Kind>();
  object->metadata.name = name;
  if (Kind::info().namespaced) object->metadata.namespace_ = "ml";
  Json source = boost::json::parse(spec);
  auto read = from_json<Spec>(source);
  EXPECT_TRUE(read.has_value()) << spec;
  if (read) object->spec.edit() = *read;
  object->spec.set_source(RawJson(std::move(source)));
  return object;
}
std::shared_ptr<TrainingRuntime> runtime_of(std::string_view name, std::string_view spec) {
  return made_of<TrainingRuntime, TrainingRuntimeSpec>(name, spec);
}

constexpr std::string_view node_job =
    R"({"name":"node","replicas":1,"template":{"metadata":{"labels":
       {"trainer.kubeflow.org/trainjob-ancestor-step":"trainer"}},"spec":{"template":{"spec":
       {"containers":[{"name":"node","image":"rt/image"}]}}}}})";

std::string runtime_spec(std::string_view policy, std::string_view jobs = node_job) {
  return R"({"mlPolicy":)" + std::string(policy) + R"(,"template":{"spec":{"replicatedJobs":[)" +
         std::string(jobs) + "]}}}";
}

// The objects of a small cluster.
struct Cluster {
  std::vector<ObjectPtr> objects{};

  Cluster() {
    for (auto& one : stock_runtimes(default_profile())) objects.push_back(one);
    objects.push_back(runtime_of("rt", runtime_spec(R"({"torch":{}})")));
  }
  Surroundings around() const {
    return {[this](const KindInfo& kind, std::string_view namespace_, std::string_view name) {
      for (const ObjectPtr& one : objects)
        if (&one->kind() == &kind && one->metadata.namespace_ == namespace_ &&
            one->metadata.name == name)
          return one;
      return ObjectPtr();
    }};
  }
};

std::shared_ptr<TrainJob> job_of(std::string_view spec) {
  return made_of<TrainJob, TrainJobSpec>("tj", spec);
}
// With a reference to that runtime of its namespace, and what else it says.
std::string spec_of(std::string_view runtime, std::string_view more = {}) {
  return R"({"runtimeRef":{"name":")" + std::string(runtime) +
         R"(","apiGroup":"trainer.kubeflow.org","kind":"TrainingRuntime"})" + std::string(more) +
         "}";
}
std::string spec_of_stock(std::string_view runtime, std::string_view more = {}) {
  return R"({"runtimeRef":{"name":")" + std::string(runtime) +
         R"(","apiGroup":"trainer.kubeflow.org","kind":"ClusterTrainingRuntime"})" +
         std::string(more) + "}";
}

// What the text says behind the webhook's name.
std::string refusal(const Cluster& cluster, const std::string& spec, const TrainJob* old = nullptr,
                    const Profile& profile = default_profile()) {
  constexpr std::string_view denied =
      "admission webhook \"validator.trainjob.trainer.kubeflow.org\" denied the request: ";
  const Verdict verdict = review(*job_of(spec), old, cluster.around(), profile);
  if (!verdict.refused) return "";
  EXPECT_EQ(verdict.refused->reason, Reason::forbidden);
  EXPECT_THAT(verdict.refused->message, testing::StartsWith(std::string(denied)));
  return verdict.refused->message.substr(denied.size());
}
std::string refusal(const std::string& spec) { return refusal(Cluster(), spec); }

// Recorded: trainjob-runtime-missing-then-created; C082.
TEST(TrainerWebhook, asks_for_a_runtime_that_is_there) {
  EXPECT_EQ(refusal(spec_of("rt")), "");
  EXPECT_EQ(refusal(spec_of("later")),
            "spec.runtimeRef: Invalid value: {\"name\":\"later\",\"apiGroup\":"
            "\"trainer.kubeflow.org\",\"kind\":\"TrainingRuntime\"}: "
            "TrainingRuntime.trainer.kubeflow.org \"later\" not found: specified trainingRuntime "
            "must be created before the TrainJob is created");
  EXPECT_THAT(refusal(spec_of_stock("nowhere")), HasSubstr("spec.RuntimeRef: Invalid value: "));
  EXPECT_EQ(refusal(R"({"runtimeRef":{"name":"rt","apiGroup":"x.io","kind":"Other"}})"),
            "unsupported runtime: Other.x.io");
  EXPECT_EQ(refusal(R"({"runtimeRef":{"name":"rt","apiGroup":"trainer.kubeflow.org","kind":""}})"),
            "unsupported runtime: .trainer.kubeflow.org");
  Cluster elsewhere;
  auto moved = runtime_of("far", runtime_spec(R"({"torch":{}})"));
  moved->metadata.namespace_ = "other";
  elsewhere.objects.push_back(moved);
  EXPECT_THAT(refusal(elsewhere, spec_of("far")), HasSubstr("not found"));
}

TEST(TrainerWebhook, warns_of_deprecated_cluster_runtimes_alone) {
  Cluster cluster;
  for (const char* name : {"old"}) {
    auto shared =
        made_of<ClusterTrainingRuntime, TrainingRuntimeSpec>(name, runtime_spec(R"({"torch":{}})"));
    shared->metadata.labels.edit()["trainer.kubeflow.org/support"] = "deprecated";
    cluster.objects.push_back(shared);
    auto own = runtime_of(name, runtime_spec(R"({"torch":{}})"));
    own->metadata.labels = shared->metadata.labels;
    cluster.objects.push_back(own);
    EXPECT_THAT(review_runtime(*shared, nullptr, default_profile()).warnings,
                testing::ElementsAre(HasSubstr("ClusterTrainingRuntime \"old\" is deprecated")));
    EXPECT_THAT(review_runtime(*own, nullptr, default_profile()).warnings, testing::IsEmpty());
  }
  const auto warnings = [&](const std::string& spec) {
    return review(*job_of(spec), nullptr, cluster.around(), default_profile()).warnings;
  };
  EXPECT_THAT(warnings(spec_of_stock("old")),
              testing::ElementsAre(HasSubstr("Referenced ClusterTrainingRuntime \"old\" is")));
  EXPECT_THAT(warnings(spec_of("old")), testing::IsEmpty());
}

// Recorded: trainjob-initializer-refusals; C083.
TEST(TrainerWebhook, asks_for_the_initializers_of_the_runtime) {
  constexpr std::string_view both =
      R"(,"initializer":{"dataset":{"storageUri":"hf://a/b"},"model":{}})";
  EXPECT_THAT(refusal(spec_of("rt", both)),
              testing::AllOf(testing::StartsWith("[spec.runtimeRef: Invalid value: "),
                             HasSubstr("must have dataset-initializer job when trainJob is "
                                       "configured with input datasetConfig, "),
                             testing::EndsWith("must have model-initializer job when trainJob is "
                                               "configured with input modelConfig]")));
  EXPECT_EQ(refusal(spec_of_stock("torchtune-llama3.2-1b", both)), "");
  Cluster cluster;
  const auto with = [&cluster](std::string_view container) {
    cluster.objects.push_back(runtime_of(
        "init", runtime_spec(R"({"torch":{}})",
                             R"({"name":"dataset-initializer","template":{"spec":{"template":
                             {"spec":{"containers":[)" +
                                 std::string(container) + "]}}}}}")));
    const std::string why = refusal(cluster, spec_of("init", R"(,"initializer":{"dataset":{}})"));
    cluster.objects.pop_back();
    return why;
  };
  EXPECT_THAT(with(R"({"name":"other"})"), HasSubstr("must have container with name - "));
  EXPECT_THAT(with(R"({"name":"dataset-initializer"})"),
              HasSubstr("must have volumeMount with name - initializer"));
  EXPECT_EQ(with(R"({"name":"dataset-initializer","volumeMounts":
                     [{"name":"initializer","mountPath":"/workspace"}]})"),
            "");
}

// C088.
TEST(TrainerWebhook, patches_have_managers_of_a_domain) {
  const auto of = [](std::string_view manager) {
    return refusal(
        spec_of("rt", R"(,"runtimePatches":[{"manager":")" + std::string(manager) + "\"}]"));
  };
  EXPECT_EQ(of("acme.io/foo"), "");
  for (const char* wrong : {"acme", "/foo", "acme.io/"})
    EXPECT_EQ(of(wrong), "spec.runtimePatches.manager: Invalid value: \"" + std::string(wrong) +
                             "\": must be a domain-prefixed path (such as \"acme.io/foo\")");
  EXPECT_THAT(of("ACME.io/foo"), HasSubstr("a lowercase RFC 1123 subdomain"));
}

constexpr std::string_view patch_of_node =
    R"(,"runtimePatches":[{"manager":"a.io/x","trainingRuntimeSpec":{"template":{"spec":
       {"replicatedJobs":[{"name":"node","template":{"spec":{"template":{"spec":)";

std::string patched(std::string_view pod, std::string_view more = {}) {
  return spec_of("rt",
                 std::string(patch_of_node) + std::string(pod) + "}}}}]}}}}]" + std::string(more));
}

// C094 to C098.
TEST(TrainerWebhook, variables_of_own_containers_are_the_trainers) {
  EXPECT_THAT(refusal(patched(R"({"containers":[{"name":"node","env":[{"name":"A"}]}]})")),
              testing::EndsWith("must not have envs for the dataset-initializer, "
                                "model-initializer, node containers"));
  EXPECT_EQ(refusal(patched(R"({"containers":[{"name":"node"}]})")), "");
  // Patches are laid on first, therefore what they name is there.
  EXPECT_EQ(refusal(patched(R"({"containers":[{"name":"ghost","env":[{"name":"A"}]}]})")), "");
}

TEST(TrainerWebhook, patches_change_while_suspended) {
  const auto change = [](bool was, bool is, const Cluster& cluster) {
    const auto suspended = [](bool on) {
      return on ? R"(,"suspend":true)" : R"(,"suspend":false)";
    };
    const auto old = job_of(patched(R"({"nodeSelector":{"a":"b"}})", suspended(was)));
    return refusal(cluster, patched(R"({"nodeSelector":{"a":"c"}})", suspended(is)), old.get());
  };
  Cluster cluster;
  EXPECT_EQ(change(false, false, cluster),
            "spec.runtimePatches: Forbidden: RuntimePatches can only be modified when the TrainJob "
            "is suspended before or after the update");
  EXPECT_EQ(change(true, true, cluster), "");
  EXPECT_EQ(change(true, false, cluster), "");
  auto set = std::make_shared<JobSet>();
  set->metadata.name = "tj";
  set->metadata.namespace_ = "ml";
  set->status.emplace().replicatedJobsStatus = {{.name = "idle"}, {.name = "node", .active = 1}};
  cluster.objects.push_back(set);
  EXPECT_EQ(change(false, true, cluster),
            "spec.runtimePatches: Forbidden: RuntimePatches cannot be modified when the JobSet's "
            "ReplicatedJob node is still active");
  EXPECT_EQ(refusal(cluster, patched("{}"), job_of(patched("{}")).get()), "");
}

// Recorded: trainjob-reserved-env.
TEST(TrainerWebhook, variables_of_frameworks_are_reserved) {
  const auto with = [](std::string_view runtime, std::string_view env) {
    return refusal(spec_of_stock(runtime, R"(,"trainer":{"env":[)" + std::string(env) + "]}"));
  };
  EXPECT_EQ(with("torch-distributed", R"({"name":"PET_NODE_RANK","value":"1"},
                {"name":"OK","value":"x"},{"name":"PET_MASTER_ADDR","value":"h"})"),
            "spec.trainer.env: Invalid value: [{\"name\":\"PET_NODE_RANK\",\"value\":\"1\"},"
            "{\"name\":\"OK\",\"value\":\"x\"},{\"name\":\"PET_MASTER_ADDR\",\"value\":\"h\"}]: "
            "must not have reserved envs, invalid envs configured: [PET_MASTER_ADDR "
            "PET_NODE_RANK]");
  EXPECT_THAT(with("deepspeed-distributed", R"({"name":"OMPI_MCA_plm_rsh_args"})"),
              HasSubstr("invalid envs configured: [OMPI_MCA_plm_rsh_args]"));
  EXPECT_EQ(with("xgboost-distributed", R"({"name":"A"},{"name":"DMLC_TASK_ID"})"),
            "spec.trainer.env[1]: Forbidden: DMLC_TASK_ID is reserved for the XGBoost runtime");
  EXPECT_EQ(with("jax-distributed", R"({"name":"JAX_PROCESS_ID"},{"name":"PET_NNODES"})"), "");
}

TEST(TrainerWebhook, judges_torchtune) {
  const auto with = [](std::string_view runtime, std::string_view more) {
    return refusal(spec_of_stock(
        runtime, R"(,"trainer":{"command":["tune","run"],)" + std::string(more) + "}"));
  };
  EXPECT_EQ(with("torchtune-llama3.2-1b", R"("args":["batch_size=1"])"), "");
  EXPECT_EQ(with("torch-distributed", R"("args":[])"),
            "spec.runtimeRef.name: Invalid value: \"torch-distributed\": must have a supported "
            "pretrained model, invalid model configured: ");
  EXPECT_EQ(with("torchtune-llama3.2-1b", R"("numNodes":2)"),
            "spec.trainer.numNodes: Invalid value: 2: must be 1 for llama3_2/1B model");
  EXPECT_EQ(with("torchtune-llama3.2-1b", R"("args":["output_dir=/x"])"),
            "spec.trainer.args[0]: Invalid value: \"output_dir=/x\": must not set immutable config "
            "\"output_dir\" in trainer args; it is managed by the runtime");
  EXPECT_THAT(with("torchtune-qwen2.5-1.5b", R"("args":["model.quantize_base=True"])"),
              HasSubstr("QLoRA is not supported for qwen2_5/1.5B model"));
  EXPECT_THAT(with("torchtune-llama3.2-3b", R"("args":["model.quantize_base=True"])"),
              HasSubstr("must be auto or 1 for llama3_2/3B model when using QLoRA"));
}

TEST(TrainerWebhook, a_launcher_needs_nodes_and_an_injection_its_target) {
  Cluster cluster;
  cluster.objects.push_back(
      runtime_of("lonely", runtime_spec(R"({"mpi":{"runLauncherAsNode":true}})")));
  cluster.objects.push_back(
      runtime_of("inject", runtime_spec(R"({"torch":{"envInjection":{"targets":[
          {"jobName":"node","containerNames":["side"]}]}}})")));
  EXPECT_THAT(refusal(cluster, spec_of("lonely", R"(,"trainer":{"numNodes":2})")),
              testing::StartsWith("spec.trainer.numNodes: Invalid value: 2: must have 1 when MPI"));
  EXPECT_EQ(refusal(cluster, spec_of("lonely", R"(,"trainer":{"numNodes":1})")), "");
  EXPECT_EQ(refusal(cluster, spec_of("inject")),
            "spec.runtimeRef: Invalid value: {\"jobName\":\"node\",\"containerNames\":[\"side\"]}: "
            "envInjection target podSet \"node\" container \"side\" not found in runtime "
            "template");
}

// Recorded: trainjob-volcano-refusals.
TEST(TrainerWebhook, judges_what_volcano_needs) {
  Cluster cluster;
  const auto with = [&cluster](std::string_view annotations, std::string_view pod) {
    cluster.objects.push_back(runtime_of(
        "v",
        R"({"podGroupPolicy":{"volcano":{}},"template":{"metadata":{"annotations":)" +
            std::string(annotations) +
            R"(},"spec":{"replicatedJobs":[{"name":"a","template":{"spec":{"template":{"spec":)" +
            std::string(pod) + "}}}}]}}}"));
    const std::string why = refusal(cluster, spec_of("v"));
    cluster.objects.pop_back();
    return why;
  };
  EXPECT_EQ(with(R"({"scheduling.volcano.sh/queue-name":""})", "{}"),
            "spec.annotations[scheduling.volcano.sh/queue-name]: Invalid value: \"\": Volcano "
            "queue name must not be empty");
  EXPECT_EQ(with(R"({"scheduling.volcano.sh/queue-name":"q"})", "{}"), "");
  EXPECT_EQ(with("{}", R"({"priorityClassName":"no-such-class"})"),
            "spec.templateSpec.priorityClassName: Invalid value: \"no-such-class\": PriorityClass "
            "\"no-such-class\" doesn't exist: PriorityClass.scheduling.k8s.io \"no-such-class\" "
            "not found");
  EXPECT_EQ(with("{}", R"({"priorityClassName":"system-node-critical"})"), "");
  auto high = std::make_shared<PriorityClass>();
  high->metadata.name = "high";
  cluster.objects.push_back(high);
  EXPECT_EQ(with("{}", R"({"priorityClassName":"high"})"), "");
}

// C101; recorded: trainingruntime-refusals, trainjob-webhook-validation-label.
TEST(TrainerWebhook, judges_runtimes) {
  constexpr std::string_view two =
      R"({"name":"n","replicas":3,"template":{"metadata":{"labels":
         {"trainer.kubeflow.org/trainjob-ancestor-step":"trainer"}},"spec":{"template":{"spec":
         {"containers":[{"name":"z","image":"rt/image"}]}}}}})";
  const auto bad =
      made_of<ClusterTrainingRuntime, TrainingRuntimeSpec>("bad", runtime_spec("{}", two));
  const auto why = [](const Object& runtime, const Object* old = nullptr,
                      const Profile& profile = default_profile()) {
    const Verdict verdict = review_runtime(runtime, old, profile);
    return verdict.refused ? verdict.refused->message : "";
  };
  EXPECT_EQ(
      why(*bad),
      "admission webhook \"validator.clustertrainingruntime.trainer.kubeflow.org\" denied "
      "the request: [spec.template.spec.replicatedJobs[0].replicas: Invalid value: 3: always "
      "must be 1, spec.template.spec.replicatedJobs[0].template.spec.template.spec."
      "containers: Invalid value: [{\"name\":\"z\",\"image\":\"rt/image\",\"resources\":{}}]: "
      "must contain the required container for the ancestor: trainer]");
  EXPECT_NE(why(*bad, bad.get()), "");
  EXPECT_THAT(why(*bad, nullptr, *find_profile("v2.0")),
              testing::Not(HasSubstr("required container")));
  auto own = runtime_of("bad", runtime_spec("{}", two));
  EXPECT_NE(why(*own), "");
  EXPECT_EQ(why(*own, own.get()), "");  // upstream does not look at its changes
  auto exempt = std::static_pointer_cast<ClusterTrainingRuntime>(bad->clone());
  exempt->metadata.labels.edit()["trainer.kubeflow.org/webhook-validation"] = "disabled";
  EXPECT_EQ(why(*exempt), "");
  EXPECT_NE(why(*exempt, bad.get()), "");  // it was not, and the webhook is asked
}

// ---- what is filled in -------------------------------------------------------------------------

constexpr Time noon{std::chrono::hours(24 * 365 * 50 + 12)};

Json filled(const std::shared_ptr<TrainJob>& job, const TrainJob* old = nullptr, Time now = noon,
            const Profile& profile = default_profile()) {
  const auto done = fill_in(*job, old, now, profile);
  EXPECT_TRUE(done.has_value());
  return *job->spec.source().get();
}
Json time_of(const Json& spec, std::size_t patch) {
  const auto& one = spec.at("runtimePatches").at(patch).as_object();
  return one.contains("time") ? one.at("time") : Json();
}

// C091, C102.
TEST(TrainerWebhook, stamps_what_has_changed_of_the_patches) {
  constexpr std::string_view two =
      R"(,"runtimePatches":[{"manager":"a.io/x"},{"manager":"a.io/y","time":
         "2020-01-01T00:00:00Z"}])";
  const auto job = job_of(spec_of("rt", two));
  const Json first = filled(job);
  EXPECT_EQ(time_of(first, 0), Json(format_rfc3339(noon)));
  EXPECT_EQ(time_of(first, 1), Json("2020-01-01T00:00:00Z"));

  const Time later = noon + std::chrono::hours(1);
  const auto next = job_of(spec_of("rt", R"(,"runtimePatches":[{"manager":"a.io/x"},
      {"manager":"a.io/y","trainingRuntimeSpec":{}},{"manager":"a.io/z"}])"));
  const Json second = filled(next, job.get(), later);
  EXPECT_EQ(time_of(second, 0), time_of(first, 0));
  EXPECT_EQ(time_of(second, 1), Json(format_rfc3339(later)));
  EXPECT_EQ(time_of(second, 2), Json(format_rfc3339(later)));

  // v2.1 has no such webhook.
  const auto old = job_of(spec_of("rt", two));
  EXPECT_EQ(time_of(filled(old, nullptr, noon, *find_profile("v2.1")), 0), Json());
}

TEST(TrainerWebhook, leaves_what_it_does_not_change_as_it_was_sent) {
  const Json spec = filled(job_of(spec_of("rt", R"(,"trainer":{"env":[{"name":"A","value":""}],
      "resourcesPerNode":{"requests":{"cpu":"0.5","nvidia.com/gpu":8}}})")));
  EXPECT_EQ(spec.at("trainer").at("env").at(0).at("value"), Json(""));
  const Json& amounts = spec.at("trainer").at("resourcesPerNode").at("requests");
  EXPECT_EQ(amounts, (Json{{"cpu", "0.5"}, {"nvidia.com/gpu", 8}}));
}

// C128.
TEST(TrainerWebhook, refuses_values_of_a_wrong_type) {
  const auto wrong = [](std::string_view trainer, const Profile& profile = default_profile()) {
    auto job = std::make_shared<TrainJob>();
    job->spec.set_source(
        RawJson(boost::json::parse(spec_of("rt", R"(,"trainer":)" + std::string(trainer)))));
    if (auto read = from_json<TrainJobSpec>(*job->spec.source().get())) {
      const RawJson source = job->spec.source();
      job->spec.edit() = *read;
      job->spec.set_source(source);
    }
    const auto done = fill_in(*job, nullptr, noon, profile);
    return done ? std::string() : done.error().message;
  };
  const std::string denied =
      "admission webhook \"defaulter.trainjob.trainer.kubeflow.org\" denied the request: ";
  EXPECT_EQ(wrong(R"({"numProcPerNode":"auto"})"),
            denied +
                "json: cannot unmarshal string into Go struct field "
                "Trainer.spec.trainer.numProcPerNode of type int32");
  EXPECT_EQ(wrong(R"({"numNodes":2.5})"),
            denied +
                "json: cannot unmarshal number 2.5 into Go struct field "
                "Trainer.spec.trainer.numNodes of type int32");
  EXPECT_EQ(wrong(R"({"resourcesPerNode":{"limits":{"cpu":"lots"}}})"),
            denied +
                "quantities must match the regular expression "
                "'^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'");
  EXPECT_EQ(wrong(R"({"numProcPerNode":"auto"})", *find_profile("lenient")), "");
}

TEST(TrainerWebhook, takes_old_words_where_it_is_lenient) {
  const auto processes = [](std::string_view said) {
    const Json spec =
        filled(job_of(spec_of("rt", R"(,"trainer":{"numProcPerNode":)" + std::string(said) + "}")),
               nullptr, noon, *find_profile("lenient"));
    const auto& trainer = spec.at("trainer").as_object();
    return trainer.contains("numProcPerNode") ? trainer.at("numProcPerNode") : Json();
  };
  EXPECT_EQ(processes(R"("auto")"), Json());
  EXPECT_EQ(processes(R"("8")"), Json(8));
  EXPECT_EQ(processes(R"("gpu")"), Json("gpu"));
  EXPECT_EQ(processes("4"), Json(4));
}

// §0.3.4: of devices alone, and never over a limit that is said.
TEST(TrainerWebhook, gives_requested_devices_a_limit_where_it_is_lenient) {
  const auto job = job_of(spec_of("rt", R"(,"trainer":{"resourcesPerNode":{
      "requests":{"cpu":"4","nvidia.com/gpu":8,"amd.com/gpu":2},"limits":{"amd.com/gpu":1}}})"));
  const auto strict = std::static_pointer_cast<TrainJob>(job->clone());
  const auto told = fill_in(*job, nullptr, noon, *find_profile("lenient"));
  ASSERT_TRUE(told.has_value());
  EXPECT_THAT(*told, testing::ElementsAre(HasSubstr("limits[nvidia.com/gpu]: set to the request")));
  const auto limits = [](const TrainJob& of) {
    return of.spec.source().get()->at("trainer").at("resourcesPerNode").at("limits");
  };
  EXPECT_EQ(limits(*job), (Json{{"amd.com/gpu", 1}, {"nvidia.com/gpu", "8"}}));
  EXPECT_THAT(*fill_in(*strict, nullptr, noon, default_profile()), testing::IsEmpty());
  EXPECT_EQ(limits(*strict), (Json{{"amd.com/gpu", 1}}));
}

}  // namespace
}  // namespace ddptwin::controller::trainer::webhook_test
