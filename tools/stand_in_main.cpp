// ddptwin-stand-in: what a container runs in real time in place of a command that cannot be had
// here. It looks at what is there when it begins, and becomes the command itself, the built-in
// worker, or a launch of it by the host's torchrun. Started by the runtime as
//   ddptwin-stand-in ROLE STEPS STEP_TIME -- COMMAND...
// and, in scripts, by the names of the commands that are missing (Shims).
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "core/numbers.hpp"
#include "runtime/model/commands.hpp"
#include "runtime/model/commands/at_hand.hpp"
#include "runtime/model/commands/stand_in.hpp"
#include "runtime/model/shell/shell.hpp"
#include "runtime/visible_devices.hpp"

namespace ddptwin {
namespace {

using Argv = std::vector<std::string>;
using model::Likeness;

constexpr const char* own_name = "ddptwin-stand-in";
constexpr const char* worker_name = "ddptwin-worker";
constexpr const char* own_path = "/usr/local/bin/ddptwin-stand-in";
constexpr const char* worker_path = "/usr/local/bin/ddptwin-worker";
constexpr const char* shims = "/run/ddptwin-stand-in";
constexpr int cannot_run_code = 126;

std::string_view read_variable(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? "" : value;
}
std::string variable(const char* name) { return std::string(read_variable(name)); }
void set(const char* name, const std::string& value) { setenv(name, value.c_str(), 1); }

int number_of(const std::string& text, int otherwise) {
  return whole_number<int>(text).value_or(otherwise);
}

[[noreturn]] void become(const std::string& file, const Argv& argv) {
  std::vector<char*> words;
  for (const std::string& word : argv) words.push_back(const_cast<char*>(word.c_str()));
  words.push_back(nullptr);
  ::execv(file.c_str(), words.data());
  std::perror(argv.front().c_str());
  std::_Exit(cannot_run_code);
}

// What it was told, handed on to what its scripts start.
struct Settings {
  std::string role = "training", steps = "20", step_time = "100ms";
  bool in_script = false;
  Likeness training = Likeness::any;  // of the script

  static Settings from_environment() {
    Settings read;
    read.role = variable("DDPTWIN_STAND_IN_ROLE");
    read.steps = variable("DDPTWIN_STAND_IN_STEPS");
    read.step_time = variable("DDPTWIN_STAND_IN_STEP_TIME");
    read.in_script = true;
    read.training = static_cast<Likeness>(number_of(variable("DDPTWIN_STAND_IN_LIKENESS"), 0));
    return read;
  }
  void to_environment() const {
    set("DDPTWIN_STAND_IN_ROLE", role);
    set("DDPTWIN_STAND_IN_STEPS", steps);
    set("DDPTWIN_STAND_IN_STEP_TIME", step_time);
    set("DDPTWIN_STAND_IN_LIKENESS", std::to_string(static_cast<int>(training)));
  }
};

std::optional<std::string> text_of(const std::string& path) {
  std::error_code error;
  if (!std::filesystem::is_regular_file(path, error)) return std::nullopt;
  std::ifstream stream(path, std::ios::binary);
  if (!stream) return std::nullopt;
  return std::string(std::istreambuf_iterator<char>(stream), {});
}

// As things are, the shims apart.
model::Surroundings surroundings() {
  model::Surroundings here;
  here.has_file = [](const std::string& path) {
    std::error_code error;
    if (!std::filesystem::exists(path, error)) return false;
    return std::filesystem::read_symlink(path, error) != own_path;
  };
  here.read = &text_of;
  here.search_path.clear();
  std::string rest = variable("PATH");
  while (!rest.empty()) {
    const std::string folder = rest.substr(0, rest.find(':'));
    if (folder != shims) here.search_path += (here.search_path.empty() ? "" : ":") + folder;
    rest.erase(0, folder.size() + 1);
  }
  std::error_code error;
  here.folder = std::filesystem::current_path(error).string();
  return here;
}

class StandIn {
 public:
  explicit StandIn(Settings settings) : settings_(std::move(settings)) {}
  [[noreturn]] void run(const Argv& argv);

 private:
  [[noreturn]] void run_wrapped(const Argv& argv, const model::Inner& inner);
  [[noreturn]] void run_shell(Argv argv, const std::string& program);
  [[noreturn]] void run_launch(const Argv& argv, const torchrun::Launch& launch);
  [[noreturn]] void become_forced(const std::string& program, Argv argv);
  [[noreturn]] void stand_in(const Argv& argv);
  [[noreturn]] void be_rank();
  [[noreturn]] void be_ranks(const torchrun::LaunchedScript& launched);
  void put_shims(const std::string& script);
  void put_script(const Argv& argv, const std::vector<std::string>& folders);
  void put_shim(const std::string& name);

