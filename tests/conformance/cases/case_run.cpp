#include "case_run.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <map>
#include <set>
#include <vector>

#include "objects/json_text.hpp"
#include "objects/kinds.hpp"
#include "scenario/language/files.hpp"
#include "scenario/language/scenario_parser.hpp"
#include "scenario/report/env_report.hpp"
#include "scenario/run/preflight.hpp"
#include "scenario/run/virtual_run.hpp"
#include "shorthands.hpp"

namespace ddptwin::conformance {
namespace {

namespace json = boost::json;
using Fault = std::optional<std::string>;

// Those that are written in a few words, and whole ones.
json::array told_objects(const json::object& description, const CaseTables& tables) {
  json::array all;
  if (const auto* block = description.if_contains("block")) {
    const auto* part = description.if_contains("part");
    all.push_back(block_of_page(tables.folder + "/document", std::string(block->as_string()),
                                part == nullptr ? 0 : part->to_number<int>()));
  }
  for (const Shorthand& row : shorthands()) {
    const auto* said = description.if_contains(row.key);
    if (said == nullptr) continue;
    const auto* name = description.if_contains("name");
    all.push_back(
        row.make(said->as_object(), name != nullptr ? name->as_string() : json::string(row.name)));
  }
  if (const auto* objects = description.if_contains("objects"))
    all.insert(all.end(), objects->as_array().begin(), objects->as_array().end());
  return all;
}

// They are not there at the start: a step asks for each, and hears those words.
void refuse_first(json::object& spec, const json::array& objects, const json::value& words) {
  json::array steps;
  for (const json::value& object : objects)
    steps.push_back(json::object{{"refused", words}, {"apply", json::object{{"object", object}}}});
  if (const auto* more = spec.if_contains("steps"))
    steps.insert(steps.end(), more->as_array().begin(), more->as_array().end());
  spec["steps"] = std::move(steps);
  if (spec.contains("expect")) return;
  const json::value& first = objects.front().at("metadata").at("name");
  const std::string kind(objects.front().at("kind").as_string());
  const std::string name(first.as_string());
  spec["expect"] = json::array{json::object{{"never", json::object{{"of", kind + "/" + name}}}}};
}

// The scenario's file as a user would write it: JSON is YAML.
std::string text_of(const json::object& description, const CaseTables& tables) {
  json::object spec = tables.base;
  if (const auto* more = description.if_contains("spec")) merge(spec, *more);
  for (const char* list : {"steps", "expect"})
    if (const auto* said = description.if_contains(list)) spec[list] = *said;
  json::array objects = told_objects(description, tables);
  if (const auto* refused = description.if_contains("refused")) {
    refuse_first(spec, objects, *refused);
    objects.clear();
  }
  std::string text = json::serialize(json::object{
      {"apiVersion", "ddptwin.dev/v1alpha1"}, {"kind", "Scenario"}, {"spec", std::move(spec)}});
  for (const json::value& object : objects) text += "\n---\n" + json::serialize(object);
  return text + "\n";
}

// What the trace tells of pods and names.
struct Seen {
  std::vector<std::string> pods{};  // "+train-0", "-train-0", in their order
  std::map<std::string, std::string, std::less<>> addresses{};                // of pods now
  std::map<std::string, std::set<std::string>, std::less<>> all_addresses{};  // ever
  std::map<std::string, std::string, std::less<>> answers{};  // the last one to each question
  const scenario::Scenario* scenario = nullptr;
  const scenario::RunResult* result = nullptr;  // null: it has not run

  void take(const Record& record) {
    if (record.kind == RecordKind::dns) {
      std::string name(record.subject.substr(0, record.subject.find(' ')));
      while (name.ends_with('.')) name.pop_back();
      if (record.subject.ends_with(" A")) answers[name] = record.text;
      return;
    }
    const Object* object = record.after ? record.after.get() : record.before.get();
    const Pod* pod = object != nullptr ? as<Pod>(*object) : nullptr;
    if (pod == nullptr) return;
    const std::string name = pod->metadata.name.str();
    if (record.kind == RecordKind::object_added) pods.push_back("+" + name);
    if (record.kind == RecordKind::object_deleted) pods.push_back("-" + name);
    const std::string ip = pod->status.rest->podIP.str();
    if (ip.empty()) return;
    addresses[pod->metadata.namespace_.str() + "/" + name] = ip;
    all_addresses[name].insert(ip);
  }
};

std::set<std::string> split(std::string_view text) {
  std::set<std::string> parts;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find(", "), text.size());
    parts.emplace(text.substr(0, end));
    text.remove_prefix(std::min(end + 2, text.size()));
  }
  return parts;
}

