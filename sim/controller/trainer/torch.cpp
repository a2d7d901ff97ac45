#include "controller/trainer/torch.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "controller/trainer/apply_values.hpp"
#include "controller/trainer/names.hpp"
#include "controller/trainer/plugins.hpp"

namespace ddptwin::controller::trainer {
namespace {

namespace json = boost::json;

// The five variables, in two groups: torchtune is told of the master on its command line.
json::array variables_of_node(std::int32_t nodes, const Processes& processes) {
  return {variable("PET_NNODES", std::to_string(nodes)),
          variable("PET_NPROC_PER_NODE", processes.text()),
          variable_of_field("PET_NODE_RANK", completion_index_path)};
}
json::array variables_of_master(const TrainJob& job) {
  return {variable("PET_MASTER_ADDR", master_of(job)),
          variable("PET_MASTER_PORT", std::to_string(trainer_port))};
}
void put(const json::array& variables, PodContainer& container) {
  for (const json::value& one : variables) upsert_variable(container.env, one.get_object());
}

// What the runtime's own command says of files.
std::vector<std::string> fixed_configs_of(json::object spec) {
  std::vector<std::string> found;
  json::array* jobs = find_list(spec, "replicatedJobs");
  if (jobs == nullptr) return found;
  for (json::value& one : *jobs) {
    if (ancestor_of(one.get_object()) != ancestor_trainer) continue;
    json::array* containers = find_list(pod_spec_of(one.get_object()), "containers");
    if (containers == nullptr) continue;
    for (json::value& container : *containers) {
      if (text_in(container.get_object(), "name") != node) continue;
      const json::array* command = find_list(container.get_object(), "command");
      if (command == nullptr) continue;
      for (const json::value& word : *command)
        if (is_fixed_config(std::string_view(word.get_string())))
          found.emplace_back(word.get_string());
    }
  }
  return found;
}

std::vector<std::string> torchtune_command(const Info& info, const TrainJob& job,
                                           std::int32_t nodes, const Processes& processes,
                                           std::int64_t gpus) {
  std::vector<std::string> command = *job.spec->trainer->command;
  const bool meets = nodes > 1 || (processes.number ? *processes.number > 1 : gpus > 1);
  if (meets) command.push_back(fmt::format("--rdzv_endpoint={}:{}", master_of(job), trainer_port));
  const Recipe recipe = recipe_of(nodes, processes, gpus, job);
  command.insert(command.end(), {recipe.recipe, "--config", recipe.config});
  const std::vector<std::string> fixed = fixed_configs_of(info.spec);
  command.insert(command.end(), fixed.begin(), fixed.end());
  return command;
}

// "key=true" of a key that has this in it.
bool is_switched_on(const std::vector<std::string>& args, std::string_view key) {
  return std::any_of(args.begin(), args.end(), [key](const std::string& arg) {
    const std::size_t equals = arg.find('=');
    if (equals == arg.npos || std::string_view(arg).substr(0, equals).find(key) == key.npos)
      return false;
    std::string value = arg.substr(equals + 1);
    const auto is_space = [](char c) { return c == ' ' || (c >= '\t' && c <= '\r'); };
    while (!value.empty() && is_space(value.back())) value.pop_back();
    while (!value.empty() && is_space(value.front())) value.erase(0, 1);
    std::transform(value.begin(), value.end(), value.begin(), [](char c) {
      return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
    });
    return value == "true";
  });
}

Error no_such_container(std::string_view pod_set, std::string_view container) {
  Error error;
  error.reason = Reason::bad_input;
  error.message = fmt::format(
      "envInjection target podSet \"{}\" container \"{}\" not found in runtime template", pod_set,
      container);
  return error;
}

// v2.0 looks at what the TrainJob has for a node, its limits first, and at its requests where those
// say nothing of CPUs: a list that is not there counts as one process (spec/trainjob.md §3.3).
std::optional<std::int32_t> counted_by_v2_0(const ResourceRequirements& own,
                                            const Processes& said) {
  for (const bool of_limits : {true, false}) {
    const ResourceList& amounts = of_limits ? *own.limits : *own.requests;
    ResourceRequirements alone;
    alone.requests = amounts;
    const bool by_cpus = said.word == "cpu" ? amounts.contains("cpu") : gpus_of(alone) == 0;
    const bool counts = !said.number && (said.word == "cpu" || said.word == "auto");
    if (counts && !amounts.empty() && by_cpus)
      return static_cast<std::int32_t>(std::max<std::int64_t>(1, cpus_of(alone)));
    if (!of_limits && (amounts.empty() || (counts && said.word == "cpu"))) return 1;
  }
  return said.number;
}

}  // namespace

Processes processes_per_node(const Info& info, const TrainJob& job) {
  Processes processes{.number = {}, .word = "auto"};
  const auto take = [&processes](const std::optional<IntOrString>& said) {
    if (!said) return;
    processes.number.reset();
    if (said->is_text)
      processes.word = said->text;
    else
      processes.number = said->number;
  };
  if (info.ml && info.ml->torch) take(info.ml->torch->numProcPerNode);
  if (job.spec->trainer) take(job.spec->trainer->numProcPerNode);
  if (info.counts_own_amounts) {
    if (job.spec->trainer && job.spec->trainer->resourcesPerNode)
      processes.number = counted_by_v2_0(*job.spec->trainer->resourcesPerNode, processes);
    return processes;
  }
  const ResourceRequirements resources = resources_per_node(info, job);
  const bool counts =
      (processes.word == "auto" && gpus_of(resources) == 0) || processes.word == "cpu";
  if (!processes.number && counts)
    processes.number = static_cast<std::int32_t>(std::max<std::int64_t>(1, cpus_of(resources)));
  return processes;
}

bool is_torchtune(const TrainJobTrainer& trainer) {
  return trainer.command && *trainer.command == std::vector<std::string>{"tune", "run"};
}

std::string model_of_runtime(std::string_view runtime) {
  std::vector<std::string> parts{""};
  for (const char c : runtime)
    if (c == '-')
      parts.emplace_back();
    else
      parts.back() += c;
  if (parts.size() != 3) return {};
  std::replace(parts[1].begin(), parts[1].end(), '.', '_');
  std::transform(parts[2].begin(), parts[2].end(), parts[2].begin(), [](char c) {
    return c >= 'a' && c <= 'z' ? static_cast<char>(c - 'a' + 'A') : c;
  });
  return parts[1] + "/" + parts[2];
}

bool asks_for_lora(const std::vector<std::string>& args) {
  return std::any_of(args.begin(), args.end(), [](const std::string& arg) {
    return arg.find("model.lora_attn_modules") != arg.npos;
  });
}
bool asks_for_qlora(const std::vector<std::string>& args) {
  return !is_switched_on(args, "model.use_dora") && is_switched_on(args, "model.quantize_base");
}

Recipe recipe_of(std::int32_t nodes, const Processes& processes, std::int64_t gpus,
                 const TrainJob& job) {
  const std::vector<std::string> args =
      job.spec->trainer ? job.spec->trainer->args.value_or(std::vector<std::string>())
                        : std::vector<std::string>();
  const bool single = nodes == 1 && (processes.number == 1 || gpus == 1);
  const bool qlora = nodes == 1 && asks_for_qlora(args);
  const bool lora = nodes == 1 && (qlora || asks_for_lora(args));
  std::string_view method = qlora ? "_qlora" : lora ? "_lora" : "_full";
  return {.recipe = fmt::format("{}_finetune_{}", lora ? "lora" : "full",
                                single ? "single_device" : "distributed"),
          .config = fmt::format("{}{}{}", model_of_runtime(job.spec->runtimeRef.name), method,
                                single      ? "_single_device"
                                : nodes > 1 ? "_multinode"
                                            : "")};
}

bool is_fixed_config(std::string_view argument) {
  constexpr std::array<std::string_view, 4> keys{
      "output_dir", "tokenizer.path", "checkpointer.checkpoint_dir", "tokenizer.merges_file"};
  return std::find(keys.begin(), keys.end(), argument.substr(0, argument.find('='))) != keys.end();
}

Status enforce_torch(Info& info, const TrainJob& job) {
  if (!info.ml || !info.ml->torch) return {};
  take_nodes(info, job);
  const std::int32_t nodes = info.trainer() != nullptr ? info.trainer()->count : 1;
  const Processes processes = processes_per_node(info, job);
  const json::array of_node = variables_of_node(nodes, processes),
                    of_master = variables_of_master(job);
  if (PodContainer* container = container_of_trainer(info, job)) {
    take_variables(*container, job);
    put(of_node, *container);
    if (is_torchtune(*job.spec->trainer))
      info.command =
          torchtune_command(info, job, nodes, processes, gpus_of(resources_per_node(info, job)));
    else
      put(of_master, *container);
    add_trainer_port(*container);
  }
  if (!info.ml->torch->envInjection) return {};
  for (const EnvInjectionTarget& target : info.ml->torch->envInjection->targets)
    for (const std::string& name : target.containerNames) {
      PodContainer* container = info.container(target.jobName, name);
      if (container == nullptr) return fail(no_such_container(target.jobName, name));
      put(of_node, *container);
      put(of_master, *container);
    }
  return {};
}

}  // namespace ddptwin::controller::trainer
