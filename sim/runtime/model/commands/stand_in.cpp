#include "runtime/model/commands/stand_in.hpp"

#include <algorithm>
#include <csignal>
#include <string_view>
#include <utility>

#include "core/numbers.hpp"
#include "runtime/model/commands/backend_said.hpp"
#include "runtime/model/programs/small.hpp"
#include "runtime/model/rank/rank.hpp"
#include "runtime/model/shell/shell.hpp"

namespace ddptwin::model {
namespace {

using Argv = std::vector<std::string>;

// An option of a launcher that torchrun has too.
struct LaunchOption {
  std::string_view name, of_torchrun;  // with underscores; either spelling is read
};
// `whole`: what counts the processes of all machines, where there is such an option.
struct Launcher {
  std::string_view program, subcommand, module, whole;
  LaunchOption options[6];
};
// Each counts on what the job's variables say of the rest, as torchrun does.
constexpr Launcher launchers_of_ranks[] = {
    {"accelerate",
     "launch",
     "accelerate.commands.launch",
     "num_processes",
     {{"num_machines", "nnodes"},
      {"machine_rank", "node_rank"},
      {"main_process_ip", "master_addr"},
      {"main_process_port", "master_port"},
      {"rdzv_backend", "rdzv_backend"}}},
    {"accelerate-launch",
     "",
     "",
     "num_processes",
     {{"num_machines", "nnodes"},
      {"machine_rank", "node_rank"},
      {"main_process_ip", "master_addr"},
      {"main_process_port", "master_port"},
      {"rdzv_backend", "rdzv_backend"}}},
    {"deepspeed",
     "",
     "deepspeed.launcher.runner",
     "",
     {{"num_gpus", "nproc_per_node"},
      {"num_nodes", "nnodes"},
      {"node_rank", "node_rank"},
      {"master_addr", "master_addr"},
      {"master_port", "master_port"}}},
    {"tune",
     "run",
     "",
     "",
     {{"nproc_per_node", "nproc_per_node"},
      {"nnodes", "nnodes"},
      {"node_rank", "node_rank"},
      {"rdzv_backend", "rdzv_backend"},
      {"rdzv_endpoint", "rdzv_endpoint"},
      {"rdzv_id", "rdzv_id"}}},
};

// Where the launcher's own words begin; 0: it is another command.
std::size_t words_of(const Launcher& row, const Argv& argv) {
  if (argv.empty()) return 0;
  const std::string name = base_name(argv.front());
  if (name == row.program) {
    if (row.subcommand.empty()) return 1;
    return argv.size() > 1 && argv[1] == row.subcommand ? 2 : 0;
  }
  if (row.module.empty() || !name.starts_with("python")) return 0;
  for (std::size_t i = 1; i + 1 < argv.size() && argv[i].starts_with('-'); ++i)
    if (argv[i] == "-m") return argv[i + 1] == row.module ? i + 2 : 0;
  return 0;
}

using Options = std::map<std::string, std::string, std::less<>>;

// Up to the script: what stands behind it is the script's own.
Options options_of(const Argv& argv, std::size_t from) {
  Options found;
  for (std::size_t i = from; i < argv.size() && !argv[i].ends_with(".py"); ++i) {
    if (!argv[i].starts_with("--")) continue;
    const std::size_t equals = argv[i].find('=');
    std::string name = argv[i].substr(2, equals == std::string::npos ? equals : equals - 2);
    std::replace(name.begin(), name.end(), '-', '_');
    if (equals != std::string::npos)
      found[name] = argv[i].substr(equals + 1);
    else if (i + 1 < argv.size() && !argv[i + 1].starts_with('-'))
      found[name] = argv[i + 1];
  }
  return found;
}

// accelerate counts the processes of all machines.
std::string share_of(const std::string& whole, const Options& options) {
  const auto machines = options.find("num_machines");
  const auto all = whole_number<int>(whole);
  const auto among =
      machines == options.end() ? std::optional<int>(1) : whole_number<int>(machines->second);
  if (!all || !among || *among < 1) return whole;
  return std::to_string(std::max(1, *all / *among));
}

std::optional<torchrun::Launch> launch_by(const Launcher& row, const Argv& argv, std::size_t from) {
  const Options options = options_of(argv, from);
  torchrun::Launch launch;
  if (const auto whole = options.find(row.whole); whole != options.end())
    launch.arguments.push_back("--nproc_per_node=" + share_of(whole->second, options));
  for (const LaunchOption& one : row.options)
    if (const auto given = options.find(one.name); !one.name.empty() && given != options.end())
      launch.arguments.push_back("--" + std::string(one.of_torchrun) + "=" + given->second);
  // A recipe of torchtune without such options is the rank itself.
  if (row.program == "tune" && launch.arguments.empty()) return std::nullopt;
  launch.arguments.emplace_back("train.py");
  return launch;
}

// A program that hands on to another when it begins.
class Becoming : public Program {
 public:
  bool signal(Process& process, int number) override {
    return successor_ != nullptr && successor_->signal(process, number);
  }
  void child_exited(Process& process, ProcessId child, const ExitStatus& status) override {
    if (successor_ != nullptr) successor_->child_exited(process, child, status);
  }
  void stopped(Process& process) override {
    if (successor_ != nullptr) successor_->stopped(process);
  }
  void continued(Process& process) override {
    if (successor_ != nullptr) successor_->continued(process);
  }
  void ended(Process& process, const ExitStatus& status) override {
    if (successor_ != nullptr) successor_->ended(process, status);
  }

