#include "controller/trainer/webhook.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <boost/json.hpp>
#include <map>
#include <set>

#include "controller/toolkit/denial.hpp"
#include "controller/trainer/info.hpp"
#include "controller/trainer/names.hpp"
#include "controller/trainer/snapshot.hpp"
#include "controller/trainer/torch.hpp"
#include "core/numbers.hpp"
#include "objects/codec.hpp"
#include "objects/scheduling_v1.hpp"
#include "objects/validation.hpp"

namespace ddptwin::controller::trainer {
namespace {

namespace json = boost::json;

constexpr std::string_view trainjob_validator = "validator.trainjob.trainer.kubeflow.org";
constexpr std::string_view support_label = "trainer.kubeflow.org/support";
constexpr std::string_view validation_label = "trainer.kubeflow.org/webhook-validation";
constexpr std::string_view deprecation_policy =
    "https://trainer.kubeflow.org/en/latest/operator-guides/runtime.html"
    "#runtime-deprecation-policy";

Error denial(std::string_view webhook, Reason reason, std::string_view why) {
  return Error{.reason = reason, .message = denied_by(webhook, why)};
}

template <class T>
std::string shown_json(const T& value) {
  return json::serialize(to_json(value));
}

bool is_deprecated(const Object& runtime) {
  const Text* said = runtime.metadata.label(support_label);
  return said != nullptr && *said == "deprecated";
}

// ---- what is refused of a TrainJob -------------------------------------------------------------

constexpr std::array<std::string_view, 5> torch_variables{
    "PET_NNODES", "PET_NPROC_PER_NODE", "PET_NODE_RANK", "PET_MASTER_ADDR", "PET_MASTER_PORT"};
constexpr std::array<std::string_view, 4> mpi_variables{
    "OMPI_MCA_orte_default_hostfile", "OMPI_MCA_plm_rsh_args", "OMPI_MCA_orte_keep_fqdn_hostnames",
    "OMPI_MCA_orte_set_default_slots"};
constexpr std::array<std::string_view, 4> xgboost_variables{"DMLC_TRACKER_URI", "DMLC_TRACKER_PORT",
                                                            "DMLC_TASK_ID", "DMLC_NUM_WORKER"};

constexpr std::string_view llama_70b = "llama3_3/70B";
constexpr std::string_view qwen = "qwen2_5/1.5B";
constexpr std::array<std::string_view, 4> torchtune_models{"llama3_2/1B", "llama3_2/3B", llama_70b,
                                                           qwen};

template <class Names>
bool is_one_of(const Names& names, std::string_view name) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

// A list of overrides: its field and its name in sentences.
struct OverrideWords {
  std::string_view field, title;
};
constexpr OverrideWords words_of(Overrides overrides) {
  switch (overrides) {
    case Overrides::pod_spec:
      return {"spec.podSpecOverrides", "PodSpecOverrides"};
    case Overrides::pod_template:
      return {"spec.podTemplateOverrides", "PodTemplateOverrides"};
    case Overrides::runtime_patches:
      break;
  }
  return {"spec.runtimePatches", "RuntimePatches"};
}

// Of one replicated job, from whichever list it is.
struct ContainersOverride {
  std::string_view job;
  const PodSpecPatch* pod;
};

std::vector<ContainersOverride> containers_overridden(const TrainJobSpec& spec) {
  std::vector<ContainersOverride> found;
  for (const PodSpecOverride& one : spec.podSpecOverrides)
    for (const NamedItem& job : one.targetJobs) found.push_back({job.name, &one.patch});
  for (const PodTemplateOverride& one : spec.podTemplateOverrides)
    for (const NamedItem& job : one.targetJobs)
      found.push_back({job.name, one.spec ? &*one.spec : nullptr});
  for (const RuntimePatch& one : spec.runtimePatches) {
    const auto& runtime = one.trainingRuntimeSpec;
    if (!runtime || !runtime->template_ || !runtime->template_->spec) continue;
    for (const ReplicatedJobPatch& job : runtime->template_->spec->replicatedJobs) {
      const auto& of_job = job.template_;
      const bool has_pod = of_job && of_job->spec && of_job->spec->template_ &&
                           of_job->spec->template_->spec.has_value();
      found.push_back({job.name, has_pod ? &*of_job->spec->template_->spec : nullptr});
    }
  }
  return found;
}

std::string shown_overrides(const TrainJobSpec& spec, Overrides overrides) {
  switch (overrides) {
    case Overrides::pod_spec:
      return shown_json(spec.podSpecOverrides);
    case Overrides::pod_template:
      return shown_json(spec.podTemplateOverrides);
    case Overrides::runtime_patches:
      break;
  }
  return shown_json(spec.runtimePatches);
}

// The initializers, and the words of what a TrainJob that asks for one calls it.
struct InitializerWords {
  std::string_view name, config;
};

class Review {
 public:
  Review(const TrainJob& job, const TrainJob* old, Info& info, const Surroundings& around,
         const Profile& profile)
      : job_(job),
        spec_(*job.spec),
        old_(old),
        info_(info),
        around_(around),
        profile_(profile),
        words_(words_of(profile.overrides)) {}