  Settings settings_;
  model::Surroundings here_ = surroundings();
};

// Of old torchrun and Python 3.11: it starts only where each rank's stream goes somewhere, and that
// said rank by rank (spec/ddp-semantics.md §4).
void let_torchrun_start(const std::string& torchrun) {
  const auto version = text_of("/usr/lib/python3/dist-packages/torch/version.py");
  if (torchrun != "/usr/bin/torchrun" || !version || version->find("'1.13") == std::string::npos)
    return;
  constexpr int ranks_max = 10;
  std::string streams;
  for (int rank = 0; rank < ranks_max; ++rank)
    streams += (rank == 0 ? "" : ",") + std::to_string(rank) + ":1";
  setenv("PET_REDIRECTS", streams.c_str(), 0);
  setenv("PET_TEE", streams.c_str(), 0);
}

void StandIn::run(const Argv& argv) {
  if (argv.empty() || argv.front().empty() || argv.front().starts_with('-')) stand_in(argv);
  if (const model::Inner inner = model::within(argv); inner.argv.size() < argv.size())
    run_wrapped(argv, inner);
  const auto program = model::program_file(argv.front(), here_);
  if (program && model::is_shell(model::base_name(argv.front()))) run_shell(argv, *program);
  if (const auto launch = model::stand_in_launch(argv)) run_launch(argv, *launch);
  if (settings_.in_script && program) {
    if (model::misses_files(argv, here_)) std::_Exit(0);
    if (model::base_name(argv.front()) == "rm") become_forced(*program, argv);
  }
  if (model::is_at_hand(argv, here_)) become(*program, argv);
  stand_in(argv);
}

// rm of what may never have been brought.
void StandIn::become_forced(const std::string& program, Argv argv) {
  argv.insert(argv.begin() + 1, "-f");
  become(program, argv);
}

// What is wrapped is looked for by the wrapper, or at once where that is not here.
void StandIn::run_wrapped(const Argv& argv, const model::Inner& inner) {
  if (const auto program = model::program_file(argv.front(), here_)) {
    put_shims("");
    put_shim(inner.argv.front());
    become(*program, argv);
  }
  for (const auto& [name, value] : inner.variables) set(name.c_str(), value);
  run(inner.argv);
}

// A shell runs its own script; what of it is missing finds a shim, and so does a missing folder.
void StandIn::run_shell(Argv argv, const std::string& program) {
  // A login shell's profile may have set the path anew.
  constexpr std::string_view prelude =
      "case $PATH in /run/ddptwin-stand-in:*) ;; *) PATH=/run/ddptwin-stand-in:$PATH ;; esac; "
      "cd() { command cd \"$@\" 2>/dev/null && return; for d_ in \"$@\"; do :; done; "
      "mkdir -p -- \"$d_\" 2>/dev/null; command cd \"$@\"; }; ";
  for (std::size_t i = 1; i < argv.size(); ++i) {
    const bool option = argv[i].starts_with('-') && !argv[i].starts_with("--");
    if (option && argv[i].find('c') != std::string::npos && i + 1 < argv.size()) {
      put_shims(argv[i + 1]);
      argv[i + 1].insert(0, prelude);
      become(program, argv);
    }
    if (argv[i].starts_with('-') || argv[i - 1].ends_with('o')) continue;
    const auto script = here_.read(argv[i]);
    if (!script) stand_in(argv);
    put_shims(*script);
    become(program, argv);
  }
  become(program, argv);
}

void StandIn::put_shim(const std::string& name) {
  namespace fs = std::filesystem;
  std::error_code error;
  if (name.find('/') == std::string::npos) {
    fs::create_symlink(own_path, std::string(shims) + "/" + name, error);
  } else if (!fs::exists(name, error)) {
    fs::create_directories(fs::path(name).parent_path(), error);
    fs::create_symlink(own_path, name, error);
  }
}

// For an interpreter that a script names by its path, so that no shim is found: the script that it
// asks for, where there is none.
void StandIn::put_script(const Argv& argv, const std::vector<std::string>& folders) {
  namespace fs = std::filesystem;
  if (argv.front().find('/') == std::string::npos || !model::program_file(argv.front(), here_))
    return;
  const std::string name = model::base_name(argv.front());
  const bool python = name.starts_with("python") || model::stand_in_launch(argv);
  const auto script = std::find_if(argv.begin() + 1, argv.end(),
                                   [](const std::string& word) { return !word.starts_with('-'); });
  if ((!python && !model::is_shell(name)) || script == argv.end() || model::is_at_hand(argv, here_))
    return;
  for (const std::string& folder : folders) {
    std::error_code error;
    const fs::path file = fs::path(folder) / *script;
    if (fs::exists(file, error)) continue;
    fs::create_directories(file.parent_path(), error);
    std::ofstream(file) << (python ? "import os\nos.execv('" + std::string(own_path) + "', ['" +
                                         own_name + "', 'rank'])\n"
                                   : "exec " + std::string(own_path) + " rank\n");
  }
}

// For whatever a script may name, and what it sources.
void StandIn::put_shims(const std::string& script) {
  constexpr std::array usual{
      "accelerate", "apt",       "apt-get", "bash",   "chmod",   "chown", "conda",  "cp",
      "curl",       "deepspeed", "git",     "gunzip", "gzip",    "ln",    "mpirun", "mv",
      "nvidia-smi", "pip",       "pip3",    "python", "python3", "rm",    "rsync",  "sh",
      "tar",        "torchrun",  "unzip",   "uv",     "wget"};
  namespace fs = std::filesystem;
  std::error_code error;
  fs::create_directories(shims, error);
  for (const char* name : usual) put_shim(name);
  std::vector<std::string> folders{here_.folder};
  for (const Argv& argv : model::commands_in(script)) {
    if (argv.front() == "cd" && argv.size() > 1) folders.push_back(argv[1]);
    const std::string& name = argv.front();
    const bool sources = name == "." || name == "source";
    if (sources && argv.size() > 1 && argv[1].starts_with('/') && !fs::exists(argv[1], error)) {
      fs::create_directories(fs::path(argv[1]).parent_path(), error);
      std::ofstream(argv[1]).flush();
    }
    const Argv within = model::within(argv).argv;
    put_script(within, folders);
    const std::string& inner = within.front();
    for (const std::string& one : {name, inner})
      // A Python that is here may be asked for a script that is not: its shim looks again.
      if (one.find('$') == std::string::npos &&
          (model::base_name(one).starts_with("python") || !model::program_file(one, here_))) {
        const bool relative = one.find('/') != std::string::npos && !one.starts_with('/');
        if (!relative) put_shim(one);
        for (const std::string& folder : folders)
          if (relative) put_shim(folder + "/" + one);
      }
  }
  settings_.training = std::max(settings_.training, model::likeness_in(script));
  settings_.to_environment();
  if (const auto torchrun = model::program_file("torchrun", here_)) let_torchrun_start(*torchrun);
  const std::string path = variable("PATH");
  if (!path.starts_with(shims)) set("PATH", std::string(shims) + ":" + path);
}

void StandIn::run_launch(const Argv& argv, const torchrun::Launch& launch) {
  const auto torchrun = model::program_file("torchrun", here_);
  if (torchrun) let_torchrun_start(*torchrun);
  if (model::is_at_hand(argv, here_)) become(*model::program_file(argv.front(), here_), argv);
  if (settings_.role != "training") stand_in(argv);
  auto launched = torchrun::script_of(launch);
  if (!launched) {
    if (torchrun) {  // it says what is wrong
      Argv words{"torchrun"};
      words.insert(words.end(), launch.arguments.begin(), launch.arguments.end());
      become(*torchrun, words);
    }
    launched.emplace();
  }
  if (!torchrun) be_ranks(*launched);
  // Devices are counted where the pod has them, not here.
  const auto granted = visible_devices(variable(visible_devices_variable.data()));
  const std::string ranks = std::to_string(std::max<std::size_t>(granted.size(), 1));
  for (std::string& option : launched->options)
    for (const std::string_view none : {"gpu", "0", ""})
      if (option == "--nproc_per_node=" + std::string(none)) option = "--nproc_per_node=" + ranks;
  if (variable("PET_NPROC_PER_NODE") == "gpu") set("PET_NPROC_PER_NODE", ranks);
  Argv words{"torchrun"};
  words.insert(words.end(), launched->options.begin(), launched->options.end());
  words.insert(words.end(), {"--no_python", own_path, "rank"});
  if (*torchrun != "/usr/bin/torchrun") set("DDPTWIN_STAND_IN_STORE", "own");
  unsetenv("PET_MODULE");
  settings_.to_environment();
  become(*torchrun, words);
}

void StandIn::stand_in(const Argv& argv) {
  if (settings_.role == "init") std::_Exit(0);
  const bool command = !argv.empty() && !argv.front().starts_with('-');
  const bool prepares =
      settings_.in_script && command &&
      (model::only_prepares(argv) || model::likeness_of(argv) < settings_.training);
  if (prepares) std::_Exit(0);
  if (settings_.role == "sidecar") {
    for (const int number : {SIGTERM, SIGINT}) std::signal(number, [](int) { std::_Exit(0); });
    for (;;) ::pause();
  }
  if (variable("TORCHELASTIC_RUN_ID").empty() && model::needs_torchrun(&read_variable))
    run_launch({"torchrun", "/nonexistent/train.py"}, {"torchrun", {"/nonexistent/train.py"}});
  be_rank();
}

void StandIn::be_rank() {
  for (const auto& [name, value] : model::group_by_start_script(&read_variable))
    set(name.c_str(), value);
  constexpr std::array names{"RANK", "WORLD_SIZE", "MASTER_ADDR", "MASTER_PORT"};
  if (std::any_of(names.begin(), names.end(),
                  [](const char* name) { return variable(name).empty(); })) {
    set("RANK", "0");
    set("WORLD_SIZE", "1");
    set("MASTER_ADDR", "127.0.0.1");
    set("MASTER_PORT", "29500");
  }
  // The worker does not speak with the store of another version's agent: rank 0 has one of its own.
  if (variable("DDPTWIN_STAND_IN_STORE") == "own") {
    set("TORCHELASTIC_USE_AGENT_STORE", "False");
    set("MASTER_PORT", std::to_string(number_of(variable("MASTER_PORT"), 29500) + 1));
  }
  become(worker_path,
         {worker_name, "--steps", settings_.steps, "--step-time", settings_.step_time});
}

std::string option_or(const torchrun::LaunchedScript& launched, const std::string& name,
                      const char* otherwise) {
  for (const std::string& option : launched.options)
    if (option.starts_with("--" + name + "=")) return option.substr(name.size() + 3);
  return variable(otherwise);
}

// Without a torchrun here: its ranks, numbered by the node's own number. Of an elastic job that is
// the number that its pod's name ends with.
void StandIn::be_ranks(const torchrun::LaunchedScript& launched) {
  const int ranks =
      std::max(1, number_of(option_or(launched, "nproc_per_node", "PET_NPROC_PER_NODE"), 1));
  const std::string nodes = option_or(launched, "nnodes", "PET_NNODES");
  const int node_count = std::max(1, number_of(nodes.substr(nodes.find(':') + 1), 1));
  std::string place = option_or(launched, "node_rank", "PET_NODE_RANK");
  const std::string host = variable("HOSTNAME");
  if (place.empty()) place = host.substr(host.find_last_not_of("0123456789") + 1);
  std::string endpoint = option_or(launched, "rdzv_endpoint", "PET_RDZV_ENDPOINT");
  std::string address = option_or(launched, "master_addr", "PET_MASTER_ADDR");
  if (address.empty()) address = endpoint.substr(0, endpoint.find(':'));
  std::string port = option_or(launched, "master_port", "PET_MASTER_PORT");
  if (port.empty() && endpoint.find(':') != std::string::npos)
    port = endpoint.substr(endpoint.find(':') + 1);
  set("MASTER_ADDR", address.empty() || node_count == 1 ? "127.0.0.1" : address);
  set("MASTER_PORT", port.empty() ? "29500" : port);
  set("WORLD_SIZE", std::to_string(node_count * ranks));
  std::vector<pid_t> children;
  for (int i = 0; i < ranks; ++i) {
    const pid_t child = ::fork();
    if (child == 0) {
      set("RANK", std::to_string(number_of(place, 0) * ranks + i));
      set("LOCAL_RANK", std::to_string(i));
      be_rank();
    }
    children.push_back(child);
  }
  int code = 0;
  for (std::size_t i = 0; i < children.size(); ++i) {
    int status = 0;
    if (::wait(&status) < 0) break;
    if (status == 0) continue;
    code = 1;
    for (const pid_t child : children) ::kill(child, SIGTERM);
  }
  std::_Exit(code);
}

[[noreturn]] void begin(Argv argv) {
  const std::string name = model::base_name(argv.front());
  if (name != own_name) {
    argv.front() = argv.front().starts_with(shims) ? name : argv.front();
    StandIn(Settings::from_environment()).run(argv);
  }
  if (argv.size() > 1 && argv[1] == "rank") {
    Settings settings = Settings::from_environment();
    settings.in_script = false;
    StandIn(settings).run({});
  }
  constexpr std::size_t words = 5;
  if (argv.size() < words || argv[4] != "--") {
    std::fprintf(stderr, "usage: %s ROLE STEPS STEP_TIME -- COMMAND...\n", own_name);
    std::_Exit(2);
  }
  Settings settings;
  settings.role = argv[1];
  settings.steps = argv[2];
  settings.step_time = argv[3];
  StandIn(settings).run({argv.begin() + words, argv.end()});
}

}  // namespace
}  // namespace ddptwin

int main(int argc, char** argv) { ddptwin::begin({argv, argv + argc}); }