 protected:
  void become(Process& process, std::unique_ptr<Program> program) {
    successor_ = std::move(program);
    successor_->start(process);
  }

 private:
  std::unique_ptr<Program> successor_{};
};

class With final : public Becoming {
 public:
  With(Environment variables, std::unique_ptr<Program> program)
      : variables_(std::move(variables)), program_(std::move(program)) {}
  void start(Process& process) override {
    for (auto& [name, value] : variables_) process.set_variable(name, std::move(value));
    become(process, std::move(program_));
  }

 private:
  Environment variables_;
  std::unique_ptr<Program> program_;
};

class Stay final : public Program {
 public:
  void start(Process&) override {}
  bool signal(Process& process, int number) override {
    if (number != SIGTERM && number != SIGINT) return false;
    process.exit(0);
    return true;
  }
};

class StandIn final : public Becoming {
 public:
  StandIn(Argv argv, const CommandContext& context) : argv_(std::move(argv)), context_(context) {
    context_.outlook = nullptr;
  }

  void start(Process& process) override {
    context_.folder = process.working_directory();
    const auto script = as_script(argv_, [&process](const std::string& path) {
      auto text = process.file_exists(path) ? process.read_file(path) : fail(Reason::not_found, "");
      return text ? std::optional<std::string>(std::move(*text)) : std::nullopt;
    });
    if (script)
      if (auto made = make_program(*script, context_)) return become(process, std::move(*made));
    become(process, by_role(process));
  }

 private:
  std::unique_ptr<Program> by_role(const Process& process) const {
    if (context_.role == ContainerRole::init) return make_exit(0);
    if (context_.role == ContainerRole::sidecar) return make_stay();
    if (!context_.launched && is_left_to_torchrun(process))
      return torchrun::make_torchrun(launch_in_place_of(argv_));
    auto rank = make_rank(true, [workload = *context_.workload](const Process& one) {
      RankPlan plan = plan_of(workload, one.model(), backend_said(one, true));
      plan.may_be_alone = true;
      return plan;
    });
    return make_with(group_by_start_script(variables_of(process)), std::move(rank));
  }

  static Variable variables_of(const Process& process) {
    return [&process](const char* name) { return process.env(name); };
  }
  static bool is_left_to_torchrun(const Process& process) {
    return needs_torchrun(variables_of(process));
  }