  // Upstream's plugins are asked in an order that is random in each process; here it is this one.
  ErrorList run() {
    judge_name();
    judge_initializers();
    judge_change_of_overrides();
    judge_overrides();
    if (info_.ml && info_.ml->torch) judge_torch();
    if (info_.ml && info_.ml->mpi) judge_mpi(*info_.ml->mpi);
    if (info_.ml && info_.ml->xgboost) judge_xgboost();
    if (info_.ml && info_.ml->flux) judge_flux(*info_.ml->flux);
    if (info_.pod_group && info_.pod_group->volcano) judge_volcano();
    return std::move(errors_);
  }

 private:
  void add(std::string_view field, std::string_view shown, std::string_view why) {
    errors_.push_back(invalid(std::string(field), shown, why));
  }

  // v2.0, whose definition has no rule about it.
  void judge_name() {
    if (profile_.judges_names) return;
    for (const std::string& problem : dns_1035_label_problems(job_.metadata.name.view()))
      add("metadata.name", quoted(job_.metadata.name.view()), problem);
  }

  // ---- the JobSet's plugin
  const std::set<std::string, std::less<>>* containers_of(std::string_view job) {
    if (containers_.empty())
      for (const PodSet& one : info_.pod_sets) {
        auto& names = containers_[one.name];
        for (const PodContainer& container : one.init_containers) names.insert(container.name);
        for (const PodContainer& container : one.containers) names.insert(container.name);
      }
    const auto found = containers_.find(job);
    return found != containers_.end() ? &found->second : nullptr;
  }

  bool mounts_volume(std::string_view job) {
    const PodSet* pods = info_.named(job);
    return pods != nullptr &&
           std::any_of(pods->containers.begin(), pods->containers.end(), [&](const auto& one) {
             return one.name == job &&
                    std::any_of(one.mounts.begin(), one.mounts.end(), [](const Json& mount) {
                      const Json* name = mount.get_object().if_contains("name");
                      return name != nullptr && *name == "initializer";
                    });
           });
  }

  void judge_initializer(bool asked, const InitializerWords& words) {
    if (!asked) return;
    const auto refuse = [&](const std::string& why) {
      add("spec.runtimeRef", shown_json(spec_.runtimeRef), why);
    };
    const auto* containers = containers_of(words.name);
    if (containers == nullptr)
      return refuse(fmt::format("must have {} job when trainJob is configured with input {}",
                                words.name, words.config));
    if (!containers->contains(words.name))
      return refuse(
          fmt::format("must have container with name - {} in the {} job", words.name, words.name));
    if (profile_.judges_mounts && !mounts_volume(words.name))
      refuse(
          fmt::format("must have volumeMount with name - initializer in container {} of the {} "
                      "job",
                      words.name, words.name));
  }

  void judge_initializers() {
    if (!spec_.initializer) return;
    judge_initializer(spec_.initializer->dataset.has_value(),
                      {dataset_initializer, "datasetConfig"});
    judge_initializer(spec_.initializer->model.has_value(), {model_initializer, "modelConfig"});
  }