// `answers`: {NAME: NXDOMAIN}, or a list of pods whose addresses they are, each no more and no
// less.
Fault judge_answers(const json::value& wanted, const Seen& seen) {
  for (const auto& member : wanted.as_object()) {
    const auto found = seen.answers.find(std::string_view(member.key()));
    if (found == seen.answers.end())
      return fmt::format("nobody asked for {}", std::string_view(member.key()));
    if (member.value().is_string()) {
      if (found->second != std::string_view(member.value().as_string()))
        return fmt::format("{} is answered {}", found->first, found->second);
      continue;
    }
    std::set<std::string> addresses;
    for (const json::value& pod : member.value().as_array()) {
      const auto address = seen.addresses.find(std::string_view(pod.as_string()));
      if (address == seen.addresses.end())
        return fmt::format("{} has no address", std::string_view(pod.as_string()));
      addresses.insert(address->second);
    }
    if (split(found->second) != addresses)
      return fmt::format("{} is answered {}, not {}", found->first, found->second,
                         fmt::join(addresses, ", "));
  }
  return std::nullopt;
}

// `pods`: the first comings and goings of pods, in their order.
Fault judge_pods(const json::value& wanted, const Seen& seen) {
  std::vector<std::string> expected;
  for (const json::value& one : wanted.as_array()) expected.emplace_back(one.as_string());
  const auto length = std::min(expected.size(), seen.pods.size());
  if (std::vector(seen.pods.begin(), seen.pods.begin() + static_cast<std::ptrdiff_t>(length)) ==
      expected)
    return std::nullopt;
  return fmt::format("pods came and went so: {}", fmt::join(seen.pods, " "));
}

// `addresses`: how many each pod's name has had.
Fault judge_addresses(const json::value& wanted, const Seen& seen) {
  for (const auto& member : wanted.as_object()) {
    const auto found = seen.all_addresses.find(std::string_view(member.key()));
    const std::size_t count = found == seen.all_addresses.end() ? 0 : found->second.size();
    if (count != member.value().to_number<std::size_t>())
      return fmt::format("{} had {} addresses", std::string_view(member.key()), count);
  }
  return std::nullopt;
}

// `*-worker-0` is whichever pod's name ends so, `*-node-0-1-*` one that has this in the middle.
bool is_pod_of(std::string_view pod, std::string_view key) {
  if (!key.starts_with('*')) return pod == key;
  key.remove_prefix(1);
  if (!key.ends_with('*')) return pod.ends_with(key);
  key.remove_suffix(1);
  return pod.find(key) != pod.npos;
}

// `env`: variables of the first container of each pod before anything runs; null: it is not there.
Fault judge_env(const json::value& wanted, const Seen& seen) {
  const auto containers = scenario::explain_environment(*seen.scenario, "", false);
  for (const auto& pod : wanted.as_object()) {
    const auto found = std::find_if(containers.begin(), containers.end(), [&](const auto& one) {
      return is_pod_of(one.pod, pod.key()) && !one.init;
    });
    if (found == containers.end())
      return fmt::format("there is no {}", std::string_view(pod.key()));
    for (const auto& variable : pod.value().as_object()) {
      const std::string_view name = variable.key();
      const auto there = std::find_if(found->variables.begin(), found->variables.end(),
                                      [&](const auto& one) { return one.name == name; });
      const bool is_there = there != found->variables.end();
      if (variable.value().is_null() ? is_there
                                     : !is_there || there->value != variable.value().as_string())
        return fmt::format("{} has {} {}", found->pod, name,
                           is_there ? there->value : "not at all");
    }
  }
  return std::nullopt;
}

