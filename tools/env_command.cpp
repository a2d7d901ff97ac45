// ddptwin env: what each container would get.
#include <boost/json/serialize.hpp>
#include <boost/json/value.hpp>
#include <iostream>
#include <memory>

#include "commands.hpp"
#include "scenario/report/env_report.hpp"

namespace ddptwin {
namespace {

struct EnvArguments {
  std::vector<std::string> files{};
  std::string python{};
  bool json = false, show_secrets = false;
};

int print_environment(const EnvArguments& arguments) {
  const auto python = python_folder(arguments.python);
  if (!python) return exit_of(python.error());
  const auto scenarios = read_scenarios(arguments.files);
  if (!scenarios) return exit_of(scenarios.error());
  for (const scenario::Scenario& one : *scenarios) {
    const auto explained = scenario::explain_environment(one, *python, arguments.show_secrets);
    if (arguments.json)
      std::cout << boost::json::serialize(scenario::environment_json(explained)) << '\n';
    else
      std::cout << scenario::environment_text(explained);
  }
  return Exit::held;
}

}  // namespace

Command add_env(CLI::App& app) {
  const auto arguments = std::make_shared<EnvArguments>();
  CLI::App& command = *app.add_subcommand(
      "env", "Print the environment each container would get, and why; nothing is started");
  command.add_option("FILE", arguments->files, "Scenarios or manifests; - is standard input")
      ->required();
  command.add_flag("--json", arguments->json, "Print JSON");
  command.add_option("--python", arguments->python,
                     "A virtual environment whose python3 every image has");
  command.add_flag("--show-secrets", arguments->show_secrets,
                   "Print values that come from Secrets as they are; else they are masked");
  command.footer("Examples:\n  ddptwin env job.yaml\n  ddptwin env job.yaml --json");
  return {&command, [arguments] { return print_environment(*arguments); }};
}

}  // namespace ddptwin
