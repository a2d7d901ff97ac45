#include "runtime/model/commands.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <filesystem>
#include <utility>

#include "runtime/model/commands/backend_said.hpp"
#include "runtime/model/commands/stand_in.hpp"
#include "runtime/model/programs/atlctl.hpp"
#include "runtime/model/programs/network.hpp"
#include "runtime/model/programs/nvidia_smi.hpp"
#include "runtime/model/programs/small.hpp"
#include "runtime/model/programs/text.hpp"
#include "runtime/model/rank/rank.hpp"
#include "runtime/model/shell/shell.hpp"
#include "runtime/model/state.hpp"
#include "runtime/model/torchrun/torchrun.hpp"
#include "runtime/process/start_error.hpp"

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
    Row{"nvidia-smi", [](const Argv& argv) { return make_nvidia_smi(argv); },
        &unknown_of_nvidia_smi},
    Row{"atlctl", [](const Argv& argv) { return make_atlctl(argv); }},
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
constexpr std::string_view preparing[] = {
    "apt", "apt-get", "aws", "chmod", "chown", "conda", "cp",  "curl",  "git",  "gsutil", "gzip",
    "ln",  "ls",      "mv",  "pip",   "pip3",  "rsync", "tar", "unzip", "wget", "yum"};
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

// A program that hands on to the command behind its options.
struct Wrapper {
  std::string_view name;
  std::string_view subcommand;      // "": none
  std::string_view with_values[8];  // options whose value is a word of its own
  int operands = 0;                 // before the command
};
constexpr Wrapper wrappers[] = {
    {"atlctl", "agent", {"--ready-port", "--grace", "--stop-text"}},
    {"conda", "run", {"-n", "--name", "-p", "--prefix", "--cwd"}},
    {"dumb-init", "", {"-r", "--rewrite"}},
    {"env", "", {"-u", "--unset", "-C", "--chdir"}},
    {"nice", "", {"-n", "--adjustment"}},
    {"nohup", "", {}},
    {"nsys", "profile", {"-o", "--output", "-t", "--trace", "-w", "-s", "-f", "-d"}},
    {"numactl", "", {"-N", "--cpunodebind", "-m", "--membind", "-C", "--physcpubind", "-i", "-p"}},
    {"poetry", "run", {}},
    {"setsid", "", {}},
    {"srun", "", {"-n", "-N", "-c", "-p", "-J", "-t", "-w", "-G"}},
    {"stdbuf", "", {"-i", "--input", "-o", "--output", "-e", "--error"}},
    {"sudo", "", {"-u", "--user", "-g", "--group", "-h", "-p", "-C", "-D"}},
    {"time", "", {"-f", "--format", "-o", "--output"}},
    {"timeout", "", {"-s", "--signal", "-k", "--kill-after"}, 1},
    {"tini", "", {"-e", "-p"}},
    {"uv", "run", {"--with", "-p", "--python", "--extra", "--group"}}};

// Where the command begins that this one hands on to; 0: it hands on to none.
std::size_t wrapped_in(const Argv& argv, std::size_t from) {
  if (from >= argv.size()) return 0;
  const std::string name = base_name(argv[from]);
  const auto row = std::find_if(std::begin(wrappers), std::end(wrappers),
                                [&name](const Wrapper& one) { return one.name == name; });
  if (row == std::end(wrappers)) return 0;
  std::size_t at = from + 1;
  if (!row->subcommand.empty() && (at >= argv.size() || argv[at++] != row->subcommand)) return 0;
  int operands = row->operands;
  for (; at < argv.size(); ++at) {
    const std::string& word = argv[at];
    if (word == "--") continue;
    if (word.starts_with('-')) {
      if (is_one_of(row->with_values, word)) ++at;
      continue;
    }
    const bool assigns = word.find('=') != word.npos && word.find('/') > word.find('=');
    if (assigns || operands-- > 0) continue;
    return at;
  }
  return 0;
}

