#include "scenario/run/result.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <boost/json/value.hpp>
#include <boost/json/value_from.hpp>
#include <ostream>

#include "scenario/language/claims.hpp"
#include "scenario/language/default_expectations.hpp"
#include "scenario/language/narrator.hpp"
#include "scenario/run/trace_hash.hpp"

namespace ddptwin::scenario {
namespace {

namespace json = boost::json;

using Judged = RunResult::Judged;

// As a shell takes it.
std::string shell_word(const std::string& text) {
  constexpr std::string_view plain =
      "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_./+:@%,=";
  if (!text.empty() && text.find_first_not_of(plain) == text.npos) return text;
  std::string word = "'";
  for (const char c : text) c == '\'' ? word += "'\\''" : word += c;
  return word + "'";
}

bool all_held(const std::vector<Judged>& judged) {
  return std::all_of(judged.begin(), judged.end(),
                     [](const Judged& one) { return one.verdict == Verdict::held; });
}

bool none_failed(const std::vector<Judged>& judged) {
  return std::none_of(judged.begin(), judged.end(),
                      [](const Judged& one) { return one.verdict == Verdict::failed; });
}

std::size_t count_of(const std::vector<Judged>& judged, Verdict verdict) {
  return static_cast<std::size_t>(
      std::count_if(judged.begin(), judged.end(),
                    [verdict](const Judged& one) { return one.verdict == verdict; }));
}

std::vector<PodEnd> pods_of(const Observer& observer) {
  std::vector<PodEnd> pods;
  for (const auto& [key, seen] : observer.objects(Pod::info())) {
    const Pod& pod = *as<Pod>(*seen.last);
    pods.push_back({pod_name(key), state_of(seen), restarts_of(pod, ""), exit_codes_of(pod, ""),
                    seen.created});
  }
  return pods;
}

std::vector<Judged> invariants_of(const Engine& engine) {
  std::vector<Judged> judged;
  for (const InvariantWatch::Judged& invariant : engine.invariants()) {
    Judged one{std::string(invariant.row->name), Verdict::held, {}, {}, {}};
    if (!invariant.held) one.verdict = Verdict::failed;
    if (invariant.violation != nullptr) {
      one.at = invariant.violation->time - engine.started_at();
      one.detail = explain(*invariant.violation);
    } else if (!invariant.asked) {
      if (invariant.held) one.verdict = Verdict::open;
      one.detail = "it had nothing to judge: it is judged " + invariant.row->when();
    } else if (!invariant.expected.empty()) {
      one.detail = "it held, and was to be violated";
    }
    if (!invariant.expected.empty())
      one.detail += fmt::format("\n  its violation is expected: {}", invariant.expected);
    judged.push_back(std::move(one));
  }
  return judged;
}

json::array to_json(const std::vector<Judged>& judged) {
  json::array list;
  for (const Judged& one : judged) {
    json::object object{
        {"name", one.name}, {"verdict", to_string(one.verdict)}, {"seconds", seconds_of(one.at)}};
    if (!one.detail.empty()) object["detail"] = one.detail;
    if (!one.where.empty()) object["where"] = one.where;
    if (!one.why.empty()) object["why"] = json::value_from(one.why);
    list.push_back(std::move(object));
  }
  return list;
}

// The lines of a text below one another.
std::string indented(std::string_view text) {
  std::string out;
  for (const char c : text) {
    out += c;
    if (c == '\n') out += "          ";
  }
  return out;
}

void print_judged(std::ostream& out, std::string_view what, const std::vector<Judged>& judged) {
  for (const Judged& one : judged) {
    out << fmt::format("  {:<6}  {} {}", to_string(one.verdict), what, one.name);
    if (one.at > Duration::zero()) out << fmt::format(" ({})", lasted(one.at));
    out << '\n';
    if (!one.detail.empty()) out << fmt::format("          {}\n", indented(one.detail));
    for (const std::string& line : one.why) out << fmt::format("            {}\n", line);
    if (!one.where.empty() && one.verdict != Verdict::held)
      out << fmt::format("          at {}\n", one.where);
  }
}

std::string xml(std::string_view text) {
  std::string out;
  for (const char c : text) {
    switch (c) {
      case '&':
        out += "&amp;";
        break;
      case '<':
        out += "&lt;";
        break;
      case '>':
        out += "&gt;";
        break;
      case '"':
        out += "&quot;";
        break;
      default:
        // XML 1.0 has no place for control characters.
        out += static_cast<unsigned char>(c) < 0x20 && c != '\n' && c != '\t' ? '?' : c;
    }
  }
  return out;
}

const std::string& suite_of(const RunResult& result) {
  return result.suite.empty() ? result.name : result.suite;
}

// What a case says that failed: the reason at length, where it is written, how to do it again.
std::string body_of(const RunResult& result, const Judged& one) {
  std::string body;
  for (const std::string& line : one.why) body += line + "\n";
  if (!one.where.empty()) body += one.where + "\n";
  return body + result.repeat();
}

// One that was not asked is no test.
bool is_case(const RunResult& result, const std::vector<Judged>& judged, const Judged& one) {
  return &judged != &result.invariants || one.verdict != Verdict::open;
}

void print_properties(std::ostream& out, const RunResult& result) {
  if (result.stand_ins.empty()) return;
  out << "    <properties>\n";
  for (const StandIn& one : result.stand_ins)
    out << fmt::format("      <property name=\"stand-in\" value=\"{}\"/>\n",
                       xml(fmt::format("{} {}", one.object, one.told())));
  out << "    </properties>\n";
}

void print_cases(std::ostream& out, const RunResult& result, std::string_view what,
                 const std::vector<Judged>& judged) {
  for (const Judged& one : judged) {
    if (!is_case(result, judged, one)) continue;
    out << fmt::format("    <testcase classname=\"{}\" name=\"{}\" time=\"{:.3f}\"",
                       xml(suite_of(result)), xml(fmt::format("{} {}", what, one.name)),
                       seconds_of(one.at));
    if (one.verdict == Verdict::held)
      out << "/>\n";
    else if (one.verdict == Verdict::open && one.detail.empty())
      out << "><skipped/></testcase>\n";
    else if (one.verdict == Verdict::open)
      out << fmt::format("><skipped message=\"{}\"/></testcase>\n", xml(one.detail));
    else
      out << fmt::format("><failure message=\"{}\">{}</failure></testcase>\n", xml(one.detail),
                         xml(body_of(result, one)));
  }
}

std::size_t count_cases(const RunResult& result, Verdict verdict) {
  std::size_t number = 0;
  for (const auto* list :
       {&result.step_verdicts, &result.expectations, &result.invariants, &result.faults})
    number +=
        static_cast<std::size_t>(std::count_if(list->begin(), list->end(), [&](const Judged& one) {
          return one.verdict == verdict && is_case(result, *list, one);
        }));
  return number;
}

// "33 invariants; 23 had nothing to judge: nothing of what they are about happened".
std::string invariants_in_words(std::size_t held, std::size_t open) {
  std::string text = fmt::format("{} invariant{}", held, held == 1 ? "" : "s");
  if (open > 0)
    text += fmt::format("; {} had nothing to judge: nothing of what {} about happened", open,
                        open == 1 ? "it is" : "they are");
  return text;
}

// Most end well, and some may not have been asked: only their numbers are told.
void print_invariants(std::ostream& out, const std::vector<Judged>& invariants) {
  std::vector<Judged> told;
  std::copy_if(
      invariants.begin(), invariants.end(), std::back_inserter(told),
      [](const Judged& one) { return !one.detail.empty() && one.verdict != Verdict::open; });
  print_judged(out, "invariant", told);
  const std::size_t open = count_of(invariants, Verdict::open);
  const std::size_t held = count_of(invariants, Verdict::held);
  out << fmt::format("  held    {}\n", invariants_in_words(held, open));
}

// What failed that the ends of jobs do not tell of: expectations that nobody wrote are about those.
std::vector<std::string> failed_beside(const RunResult& result) {
  std::vector<std::string> found;
  const auto add = [&found](std::string_view what, const std::vector<Judged>& judged) {
    for (const Judged& one : judged)
      if (one.verdict == Verdict::failed && (what != "expected" || !one.where.empty()))
        found.push_back(fmt::format("{} {}", what, one.name));
  };
  add("step", result.step_verdicts);
  add("expected", result.expectations);
  add("fault", result.faults);
  add("invariant", result.invariants);
  return found;
}

// A few of a list.
void add_some(const std::vector<std::string>& list, std::size_t most, std::string_view more,
              std::vector<std::string>& to) {
  for (std::size_t i = 0; i < std::min(list.size(), most); ++i) to.push_back(list[i]);
  if (list.size() > most) to.push_back(fmt::format("{} {}", list.size() - most, more));
}

std::vector<std::string> told_last(const RunResult& result) {
  std::vector<std::string> told;
  if (result.nothing_ran) told.emplace_back("no job and no pod is among its objects");
  add_some(failed_beside(result), 1, "more failed", told);
  add_some(result.ends, 3, "more jobs and pods", told);
  return told;
}

// What nobody may take for the real thing; empty: nothing.
std::string with_stand_ins(const RunResult& result) {
  const std::size_t number = result.stand_ins.size();
  return number == 0
             ? std::string()
             : fmt::format(", with stand-ins for {} container{}", number, number == 1 ? "" : "s");
}

}  // namespace

bool RunResult::passed() const {
  return !interrupted && !nothing_ran && all_held(step_verdicts) && all_held(expectations) &&
         all_held(faults) && none_failed(invariants);
}

std::string RunResult::repeat() const {
  std::string command =
      fmt::format("ddptwin run {} --mode {} --seed {}", shell_word(file), to_string(mode), seed);
  if (!torch.empty()) command += " --torch " + torch;
  if (!python.empty()) command += " --python " + shell_word(python);
  if (!timeout.empty()) command += " --timeout " + timeout;
  const StandInShape usual;
  if (stand_in_shape.steps != usual.steps)
    command += fmt::format(" --steps {}", stand_in_shape.steps);
  if (stand_in_shape.step_time != usual.step_time)
    command += " --step-time " + format_go_duration(stand_in_shape.step_time);
  return command;
}

RunResult result_of(const Scenario& scenario, const Engine& engine) {
  RunResult result;
  result.name = scenario.name;
  result.file = scenario.file;
  result.incident = scenario.incident;
  result.timed_out = engine.timed_out();
  result.started_at = engine.started_at();
  result.ended_at = engine.ended_at();
  for (const StepResult& step : engine.steps()) {
    const Duration at = step.ended_at ? *step.ended_at - engine.started_at() : Duration();
    result.step_verdicts.push_back({step.step->name.empty() ? step.step->text : step.step->name,
                                    step.verdict, at, step.detail, step.step->where, step.why});
  }
  for (const ExpectationResult& expectation : engine.expectations()) {
    const Duration at =
        expectation.decided_at ? *expectation.decided_at - engine.started_at() : Duration();
    result.expectations.push_back({expectation.expectation->name, expectation.verdict, at,
                                   expectation.detail, expectation.expectation->where,
                                   expectation.why});
  }
  result.invariants = invariants_of(engine);
  result.invariants_off = {scenario.invariants.off.begin(), scenario.invariants.off.end()};
  result.stand_in_shape = scenario.stand_ins;
  result.pods = pods_of(engine.observer());
  result.ends = engine.ends();
  result.notes = engine.outside_names().notes();
  result.nothing_ran = result.ends.empty() && scenario.steps.empty() && !says_an_end(scenario);
  return result;
}

void print_verdicts(std::ostream& out, const RunResult& result) {
  print_judged(out, "step", result.step_verdicts);
  print_judged(out, "expected", result.expectations);
  print_judged(out, "fault", result.faults);
  print_invariants(out, result.invariants);
  for (const std::string& note : result.notes) out << fmt::format("  note    {}\n", note);
  for (const auto& [name, reason] : result.invariants_off)
    out << fmt::format("  off     invariant {}: {}\n", name, reason);
  if (result.trace_hash)
    out << fmt::format("  trace {} of {} records, seed {}, PyTorch {}\n",
                       hash_text(*result.trace_hash), result.records, result.seed, result.torch);
  if (!result.passed() && !result.interrupted && !result.nothing_ran)
    out << fmt::format("  repeat with: {}\n", result.repeat());
}

std::string last_line(const RunResult& result) {
  const std::string_view verdict = result.interrupted   ? "INTERRUPTED"
                                   : result.nothing_ran ? "NOTHING RAN"
                                   : result.passed()    ? "PASSED"
                                                        : "FAILED";
  const std::string told = fmt::format("{}", fmt::join(told_last(result), "; "));
  const std::string named = result.name + with_stand_ins(result);
  const bool tells = !told.empty() || !result.stand_ins.empty();
  return fmt::format("{} {}{}{} in {}{}{}", verdict, named, told.empty() ? "" : ": " + told,
                     tells ? "," : "", lasted(result.ended_at - result.started_at),
                     result.mode == Mode::virtual_ ? " of virtual time" : "",
                     result.timed_out ? " (timeout)" : "");
}

json::value to_json(const RunResult& result) {
  json::array pods;
  for (const PodEnd& pod : result.pods) {
    pods.push_back(json::object{{"name", pod.name},
                                {"state", pod.state},
                                {"restarts", pod.restarts},
                                {"created", pod.created},
                                {"exitCodes", json::value_from(pod.exit_codes)}});
  }
  json::object off;
  for (const auto& [name, reason] : result.invariants_off) off[name] = reason;
  json::array stand_ins;
  for (const StandIn& one : result.stand_ins)
    stand_ins.push_back(json::object{{"object", one.object},
                                     {"container", one.container},
                                     {"where", one.where},
                                     {"text", one.text}});
  json::object object{{"scenario", result.name},
                      {"file", result.file},
                      {"incident", result.incident},
                      {"mode", to_string(result.mode)},
                      {"seed", result.seed},
                      {"passed", result.passed()},
                      {"interrupted", result.interrupted},
                      {"timedOut", result.timed_out},
                      {"nothingRan", result.nothing_ran},
                      {"startedAt", format_rfc3339_micro(result.started_at)},
                      {"seconds", seconds_of(result.ended_at - result.started_at)},
                      {"steps", to_json(result.step_verdicts)},
                      {"expectations", to_json(result.expectations)},
                      {"faults", to_json(result.faults)},
                      {"invariants", to_json(result.invariants)},
                      {"invariantsOff", std::move(off)},
                      {"standIns", std::move(stand_ins)},
                      {"pods", std::move(pods)},
                      {"ends", json::value_from(result.ends)},
                      {"notes", json::value_from(result.notes)},
                      {"artefacts", result.artefacts},
                      {"repeat", result.repeat()}};
  if (result.trace_hash) {
    object["torch"] = result.torch;
    object["traceHash"] = hash_text(*result.trace_hash);
    object["records"] = result.records;
  }
  return object;
}

void print_suite(std::ostream& out, const RunResult& result) {
  const std::size_t failed = count_cases(result, Verdict::failed);
  const std::size_t open = count_cases(result, Verdict::open);
  out << fmt::format(
      "  <testsuite name=\"{}\" tests=\"{}\" failures=\"{}\" skipped=\"{}\" time=\"{:.3f}\" "
      "timestamp=\"{}\">\n",
      xml(suite_of(result)), failed + open + count_cases(result, Verdict::held), failed, open,
      seconds_of(result.ended_at - result.started_at), format_rfc3339(result.started_at));
  print_properties(out, result);
  print_cases(out, result, "step", result.step_verdicts);
  print_cases(out, result, "expected", result.expectations);
  print_cases(out, result, "fault", result.faults);
  print_cases(out, result, "invariant", result.invariants);
  out << "  </testsuite>\n";
}

void print_suite_of_error(std::ostream& out, const std::string& name, const std::string& error) {
  out << fmt::format(
      "  <testsuite name=\"{0}\" tests=\"1\" failures=\"0\" errors=\"1\" skipped=\"0\">\n"
      "    <testcase classname=\"{0}\" name=\"run\"><error message=\"{1}\"/></testcase>\n"
      "  </testsuite>\n",
      xml(name), xml(error));
}

}  // namespace ddptwin::scenario
