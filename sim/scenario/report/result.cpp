#include "scenario/report/result.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <boost/json/value.hpp>
#include <boost/json/value_from.hpp>
#include <ostream>

#include "scenario/claims.hpp"
#include "scenario/report/narrator.hpp"
#include "scenario/trace_hash.hpp"

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
    pods.push_back(
        {key, state_of(seen), restarts_of(pod, ""), exit_codes_of(pod, ""), seen.created});
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
      one.detail = "its moment did not come: it is judged " + invariant.row->when();
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
    if (one.at > Duration::zero()) out << fmt::format(" ({})", elapsed(one.at));
    out << '\n';
    if (!one.detail.empty()) out << fmt::format("          {}\n", indented(one.detail));
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
    out << fmt::format("    <testcase classname=\"{}\" name=\"{}\" time=\"{:.3f}\"",
                       xml(result.name), xml(fmt::format("{} {}", what, one.name)),
                       seconds_of(one.at));
    if (one.verdict == Verdict::held)
      out << "/>\n";
    else if (one.verdict == Verdict::open && one.detail.empty())
      out << "><skipped/></testcase>\n";
    else if (one.verdict == Verdict::open)
      out << fmt::format("><skipped message=\"{}\"/></testcase>\n", xml(one.detail));
    else
      out << fmt::format("><failure message=\"{}\">{}\n{}</failure></testcase>\n", xml(one.detail),
                         xml(one.where), xml(result.repeat()));
  }
}

std::size_t count(const RunResult& result, Verdict verdict) {
  std::size_t number = 0;
  for (const auto* list :
       {&result.step_verdicts, &result.expectations, &result.invariants, &result.faults})
    number += count_of(*list, verdict);
  return number;
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
  if (held + open < invariants.size()) return;
  out << fmt::format("  held    all {} invariants", held);
  if (open > 0)
    out << fmt::format(
        " that were asked; {} were not: no job came to rest, nothing was due, or no such record",
        open);
  out << '\n';
}

// What nobody may take for the real thing; empty: nothing.
std::string with_stand_ins(const RunResult& result) {
  const std::size_t number = result.stand_ins.size();
  return number == 0
             ? std::string()
             : fmt::format(", with stand-ins for {} container{},", number, number == 1 ? "" : "s");
}

}  // namespace

bool RunResult::passed() const {
  return !interrupted && all_held(step_verdicts) && all_held(expectations) && all_held(faults) &&
         none_failed(invariants);
}

std::string RunResult::repeat() const {
  std::string command =
      fmt::format("ddptwin run {} --mode {} --seed {}", shell_word(file), to_string(mode), seed);
  if (!torch.empty()) command += " --torch " + torch;
  if (!python.empty()) command += " --python " + shell_word(python);
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
                                    step.verdict, at, step.detail, step.step->where});
  }
  for (const ExpectationResult& expectation : engine.expectations()) {
    const Duration at =
        expectation.decided_at ? *expectation.decided_at - engine.started_at() : Duration();
    result.expectations.push_back({expectation.expectation->name, expectation.verdict, at,
                                   expectation.detail, expectation.expectation->where});
  }
  result.invariants = invariants_of(engine);
  result.invariants_off = {scenario.invariants.off.begin(), scenario.invariants.off.end()};
  result.stand_in_shape = scenario.stand_ins;
  result.pods = pods_of(engine.observer());
  return result;
}

void print_verdicts(std::ostream& out, const RunResult& result) {
  print_judged(out, "step", result.step_verdicts);
  print_judged(out, "expected", result.expectations);
  print_judged(out, "fault", result.faults);
  print_invariants(out, result.invariants);
  for (const auto& [name, reason] : result.invariants_off)
    out << fmt::format("  off     invariant {}: {}\n", name, reason);
  const std::string_view verdict = result.interrupted ? "INTERRUPTED"
                                   : result.passed()  ? "PASSED"
                                                      : "FAILED";
  out << fmt::format("{} {}{} in {}{}{}\n", verdict, result.name, with_stand_ins(result),
                     elapsed(result.ended_at - result.started_at),
                     result.mode == Mode::virtual_ ? " of virtual time" : "",
                     result.timed_out ? " (timeout)" : "");
  if (result.trace_hash)
    out << fmt::format("  trace {} of {} records, seed {}, PyTorch {}\n",
                       hash_text(*result.trace_hash), result.records, result.seed, result.torch);
  if (!result.passed() && !result.interrupted)
    out << fmt::format("  repeat with: {}\n", result.repeat());
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
                      {"startedAt", format_rfc3339_micro(result.started_at)},
                      {"seconds", seconds_of(result.ended_at - result.started_at)},
                      {"steps", to_json(result.step_verdicts)},
                      {"expectations", to_json(result.expectations)},
                      {"faults", to_json(result.faults)},
                      {"invariants", to_json(result.invariants)},
                      {"invariantsOff", std::move(off)},
                      {"standIns", std::move(stand_ins)},
                      {"pods", std::move(pods)},
                      {"artefacts", result.artefacts},
                      {"repeat", result.repeat()}};
  if (result.trace_hash) {
    object["torch"] = result.torch;
    object["traceHash"] = hash_text(*result.trace_hash);
    object["records"] = result.records;
  }
  return object;
}

void print_junit(std::ostream& out, const std::vector<RunResult>& results) {
  out << "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuites>\n";
  for (const RunResult& result : results) {
    const std::size_t failed = count(result, Verdict::failed);
    const std::size_t open = count(result, Verdict::open);
    out << fmt::format(
        "  <testsuite name=\"{}\" tests=\"{}\" failures=\"{}\" skipped=\"{}\" time=\"{:.3f}\" "
        "timestamp=\"{}\">\n",
        xml(result.name), failed + open + count(result, Verdict::held), failed, open,
        seconds_of(result.ended_at - result.started_at), format_rfc3339(result.started_at));
    print_properties(out, result);
    print_cases(out, result, "step", result.step_verdicts);
    print_cases(out, result, "expected", result.expectations);
    print_cases(out, result, "fault", result.faults);
    print_cases(out, result, "invariant", result.invariants);
    out << "  </testsuite>\n";
  }
  out << "</testsuites>\n";
}

}  // namespace ddptwin::scenario
