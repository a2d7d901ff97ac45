#include "scenario_text.hpp"

#include "cause_judge.hpp"
#include "cluster/store/store.hpp"
#include "scenario/judge/expect.hpp"
#include "scenario/language/scenario_parser.hpp"

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
  CauseJudge causes;  // outlives the run
  scenario::VirtualRun run(*parsed, options);
  run.world().trace().add_sink([&](const Record& record) { causes.on_record(record); });
  run.world().store().seal();
  const auto started = run.start();
  if (!started) RC_FAIL(started.error().text());
  const auto result = run.finish();
  if (!result) RC_FAIL(result.error().text());
  for (const auto* judged : {&result->expectations, &result->invariants})
    for (const auto& one : *judged)
      RC_LOG() << one.name << ": " << scenario::to_string(one.verdict) << " " << one.detail << "\n";
  for (const auto& one : result->invariants) RC_ASSERT(one.verdict != scenario::Verdict::failed);
  if (!causes.wrong().empty()) RC_FAIL(causes.wrong());
  return *result;
}

}  // namespace ddptwin::property