  bool overrides_have_changed() const {
    const TrainJobSpec& was = *old_->spec;
    return !equal(was.podSpecOverrides, spec_.podSpecOverrides) ||
           !equal(was.podTemplateOverrides, spec_.podTemplateOverrides) ||
           !equal(was.runtimePatches, spec_.runtimePatches);
  }

  void judge_change_of_overrides() {
    if (old_ == nullptr || !overrides_have_changed()) return;
    const bool may =
        spec_.is_suspended() || (profile_.before_or_after && old_->spec->is_suspended());
    const auto refuse = [&](std::string_view why) {
      errors_.push_back(forbidden(std::string(words_.field), why));
    };
    if (!may)
      return refuse(fmt::format("{} can only be modified when the TrainJob is suspended{}",
                                words_.title,
                                profile_.before_or_after ? " before or after the update" : ""));
    const auto set = as<JobSet>(
        around_.find(JobSet::info(), job_.metadata.namespace_.view(), job_.metadata.name.view()));
    if (set == nullptr || !set->status) return;
    for (const ReplicatedJobStatus& one : set->status->replicatedJobsStatus)
      if (one.active > 0)
        refuse(
            fmt::format("{} cannot be modified when the JobSet's ReplicatedJob {} is still active",
                        words_.title, one.name));
  }

  void judge_overrides() {
    for (const RuntimePatch& patch : spec_.runtimePatches) judge_manager(patch.manager);
    judge_doubled_targets();
    for (const ContainersOverride& one : containers_overridden(spec_)) judge_override(one);
  }

  // v2.0: no job twice.
  void judge_doubled_targets() {
    std::set<std::string_view> seen;
    for (const PodSpecOverride& one : spec_.podSpecOverrides)
      for (const NamedItem& job : one.targetJobs)
        if (!seen.insert(job.name).second)
          errors_.push_back(duplicate(std::string(words_.field), quoted(job.name)));
  }

  void refuse_overrides(const std::string& why) {
    add(words_.field, shown_overrides(spec_, profile_.overrides), why);
  }

  void judge_override(const ContainersOverride& one) {
    const auto* containers = containers_of(one.job);
    const std::string_view job_word =
        profile_.overrides == Overrides::runtime_patches ? "replicated job" : "targetJob";
    if (containers == nullptr)
      return refuse_overrides(
          fmt::format("must not have {} that doesn't exist in the runtime job template", job_word));
    if (one.pod == nullptr) return;
    for (const ContainerPatch& container : one.pod->initContainers)
      if (!containers->contains(container.name))
        refuse_overrides(fmt::format(
            "must not have initContainer that doesn't exist in the runtime job {}", one.job));
    constexpr std::array<std::string_view, 3> own{dataset_initializer, model_initializer, node};
    for (const ContainerPatch& container : one.pod->containers)
      if (!containers->contains(container.name))
        refuse_overrides(fmt::format(
            "must not have container that doesn't exist in the runtime job {}", one.job));
      else if (!container.env.empty() && is_one_of(own, container.name))
        refuse_overrides(
            fmt::format("must not have envs for the {} containers", fmt::join(own, ", ")));
  }

  void judge_manager(const std::string& name) {
    append(errors_, domain_path_problems(fmt::format("{}.manager", words_.field), name));
  }

  // ---- frameworks
  template <class Names>
  void judge_reserved(const Names& reserved) {
    std::set<std::string_view> found;
    for (const EnvVar& one : spec_.trainer->env)
      if (is_one_of(reserved, one.name.view())) found.insert(one.name.view());
    if (!found.empty())
      add("spec.trainer.env", shown_json(spec_.trainer->env),
          fmt::format("must not have reserved envs, invalid envs configured: [{}]",
                      fmt::join(found, " ")));
  }

