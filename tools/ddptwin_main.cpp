// The command line: reads arguments, hands them to sim/scenario, and turns what comes of it into an
// exit status.
#include <fmt/format.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <CLI/App.hpp>
#include <CLI/Config.hpp>
#include <CLI/Formatter.hpp>
#include <algorithm>
#include <boost/json/serialize.hpp>
#include <boost/json/value.hpp>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <set>

#include "controller/pytorchjob/profile.hpp"
#include "scenario/env_report.hpp"
#include "scenario/files.hpp"
#include "scenario/images.hpp"
#include "scenario/invariants.hpp"
#include "scenario/preflight.hpp"
#include "scenario/reference.hpp"
#include "scenario/run.hpp"
#include "scenario/scenario_parser.hpp"

namespace ddptwin {
namespace {

namespace fs = std::filesystem;

enum Exit : int { held = 0, failed = 1, bad_input = 2, cannot = 3, interrupted = 130 };

int exit_of(const Error& error) {
  std::cerr << "ddptwin: " << error.text() << '\n';
  return error.reason == Reason::bad_input ? Exit::bad_input : Exit::cannot;
}

struct RunArguments {
  std::vector<std::string> files{};
  std::string out{}, junit{}, python{}, mode = "real";
  std::uint64_t seed = 1;
  bool json = false, quiet = false;
};

// Every file is read and judged before any runs. Files without a Scenario are one run.
Result<std::vector<scenario::Scenario>> read_scenarios(const std::vector<std::string>& files) {
  const KindRegistry kinds;
  std::vector<scenario::Scenario> scenarios, plain;
  for (const std::string& file : files) {
    TRY(auto parsed, scenario::parse_scenario(file, kinds, &scenario::read_text_file));
    (parsed.plain ? plain : scenarios).push_back(std::move(parsed));
  }
  if (!plain.empty()) {
    scenarios.push_back(scenario::merge_plain(std::move(plain)));
    scenario::describe_plain_images(scenarios.back());
  }
  for (const scenario::Scenario& one : scenarios) TRY_VOID(scenario::preflight(one));
  return scenarios;
}

Status check_modes(const std::vector<scenario::Scenario>& scenarios) {
  for (const scenario::Scenario& one : scenarios) {
    if (std::find(one.modes.begin(), one.modes.end(), scenario::Mode::real) == one.modes.end())
      return fail(Reason::bad_input, "this scenario runs in virtual time only", one.file);
  }
  return {};
}

// Each of several scenarios has a folder of its own name under --out.
Status check_folders(const std::vector<scenario::Scenario>& scenarios) {
  std::set<std::string> names;
  for (const scenario::Scenario& one : scenarios) {
    if (one.name.empty() || one.name.front() == '.' || one.name.find('/') != one.name.npos)
      return fail(Reason::bad_input, "\"" + one.name + "\" is no name of a folder",
                  one.file + " metadata.name");
    if (!names.insert(one.name).second)
      return fail(Reason::bad_input, "two scenarios are named \"" + one.name + "\"",
                  one.file + " metadata.name");
  }
  return {};
}

// Of the terminal behind the descriptor; 0: it is none.
int columns_of(int descriptor) {
  if (isatty(descriptor) == 0) return 0;
  winsize size{};
  constexpr int usual = 80;
  return ioctl(descriptor, TIOCGWINSZ, &size) == 0 && size.ws_col > 0 ? size.ws_col : usual;
}

Status write_junit(const std::string& path, const std::vector<scenario::RunResult>& results) {
  std::ofstream stream(path);
  scenario::print_junit(stream, results);
  stream.flush();
  if (!stream) return fail(Reason::io, path + ": cannot be written");
  return {};
}

scenario::RunOptions options_of(const RunArguments& arguments, const scenario::Scenario& one,
                                bool several) {
  scenario::RunOptions options;
  options.seed = arguments.seed;
  options.python = arguments.python;
  options.out = arguments.out;
  if (several && !options.out.empty()) options.out += "/" + one.name;
  options.quiet = arguments.quiet;
  options.columns = columns_of(arguments.json ? STDERR_FILENO : STDOUT_FILENO);
  return options;
}

int run_all(const RunArguments& arguments, const std::vector<scenario::Scenario>& scenarios) {
  std::ostream& text = arguments.json ? std::cerr : std::cout;
  std::vector<scenario::RunResult> results;
  int status = Exit::held;
  for (const scenario::Scenario& one : scenarios) {
    auto result =
        scenario::run_scenario(one, options_of(arguments, one, scenarios.size() > 1), text);
    if (!result) {
      status = exit_of(result.error());
      break;
    }
    if (arguments.json)
      std::cout << boost::json::serialize(scenario::to_json(*result)) << std::endl;
    results.push_back(std::move(*result));
    if (results.back().interrupted) {
      status = Exit::interrupted;
      break;
    }
    if (!results.back().passed()) status = Exit::failed;
  }
  if (!arguments.junit.empty()) {
    if (const auto written = write_junit(arguments.junit, results); !written)
      return exit_of(written.error());
  }
  return status;
}

int run(RunArguments arguments) {
  if (!arguments.python.empty()) {
    auto found = scenario::real_path(arguments.python);
    if (!found) return exit_of(found.error());
    arguments.python = std::move(*found);
    if (!fs::exists(arguments.python + "/bin/python3"))
      return exit_of({Reason::bad_input, "--python " + arguments.python,
                      "no virtual environment: it has no bin/python3", nullptr, 0});
  }
  const auto scenarios = read_scenarios(arguments.files);
  if (!scenarios) return exit_of(scenarios.error());
  if (const auto fine = check_modes(*scenarios); !fine) return exit_of(fine.error());
  if (!arguments.out.empty() && scenarios->size() > 1)
    if (const auto fine = check_folders(*scenarios); !fine) return exit_of(fine.error());
  // Before anything runs: a report that cannot be written is bad input.
  if (!arguments.junit.empty())
    if (const auto writable = write_junit(arguments.junit, {}); !writable)
      return exit_of({Reason::bad_input, "--junit", writable.error().message});
  return run_all(arguments, *scenarios);
}

int print_environment(const std::vector<std::string>& files, bool json) {
  const auto scenarios = read_scenarios(files);
  if (!scenarios) return exit_of(scenarios.error());
  for (const scenario::Scenario& one : *scenarios) {
    const auto explained = scenario::explain_environment(one);
    if (json)
      std::cout << boost::json::serialize(scenario::environment_json(explained)) << '\n';
    else
      std::cout << scenario::environment_text(explained);
  }
  return Exit::held;
}

// Beside an installed program, or in the checkout that it was built in.
fs::path scenarios_folder() {
  std::error_code error;
  fs::path folder = fs::read_symlink("/proc/self/exe", error).parent_path();
  if (const fs::path installed = folder / "../share/ddptwin/scenarios"; fs::exists(installed))
    return installed.lexically_normal();
  for (; folder.has_relative_path(); folder = folder.parent_path()) {
    if (fs::exists(folder / "scenarios/pytorchjob")) return folder / "scenarios";
  }
  return {};
}

// As far as its first full stop.
std::string first_sentence(const std::string& text) {
  const std::size_t end = text.find(". ");
  return end == text.npos ? text : text.substr(0, end + 1);
}

void list_scenarios(const fs::path& folder) {
  std::vector<std::string> files;
  std::error_code error;
  for (const auto& entry : fs::recursive_directory_iterator(folder, error)) {
    if (entry.path().extension() == ".yaml") files.push_back(entry.path().string());
  }
  std::sort(files.begin(), files.end());
  const KindRegistry kinds;
  for (const std::string& file : files) {
    const auto parsed = scenario::parse_scenario(file, kinds, &scenario::read_text_file);
    if (!parsed || parsed->plain) continue;
    std::cout << fmt::format("  {}\n      {}\n", file, first_sentence(parsed->incident));
  }
}

int list(bool reference) {
  if (reference) {
    std::cout << scenario::reference_page();
    return Exit::held;
  }
  std::cout << "Scenarios\n";
  list_scenarios(scenarios_folder());
  std::cout << "\nInvariants, watched in every run\n";
  for (const auto& row : scenario::invariant_rows())
    std::cout << fmt::format("  {:<14} {}\n", row.name, row.meaning);
  std::cout << "\nVersions of the training operator\n";
  for (const auto& profile : controller::pytorchjob::profiles())
    std::cout << fmt::format(
        "  {}{}\n", profile.version,
        &profile == &controller::pytorchjob::default_profile() ? " (default)" : "");
  return Exit::held;
}

void add_run(CLI::App& app, RunArguments& arguments) {
  CLI::App& command = *app.add_subcommand("run", "Run scenarios or plain Kubernetes manifests");
  command.add_option("FILE", arguments.files, "Scenarios or manifests; - is standard input")
      ->required();
  command.add_option("--out", arguments.out,
                     "Keep the artefacts in this folder: trace.jsonl, logs/, result.json");
  command.add_option("--junit", arguments.junit, "Write the verdicts as JUnit XML to this file");
  command.add_flag("--json", arguments.json,
                   "Print each result as one line of JSON; text for people goes to stderr");
  command.add_option("--seed", arguments.seed, "What chance begins with")->capture_default_str();
  command.add_flag("--quiet", arguments.quiet, "Print the verdicts only");
  command.add_option("--python", arguments.python,
                     "A virtual environment whose python3 every image has");
  command.add_option("--mode", arguments.mode, "The clock: real")
      ->check(CLI::IsMember({"real"}))
      ->capture_default_str();
  command.footer(
      "Examples:\n"
      "  ddptwin run scenarios/pytorchjob/demo.yaml\n"
      "  ddptwin run job.yaml --out /tmp/run\n"
      "  ddptwin run scenarios/pytorchjob/*.yaml --quiet --junit report.xml\n"
      "\n"
      "Exit status: 0 all held; 1 an expectation or invariant failed; 2 bad input;\n"
      "3 this machine cannot; 130 interrupted.");
}

struct EnvArguments {
  std::vector<std::string> files{};
  bool json = false;
};

void add_env(CLI::App& app, EnvArguments& arguments) {
  CLI::App& command = *app.add_subcommand(
      "env", "Print the environment each container would get, and why; nothing is started");
  command.add_option("FILE", arguments.files, "Scenarios or manifests; - is standard input")
      ->required();
  command.add_flag("--json", arguments.json, "Print JSON");
  command.footer("Examples:\n  ddptwin env job.yaml\n  ddptwin env job.yaml --json");
}

int main_of(int argc, char** argv) {
  CLI::App app("A digital twin for distributed PyTorch jobs on Kubernetes", "ddptwin");
  app.set_version_flag("--version", "ddptwin " DDPTWIN_VERSION);
  app.require_subcommand(0, 1);
  app.footer(
      "Examples:\n"
      "  ddptwin run scenarios/pytorchjob/demo.yaml\n"
      "  ddptwin env job.yaml\n"
      "  ddptwin list");
  RunArguments run_arguments;
  add_run(app, run_arguments);
  EnvArguments env_arguments;
  add_env(app, env_arguments);
  bool reference = false;
  CLI::App& list_command = *app.add_subcommand("list", "List scenarios, invariants and versions");
  list_command.add_flag("--reference", reference, "Print the reference of the scenario language");
  list_command.footer("Examples:\n  ddptwin list\n  ddptwin list --reference");
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    // Help and version are "errors" of status 0 to CLI11.
    return app.exit(error) == 0 ? Exit::held : Exit::bad_input;
  }
  if (app.get_subcommands().empty()) {
    std::cerr << app.help();
    return Exit::bad_input;
  }
  if (app.got_subcommand("run")) return run(std::move(run_arguments));
  if (app.got_subcommand("env")) return print_environment(env_arguments.files, env_arguments.json);
  return list(reference);
}

}  // namespace
}  // namespace ddptwin

int main(int argc, char** argv) {
  try {
    return ddptwin::main_of(argc, argv);
  } catch (const std::exception& error) {  // a library's, where nobody expected it
    std::cerr << "ddptwin: " << error.what() << "; this is a bug of ddptwin\n";
    return 70;  // EX_SOFTWARE
  }
}
