#include "recording.hpp"

#include <algorithm>
#include <fstream>
#include <sstream>

#include "objects/kinds.hpp"

namespace ddptwin::golden {
namespace {

namespace json = boost::json;

constexpr Duration default_spacing = 5s;  // between steps without a recorded time
constexpr double default_settle = 2;      // seconds of quiet that end a step

std::string_view text(const json::object& object, std::string_view key) {
  const Json* member = object.if_contains(key);
  return member != nullptr && member->is_string() ? std::string_view(member->get_string())
                                                  : std::string_view();
}

Duration seconds(const Json& number) {
  return std::chrono::duration_cast<Duration>(
      std::chrono::duration<double>(number.to_number<double>()));
}

Step step_of(const json::object& object, Duration at) {
  Step step;
  step.number = static_cast<int>(object.at("step").to_number<std::int64_t>());
  step.at = at;
  for (const auto& member : object.at("do").get_object())
    if (member.key() != "settle" && member.key() != "note") {
      step.verb = member.key();
      step.argument = member.value();
    }
  if (const Json* result = object.if_contains("result")) step.expected_result = *result;
  if (const Json* changed = object.if_contains("changed")) step.changed = changed->as_object();
  if (const Json* gone = object.if_contains("gone"))
    for (const Json& key : gone->as_array()) step.gone.emplace_back(key.as_string());
  if (const Json* events = object.if_contains("events")) step.events = events->as_array();
  return step;
}

// Whether it stands there by itself: a PyTorchJob is no Job.
bool has_word(std::string_view in, std::string_view word) {
  const auto is_letter = [](char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); };
  for (std::size_t at = in.find(word); at != in.npos; at = in.find(word, at + 1)) {
    const std::size_t end = at + word.size();
    if ((at == 0 || !is_letter(in[at - 1])) && (end == in.size() || !is_letter(in[end])))
      return true;
  }
  return false;
}

// How long the last step lasts: its own wait, then the quiet that ended it.
Duration last_step_length(const json::object& doing) {
  double length = 2 * default_settle;
  if (const Json* wait = doing.if_contains("wait"))
    length = wait->to_number<double>() + default_settle;
  if (const Json* settle = doing.if_contains("settle"))
    length = std::max(length, settle->to_number<double>() + default_settle);
  return std::chrono::duration_cast<Duration>(std::chrono::duration<double>(length));
}

// Some recordings were made without ends by themselves and do not say so: their steps show a bound
// pod that is still within its grace when all is quiet. One that has ended waits for a finalizer.
bool shows_terminating_pod(const std::vector<Step>& steps) {
  for (const Step& step : steps)
    for (const auto& member : step.changed) {
      if (!member.key().starts_with("v1/Pod/") || !member.value().is_object()) continue;
      const json::object& pod = member.value().get_object();
      const Json *metadata = pod.if_contains("metadata"), *spec = pod.if_contains("spec");
      if (metadata == nullptr || spec == nullptr) continue;
      const Json* grace = metadata->as_object().if_contains("deletionGracePeriodSeconds");
      if (grace != nullptr && *grace != 0 && spec->as_object().contains("nodeName")) return true;
    }
  return false;
}

}  // namespace

bool Recording::needs_one(std::string_view what) const {
  return std::find(needs.begin(), needs.end(), what) != needs.end();
}

std::string Recording::version_of(std::string_view program) const {
  const auto found = versions.find(std::string(program));
  return found != versions.end() ? found->second : std::string();
}

Result<Recording> load(const std::filesystem::path& file) {
  std::ifstream in(file);
  if (!in) return fail(Reason::bad_input, "cannot be read", file.string());
  std::stringstream content;
  content << in.rdbuf();
  boost::system::error_code error;
  const Json parsed = json::parse(content.str(), error);
  if (error || !parsed.is_object())
    return fail(Reason::bad_input, "not a recording: " + (error ? error.message() : "no object"),
                file.string());
  const json::object& top = parsed.get_object();
  const Json* steps = top.if_contains("steps");
  if (steps == nullptr || !steps->is_array())
    return fail(Reason::bad_input, "not a recording: no steps", file.string());

  Recording recording;
  const std::string text_of_all = content.str();
  for (const KindInfo* kind : built_in_kinds())
    if (has_word(text_of_all, kind->kind)) recording.kinds.push_back(kind->kind);
  recording.system = file.parent_path().filename().string();
  recording.name = text(top, "case");
  if (const Json* versions = top.if_contains("versions"))
    for (const auto& member : versions->as_object())
      if (member.value().is_string())
        recording.versions.emplace(member.key(), std::string(member.value().get_string()));
  if (const Json* needs = top.if_contains("needs"))
    for (const Json& need : needs->as_array()) recording.needs.emplace_back(need.as_string());
  if (const Json* automatic = top.if_contains("autoFinishDelete"))
    recording.auto_finish_delete = automatic->as_bool();
  Duration at{};
  for (const Json& step : steps->get_array()) {
    const json::object& object = step.as_object();
    const Json* recorded = object.if_contains("at");
    at = recorded != nullptr       ? seconds(*recorded)
         : recording.steps.empty() ? Duration{}
                                   : at + default_spacing;
    recording.steps.push_back(step_of(object, at));
    recording.end = at + last_step_length(object.at("do").get_object());
  }
  if (!top.contains("autoFinishDelete"))
    recording.auto_finish_delete = !shows_terminating_pod(recording.steps);
  return recording;
}

}  // namespace ddptwin::golden
