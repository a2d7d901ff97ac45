// From the body of a request to an object: strictness, and what a custom resource's definition
// prunes, fills in and refuses (spec/kubernetes.md sections 1.15 and 1.16).
#include <fmt/format.h>

#include <boost/json.hpp>

#include "cluster/store/store.hpp"
#include "cluster/store/store_errors.hpp"
#include "objects/codec.hpp"
#include "objects/json_text.hpp"
#include "objects/strategy.hpp"
#include "objects/validation.hpp"

namespace ddptwin {
namespace {

namespace json = boost::json;

constexpr std::string_view rules_not_checked =
    "Invalid value: null: some validation rules were not checked because the object was invalid; "
    "correct the existing errors to complete validation";

// A value as Go's %v prints it, and its Go type's name.
std::string go_value(const Json& value) {
  if (value.is_string()) return std::string(value.get_string());
  if (value.is_array() && value.get_array().empty()) return "[]";
  return json::serialize(value);
}
std::string_view go_type(const Json& value) {
  if (value.is_string()) return "string";
  if (value.is_array()) return "[]interface {}";
  if (value.is_object()) return "map[string]interface {}";
  if (value.is_bool()) return "bool";
  return value.is_double() ? "float64" : "int64";
}

// What is wrong with the number that the scale subresource reads.
std::optional<ErrorCause> replicas_error(const Json& object, const std::string& path) {
  const auto accessor = [&](std::string_view at, const Json& value, std::string_view wanted) {
    return invalid(path, "0",
                   fmt::format("{} accessor error: {} is of the type {}, expected {}", at,
                               go_value(value), go_type(value), wanted));
  };
  const Json* at = &object;
  std::size_t from = 0;
  while (from < path.size()) {
    const std::size_t dot = path.find('.', from + 1);
    const std::string_view key = std::string_view(path).substr(
        from + 1, (dot == std::string::npos ? path.size() : dot) - from - 1);
    if (!at->is_object())
      return accessor(std::string_view(path).substr(0, dot), *at, "map[string]interface{}");
    at = at->get_object().if_contains(key);
    if (at == nullptr || at->is_null()) return std::nullopt;
    from = dot == std::string::npos ? path.size() : dot;
  }
  if (!at->is_int64()) return accessor(path, *at, "int64");
  constexpr std::int64_t most = 2'147'483'647;
  const std::int64_t n = at->get_int64();
  if (n < 0) return invalid(path, std::to_string(n), "should be a non-negative integer");
  if (n > most)
    return invalid(path, std::to_string(n),
                   fmt::format("should be less than or equal to {}", most));
  return std::nullopt;
}

// The part of an object that a write touches: its status, or all but that.
ErrorList definition_errors(const KindInfo& kind, const Schema& schema, const Json& body,
                            const Json* old, bool status) {
  ErrorList out;
  if (status) {
    const auto part = schema.properties.find("status");
    const Json* value = body.get_object().if_contains("status");
    const Json* before = old != nullptr ? old->get_object().if_contains("status") : nullptr;
    if (part != schema.properties.end() && value != nullptr)
      out = validate_schema(part->second, *value, before, "status");
  } else {
    if (body.get_object().contains("status")) {
      json::object rest = body.get_object();
      rest.erase("status");
      out = validate_schema(schema, Json(std::move(rest)), old);
    } else {
      out = validate_schema(schema, body, old);
    }
    if (kind.scale)
      if (auto error = replicas_error(body, kind.scale->spec_replicas))
        out.push_back(std::move(*error));
  }
  if (schema.has_rules && blocks_rules(out))
    out.push_back({"FieldValueInvalid", std::string(rules_not_checked), "<nil>"});
  return out;
}

// The text that a typed custom object was read from, or null where it was built in code.
bool has_source(const Object& object) {
  if (object.kind().type == nullptr) return true;
  const FieldInfo* spec = object.kind().type().find("spec");
  return spec != nullptr && spec->type().shape == Shape::verbatim &&
         spec->type().source(spec->read(object.body())).get() != nullptr;
}

std::string_view version_of(std::string_view api_version) {
  return api_version.substr(api_version.find('/') + 1);  // all of it where there is no group
}

// What a body says it is; a built-in kind need not be named.
struct BodyKind {
  std::string api_version{};
  std::string kind{};

