#include "scenario_text.hpp"

#include "scenario/expect.hpp"
#include "scenario/scenario_parser.hpp"

namespace ddptwin::property {

std::string filled_in(std::string source, std::string_view word, const std::string& value) {
  RC_ASSERT(source.find(word) != source.npos);
  for (std::size_t at = source.find(word); at != source.npos; at = source.find(word))
    source.replace(at, word.size(), value);
  return source;
}

scenario::RunResult result_of(const std::string& source, const scenario::VirtualOptions& options) {
  const KindRegistry kinds;
  const auto parsed = scenario::parse_scenario(
      "training.yaml", kinds, [&](const std::string&) -> Result<std::string> { return source; });
  if (!parsed) RC_FAIL(parsed.error().text());
  const auto result = run_virtually(*parsed, options);
  if (!result) RC_FAIL(result.error().text());
  for (const auto* judged : {&result->expectations, &result->invariants})
    for (const auto& one : *judged)
      RC_LOG() << one.name << ": " << scenario::to_string(one.verdict) << " " << one.detail << "\n";
  for (const auto& one : result->invariants) RC_ASSERT(one.verdict != scenario::Verdict::failed);
  return *result;
}

}  // namespace ddptwin::property