  void judge_torch() {
    const bool looks =
        spec_.trainer && (!profile_.needs_proc_to_judge || spec_.trainer->numProcPerNode);
    if (profile_.env_injection) judge_env_injection();
    if (!looks) return;
    const auto& processes = spec_.trainer->numProcPerNode;
    constexpr std::array<std::string_view, 3> allowed{"auto", "cpu", "gpu"};
    if (processes && processes->is_text && !is_one_of(allowed, processes->text))
      add("spec.trainer.numProcPerNode", quoted(processes->text),
          fmt::format("must have an int value or [{}]", fmt::join(allowed, " ")));
    judge_reserved(torch_variables);
    if (is_torchtune(*spec_.trainer)) judge_torchtune();
  }

  void judge_env_injection() {
    if (!info_.ml->torch->envInjection) return;
    for (const EnvInjectionTarget& target : info_.ml->torch->envInjection->targets)
      for (const std::string& name : target.containerNames)
        if (info_.container(target.jobName, name) == nullptr)
          add("spec.runtimeRef", shown_json(target),
              fmt::format(
                  "envInjection target podSet {} container {} not found in runtime template",
                  quoted(target.jobName), quoted(name)));
  }

  void judge_torchtune() {
    const std::string_view runtime = spec_.runtimeRef.name;
    const std::string model = model_of_runtime(runtime);
    const std::vector<std::string> args = spec_.trainer->args.value_or(std::vector<std::string>());
    const std::int32_t nodes = spec_.trainer->numNodes.value_or(1);
    if (!is_one_of(torchtune_models, model))
      add("spec.runtimeRef.name", quoted(runtime),
          fmt::format("must have a supported pretrained model, invalid model configured: {}",
                      model));
    if (nodes > 1 && model != llama_70b)
      add("spec.trainer.numNodes", std::to_string(nodes),
          fmt::format("must be 1 for {} model", model));
    judge_qlora(model, nodes);
    if (nodes > 1 && (asks_for_lora(args) || asks_for_qlora(args)))
      add("spec.trainer.numNodes", std::to_string(nodes),
          "LoRA fine-tuning is not supported for multi-node training in TorchTune");
    for (std::size_t i = 0; i < args.size(); ++i)
      if (is_fixed_config(args[i]))
        add(fmt::format("spec.trainer.args[{}]", i), quoted(args[i]),
            fmt::format("must not set immutable config {} in trainer args; it is managed by the "
                        "runtime",
                        quoted(args[i].substr(0, args[i].find('=')))));
  }

  void judge_qlora(const std::string& model, std::int32_t nodes) {
    Processes processes{.number = {}, .word = "auto"};
    if (const auto& said = spec_.trainer->numProcPerNode; said && !said->is_text)
      processes.number = said->number;
    const std::string config =
        recipe_of(nodes, processes, gpus_of(resources_per_node(info_, job_)), job_).config;
    if (config.find("_qlora") == std::string::npos) return;
    if (model == qwen)
      add("spec.runtimeRef.name", quoted(spec_.runtimeRef.name),
          fmt::format("QLoRA is not supported for {} model", model));
    const bool single = config.find("_qlora_single_device") != std::string::npos;
    if (single || (model != torchtune_models[0] && model != torchtune_models[1])) return;
    add("spec.trainer.numProcPerNode",
        processes.number ? std::to_string(*processes.number) : quoted(processes.word),
        fmt::format("must be auto or 1 for {} model when using QLoRA", model));
    add("spec.trainer.resourcesPerNode",
        spec_.trainer->resourcesPerNode ? shown_json(*spec_.trainer->resourcesPerNode) : "null",
        fmt::format("must have gpu resource with value 1 for {} model when using QLoRA", model));
  }

  void judge_mpi(const MPIPolicy& mpi) {
    if (!spec_.trainer) return;
    const std::int32_t nodes = spec_.trainer->numNodes.value_or(1);
    if (nodes >= 2 && mpi.runLauncherAsNode.value_or(false) &&
        (info_.named(launcher) == nullptr || info_.named(node) == nullptr))
      add("spec.trainer.numNodes", std::to_string(nodes),
          "must have 1 when MPI trainingRuntime with enabled runLauncherAsNode does not have "
          "either launcher and node");
    judge_reserved(mpi_variables);
  }