// Without what only wraps it.
Argv unwrapped(const Argv& argv) {
  std::size_t from = 0;
  while (const std::size_t inner = wrapped_in(argv, from)) from = inner;
  return {argv.begin() + static_cast<std::ptrdiff_t>(from), argv.end()};
}

// The launch that a command is: torchrun's own, and of what is described or has a stand-in any
// launcher's, which starts as many ranks.
std::optional<torchrun::Launch> launch_of(const Argv& argv, const CommandContext& context) {
  return context.workload != nullptr ? stand_in_launch(argv) : torchrun::launch_of(argv);
}

// Whether a script that is not understood names torchrun where a command stands, comments apart.
bool names_torchrun(const std::string& script) {
  std::string last, word;
  bool comment = false;
  for (const char c : script + "\n") {
    if (c == '\n') comment = false;
    if (comment) continue;
    if (c == '#' && word.empty()) {
      comment = true;
      continue;
    }
    if (std::string_view(" \t\n;&|(){}`\"'").find(c) == std::string_view::npos) {
      word += c;
      continue;
    }
    if (word.empty()) continue;
    if (base_name(word) == "torchrun" || (last == "-m" && word.starts_with("torch.distributed.")))
      return true;
    last = std::exchange(word, {});
  }
  return false;
}

// A file that the image adds, or one that hosts usually have: it would be found.
bool exists(const std::string& name, const Image& image) {
  if (is_one_of(known_to_exist, base_name(name)) || base_name(name).starts_with("python3."))
    return true;
  if (name.find('/') != name.npos) return true;
  return std::any_of(image.copies.begin(), image.copies.end(),
                     [&](const ImageCopy& copy) { return base_name(copy.to) == name; });
}

// Whether what is described, or stands in, is a rank there: an init container comes before all
// training, and what nobody described beside one is no second one.
bool trains(const CommandContext& context) {
  if (context.role == ContainerRole::init) return false;
  return context.role == ContainerRole::training || !context.workload->stands_in;
}

// In a container that does not train: an init container's ends well at once, a sidecar's stays.
Made served(const Argv& argv, const CommandContext& context) {
  const bool stays = context.role == ContainerRole::sidecar;
  if (context.outlook != nullptr) {
    context.outlook->at_once.push_back(quoted(argv));
    context.outlook->stays = context.outlook->stays || stays;
  }
  if (context.workload->stands_in) return make_stand_in(argv, context);
  return make_exit(0);
}

Made launched(torchrun::Launch launch, const Argv& argv, const CommandContext& context) {
  if (context.workload != nullptr && !trains(context)) return served(argv, context);
  if (context.outlook != nullptr) {
    context.outlook->trains.push_back(quoted(argv));
    context.outlook->launches = true;
  }
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

// What the description of the image is of, or what stands in where there is none. A script in a
// file that is there runs.
Result<Made> described(const Argv& argv, const CommandContext& context) {
  const Workload& workload = *context.workload;
  if (workload.stands_in && context.outlook != nullptr) {
    const auto script = as_script(argv, [&files = context.outlook->files](const std::string& path) {
      const auto found = files.find(path);
      return found == files.end() ? std::nullopt : std::optional<std::string>(found->second);
    });
    if (script) return make_program(*script, context);
  }
  if (!trains(context)) return served(argv, context);
  const bool is_rank = !workload.serves;
  if (is_rank && workload.torchrun && !context.launched)
    return launched(launch_in_place_of(argv), argv, context);
  if (context.outlook != nullptr) context.outlook->trains.push_back(quoted(argv));
  if (!is_rank) return make_server(workload.listens, workload.start.value_or(Duration::zero()));
  if (workload.stands_in) return make_stand_in(argv, context);
  return make_rank(true, [workload](const Process& process) {
    return plan_of(workload, process.model(), backend_said(process, false));
  });
}

// The path in the image that a word of a command names; one without a slash is looked for along
// the image's PATH.
std::string path_in_image(const std::string& word, const CommandContext& context) {
  const Image& image = *context.image;
  if (word.find('/') != std::string::npos) {
    const std::filesystem::path folder = context.folder.empty() ? image.workdir : context.folder;
    return (folder / word).lexically_normal().string();
  }
  std::string_view folders = default_path;
  for (const auto& [name, value] : image.env)
    if (name == "PATH") folders = value;
  while (!folders.empty()) {
    const std::size_t end = std::min(folders.find(':'), folders.size());
    std::string path = fmt::format("{}/{}", folders.substr(0, end), word);
    const auto found = image.scripts.find(path);
    if (found != image.scripts.end() && found->second.executable) return path;
    folders.remove_prefix(std::min(end + 1, folders.size()));
  }
  return word;
}

// A script that the image brings along, run by name or by a shell: its text is known.
std::optional<Argv> script_of_image(const Argv& argv, const CommandContext& context) {
  const Image& image = *context.image;
  if (argv.empty() || image.scripts.empty()) return std::nullopt;
  Argv words = argv;
  const bool by_shell = is_shell(base_name(words.front()));
  if (!by_shell) words.front() = path_in_image(words.front(), context);
  return as_script(words, [&](const std::string& path) -> std::optional<std::string> {
    const std::string there = by_shell && path.find('/') == std::string::npos
                                  ? path_in_image("./" + path, context)
                                  : path_in_image(path, context);
    const auto found = image.scripts.find(there);
    if (found == image.scripts.end() || (!by_shell && !found->second.executable))
      return std::nullopt;
    return found->second.text;
  });
}

}  // namespace