Fault judge_expect(const json::value&, const Seen& seen) {
  const scenario::RunResult& result = *seen.result;
  if (result.passed()) return std::nullopt;
  std::vector<std::string> told;
  for (const auto* list :
       {&result.step_verdicts, &result.expectations, &result.faults, &result.invariants})
    for (const auto& judged : *list)
      if (judged.verdict == scenario::Verdict::failed)
        told.push_back(fmt::format("{}: {}", judged.name, judged.detail));
  return told.empty() ? "the run failed" : fmt::format("{}", fmt::join(told, "; "));
}

// What a case may say: what it is of, and what is judged of it, in this order.
struct KeyRow {
  const char* key;
  json::kind kind;
  Fault (*judge)(const json::value& wanted, const Seen& seen) = nullptr;
  bool before = false;  // anything runs
};
constexpr std::array key_rows{
    KeyRow{"id", json::kind::string},
    KeyRow{"title", json::kind::string},
    KeyRow{"name", json::kind::string},
    KeyRow{"set", json::kind::object},
    KeyRow{"job", json::kind::object},
    KeyRow{"task", json::kind::object},
    KeyRow{"block", json::kind::string},
    KeyRow{"part", json::kind::int64},
    KeyRow{"refused", json::kind::string, &judge_expect},
    KeyRow{"objects", json::kind::array},
    KeyRow{"spec", json::kind::object},
    KeyRow{"steps", json::kind::array},
    KeyRow{"env", json::kind::object, &judge_env, true},
    KeyRow{"expect", json::kind::array, &judge_expect},
    KeyRow{"answers", json::kind::object, &judge_answers},
    KeyRow{"pods", json::kind::array, &judge_pods},
    KeyRow{"addresses", json::kind::object, &judge_addresses},
};

bool is_empty(const json::value& value) {
  return value.is_object() ? value.get_object().empty()
                           : value.is_array() && value.get_array().empty();
}

// A slip in a key would be a case that holds whatever happens.
Fault check_keys(const json::object& description) {
  bool judges = false;
  for (const auto& member : description) {
    const std::string_view key = member.key();
    const auto row = std::find_if(key_rows.begin(), key_rows.end(),
                                  [key](const KeyRow& one) { return one.key == key; });
    if (row == key_rows.end()) return fmt::format("a case has no {}", key);
    if (member.value().kind() != row->kind)
      return fmt::format("{} must be {}", key, std::string_view(json::to_string(row->kind)));
    judges = judges || (row->judge != nullptr && !is_empty(member.value()));
  }
  return judges ? std::nullopt : Fault("there is nothing that is judged of it");
}

// All that is judged before anything runs, or after it.
Fault judge(const json::object& description, bool before, const Seen& seen) {
  for (const KeyRow& row : key_rows) {
    const auto* wanted = description.if_contains(row.key);
    if (wanted == nullptr || row.judge == nullptr || row.before != before) continue;
    if (auto fault = row.judge(*wanted, seen)) return fault;
  }
  return std::nullopt;
}

bool is_to_run(const json::object& description) {
  return std::any_of(key_rows.begin(), key_rows.end(), [&description](const KeyRow& row) {
    return row.judge != nullptr && !row.before && description.contains(row.key);
  });
}

}  // namespace

Fault run_case(const json::object& description, const CaseTables& tables) {
  if (auto fault = check_keys(description)) return fault;
  static const KindRegistry kinds;
  const std::string file = tables.folder + "/case.yaml";
  const std::string text = text_of(description, tables);
  const auto scenario =
      scenario::parse_scenario(file, kinds, [&](const std::string& path) -> Result<std::string> {
        if (path == file) return text;
        return scenario::read_text_file(path);
      });
  if (!scenario) return scenario.error().text();
  Seen seen;
  seen.scenario = &*scenario;
  if (auto fault = judge(description, true, seen)) return fault;
  if (!is_to_run(description)) return std::nullopt;
  scenario::VirtualRun run(*scenario, {});
  run.world().trace().add_sink([&seen](const Record& record) { seen.take(record); });
  if (const auto started = run.start(); !started) return started.error().text();
  const auto result = run.finish();
  if (!result) return result.error().text();
  seen.result = &*result;
  // What nobody expects is judged all the same: a run's own promises, and that it came to its end.
  if (auto fault = judge_expect({}, seen)) return fault;
  return judge(description, false, seen);
}

}  // namespace ddptwin::conformance