  Argv argv_;
  CommandContext context_;
};

}  // namespace

std::optional<torchrun::Launch> stand_in_launch(const std::vector<std::string>& argv) {
  if (argv.empty()) return std::nullopt;
  if (auto launch = torchrun::launch_of(argv)) return launch;
  for (const Launcher& row : launchers_of_ranks)
    if (const std::size_t from = words_of(row, argv)) return launch_by(row, argv, from);
  return std::nullopt;
}

Environment group_by_start_script(const Variable& variable) {
  const std::string pod(variable("POD_NAME")), service(variable("SVC_NAME")),
      count(variable("POD_NUMS")), port(variable("POD_PORT")), space(variable("POD_NAMESPACE"));
  const std::size_t dash = pod.rfind('-');
  if (!variable("RANK").empty() || dash == pod.npos || service.empty() || count.empty() ||
      port.empty() || space.empty())
    return {};
  // The search domains of its resolv.conf say what the cluster is called.
  return {{"RANK", pod.substr(dash + 1)},
          {"WORLD_SIZE", count},
          {"MASTER_ADDR", fmt::format("{}-0.{}.{}.svc", pod.substr(0, dash), service, space)},
          {"MASTER_PORT", port}};
}

bool needs_torchrun(const Variable& variable) {
  const auto ranks = whole_number<int>(variable("PET_NPROC_PER_NODE"));
  if (ranks && *ranks > 1) return true;
  return variable("RANK").empty() && !variable("PET_RDZV_ENDPOINT").empty();
}

torchrun::Launch launch_in_place_of(const std::vector<std::string>& argv) {
  torchrun::Launch launch;
  if (argv.empty() || argv.front().starts_with('-')) return {"torchrun", {"train.py"}};
  const bool python = base_name(argv.front()).starts_with("python");
  if (!python) launch.arguments.push_back("--no-python");
  for (std::size_t i = python ? 1 : 0; i < argv.size(); ++i) {
    if (!python || argv[i] != "-u") launch.arguments.push_back(argv[i]);
  }
  return launch;
}

std::optional<std::vector<std::string>> as_script(const std::vector<std::string>& argv,
                                                  const ReadText& read) {
  if (argv.empty()) return std::nullopt;
  Argv shell{argv.front()};
  std::size_t file = 0;
  if (is_shell(base_name(argv.front()))) {
    for (file = 1; file < argv.size() && argv[file].starts_with('-'); ++file) {
      if (argv[file].find('c') != std::string::npos) return std::nullopt;
      shell.push_back(argv[file]);
    }
  }
  if (file >= argv.size() || (file == 0 && argv[0].find('/') == std::string::npos))
    return std::nullopt;
  std::optional<std::string> text = read(argv[file]);
  if (!text) return std::nullopt;
  if (file == 0) {  // #!/usr/bin/env bash
    std::string first = text->substr(0, text->find('\n'));
    if (!first.starts_with("#!")) return std::nullopt;
    Argv words;
    for (first.erase(0, 2); !first.empty();) {
      const std::size_t end = std::min(first.find(' '), first.size());
      if (end > 0) words.push_back(first.substr(0, end));
      first.erase(0, end + 1);
    }
    if (words.size() > 1 && base_name(words.front()) == "env") words.erase(words.begin());
    if (words.empty() || !is_shell(base_name(words.front()))) return std::nullopt;
    shell = std::move(words);
  }
  shell.insert(shell.end(), {"-c", std::move(*text)});
  shell.insert(shell.end(), argv.begin() + static_cast<std::ptrdiff_t>(file), argv.end());
  return shell;
}

std::unique_ptr<Program> make_stand_in(const std::vector<std::string>& argv,
                                       const CommandContext& context) {
  return std::make_unique<StandIn>(argv, context);
}

std::unique_ptr<Program> make_stay() { return std::make_unique<Stay>(); }

std::unique_ptr<Program> make_with(Environment variables, std::unique_ptr<Program> program) {
  return std::make_unique<With>(std::move(variables), std::move(program));
}

}  // namespace ddptwin::model
