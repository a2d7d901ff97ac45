#include "scenario/language/cures.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <boost/json/value.hpp>
#include <vector>

#include "scenario/language/fields.hpp"
#include "scenario/language/member_at.hpp"
#include "scenario/systems/system.hpp"

namespace ddptwin::scenario {
namespace {

namespace json = boost::json;

// ---- templates ---------------------------------------------------------------------------------

constexpr std::string_view render =
    "it is a template of Helm or Jinja: render it first (helm template CHART | ddptwin run -)";
constexpr std::string_view fill_in =
    "it is a variable that nobody has filled in: do so first (envsubst < FILE | ddptwin run -)";

// ${NAME} or ${NAME:-value}; the shell's own texts are not looked at.
bool has_variable(std::string_view text) {
  const auto in_name = [](char c) {
    return c == '_' || (c >= '0' && c <= '9') || (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z');
  };
  for (std::size_t at = text.find("${"); at != text.npos; at = text.find("${", at + 2)) {
    const std::string_view rest = text.substr(at + 2);
    const auto end = std::find_if_not(rest.begin(), rest.end(), in_name);
    if (end != rest.begin() && rest.find('}') != rest.npos) return true;
  }
  return false;
}

bool has_braces(std::string_view text) {
  return text.find("{{") != text.npos || text.find("{%") != text.npos;
}

// ---- quotes ------------------------------------------------------------------------------------

bool wants(std::string_view message, std::initializer_list<std::string_view> types) {
  return std::any_of(types.begin(), types.end(), [message](std::string_view type) {
    return message.find(fmt::format("of type {}", type)) != message.npos;
  });
}

bool is_whole_number(std::string_view text) {
  return !text.empty() &&
         std::all_of(text.begin(), text.end(), [](char c) { return c >= '0' && c <= '9'; });
}

std::string cure_of_type(std::string_view message, const YamlDocument& document,
                         std::string_view path) {
  const json::value& value = document.value_at(path);
  if (wants(message, {"string"}) && (value.is_number() || value.is_bool())) {
    const std::string shown = value.is_bool() ? std::string(value.as_bool() ? "true" : "false")
                                              : document.number_at(path, value);
    return fmt::format("write it in quotes: \"{}\"", shown);
  }
  if (wants(message, {"integer", "int32", "int64", "number"}) && value.is_string() &&
      is_whole_number(value.as_string()))
    return fmt::format("write it without quotes: {}", std::string_view(value.as_string()));
  return {};
}

// ---- kinds of old ------------------------------------------------------------------------------

// Of all systems' kinds.
std::vector<MovedField> moved_fields() {
  std::vector<MovedField> all;
  for (const System* system : systems())
    all.insert(all.end(), system->moved.begin(), system->moved.end());
  return all;
}

std::string moved(const MovedField& field) {
  return fmt::format("spec.{} is now {}", field.old_name, field.now);
}

// Those that the object has.
std::vector<std::string> moved_fields_of(const json::value& object) {
  std::vector<std::string> found;
  for (const MovedField& field : moved_fields())
    if (text_at(object, {"kind"}) == field.kind &&
        member_at(object, {"spec", field.old_name}) != nullptr)
      found.push_back(moved(field));
  return found;
}

std::string cure_of_old_field(std::string_view message) {
  for (const MovedField& field : moved_fields())
    if (message.find(fmt::format("unknown field \"spec.{}\"", field.old_name)) != message.npos &&
        message.find(field.kind) != message.npos)
      return moved(field);
  return {};
}

}  // namespace

std::string absence_of(const System& system) {
  return system.on_request
             ? fmt::format(
                   "the {} has it, which is there where spec.cluster.systems says "
                   "{{{}: on}}",
                   system.title, system.name)
             : fmt::format("the {} has it, and spec.cluster.systems switches that off",
                           system.title);
}

std::string cure_of_template(std::string_view text) {
  if (has_braces(text)) return std::string(render);
  return has_variable(text) ? std::string(fill_in) : std::string();
}

std::string cure_of_refusal(const Error& refusal, const YamlDocument& document,
                            std::string_view path) {
  const json::value& value = document.value_at(path);
  if (value.is_string())
    if (std::string cure = cure_of_template(value.as_string()); !cure.empty()) return cure;
  if (std::string cure = cure_of_type(refusal.message, document, path); !cure.empty()) return cure;
  return cure_of_old_field(refusal.message);
}

std::string_view cure_of_denial(std::string_view message) {
  struct Denial {
    std::string_view words, cure;
  };
  static constexpr std::array denials{
      Denial{"Limit must be set for non overcommitable resources",
             "a device like nvidia.com/gpu wants the same amount in limits as in requests"},
      Denial{"must be equal to nvidia.com/gpu limit",
             "a device like nvidia.com/gpu wants the same amount in limits as in requests"},
  };
  for (const Denial& one : denials)
    if (message.find(one.words) != message.npos) return one.cure;
  return {};
}

std::string cure_of_kind(const KindRegistry& kinds, const json::value& object) {
  const std::string kind = text_at(object, {"kind"}), version = text_at(object, {"apiVersion"});
  std::vector<std::string_view> names;
  for (const KindInfo* known : kinds.all()) {
    names.push_back(known->kind);
    if (known->kind != kind) continue;
    std::string cure = fmt::format("a {} is of {}", kind, known->api_version());
    const auto old = moved_fields_of(object);
    return old.empty() ? cure : fmt::format("{}; {}", cure, fmt::join(old, "; "));
  }
  if (const System* system = system_of_kind(kind, version)) return absence_of(*system);
  if (const System* system = system_of_kind(kind)) return absence_of(*system);
  if (!is_near(kind, names)) return {};
  const std::string told = suggestion(kind, names);  // " (did you mean Pod?)"
  return told.substr(2, told.size() - 3);
}

std::string cure_of_syntax(const Error& error, std::string_view text) {
  std::size_t line = 1;
  for (std::size_t at = 0; at < text.size(); ++line) {
    const std::size_t end = std::min(text.find('\n', at), text.size());
    const std::string_view here = text.substr(at, end - at);
    const bool is_place = error.where.find(fmt::format(":{}:", line)) != std::string::npos;
    if (has_braces(here) || (is_place && has_variable(here)))
      return fmt::format("line {}: {}", line, cure_of_template(here));
    at = end + 1;
  }
  return {};
}

std::string not_a_manifest(const YamlDocument& document) {
  if (!document.value.is_object()) return {};
  const auto has = [&document](std::string_view name) {
    return member_at(document.value, {name}) != nullptr;
  };
  const std::string kind = text_at(document.value, {"kind"});
  const bool nameless = kind.empty() && !has("metadata");
  if (kind == "Kustomization" ||
      (nameless && (has("resources") || has("bases") || has("configMapGenerator"))))
    return "a kustomization is no object: build it first (kubectl kustomize FOLDER | ddptwin run "
           "-)";
  if (nameless && has("version") && (has("appVersion") || has("name")))
    return "a chart is no object: render it first (helm template FOLDER | ddptwin run -)";
  if (nameless && has("services"))
    return "a compose file has no objects of Kubernetes: kompose convert writes them";
  if (nameless && !has("apiVersion"))
    return "this is no object of Kubernetes: it has neither apiVersion nor kind; values of a chart "
           "are rendered first (helm template CHART --values FILE | ddptwin run -)";
  return {};
}

}  // namespace ddptwin::scenario
