// ddptwin-conformance-kubernetes [--quiet] [ID...]: the cases of spec/kubernetes.md §8, one line
// each: ID, verdict, reason. Exit status 1: a case does not hold.
#include <fmt/format.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <set>

#include "conversation.hpp"
#include "objects/json_text.hpp"
#include "objects/kinds.hpp"
#include "objects/yaml.hpp"

namespace ddptwin::conformance {
namespace {

namespace json = boost::json;

struct Verdict {
  std::string_view word{};  // holds, waits, does not hold
  std::string reason{};
};

bool has_kind(const std::string& kind) {
  for (const KindInfo* row : KindRegistry().all())
    if (row->kind == kind) return true;
  return false;
}

// A case waits where it says so and does not hold, or where it needs a kind that the twin does not
// have yet.
Verdict judge(const json::object& description) {
  const std::string waiting = text_member(description, "waiting");
  if (const std::string kind = text_member(description, "needs"); !kind.empty() && !has_kind(kind))
    return {"waits", "the kind " + kind + " is not there yet"};
  if (!description.contains("do")) return {"waits", waiting};
  Conversation conversation(description);
  if (const auto fault = conversation.hold())
    return waiting.empty() ? Verdict{"does not hold", *fault}
                           : Verdict{"waits", waiting + " (" + *fault + ")"};
  return {"holds",
          text_member(description, "title") + (waiting.empty() ? "" : " (it need not wait)")};
}

struct Options {
  std::set<std::string> ids{};
  bool quiet = false;  // only what does not hold, and the sum
};

int run(const Options& options) {
  const std::filesystem::path folder =
      std::filesystem::path(DDPTWIN_SOURCE_DIR) / "tests/conformance/kubernetes";
  std::set<std::filesystem::path> files;
  for (const auto& entry : std::filesystem::directory_iterator(folder))
    if (entry.path().extension() == ".yaml") files.insert(entry.path());
  std::map<std::string_view, int> sums{{"holds", 0}, {"waits", 0}, {"does not hold", 0}};
  for (const std::filesystem::path& file : files) {
    std::ifstream in(file);
    const auto documents =
        parse_yaml(std::string(std::istreambuf_iterator<char>(in), {}), file.string());
    if (!documents) {
      fmt::print(stderr, "{}\n", documents.error().text());
      return 2;
    }
    for (const YamlDocument& document : *documents)
      for (const Json& each : document.value.at("cases").as_array()) {
        const std::string id = text_member(each.as_object(), "id");
        if (!options.ids.empty() && !options.ids.contains(id)) continue;
        const Verdict verdict = judge(each.as_object());
        ++sums[verdict.word];
        if (!options.quiet || verdict.word == "does not hold")
          fmt::print("{} {}: {}\n", id, verdict.word, verdict.reason);
      }
  }
  fmt::print("kubernetes: {} cases hold, {} do not, {} wait\n", sums["holds"],
             sums["does not hold"], sums["waits"]);
  return sums["does not hold"] == 0 ? 0 : 1;
}

}  // namespace
}  // namespace ddptwin::conformance

int main(int argc, char** argv) {
  ddptwin::conformance::Options options;
  for (int i = 1; i < argc; ++i) {
    const std::string argument = argv[i];
    if (argument == "--quiet")
      options.quiet = true;
    else
      options.ids.insert(argument);
  }
  return ddptwin::conformance::run(options);
}