  static BodyKind of(const Json& body, const KindInfo& expected) {
    BodyKind said{text_member(body.get_object(), "apiVersion"),
                  text_member(body.get_object(), "kind")};
    if (expected.custom) return said;
    if (said.api_version.empty()) said.api_version = expected.api_version();
    if (said.kind.empty()) said.kind = expected.kind;
    return said;
  }
  bool is(const KindInfo& expected) const {
    return kind == expected.kind && api_version == expected.api_version();
  }
};

// Why a body of another built-in kind cannot be converted, in the words of upstream's scheme.
std::string conversion_fault(const KindRegistry& kinds, const BodyKind& said,
                             const KindInfo& expected) {
  if (kinds.find(said.api_version, said.kind) == nullptr)
    return fmt::format(
        "no kind {} is registered for version {} in scheme "
        "\"pkg/runtime/scheme.go:111\"",
        quoted(said.kind), quoted(said.api_version));
  const std::string_view package =
      expected.group.empty() ? "core"
                             : std::string_view(expected.group).substr(0, expected.group.find('.'));
  return fmt::format("converting ({}.{}) to ({}.{}): unknown conversion",
                     version_of(said.api_version), said.kind, package, expected.kind);
}

Error wrong_version_error(const BodyKind& said, const KindInfo& expected) {
  return {Reason::bad_request,
          {},
          fmt::format("the API version in the data ({}) does not match the expected API version "
                      "({})",
                      said.api_version, expected.api_version()),
          nullptr,
          0,
          {}};
}

// Custom resources are named exactly (spec/kubernetes.md section 1.16).
Error custom_kind_error(const Json& body, const BodyKind& said, const KindInfo& kind,
                        bool from_patch) {
  if (said.kind.empty())
    return {Reason::bad_request,
            {},
            fmt::format("the object provided is unrecognized (must be of type {}): Object 'Kind' "
                        "is missing in '{}'",
                        kind.kind, json::serialize(body)),
            nullptr,
            0,
            {}};
  KindInfo said_kind;
  said_kind.group = kind.group;
  said_kind.kind = said.kind;
  const Json* metadata = body.get_object().if_contains("metadata");
  const std::string name = metadata != nullptr && metadata->is_object()
                               ? text_member(metadata->get_object(), "name")
                               : "";
  if (said.kind != kind.kind)
    return invalid_error(said_kind, name,
                         {invalid("kind", quoted(said.kind), "must be " + kind.kind)});
  Error error = wrong_version_error(said, kind);
  if (from_patch)
    error = invalid_error(
        said_kind, name,
        {invalid("apiVersion", quoted(said.api_version), "must be " + kind.api_version())});
  // All but the metadata is unknown to a version that nobody defines.
  error.warnings = {"unknown field \"spec\""};
  return error;
}

// managedFields: [], which an object does not keep apart from none.
bool sends_no_managers(const Json& body) {
  const Json* metadata = body.is_object() ? body.get_object().if_contains("metadata") : nullptr;
  const json::object* members = metadata != nullptr ? metadata->if_object() : nullptr;
  const Json* sent = members != nullptr ? members->if_contains("managedFields") : nullptr;
  return sent != nullptr && sent->is_array() && sent->get_array().empty();
}

std::string strict_text(const std::vector<std::string>& problems) {
  return fmt::format("strict decoding error: {}", fmt::join(problems, ", "));
}

}  // namespace

void Store::set_schema(const KindInfo& kind, std::shared_ptr<const Schema> schema) {
  Table& rows = table(kind);
  rows.schema = std::move(schema);
}

const Schema* Store::schema_of(const KindInfo& kind) const {
  Table& rows = table(kind);
  if (rows.schema == nullptr && kind.schema.get() != nullptr) {
    auto compiled = Schema::compile(*kind.schema.get());
    DDPTWIN_ASSERT(compiled.has_value());
    rows.schema = std::make_shared<const Schema>(std::move(*compiled));
  }
  return rows.schema.get();
}

// What a mutating hook leaves is what the definition is asked about.
void Store::judge_again(Context& context, const Object& object, const Object* old) const {
  const Schema* schema = schema_of(context.kind);
  if (schema == nullptr) return;
  const bool status = context.request.target.subresource == "status";
  const Json before = old != nullptr ? encode(*old) : Json();
  ErrorList errors = definition_errors(context.kind, *schema, encode(object),
                                       old != nullptr ? &before : nullptr, status);
  if (!errors.empty() || context.remarks != nullptr)
    context.remark().definition_errors = std::move(errors);
}

Result<std::shared_ptr<Object>> Store::decode_checked(Context& context, Json sent,
                                                      const Object* old, bool from_patch) const {
  const KindInfo& kind = context.kind;
  const api::Request& request = context.request;
  const auto refuse = [&](const std::string& why) -> tl::unexpected<Error> {
    if (from_patch)
      return fail(Error{
          Reason::invalid,
          {},
          fmt::format(" \"\" is invalid: patch: Invalid value: \"{}\": {}", json::serialize(sent),
                      why),
          std::make_shared<ErrorDetails>(ErrorDetails{
              .causes = {{"FieldValueInvalid",
                          fmt::format("Invalid value: \"{}\": {}", json::serialize(sent), why),
                          "patch"}}}),
          0});
    return fail(Reason::bad_request,
                fmt::format("{} in version \"{}\" cannot be handled as a {}: {}", kind.kind,
                            kind.version, kind.kind, why));
  };
  const BodyKind said = sent.is_object() ? BodyKind::of(sent, kind) : BodyKind();
  if (sent.is_object() && !said.is(kind)) {
    if (kind.custom) return tl::make_unexpected(custom_kind_error(sent, said, kind, from_patch));
    const bool other_version = said.kind == kind.kind && !kind.group.empty() &&
                               said.api_version.starts_with(kind.group + "/");
    if (other_version && !from_patch) return fail(wrong_version_error(said, kind));
    const std::string why = conversion_fault(kinds_, said, kind);
    if (from_patch) return refuse(why);
    return fail(Reason::bad_request,
                fmt::format("{} in version \"{}\" cannot be handled as a {}: {}", said.kind,
                            version_of(said.api_version), kind.kind, why));
  }
  if (sends_no_managers(sent)) context.remark().resets_managers = true;
  const Schema* schema = sent.is_object() ? schema_of(kind) : nullptr;
  std::vector<std::string> unknown;
  Json body = from_patch ? Json(sent) : std::move(sent);  // what a patch has made is shown whole
  const bool status = request.target.subresource == "status";
  if (schema != nullptr) {
    prune(*schema, body, {}, unknown);
    fill_defaults(*schema, body);
    const Json before = old != nullptr ? encode(*old) : Json();
    ErrorList errors =
        definition_errors(kind, *schema, body, old != nullptr ? &before : nullptr, status);
    if (!errors.empty()) context.remark().definition_errors = std::move(errors);
  }
  auto decoded = decode_object(kinds_, std::move(body), &kind);
  if (!decoded) {
    ErrorList errors;
    context.take_definition_errors(errors);
    if (!errors.empty()) return fail(invalid_error(kind, name_of(request), std::move(errors)));
    return refuse(decoded.error().message);
  }
  if (schema == nullptr) unknown = std::move(decoded->notes.unknown_fields);
  std::vector<std::string> problems;
  for (const std::string& path : request.write->doubled_fields)
    problems.push_back("duplicate field \"" + path + "\"");
  for (const std::string& path : unknown) problems.push_back("unknown field \"" + path + "\"");
  if (request.write->field_validation == "Strict" && !problems.empty())
    return refuse(strict_text(problems));
  if (request.write->field_validation != "Ignore") context.warn(std::move(problems));
  return decoded->object;
}

Result<std::shared_ptr<Object>> Store::body_of(Context& context, const Object* old) const {
  const api::Request& request = context.request;
  if (request.object == nullptr) {
    if (request.body.get() == nullptr) return fail(Reason::bad_request, "the request has no body");
    return decode_checked(context, *request.body.get(), old, false);
  }
  // A typed object is right by its type; only what was read from a text is held against the
  // definition, and that only where the text is new.
  const bool judged = context.kind.custom && request.target.subresource.empty() &&
                      schema_of(context.kind) != nullptr && has_source(*request.object) &&
                      (old == nullptr || !same_spec(*request.object, *old));
  if (judged) return decode_checked(context, encode(*request.object), old, false);
  if (context.is_last_use && (request.gives_object || request.object.use_count() == 1))
    return std::const_pointer_cast<Object>(request.object);
  return request.object->clone();
}

}  // namespace ddptwin
