#include "cluster/model_runtime/commands.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>

#include "cluster/model_runtime/programs/network.hpp"
#include "cluster/model_runtime/programs/small.hpp"
#include "cluster/model_runtime/programs/text.hpp"
#include "cluster/model_runtime/rank.hpp"
#include "cluster/model_runtime/shell/shell.hpp"
#include "cluster/model_runtime/torchrun/torchrun.hpp"
#include "cluster/process_runtime/start_error.hpp"

namespace ddptwin::model {
namespace {

using Argv = std::vector<std::string>;
using Made = std::unique_ptr<Program>;

struct Row {
  std::string_view name;
  Made (*make)(const Argv& argv);
  std::string (*unknown)(const Argv& argv) = nullptr;  // what is not modelled; null: all is
};
// By the name of the program's file. Shells, torchrun and described scripts follow rules of their
// own.
constexpr std::array rows{
    Row{"ddptwin-worker", [](const Argv& argv) { return make_worker(argv); }},
    Row{"ddptwin-worker-gloo", [](const Argv& argv) { return make_worker(argv); }},
    Row{"true", [](const Argv&) { return make_exit(0); }},
    Row{"false", [](const Argv&) { return make_exit(1); }},
    Row{"sleep", [](const Argv& argv) { return make_sleep(argv); }},
    Row{"echo", [](const Argv& argv) { return make_echo(argv); }},
    Row{"nslookup", [](const Argv& argv) { return make_nslookup(argv); }},
    Row{"getent", [](const Argv& argv) { return make_getent(argv); }, &unknown_of_getent},
    Row{"nc", [](const Argv& argv) { return make_nc(argv); }, &unknown_of_nc},
    Row{"test", [](const Argv& argv) { return make_test(argv); }, &unknown_test},
    Row{"[", [](const Argv& argv) { return make_test(argv); }, &unknown_test},
};

// Programs that a host has and nobody can model without being told what they do.
constexpr std::string_view known_to_exist[] = {
    "accelerate", "awk",  "base64",   "basename", "bash",    "bzip2",     "chmod",   "chown",
    "cp",         "curl", "cut",      "date",     "dd",      "deepspeed", "df",      "diff",
    "dirname",    "du",   "env",      "expr",     "find",    "free",      "git",     "grep",
    "gzip",       "head", "hostname", "id",       "install", "ip",        "java",    "kill",
    "ldd",        "ln",   "ls",       "make",     "mkdir",   "mktemp",    "mount",   "mpirun",
    "mv",         "nc",   "nice",     "node",     "nohup",   "nproc",     "numactl", "nvidia-smi",
    "perl",       "pip",  "pip3",     "ps",       "pwd",     "python",    "python3", "readlink",
    "realpath",   "rm",   "rmdir",    "rsync",    "ruby",    "scp",       "sed",     "seq",
    "sh",         "sort", "ssh",      "stat",     "stdbuf",  "stress",    "su",      "sudo",
    "tail",       "tar",  "tee",      "timeout",  "touch",   "tr",        "uname",   "uniq",
    "unzip",      "wc",   "wget",     "which",    "whoami",  "xargs",     "yes",     "zcat"};

// Of these a described script may be started by any; what other known programs do is not described
// with it.
constexpr std::string_view launchers[] = {
    "accelerate", "bash", "deepspeed", "env",     "java", "mpirun", "nice",   "node", "nohup",
    "numactl",    "perl", "python",    "python3", "ruby", "sh",     "stdbuf", "sudo", "timeout"};
// They prepare what a described script needs: done at once, without a word.
constexpr std::string_view preparing[] = {".",      "apt", "apt-get", "aws",  "chmod",  "chown",
                                          "conda",  "cp",  "curl",    "git",  "gsutil", "gzip",
                                          "ln",     "ls",  "mv",      "pip",  "pip3",   "rsync",
                                          "source", "tar", "unzip",   "wget", "yum"};
// They hand on to the command that stands behind their options.
constexpr std::string_view wrapping[] = {"nice", "numactl", "stdbuf", "sudo", "timeout"};
constexpr std::string_view launching[] = {"accelerate", "deepspeed", "horovodrun", "mpirun"};
constexpr std::string_view backend_variable = "PET_RDZV_BACKEND";
// Modules of Python that train nobody.
constexpr std::string_view preparing_modules[] = {"ensurepip", "pip", "venv"};

template <std::size_t n>
bool is_one_of(const std::string_view (&names)[n], std::string_view name) {
  return std::find(std::begin(names), std::end(names), name) != std::end(names);
}

std::string quoted(const Argv& argv) {
  std::string text = fmt::format("{}", fmt::join(argv, " "));
  std::replace(text.begin(), text.end(), '\n', ' ');
  constexpr std::size_t shown_max = 60;
  if (text.size() > shown_max) text = text.substr(0, shown_max) + "...";
  return text;
}

Error only_a_process(const Argv& argv, const std::string& why = {}) {
  return Error{Reason::bad_input,
               "",
               fmt::format("only a process can run `{}`{}{}: describe it under images[].model "
                           "(start, steps, stepTime, ...)",
                           quoted(argv), why.empty() ? "" : ", for ", why),
               nullptr,
               0,
               {}};
}

bool is_python(std::string_view name) { return name.starts_with("python"); }

bool starts_training(const Argv& argv) {
  const std::string name = base_name(argv.front());
  return is_python(name) || is_one_of(launching, name) || torchrun::launch_of(argv);
}

// Without what only wraps it.
Argv unwrapped(const Argv& argv) {
  if (!is_one_of(wrapping, base_name(argv.front()))) return argv;
  for (auto from = argv.begin() + 1; from != argv.end(); ++from)
    if (Argv rest(from, argv.end()); starts_training(rest)) return rest;
  return argv;
}

// A file that the image adds, or one that hosts usually have: it would be found.
bool exists(const std::string& name, const Image& image) {
  if (is_one_of(known_to_exist, base_name(name))) return true;
  if (name.find('/') != name.npos) return true;
  return std::any_of(image.copies.begin(), image.copies.end(),
                     [&](const ImageCopy& copy) { return base_name(copy.to) == name; });
}

// What a launcher script of the user's would call: torchrun [--no-python] COMMAND.
torchrun::Launch launch_in_place_of(const Argv& argv) {
  torchrun::Launch launch;
  const bool python = base_name(argv.front()).starts_with("python");
  if (!python) launch.arguments.push_back("--no-python");
  for (std::size_t i = python ? 1 : 0; i < argv.size(); ++i) {
    if (!python || argv[i] != "-u") launch.arguments.push_back(argv[i]);
  }
  return launch;
}

Made launched(torchrun::Launch launch, const Argv& argv, const CommandContext& context) {
  if (context.outlook != nullptr && !context.outlook->unmodelled) {
    const std::string by_words = torchrun::unmodelled_backend(launch, {});
    const std::string backend = torchrun::unmodelled_backend(launch, context.outlook->environment);
    if (!backend.empty())
      context.outlook->unmodelled =
          Error{Reason::bad_input,
                by_words.empty() ? std::string(backend_variable) : std::string(),
                fmt::format("`{}` would use the rendezvous backend {}, which is not modelled: use "
                            "c10d or static, or name real alone under spec.modes",
                            quoted(argv), backend),
                nullptr,
                0,
                {}};
  }
  return torchrun::make_torchrun(std::move(launch));
}

}  // namespace

Likeness likeness_of(const std::vector<std::string>& argv) {
  const Argv command = unwrapped(argv);
  const std::string name = base_name(command.front());
  if (torchrun::launch_of(command) || is_one_of(launching, name)) return Likeness::launch;
  if (!is_python(name)) return Likeness::any;
  for (std::size_t i = 1; i < command.size(); ++i) {
    if (command[i] == "-m" && i + 1 < command.size())
      return is_one_of(preparing_modules, command[i + 1]) ? Likeness::any : Likeness::script;
    if (command[i] == "-c") return Likeness::any;
    if (!command[i].starts_with('-')) return Likeness::script;
  }
  return Likeness::any;
}

std::string base_name(const std::string& path) { return path.substr(path.rfind('/') + 1); }

Result<std::unique_ptr<Program>> make_program(const std::vector<std::string>& argv,
                                              const CommandContext& context) {
  if (argv.empty()) return fail(Reason::not_found, "no command specified");
  const std::string name = base_name(argv.front());
  if (name != "timeout") {
    if (std::optional<torchrun::Launch> launch = torchrun::launch_of(unwrapped(argv)))
      return launched(std::move(*launch), argv, context);
  }
  for (const Row& row : rows) {
    if (row.name != name) continue;
    const std::string what = row.unknown == nullptr ? std::string() : row.unknown(argv);
    if (what.empty()) return row.make(argv);
    if (context.workload == nullptr) return fail(only_a_process(argv, "it uses " + what));
  }
  if (name == "timeout" && argv.size() > 2 && sleep_time(argv[1])) {
    Argv rest(argv.begin() + 2, argv.end());
    CommandContext inner = context;
    inner.is_child = true;
    if (const auto made = make_program(rest, inner);
        !made && made.error().reason != Reason::not_found)
      return fail(made.error());
    return make_timeout(*sleep_time(argv[1]), std::move(rest));
  }
  if (const TextProgram* program = TextProgram::find(name)) {
    const std::string what = program->unknown(argv);
    if (what.empty()) return make_text_program(*program, argv);
    if (context.workload == nullptr) return fail(only_a_process(argv, "it is " + what));
  }
  if (is_shell(name)) {
    auto made = make_shell(argv, context);
    if (made) return made;
    if (context.workload == nullptr) {
      if (made.error().reason != Reason::invalid) return made;
      return fail(only_a_process(argv, made.error().message));
    }
    // The script as a whole is what is described, but for one that shows its launcher.
    const bool launches =
        argv.size() > 2 && !context.workload->torchrun &&
        std::any_of(argv.begin(), argv.end(), [](const std::string& word) {
          return word.find("torchrun") != word.npos || word.find("torch.distributed.") != word.npos;
        });
    if (launches)
      return fail(Reason::bad_input,
                  fmt::format("`{}` launches torchrun, and not all of it is modelled ({}): say "
                              "launcher: torchrun under images[].model, and it is nothing but that",
                              quoted(argv), made.error().message));
  }
  if (context.workload != nullptr && context.is_child) {
    if (is_one_of(preparing, name)) return make_exit(0);
    const bool prepares = likeness_of(argv) < context.training;
    if (is_one_of(known_to_exist, name) && !is_one_of(launchers, name) &&
        (context.is_read || !prepares))
      return fail(only_a_process(argv));
    if (prepares) return make_exit(0);
  }
  if (context.workload != nullptr) {
    if (context.workload->torchrun && !context.is_child)
      return launched(launch_in_place_of(argv), argv, context);
    return make_rank(true, [workload = *context.workload](const Model& model) {
      return plan_of(workload, model);
    });
  }
  if (exists(argv.front(), *context.image)) return fail(only_a_process(argv));
  return fail(Reason::not_found, std::string(not_in_path));
}

Result<std::unique_ptr<Program>> make_exec(const std::vector<std::string>& argv,
                                           const Image& image) {
  auto made = make_program(argv, {&image, nullptr, true});
  if (made || made.error().reason != Reason::bad_input) return made;
  return fail(Reason::bad_input,
              fmt::format("only a process can run `{}` beside a container: say it with test, "
                          "cat, nslookup or sleep, or name real alone under spec.modes",
                          quoted(argv)));
}

Status can_model(const std::vector<std::string>& argv, const Image& image, const Workload* workload,
                 const StringMap& environment) {
  Outlook outlook{environment};
  CommandContext context{&image, workload, false};
  context.outlook = &outlook;
  const auto made = make_program(argv, context);
  if (!made && made.error().reason == Reason::bad_input) return fail(made.error());
  if (outlook.unmodelled) return fail(*outlook.unmodelled);
  return {};
}

Status can_model_exec(const std::vector<std::string>& argv, const Image& image) {
  const auto made = make_exec(argv, image);
  if (!made && made.error().reason == Reason::bad_input) return fail(made.error());
  return {};
}

}  // namespace ddptwin::model
