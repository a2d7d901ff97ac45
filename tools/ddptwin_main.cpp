// The command line: reads arguments, hands them to sim/scenario, and turns what comes of it into an
// exit status.
#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <CLI/App.hpp>
#include <CLI/Config.hpp>
#include <CLI/Formatter.hpp>
#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <iostream>
#include <string_view>
#include <vector>

#include "commands.hpp"
#include "scenario/language/fields.hpp"

namespace ddptwin {
namespace {

// A word that looks like a file of a user who forgot what to do with it.
bool looks_like_a_file(const std::string& word) {
  return word.ends_with(".yaml") || word.ends_with(".yml") || word.ends_with(".json") ||
         std::filesystem::exists(word);
}

// The subcommand that was chosen, or the program itself.
const CLI::App& innermost(const CLI::App& app) {
  const auto chosen = app.get_subcommands();
  return chosen.empty() ? app : *chosen.front();
}

// What may have been meant by a word that nobody expects; empty: nobody knows.
std::string meant_by(const CLI::App& app, const std::string& word) {
  std::vector<std::string> names;
  if (word.starts_with('-')) {
    for (const CLI::Option* option : innermost(app).get_options({}))
      for (const std::string& name : option->get_lnames()) names.push_back("--" + name);
  } else {
    if (app.get_subcommands().empty() && looks_like_a_file(word))
      return "did you mean: ddptwin run " + word;
    for (const CLI::App* command : app.get_subcommands({})) names.push_back(command->get_name());
  }
  const std::vector<std::string_view> known(names.begin(), names.end());
  // " (did you mean run?)"; all options would be too many to name.
  const std::string told = scenario::suggestion(word, known);
  if (word.starts_with('-') && !scenario::is_near(word, known)) return {};
  return told.substr(2, told.size() - 3);
}

// CLI11 misses the file before it looks at what it does not know; a misspelt option is the cause.
int usage_error(const CLI::App& app, const CLI::ParseError& error) {
  const auto unknown = app.remaining(true);
  const bool misses = error.get_exit_code() == static_cast<int>(CLI::ExitCodes::RequiredError);
  const bool extras = error.get_exit_code() == static_cast<int>(CLI::ExitCodes::ExtrasError);
  if (unknown.empty() || !(misses || extras))
    // Help and version are "errors" of status 0 to CLI11.
    return app.exit(error) == 0 ? Exit::held : Exit::bad_input;
  const std::string meant = meant_by(app, unknown.front());
  app.exit(CLI::ExtrasError(app.get_name(), unknown), std::cout, std::cerr);
  if (!meant.empty()) std::cerr << meant << '\n';
  return Exit::bad_input;
}

// A standard file that is closed would be the next one that is opened, and another's output go
// there. What is opened here in its place can be used as little.
void keep_standard_files() {
  for (const int descriptor : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO})
    if (fcntl(descriptor, F_GETFD) < 0 && errno == EBADF)
      open("/dev/null", (descriptor == STDIN_FILENO ? O_WRONLY : O_RDONLY) | O_CLOEXEC);
}

// What could not be told has not been: the status says so, whatever else it was.
int told_fully(int status) {
  std::cout.flush();
  // Who closes the terminal ends the run by that, and reads nothing more.
  if (std::cout || status == Exit::interrupted) return status;
  // The stream does not keep why; another try says it.
  const bool known = write(STDOUT_FILENO, "\n", 1) < 0;
  std::cerr << "ddptwin: standard output: cannot be written"
            << (known ? std::string(": ") + std::strerror(errno) : std::string()) << '\n';
  return Exit::cannot;
}

int main_of(int argc, char** argv) {
  CLI::App app("A digital twin for distributed PyTorch jobs on Kubernetes", "ddptwin");
  app.set_version_flag("--version", "ddptwin " DDPTWIN_VERSION);
  app.require_subcommand(0, 1);
  app.footer(
      "Examples:\n"
      "  ddptwin run scenarios/pytorchjob/demo.yaml\n"
      "  ddptwin run scenarios/pytorchjob/demo.yaml --mode virtual\n"
      "  ddptwin env job.yaml\n"
      "  ddptwin list");
  const std::vector<Command> commands{add_run(app),   add_env(app),     add_list(app),
                                      add_agree(app), add_explore(app), add_compare(app),
                                      add_exec(app),  add_doctor(app)};
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    return usage_error(app, error);
  }
  const auto chosen = std::find_if(commands.begin(), commands.end(),
                                   [](const Command& command) { return command.app->parsed(); });
  if (chosen != commands.end()) return chosen->run();
  std::cerr << app.help();
  return Exit::bad_input;
}

}  // namespace
}  // namespace ddptwin

int main(int argc, char** argv) {
  try {
    ddptwin::keep_standard_files();
    return ddptwin::told_fully(ddptwin::main_of(argc, argv));
  } catch (const std::exception& error) {  // a library's, where nobody expected it
    std::cerr << "ddptwin: " << error.what() << "; this is a bug of ddptwin\n";
    return 70;  // EX_SOFTWARE
  }
}
