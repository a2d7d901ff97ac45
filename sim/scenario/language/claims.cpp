#include "scenario/language/claims.hpp"

#include <algorithm>
#include <boost/json/value.hpp>

#include "core/numbers.hpp"

namespace ddptwin::scenario {
namespace {

namespace json = boost::json;

bool contains_object(const json::object& whole, const json::object& part) {
  return std::all_of(part.begin(), part.end(), [&whole](const json::key_value_pair& member) {
    const json::value* found = whole.if_contains(member.key());
    if (member.value().is_null()) return found == nullptr || found->is_null();
    return found != nullptr && contains_part(*found, member.value());
  });
}

bool contains_list(const json::array& whole, const json::array& part) {
  return std::all_of(part.begin(), part.end(), [&whole](const json::value& wanted) {
    return std::any_of(whole.begin(), whole.end(), [&wanted](const json::value& element) {
      return contains_part(element, wanted);
    });
  });
}

}  // namespace

bool contains_part(const json::value& whole, const json::value& part) {
  if (part.is_object())
    return whole.is_object() && contains_object(whole.as_object(), part.as_object());
  if (part.is_array()) return whole.is_array() && contains_list(whole.as_array(), part.as_array());
  return whole == part;
}

const json::object* find_condition(const json::value& object, std::string_view type) {
  const json::object* root = object.if_object();
  const json::value* status = root != nullptr ? root->if_contains("status") : nullptr;
  if (status == nullptr || !status->is_object()) return nullptr;
  const json::value* conditions = status->as_object().if_contains("conditions");
  if (conditions == nullptr || !conditions->is_array()) return nullptr;
  for (const json::value& condition : conditions->as_array()) {
    const json::object* members = condition.if_object();
    const json::value* name = members != nullptr ? members->if_contains("type") : nullptr;
    if (name != nullptr && name->is_string() && std::string_view(name->as_string()) == type)
      return members;
  }
  return nullptr;
}

std::vector<const ContainerStatus*> statuses_of(const Pod& pod, std::string_view container) {
  std::vector<const ContainerStatus*> statuses;
  for (const auto* list : {&pod.status.initContainerStatuses, &pod.status.containerStatuses}) {
    for (const ContainerStatus& status : *list) {
      if (container.empty() || status.name == container) statuses.push_back(&status);
    }
  }
  return statuses;
}

std::string runtime_id(const ContainerStatus& status) {
  const std::string_view whole = status.rest->containerID;
  const std::size_t scheme = whole.find("://");
  return std::string(scheme == whole.npos ? whole : whole.substr(scheme + 3));
}

std::int64_t restarts_of(const Pod& pod, std::string_view container) {
  std::int64_t restarts = 0;
  for (const ContainerStatus* status : statuses_of(pod, container))
    restarts += status->restartCount;
  return restarts;
}

std::vector<std::int64_t> exit_codes_of(const Pod& pod, std::string_view container) {
  std::vector<std::int64_t> codes;
  for (const ContainerStatus* status : statuses_of(pod, container)) {
    for (const ContainerState* state : {&status->state, &*status->lastState}) {
      if (state->terminated) codes.push_back(state->terminated->exitCode);
    }
  }
  return codes;
}

StepLine step_of(std::string_view line) {
  constexpr std::string_view word = "step";
  for (std::size_t at = line.find(word); at != line.npos; at = line.find(word, at + 1)) {
    if (at > 0 && std::isalnum(static_cast<unsigned char>(line[at - 1])) != 0) continue;
    // "checkpoint step 10" and "resumed from step 10" tell of steps, not of the end of one.
    const std::string_view before = line.substr(0, at);
    if (before.ends_with("checkpoint ") || before.ends_with("from ")) continue;
    std::string_view rest = line.substr(at + word.size());
    if (rest.empty() || (rest.front() != ' ' && rest.front() != '=' && rest.front() != ':'))
      continue;
    rest.remove_prefix(std::min(rest.find_first_not_of(" =:"), rest.size()));
    StepLine found;
    found.step = take_number<std::int64_t>(rest).value_or(-1);
    if (found.step < 0) continue;
    if (rest.starts_with('/')) {
      rest.remove_prefix(1);
      found.total = take_number<std::int64_t>(rest).value_or(0);
    }
    return found;
  }
  return {};
}

}  // namespace ddptwin::scenario
