// ddptwin list: what there is to run, and what is watched.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <filesystem>
#include <iostream>
#include <memory>
#include <utility>

#include "commands.hpp"
#include "scenario/invariants/invariants.hpp"
#include "scenario/language/fields.hpp"
#include "scenario/language/files.hpp"
#include "scenario/language/reference.hpp"
#include "scenario/language/scenario_parser.hpp"
#include "scenario/systems/system.hpp"

namespace ddptwin {
namespace {

namespace fs = std::filesystem;

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

void list_all_scenarios() {
  std::cout << "Scenarios\n";
  list_scenarios(scenarios_folder());
}

void list_invariants() {
  std::cout
      << "Invariants, watched in every run; (strict) those only where a scenario asks for it\n";
  std::string_view owner;
  for (const auto& row : scenario::invariant_rows()) {
    if (std::exchange(owner, row.system) != row.system)
      std::cout << fmt::format("Invariants of the {} alone\n", title_of(row.system));
    std::cout << fmt::format("  {:<23} {}{}\n", row.name, row.meaning,
                             row.strict ? " (strict)" : "");
  }
}

void list_versions() {
  for (const System* system : systems()) {
    std::cout << fmt::format("Versions of the {}\n", system->title);
    for (const std::string_view version : system->versions())
      std::cout << fmt::format("  {}{}\n", version,
                               version == system->default_version() ? " (default)" : "");
  }
}

// Those of that name, or each.
int explain_invariants(const std::vector<std::string>& names) {
  std::vector<std::string_view> known;
  for (const auto& row : scenario::invariant_rows()) known.push_back(row.name);
  for (const std::string& name : names) {
    if (scenario::find_invariant(name) != nullptr) continue;
    std::cerr << fmt::format("ddptwin: no invariant is named \"{}\"{}\n", name,
                             scenario::suggestion(name, known));
    return Exit::bad_input;
  }
  bool first = true;
  for (const auto& row : scenario::invariant_rows()) {
    if (!names.empty() && std::find(names.begin(), names.end(), row.name) == names.end()) continue;
    std::cout << (std::exchange(first, false) ? "" : "\n") << scenario::explain(row);
  }
  return Exit::held;
}

struct ListArguments {
  bool reference = false;
  std::string what{};
  std::vector<std::string> names{};
};

int list(const ListArguments& arguments) {
  if (arguments.reference) {
    std::cout << scenario::reference_page();
    return Exit::held;
  }
  if (arguments.what == "invariants") return explain_invariants(arguments.names);
  struct Part {
    std::string_view name;
    void (*print)();
  };
  constexpr std::array parts{Part{"scenarios", &list_all_scenarios},
                             Part{"invariants", &list_invariants},
                             Part{"versions", &list_versions}};
  bool first = true;
  for (const Part& part : parts) {
    if (!arguments.what.empty() && arguments.what != part.name) continue;
    if (!std::exchange(first, false)) std::cout << '\n';
    part.print();
  }
  return Exit::held;
}

}  // namespace

Command add_list(CLI::App& app) {
  const auto arguments = std::make_shared<ListArguments>();
  CLI::App& command = *app.add_subcommand("list", "List scenarios, invariants and versions");
  command.add_option("WHAT", arguments->what, "scenarios, versions, or invariants to explain them")
      ->check(CLI::IsMember({"scenarios", "invariants", "versions"}));
  command.add_option("NAME", arguments->names, "Explain these invariants only");
  command.add_flag("--reference", arguments->reference,
                   "Print the reference of the scenario language");
  command.footer(
      "Examples:\n  ddptwin list\n  ddptwin list invariants backoff-limit\n"
      "  ddptwin list --reference");
  return {&command, [arguments] { return list(*arguments); }};
}

}  // namespace ddptwin