Inner within(const Argv& argv) {
  Inner inner{unwrapped(argv), {}};
  const auto before = static_cast<std::ptrdiff_t>(argv.size() - inner.argv.size());
  std::for_each(argv.begin(), argv.begin() + before, [&inner](const std::string& word) {
    const std::size_t equals = word.find('=');
    if (equals != word.npos && !word.starts_with('-'))
      inner.variables.emplace_back(word.substr(0, equals), word.substr(equals + 1));
  });
  return inner;
}

bool only_prepares(const std::vector<std::string>& argv) {
  return !argv.empty() && is_one_of(preparing, base_name(unwrapped(argv).front()));
}

Likeness likeness_of(const std::vector<std::string>& argv) {
  if (argv.empty()) return Likeness::any;
  const Argv command = unwrapped(argv);
  const std::string name = base_name(command.front());
  if (stand_in_launch(command) || is_one_of(launching, name)) return Likeness::launch;
  if (!is_python(name)) return Likeness::any;
  for (std::size_t i = 1; i < command.size(); ++i) {
    if (command[i] == "-m" && i + 1 < command.size())
      return is_one_of(preparing_modules, command[i + 1]) ? Likeness::any : Likeness::script;
    if (command[i] == "-c") return Likeness::any;
    if (!command[i].starts_with('-')) return Likeness::script;
  }
  return Likeness::any;
}

bool has_program(const std::string& name, const Process& process) {
  // A runtime brings it with the devices.
  if (base_name(name) == "nvidia-smi") return granted_gpus(process) > 0;
  CommandContext context{process.state().container->image, nullptr, true};
  context.folder = process.working_directory();
  const auto made = make_program({name}, context);
  return made || made.error().reason != Reason::not_found;
}

std::string path_of_program(const std::string& name) {
  return name.find('/') == name.npos ? "/usr/bin/" + name : name;
}

std::string base_name(const std::string& path) { return path.substr(path.rfind('/') + 1); }

