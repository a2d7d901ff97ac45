#include "objects/schema.hpp"

#include <algorithm>
#include <boost/json.hpp>

#include "core/regular_expression.hpp"
#include "objects/json_text.hpp"

namespace ddptwin {

using namespace std::string_view_literals;
namespace {

namespace json = boost::json;

bool flag_of(const json::object& source, std::string_view name) {
  const Json* member = source.if_contains(name);
  return member != nullptr && member->is_bool() && member->get_bool();
}

std::optional<double> number_of(const json::object& source, std::string_view name) {
  const Json* member = source.if_contains(name);
  if (member == nullptr || !member->is_number()) return std::nullopt;
  return member->to_number<double>();
}

std::optional<std::size_t> size_of(const json::object& source, std::string_view name) {
  const auto number = number_of(source, name);
  if (!number || *number < 0) return std::nullopt;
  return static_cast<std::size_t>(*number);
}

std::vector<std::string> texts_of(const json::object& source, std::string_view name) {
  std::vector<std::string> out;
  if (const Json* list = source.if_contains(name); list != nullptr && list->is_array())
    for (const Json& item : list->get_array())
      if (item.is_string()) out.emplace_back(item.get_string());
  return out;
}

void note_below(Schema& schema, const Schema& child) {
  schema.has_rules = schema.has_rules || child.has_rules;
  schema.has_own_rules = schema.has_own_rules || child.has_own_rules;
  schema.has_defaults = schema.has_defaults || child.has_defaults;
  schema.has_keyed_lists = schema.has_keyed_lists || child.has_keyed_lists;
}

Status compile_children(Schema& out, const json::object& source) {
  if (const Json* members = source.if_contains("properties");
      members != nullptr && members->is_object())
    for (const auto& member : members->get_object()) {
      TRY(Schema child, Schema::compile(member.value()));
      note_below(out, child);
      if (child.fallback != nullptr) out.defaulted.emplace_back(member.key());
      out.properties.emplace(std::string(member.key()), std::move(child));
    }
  std::sort(out.defaulted.begin(), out.defaulted.end());
  out.has_defaults = out.has_defaults || !out.defaulted.empty();
  const auto child = [&](std::string_view name, std::shared_ptr<const Schema>& to) -> Status {
    const Json* inner = source.if_contains(name);
    if (inner == nullptr || !inner->is_object()) return {};
    TRY(Schema compiled, Schema::compile(*inner));
    note_below(out, compiled);
    to = std::make_shared<const Schema>(std::move(compiled));
    return {};
  };
  TRY_VOID(child("items", out.items));
  return child("additionalProperties", out.additional);
}

Status compile_pattern(Schema& out, const json::object& source) {
  out.pattern = text_member(source, "pattern");
  if (out.pattern.empty()) return {};
  out.is_quantity = out.pattern == quantity_pattern;
  Result<std::regex> made = regular_expression(out.pattern);
  if (!made)
    return fail(Reason::bad_input, "the pattern " + out.pattern +
                                       " is no regular expression: " + made.error().message);
  out.matcher = std::make_shared<const std::regex>(*std::move(made));
  return {};
}

}  // namespace

Result<Schema> Schema::compile(const Json& value) {
  if (!value.is_object()) return fail(Reason::bad_input, "a schema must be an object");
  const json::object& source = value.get_object();
  Schema out;
  out.type = text_member(source, "type");
  out.format = text_member(source, "format");
  out.nullable = flag_of(source, "nullable");
  out.preserve_unknown = flag_of(source, "x-kubernetes-preserve-unknown-fields");
  out.int_or_string = flag_of(source, "x-kubernetes-int-or-string");
  out.embedded = flag_of(source, "x-kubernetes-embedded-resource");
  out.required = texts_of(source, "required");
  if (const Json* list = source.if_contains("enum"); list != nullptr && list->is_array())
    out.allowed.assign(list->get_array().begin(), list->get_array().end());
  out.minimum = number_of(source, "minimum");
  out.maximum = number_of(source, "maximum");
  out.min_length = size_of(source, "minLength");
  out.max_length = size_of(source, "maxLength");
  out.min_items = size_of(source, "minItems");
  out.max_items = size_of(source, "maxItems");
  out.min_properties = size_of(source, "minProperties");
  if (const Json* fallback = source.if_contains("default"); fallback != nullptr)
    out.fallback = std::make_shared<const Json>(*fallback);
  const std::string list_type = text_member(source, "x-kubernetes-list-type");
  out.is_set = list_type == "set";
  out.is_atomic = text_member(source, "x-kubernetes-map-type") == "atomic";
  if (list_type == "map") out.list_keys = texts_of(source, "x-kubernetes-list-map-keys");
  if (const Json* rules = source.if_contains("x-kubernetes-validations");
      rules != nullptr && rules->is_array())
    for (const Json& rule : rules->get_array())
      if (rule.is_object()) {
        const std::string text = text_member(rule.get_object(), "rule");
        out.rules.push_back({text, text_member(rule.get_object(), "message"), find_rule(text)});
        out.has_own_rules = out.has_own_rules || out.rules.back().holds != nullptr;
      }
  out.has_rules = !out.rules.empty();
  out.has_keyed_lists = out.is_set || !out.list_keys.empty();
  TRY_VOID(compile_pattern(out, source));
  TRY_VOID(compile_children(out, source));
  return out;
}

namespace {

// The schema of a member; null where the schema knows none.
const Schema* member_schema(const Schema& schema, std::string_view name) {
  const auto found = schema.properties.find(name);
  if (found != schema.properties.end()) return &found->second;
  return schema.additional.get();
}

bool is_type_meta(std::string_view name) {
  return name == "apiVersion" || name == "kind" || name == "metadata";
}

void prune_object(const Schema& schema, json::object& object, const FieldPath& path,
                  std::vector<std::string>& unknown) {
  std::vector<std::string> dropped;
  for (auto& member : object) {
    const std::string_view name = member.key();
    if ((path.is_root() || schema.embedded) && is_type_meta(name)) continue;
    const Schema* child = member_schema(schema, name);
    if (child == nullptr) {
      if (schema.preserve_unknown) continue;
      unknown.push_back(path.field(name));
      dropped.emplace_back(name);
    } else if (member.value().is_null() && !child->nullable && child->fallback == nullptr) {
      dropped.emplace_back(name);
    } else {
      prune(*child, member.value(), path.field(name), unknown);
    }
  }
  for (const std::string& name : dropped) object.erase(name);
}

}  // namespace

void prune(const Schema& schema, Json& value, const FieldPath& path,
           std::vector<std::string>& unknown) {
  if (value.is_object() && (schema.type == "object"sv || schema.type.empty())) {
    if (schema.type.empty() && schema.properties.empty()) return;
    prune_object(schema, value.get_object(), path, unknown);
  } else if (value.is_array() && schema.items != nullptr) {
    std::size_t i = 0;
    for (Json& item : value.get_array()) prune(*schema.items, item, path.item(i++), unknown);
  }
}

void fill_defaults(const Schema& schema, Json& value) {
  if (!schema.has_defaults) return;
  if (value.is_object()) {
    json::object& object = value.get_object();
    for (const std::string& name : schema.defaulted) {
      const Schema& child = schema.properties.find(name)->second;
      const Json* member = object.if_contains(name);
      if (member == nullptr || (member->is_null() && !child.nullable))
        object[name] = *child.fallback;
    }
    for (auto& member : object)
      if (const Schema* child = member_schema(schema, member.key()); child != nullptr)
        fill_defaults(*child, member.value());
  } else if (value.is_array() && schema.items != nullptr) {
    for (Json& item : value.get_array()) fill_defaults(*schema.items, item);
  }
}

}  // namespace ddptwin