  void judge_xgboost() {
    if (!spec_.trainer) return;
    for (std::size_t i = 0; i < spec_.trainer->env.size(); ++i)
      if (const auto name = spec_.trainer->env[i].name.view(); is_one_of(xgboost_variables, name))
        errors_.push_back(forbidden(fmt::format("spec.trainer.env[{}]", i),
                                    fmt::format("{} is reserved for the XGBoost runtime", name)));
  }

  void judge_flux(const FluxPolicy& flux) {
    std::optional<std::int32_t> processes = flux.numProcPerNode;
    if (spec_.trainer && spec_.trainer->numProcPerNode)
      processes = spec_.trainer->numProcPerNode->number;
    if (processes && *processes < 1)
      add("spec.trainer.numProcPerNode", std::to_string(*processes),
          "must be greater than or equal to 1 for Flux TrainJob");
    constexpr std::string_view installer = "flux-installer";
    if (const PodSet* pods = info_.named(node))
      for (const PodContainer& one : pods->init_containers)
        if (one.name == installer)
          add("spec.trainer.initContainers", quoted(installer),
              "InitContainer 'flux-installer' is reserved");
  }

  // ---- gangs
  void judge_volcano() {
    constexpr std::string_view queue = "scheduling.volcano.sh/queue-name";
    if (const auto said = info_.annotations.find(queue);
        said != info_.annotations.end() && said->second.empty())
      add(fmt::format("spec.annotations[{}]", queue), quoted(""),
          "Volcano queue name must not be empty");
    const Json* jobs = info_.spec.if_contains("replicatedJobs");
    if (jobs == nullptr) return;
    for (const Json& one : jobs->get_array()) {
      json::object job = one.get_object();
      const Json* said = pod_spec_of(job).if_contains("priorityClassName");
      if (said == nullptr || !said->is_string()) continue;
      const std::string name(said->get_string());
      if (name == "system-cluster-critical" || name == "system-node-critical") return;
      if (around_.find(PriorityClass::info(), {}, name) == nullptr)
        add("spec.templateSpec.priorityClassName", quoted(name),
            fmt::format("PriorityClass {} doesn't exist: PriorityClass.scheduling.k8s.io {} not "
                        "found",
                        quoted(name), quoted(name)));
    }
  }

