// Scenarios: any text is a scenario or an error that says where.
#include "entry.hpp"
#include "objects/kinds.hpp"
#include "scenario/language/scenario_parser.hpp"

namespace {

using namespace ddptwin;

// The files that a scenario may name: one manifest, and a Dockerfile under every other name.
Result<std::string> small_file(const std::string& path) {
  if (path.ends_with(".yaml"))
    return std::string(
        "apiVersion: v1\nkind: Pod\nmetadata: {name: p}\n"
        "spec: {containers: [{name: c, image: i}]}\n");
  if (path.ends_with(".sh")) return fail(Reason::not_found, path + ": no such file");
  return std::string("FROM x\nWORKDIR /w\nENV A=1\nCMD [\"run\"]\n");
}

}  // namespace

int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static const KindRegistry kinds;  // the built-in table: reading it changes nothing
  const std::string_view text = fuzz::text_of(data, size);
  const auto scenario = scenario::parse_scenario(
      "s.yaml", kinds, [text](const std::string& path) -> Result<std::string> {
        return path == "s.yaml" ? std::string(text) : small_file(path);
      });
  if (!scenario) fuzz::law(!scenario.error().message.empty());
  return 0;
}