Result<std::unique_ptr<Program>> make_program(const std::vector<std::string>& argv,
                                              const CommandContext& context) {
  const bool stands_in = context.workload != nullptr && context.workload->stands_in;
  // Arguments alone are those of an entrypoint that nobody knows.
  if (stands_in && (argv.empty() || argv.front().starts_with('-'))) return described(argv, context);
  if (argv.empty()) return fail(Reason::not_found, "no command specified");
  if (context.image != nullptr)
    if (const auto script = script_of_image(argv, context)) return make_program(*script, context);
  const std::string name = base_name(argv.front());
  // Those two are processes of their own, and start the command when they run.
  const bool stays = name == "timeout" || name == "atlctl";
  if (Inner inner = within(argv); inner.argv.size() < argv.size() && !stays) {
    auto made = make_program(inner.argv, context);
    // Of what is not there the wrapper says itself that it is not, with a code of its own.
    if (!made && made.error().reason == Reason::not_found) return fail(only_a_process(argv));
    if (!made) return made;
    return inner.variables.empty() ? std::move(made)
                                   : make_with(std::move(inner.variables), std::move(*made));
  }
  if (name == "atlctl" && wrapped_in(argv, 0) != 0) {
    CommandContext inner = context;
    inner.is_child = true;
    // It is made anew for each start: here only what is said of it counts.
    auto made = make_program(within(argv).argv, inner);
    if (!made && made.error().reason != Reason::not_found) return fail(made.error());
    return make_atlctl(argv);
  }
  if (std::optional<torchrun::Launch> launch = launch_of(argv, context))
    return launched(std::move(*launch), argv, context);
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
    auto made = make_program(rest, inner);
    if (!made && made.error().reason != Reason::not_found) return fail(made.error());
    return make_timeout(*sleep_time(argv[1]), std::move(rest), made ? std::move(*made) : nullptr);
  }
  if (const TextProgram* program = TextProgram::find(name)) {
    Argv words = argv;
    // What something else was to fetch may not be there to be removed.
    if (stands_in && name == "rm") words.insert(words.begin() + 1, "-f");
    const std::string what = program->unknown(words);
    if (what.empty()) return make_text_program(*program, words);
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
    const bool launches = std::any_of(argv.begin() + 1, argv.end(), names_torchrun);
    if (launches && stands_in && trains(context) && !context.launched)
      return launched(launch_in_place_of({"python3", "train.py"}), argv, context);
    if (launches && !context.workload->torchrun && trains(context))
      return fail(Reason::bad_input,
                  fmt::format("`{}` launches torchrun, and not all of it is modelled ({}): say "
                              "launcher: torchrun under images[].model, and it is nothing but that",
                              quoted(argv), made.error().message));
  }
  if (context.workload != nullptr && context.is_child) {
    const bool prepares = only_prepares(argv) || likeness_of(argv) < context.training;
    // Nobody knows what it prints.
    const bool exists_anywhere = is_one_of(known_to_exist, name);
    const bool is_gone_by = context.taker == Taker::script ||
                            (context.taker == Taker::document && exists_anywhere) ||
                            (context.taker == Taker::pipe && prepares);
    const bool known = exists_anywhere && !is_one_of(launchers, name);
    if (is_gone_by || (known && !prepares)) return fail(only_a_process(argv));
    if (prepares) {
      if (context.outlook != nullptr && context.taker != Taker::document)
        context.outlook->at_once.push_back(quoted(argv));
      return make_exit(0);
    }
  }
  if (context.workload != nullptr) return described(argv, context);
  if (exists(argv.front(), *context.image) || context.has_more) return fail(only_a_process(argv));
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

Result<Outlook> can_model(const std::vector<std::string>& argv, const Image& image,
                          const Workload* workload, const StringMap& environment) {
  return can_model(argv, {&image, workload}, {environment});
}

Result<Outlook> can_model(const std::vector<std::string>& argv, CommandContext context,
                          Outlook known) {
  Outlook outlook = std::move(known);
  context.outlook = &outlook;
  const auto made = make_program(argv, context);
  if (!made && made.error().reason == Reason::bad_input) return fail(made.error());
  if (outlook.unmodelled) return fail(*outlook.unmodelled);
  return outlook;
}

bool stands_in(const std::vector<std::string>& argv, const CommandContext& context) {
  const auto outlook = can_model(argv, context, {});
  return !outlook || !outlook->trains.empty() || !outlook->at_once.empty();
}

Status can_model_exec(const std::vector<std::string>& argv, const Image& image) {
  const auto made = make_exec(argv, image);
  if (!made && made.error().reason == Reason::bad_input) return fail(made.error());
  return {};
}

}  // namespace ddptwin::model
