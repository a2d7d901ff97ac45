#include "controller/trainer/stock_runtimes.hpp"

#include <fmt/format.h>

#include <array>
#include <boost/json.hpp>
#include <string>

#include "controller/trainer/names.hpp"
#include "objects/codec.hpp"

namespace ddptwin::controller::trainer {
namespace {

namespace json = boost::json;

// In what the releases' manifests differ.
struct Release {
  std::string_view version;
  std::string_view tag;  // of Trainer's own images
  std::string_view torch_image;
  bool processes = false;  // torch.numProcPerNode is said
  bool frameworks = true;  // jax and xgboost
  bool labels = true;      // trainer.kubeflow.org/framework
  bool is_exempt = true;   // the webhook does not look at them
  bool node_first = true;  // of MPI's pods: the launcher waits for the others
  bool claims = true;      // torchtune's volume is claimed by the JobSet
  bool qwen = true;
  bool in_turn = false;  // torchtune's initializers run one after another
};

constexpr std::string_view torch_2_7 = "pytorch/pytorch:2.7.1-cuda12.8-cudnn9-runtime";
constexpr std::string_view torch_2_10 = "pytorch/pytorch:2.10.0-cuda12.8-cudnn9-runtime";
constexpr std::string_view torch_2_13 = "pytorch/pytorch:2.13.0-cuda13.0-cudnn9-runtime";

constexpr std::array releases{
    Release{.version = "v2.0.0",
            .tag = "v2.0.0",
            .torch_image = torch_2_7,
            .processes = true,
            .frameworks = false,
            .labels = false,
            .is_exempt = false,
            .node_first = false,
            .claims = false,
            .qwen = false,
            .in_turn = true},
    Release{.version = "v2.1.0",
            .tag = "v2.1.0",
            .torch_image = torch_2_7,
            .processes = true,
            .frameworks = false,
            .is_exempt = false,
            .node_first = false,
            .claims = false},
    Release{.version = "v2.2.0",
            .tag = "v2.2.0",
            .torch_image = torch_2_10,
            .is_exempt = false,
            .node_first = false},
    Release{.version = "v2.2.1",
            .tag = "v2.2.1",
            .torch_image = torch_2_10,
            .is_exempt = false,
            .node_first = false},
    Release{.version = "v2.3.0", .tag = "v2.3.0", .torch_image = torch_2_13},
    Release{.version = "master", .tag = "latest", .torch_image = torch_2_13},
    Release{.version = "lenient", .tag = "v2.3.0", .torch_image = torch_2_13},
};

std::string own_image(std::string_view name, const Release& release) {
  return fmt::format("ghcr.io/kubeflow/trainer/{}:{}", name, release.tag);
}

// ---- pieces ------------------------------------------------------------------------------------

json::object replicated_job(std::string_view name, std::string_view ancestor, json::object pod) {
  json::object job{{"spec", json::object{{"template", json::object{{"spec", std::move(pod)}}}}}};
  if (!ancestor.empty())
    job["metadata"] =
        json::object{{"labels", json::object{{std::string_view(ancestor_step_label), ancestor}}}};
  return json::object{{"name", name}, {"template", std::move(job)}};
}

json::object one_container(json::object container) {
  return json::object{{"containers", json::array{std::move(container)}}};
}

json::object dependency(std::string_view name, std::string_view status) {
  return json::object{{"name", name}, {"status", status}};
}

json::object policy_of_torch(const Release& release) {
  json::object torch;
  if (release.processes) torch["numProcPerNode"] = "auto";
  return json::object{{"numNodes", 1}, {"torch", std::move(torch)}};
}

json::object spec_of(json::object policy, json::object set) {
  return json::object{{"mlPolicy", std::move(policy)},
                      {"template", json::object{{"spec", std::move(set)}}}};
}

// One replicated job of one container.
json::object plain_set(std::string_view image) {
  return json::object{{"replicatedJobs", json::array{replicated_job(
                                             node, ancestor_trainer,
                                             one_container({{"name", node}, {"image", image}}))}}};
}

// ---- runtimes ----------------------------------------------------------------------------------

json::object torch_distributed(const Release& release) {
  return spec_of(policy_of_torch(release), plain_set(release.torch_image));
}
json::object jax_distributed(const Release&) {
  return spec_of({{"numNodes", 1}, {"jax", json::object()}},
                 plain_set("nvcr.io/nvidia/jax:25.10-py3"));
}
json::object xgboost_distributed(const Release& release) {
  return spec_of({{"numNodes", 1}, {"xgboost", json::object()}},
                 plain_set(own_image("xgboost-runtime", release)));
}

// MPI: pods that run sshd, and the launcher, which is one of them.
json::object mpi_pod(const std::string& image, bool runs_sshd, const Release& release) {
  constexpr int user = 1000;
  json::object container{
      {"name", node}, {"image", image}, {"securityContext", json::object{{"runAsUser", user}}}};
  if (runs_sshd) {
    container["command"] = json::array{"/usr/sbin/sshd"};
    container["args"] = json::array{"-De", "-f", "/home/mpiuser/.sshd_config"};
    container["readinessProbe"] =
        json::object{{"tcpSocket", json::object{{"port", 2222}}}, {"initialDelaySeconds", 5}};
  }
  json::object pod = one_container(std::move(container));
  if (release.node_first) pod["securityContext"] = json::object{{"fsGroup", user}};
  return pod;
}

json::object mpi_runtime(const std::string& image, int processes, const Release& release) {
  json::object of_launcher =
      replicated_job(launcher, ancestor_trainer, mpi_pod(image, false, release));
  json::object of_node = replicated_job(node, {}, mpi_pod(image, true, release));
  json::array jobs;
  if (release.node_first) {
    of_launcher["dependsOn"] = json::array{dependency(node, "Ready")};
    jobs = {std::move(of_node), std::move(of_launcher)};
  } else {
    jobs = {std::move(of_launcher), std::move(of_node)};
  }
  return spec_of({{"numNodes", 1},
                  {"mpi", json::object{{"numProcPerNode", processes},
                                       {"mpiImplementation", "OpenMPI"},
                                       {"sshAuthMountPath", "/home/mpiuser/.ssh"},
                                       {"runLauncherAsNode", true}}}},
                 {{"network", json::object{{"publishNotReadyAddresses", true}}},
                  {"successPolicy", json::object{{"operator", "All"},
                                                 {"targetReplicatedJobs", json::array{launcher}}}},
                  {"replicatedJobs", std::move(jobs)}});
}
json::object deepspeed_distributed(const Release& release) {
  return mpi_runtime(own_image("deepspeed-runtime", release), release.labels ? 1 : 4, release);
}
json::object mlx_distributed(const Release& release) {
  return mpi_runtime(own_image("mlx-runtime", release), 1, release);
}

// torchtune: what is fetched first, and a command whose paths say where it lies.
struct Model {
  std::string_view runtime;  // its name
  std::string_view config;
  std::string_view uri;
  std::array<std::string_view, 2> tokenizer;  // arguments; the second may be empty
};
constexpr std::string_view llama_tokenizer =
    "tokenizer.path=/workspace/model/original/tokenizer.model";
constexpr Model llama_1b{"torchtune-llama3.2-1b",
                         "llama3_2/1B_full",
                         "hf://meta-llama/Llama-3.2-1B-Instruct",
                         {llama_tokenizer, ""}};
constexpr Model llama_3b{"torchtune-llama3.2-3b",
                         "llama3_2/3B_full",
                         "hf://meta-llama/Llama-3.2-3B-Instruct",
                         {llama_tokenizer, ""}};
constexpr Model qwen_1_5b{"torchtune-qwen2.5-1.5b",
                          "qwen2_5/1.5B_full",
                          "hf://Qwen/Qwen2.5-1.5B-Instruct",
                          {"tokenizer.path=/workspace/model/vocab.json",
                           "tokenizer.merges_file=/workspace/model/merges.txt"}};

json::object torchtune_pod(json::object container, const Model& model, const Release& release) {
  container["volumeMounts"] =
      json::array{json::object{{"mountPath", "/workspace"}, {"name", "initializer"}}};
  json::object pod = one_container(std::move(container));
  if (!release.claims)
    pod["volumes"] = json::array{
        json::object{{"name", "initializer"},
                     {"persistentVolumeClaim", json::object{{"claimName", model.runtime}}}}};
  return pod;
}

json::object initializer_job(std::string_view name, std::string_view uri, const Model& model,
                             const Release& release) {
  json::object container{
      {"name", name},
      {"image", own_image(name, release)},
      {"env", json::array{json::object{{"name", "STORAGE_URI"}, {"value", uri}}}}};
  return replicated_job(name, name, torchtune_pod(std::move(container), model, release));
}

json::array torchtune_words(const Model& model) {
  json::array words{"tune",
                    "run",
                    "--rdzv_endpoint=localhost:29500",
                    "full_finetune_distributed",
                    "--config",
                    model.config,
                    "dataset=torchtune.datasets.instruct_dataset",
                    "dataset.source=parquet",
                    "dataset.data_dir=/workspace/dataset/data",
                    "output_dir=/workspace/output"};
  for (const std::string_view one : model.tokenizer)
    if (!one.empty()) words.emplace_back(one);
  words.emplace_back("checkpointer.checkpoint_dir=/workspace/model");
  return words;
}

json::object claim_of_workspace() {
  return json::object{
      {"metadata", json::object{{"name", "initializer"}}},
      {"spec",
       json::object{{"accessModes", json::array{"ReadWriteOnce"}},
                    {"resources", json::object{{"requests", json::object{{"storage", "20Gi"}}}}}}}};
}

json::object torchtune_runtime(const Model& model, const Release& release) {
  json::object of_data =
      initializer_job(dataset_initializer, "hf://tatsu-lab/alpaca", model, release);
  json::object of_model = initializer_job(model_initializer, model.uri, model, release);
  json::object training{
      {"name", node},
      {"image", own_image("torchtune-trainer", release)},
      {"command", torchtune_words(model)},
      {"resources", json::object{{"limits", json::object{{"nvidia.com/gpu", 2}}}}}};
  json::object of_node =
      replicated_job(node, ancestor_trainer, torchtune_pod(std::move(training), model, release));
  json::array before{dependency(model_initializer, "Complete")};
  if (release.in_turn)
    of_model["dependsOn"] = json::array{dependency(dataset_initializer, "Complete")};
  else
    before.insert(before.begin(), dependency(dataset_initializer, "Complete"));
  of_node["dependsOn"] = std::move(before);
  json::object set{
      {"replicatedJobs", json::array{std::move(of_data), std::move(of_model), std::move(of_node)}}};
  if (release.claims)
    set["volumeClaimPolicies"] =
        json::array{json::object{{"templates", json::array{claim_of_workspace()}}}};
  return spec_of(policy_of_torch(release), std::move(set));
}
template <const Model& model>
json::object torchtune(const Release& release) {
  return torchtune_runtime(model, release);
}

struct StockRuntime {
  std::string_view name, framework;
  json::object (*spec)(const Release&);
  bool Release::*ships = nullptr;  // null: with each release
};

constexpr std::array stock{
    StockRuntime{"deepspeed-distributed", "deepspeed", &deepspeed_distributed},
    StockRuntime{"mlx-distributed", "mlx", &mlx_distributed},
    StockRuntime{"torch-distributed", "torch", &torch_distributed},
    StockRuntime{"jax-distributed", "jax", &jax_distributed, &Release::frameworks},
    StockRuntime{"xgboost-distributed", "xgboost", &xgboost_distributed, &Release::frameworks},
    StockRuntime{llama_1b.runtime, "torchtune", &torchtune<llama_1b>},
    StockRuntime{llama_3b.runtime, "torchtune", &torchtune<llama_3b>},
    StockRuntime{qwen_1_5b.runtime, "torchtune", &torchtune<qwen_1_5b>, &Release::qwen},
};

std::shared_ptr<ClusterTrainingRuntime> made(const StockRuntime& row, const Release& release) {
  auto runtime = std::make_shared<ClusterTrainingRuntime>();
  runtime->metadata.name = row.name;
  if (release.labels)
    runtime->metadata.labels.edit()[Text("trainer.kubeflow.org/framework")] = row.framework;
  if (release.is_exempt)
    runtime->metadata.labels.edit()[Text("trainer.kubeflow.org/webhook-validation")] = "disabled";
  Json source(row.spec(release));
  auto spec = from_json<TrainingRuntimeSpec>(source);
  DDPTWIN_ASSERT(spec.has_value());  // our own text
  runtime->spec.edit() = std::move(*spec);
  runtime->spec.set_source(RawJson(std::move(source)));
  return runtime;
}

}  // namespace

std::vector<std::shared_ptr<ClusterTrainingRuntime>> stock_runtimes(const Profile& profile) {
  std::vector<std::shared_ptr<ClusterTrainingRuntime>> runtimes;
  for (const Release& release : releases) {
    if (release.version != profile.version) continue;
    for (const StockRuntime& row : stock)
      if (row.ships == nullptr || release.*row.ships) runtimes.push_back(made(row, release));
  }
  return runtimes;
}

}  // namespace ddptwin::controller::trainer
