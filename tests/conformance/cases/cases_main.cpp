// ddptwin-conformance-cases [--quiet] SYSTEM [ID...]: the cases of
// tests/conformance/SYSTEM/cases.yaml, one line each: ID, verdict, title or reason. One that says
// `cannot` says why no run can show it. Exit status 1: a case does not hold; 2: there is no such
// table, or no such case.
#include <fmt/format.h>

#include <fstream>
#include <iterator>
#include <map>
#include <set>

#include "case_run.hpp"
#include "objects/json_text.hpp"
#include "objects/yaml.hpp"

namespace ddptwin::conformance {
namespace {

struct Options {
  std::string system{};
  std::set<std::string> ids{};
  bool quiet = false;  // only what does not hold, and the sum
};

std::string text_member(const boost::json::object& of, std::string_view name) {
  const auto* found = of.if_contains(boost::json::string_view(name.data(), name.size()));
  return found != nullptr && found->is_string() ? std::string(found->as_string()) : std::string();
}

int run(const Options& options) {
  CaseTables tables;
  tables.folder = std::string(DDPTWIN_SOURCE_DIR) + "/tests/conformance/" + options.system;
  const std::string file = tables.folder + "/cases.yaml";
  std::ifstream in(file);
  if (options.system.empty() || !in) {
    fmt::print(stderr, "conformance: there is no table {}\n", file);
    return 2;
  }
  const auto documents = parse_yaml(std::string(std::istreambuf_iterator<char>(in), {}), file);
  if (!documents) {
    fmt::print(stderr, "{}\n", documents.error().text());
    return 2;
  }
  const auto& table = documents->front().value.as_object();
  tables.base = table.at("base").as_object();
  int holds = 0, fails = 0, open = 0;
  for (const auto& each : table.at("cases").as_array()) {
    const std::string id = text_member(each.as_object(), "id");
    if (!options.ids.empty() && !options.ids.contains(id)) continue;
    if (const std::string why = text_member(each.as_object(), "cannot"); !why.empty()) {
      ++open;
      if (!options.quiet) fmt::print("{} cannot be run: {}\n", id, why);
      continue;
    }
    const auto fault = run_case(each.as_object(), tables);
    ++(fault ? fails : holds);
    if (fault)
      fmt::print("{} does not hold: {}\n", id, *fault);
    else if (!options.quiet)
      fmt::print("{} holds: {}\n", id, text_member(each.as_object(), "title"));
  }
  fmt::print("{}: {} cases hold, {} do not", options.system, holds, fails);
  fmt::print("{}\n", open > 0 ? fmt::format(", {} cannot be run", open) : "");
  const auto judged = static_cast<std::size_t>(holds + fails + open);
  if (judged == 0 || judged < options.ids.size()) return 2;  // no such case
  return fails == 0 ? 0 : 1;
}

}  // namespace
}  // namespace ddptwin::conformance

int main(int argc, char** argv) {
  ddptwin::conformance::Options options;
  for (int i = 1; i < argc; ++i) {
    const std::string argument = argv[i];
    if (argument == "--quiet")
      options.quiet = true;
    else if (options.system.empty())
      options.system = argument;
    else
      options.ids.insert(argument);
  }
  return ddptwin::conformance::run(options);
}