  const TrainJob& job_;
  const TrainJobSpec& spec_;
  const TrainJob* old_;
  Info& info_;
  const Surroundings& around_;
  const Profile& profile_;
  OverrideWords words_;
  std::map<std::string, std::set<std::string, std::less<>>, std::less<>> containers_{};
  ErrorList errors_{};
};

// The kinds that a TrainJob may refer to.
struct RuntimeKind {
  const KindInfo& (*info)();
  std::string_view field;  // as the refusal of one that is missing has it
  std::string_view word;
};
constexpr std::array runtime_kinds{
    RuntimeKind{&TrainingRuntime::info, "spec.runtimeRef", "trainingRuntime"},
    RuntimeKind{&ClusterTrainingRuntime::info, "spec.RuntimeRef", "clusterTrainingRuntime"}};

const RuntimeKind* kind_of_reference(const RuntimeRef& ref) {
  for (const RuntimeKind& one : runtime_kinds)
    if (one.info().kind == ref.kind.value_or("") && one.info().group == ref.apiGroup.value_or(""))
      return &one;
  return nullptr;
}

// Go's schema.GroupKind as a text.
std::string shown_reference(const RuntimeRef& ref) {
  const std::string group = ref.apiGroup.value_or("");
  return group.empty() ? ref.kind.value_or("") : ref.kind.value_or("") + "." + group;
}

// ---- what is refused of a runtime --------------------------------------------------------------

struct AncestorContainer {
  std::string_view ancestor, container;
};
constexpr std::array ancestor_containers{
    AncestorContainer{ancestor_trainer, node},
    AncestorContainer{model_initializer, model_initializer},
    AncestorContainer{dataset_initializer, dataset_initializer}};

ErrorList errors_of_jobs(const std::vector<ReplicatedJob>& jobs, const Profile& profile) {
  ErrorList errors;
  for (std::size_t i = 0; i < jobs.size(); ++i) {
    const Text* said = jobs[i].template_.metadata.label(ancestor_step_label);
    if (said == nullptr) continue;
    const auto* row = std::find_if(ancestor_containers.begin(), ancestor_containers.end(),
                                   [&](const auto& one) { return *said == one.ancestor; });
    if (row == ancestor_containers.end()) continue;
    const std::string field = fmt::format("spec.template.spec.replicatedJobs[{}]", i);
    if (jobs[i].replicas != 1)
      errors.push_back(
          invalid(field + ".replicas", std::to_string(jobs[i].replicas), "always must be 1"));
    const PodSpec& pod = *jobs[i].template_.spec->template_.spec;
    const bool has_it = std::any_of(pod.containers->begin(), pod.containers->end(),
                                    [&](const auto& one) { return one.name == row->container; });
    if (profile.judges_containers && !has_it)
      errors.push_back(invalid(field + ".template.spec.template.spec.containers",
                               shown_json(*pod.containers),
                               fmt::format("must contain the required container for the ancestor: "
                                           "{}",
                                           row->ancestor)));
  }
  return errors;
}

// The webhooks of runtimes select by it: they are asked where the old or the new object is theirs.
bool is_exempt(const Object& runtime) {
  const Text* said = runtime.metadata.label(validation_label);
  return said != nullptr && *said == "disabled";
}

}  // namespace

Verdict review(const TrainJob& job, const TrainJob* old, const Surroundings& around,
               const Profile& profile) {
  Verdict verdict;
  const auto refuse = [&verdict](std::string_view why) {
    verdict.refused = denial(trainjob_validator, Reason::forbidden, why);
  };
  const RuntimeRef& ref = job.spec->runtimeRef;
  const RuntimeKind* row = kind_of_reference(ref);
  if (row == nullptr) {
    refuse(fmt::format("unsupported runtime: {}", shown_reference(ref)));
    return verdict;
  }
  const KindInfo& kind = row->info();
  const std::string_view namespace_ =
      kind.namespaced ? job.metadata.namespace_.view() : std::string_view();
  const ObjectPtr runtime = around.find(kind, namespace_, ref.name);
  if (runtime == nullptr) {
    refuse(summary_of({invalid(
        std::string(row->field), shown_json(ref),
        fmt::format("{}.{} {} not found: specified {} must be created before the TrainJob is "
                    "created",
                    kind.kind, kind.group, quoted(ref.name), row->word))}));
    return verdict;
  }
  if (!kind.namespaced && is_deprecated(*runtime))
    verdict.warnings.push_back(
        fmt::format("Referenced ClusterTrainingRuntime \"{}\" is deprecated and will be removed in "
                    "a future release of Kubeflow Trainer. See runtime deprecation policy: {}",
                    ref.name, deprecation_policy));
  Result<Info> info = assemble(job, spec_of_runtime(*runtime), profile);
  if (!info) return verdict;  // upstream goes on without it, and its plugins then say nothing
  ErrorList errors = Review(job, old, *info, around, profile).run();
  if (!errors.empty()) refuse(summary_of(errors));
  return verdict;
}

Verdict review_runtime(const Object& runtime, const Object* old, const Profile& profile) {
  Verdict verdict;
  const bool in_namespace = runtime.kind().namespaced;
  if (is_exempt(runtime) && (old == nullptr || is_exempt(*old))) return verdict;
  if (in_namespace && old != nullptr) return verdict;  // upstream looks at creations alone
  if (!in_namespace && old == nullptr && is_deprecated(runtime))
    verdict.warnings.push_back(
        fmt::format("ClusterTrainingRuntime \"{}\" is deprecated and will be removed in a future "
                    "release of Kubeflow Trainer. See runtime deprecation policy: {}",
                    runtime.metadata.name.view(), deprecation_policy));
  const ErrorList errors =
      errors_of_jobs(spec_of_runtime(runtime).template_.spec.replicatedJobs, profile);
  if (!errors.empty())
    verdict.refused =
        denial(fmt::format("validator.{}.{}", runtime.kind().singular, runtime.kind().group),
               Reason::forbidden, summary_of(errors));
  return verdict;
}

}  // namespace ddptwin::controller::trainer
