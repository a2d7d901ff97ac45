// ddptwin exec: a command in a container of a run that is going on, as kubectl exec.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <iostream>
#include <memory>

#include "commands.hpp"
#include "scenario/run/exec_door.hpp"

namespace ddptwin {
namespace {

struct ExecArguments {
  scenario::ExecOrder order{};
  int run = 0;
};

int exec(const ExecArguments& arguments) {
  int run = arguments.run;
  if (run == 0) {
    const std::vector<int> open = scenario::open_doors();
    if (open.size() != 1)
      return exit_of(Error{Reason::not_found, "",
                           open.empty() ? "no run in real time is going on"
                                        : fmt::format("several runs are going on: say --run {}",
                                                      fmt::join(open, " or --run "))});
    run = open.front();
  }
  const auto result = scenario::exec_through_door(run, arguments.order);
  if (!result) return exit_of(result.error());
  std::cout << result->output << std::flush;
  return result->exit_code;
}

}  // namespace

Command add_exec(CLI::App& app) {
  const auto arguments = std::make_shared<ExecArguments>();
  CLI::App& command = *app.add_subcommand(
      "exec", "Run a command in a container of a run in real time that is going on");
  command.add_option("POD", arguments->order.pod, "The pod: NAME, or NAMESPACE/NAME")->required();
  command
      .add_option("COMMAND", arguments->order.command, "The command and its arguments, behind --")
      ->required();
  command.add_option("--container", arguments->order.container, "Default: the pod's first");
  command.add_option("--run", arguments->run,
                     "The process id of the run, where several are going on");
  command.footer(
      "Its output is printed when it has ended, both streams alike; it has no input. The exit\n"
      "status is the command's.\n\n"
      "Examples:\n"
      "  ddptwin exec train-worker-0 -- hostname\n"
      "  ddptwin exec train-worker-0 --container pytorch -- sh -c 'cat /etc/hosts'");
  return {&command, [arguments] { return exec(*arguments); }};
}

}  // namespace ddptwin
