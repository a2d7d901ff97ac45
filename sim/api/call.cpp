#include "api/call.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <boost/json.hpp>

#include "api/path.hpp"
#include "api/status.hpp"
#include "objects/codec.hpp"
#include "objects/json_text.hpp"
#include "objects/validation.hpp"
#include "objects/yaml.hpp"

namespace ddptwin::api {
namespace {

namespace json = boost::json;

constexpr std::size_t body_bytes_max = 3 * 1024 * 1024;
constexpr std::size_t field_manager_max = 128;

struct PatchRow {
  std::string_view media_type;
  PatchType type;
};
constexpr std::array patch_types{
    PatchRow{"application/json-patch+json", PatchType::json},
    PatchRow{"application/merge-patch+json", PatchType::merge},
    PatchRow{"application/strategic-merge-patch+json", PatchType::strategic},
    PatchRow{"application/apply-patch+yaml", PatchType::apply},
};

struct OptionsRow {
  Verb verb;
  std::string_view options;  // the kind that a refusal names
};
constexpr std::array writes{
    OptionsRow{Verb::create, "CreateOptions"},
    OptionsRow{Verb::update, "UpdateOptions"},
    OptionsRow{Verb::patch, "PatchOptions"},
    OptionsRow{Verb::remove, "DeleteOptions"},
    OptionsRow{Verb::remove_collection, "DeleteOptions"},
};

tl::unexpected<Error> method_not_allowed() {
  return fail(Error{Reason::method_not_allowed,
                    {},
                    "the server does not allow this method on the requested resource",
                    std::make_shared<ErrorDetails>(),
                    0,
                    {}});
}

Result<Verb> verb_of(std::string_view method, const Target& target) {
  const bool item = !target.name.empty();
  // Nothing is deleted in all namespaces at once.
  if (method == "DELETE" && !item && target.kind->namespaced && target.namespace_.empty())
    return method_not_allowed();
  if (method == "GET") return item ? Verb::get : Verb::list;
  if (method == "DELETE") return item ? Verb::remove : Verb::remove_collection;
  if (method == "POST" && (!item || !target.subresource.empty())) return Verb::create;
  if (method == "PUT" && item) return Verb::update;
  if (method == "PATCH" && item) return Verb::patch;
  return method_not_allowed();
}

// "application/json; charset=utf-8" -> "application/json"
std::string_view without_parameters(std::string_view media_type) {
  media_type = media_type.substr(0, media_type.find(';'));
  while (media_type.ends_with(' ')) media_type.remove_suffix(1);
  return media_type;
}

Status read_media_type(std::string_view media_type, Request& request) {
  if (request.verb == Verb::patch) {
    for (const PatchRow& row : patch_types)
      if (row.media_type == media_type) {
        request.patch_type = row.type;
        return {};
      }
    return fail(Reason::unsupported_media_type, "415: Unsupported Media Type");
  }
  if (media_type.empty() || media_type == "application/json" || media_type == "application/yaml")
    return {};
  return fail(Reason::unsupported_media_type,
              "the body of the request was in an unknown format - accepted media types include: "
              "application/json, application/yaml, application/vnd.kubernetes.protobuf");
}

// A body as an error shows it: as it is where it looks like an object, else in hexadecimal.
std::string summary_of_body(std::string_view body) {
  constexpr std::size_t shown_max = 30;
  if (body.empty()) return "<empty>";
  std::string shown;
  if (body.front() == '{')
    shown = body.substr(0, shown_max);
  else
    for (const char c : body.substr(0, shown_max))
      shown += fmt::format("{:02x}", static_cast<unsigned char>(c));
  return body.size() > shown_max ? shown + " ..." : shown;
}

tl::unexpected<Error> unreadable(const Call& call, const Request& request, std::string_view why) {
  if (request.verb == Verb::patch)
    return fail(Reason::bad_request, fmt::format("error decoding patch: {}", why));
  return fail(Reason::bad_request,
              fmt::format("the object provided is unrecognized (must be of type {}): couldn't get "
                          "version/kind; json parse error: {} ({})",
                          request.target.kind->kind, why, summary_of_body(call.body)));
}

// Faults of YAML in the words of yaml-cpp and in those of upstream's parser.
struct YamlFaultRow {
  std::string_view here, upstream;
};
constexpr std::array yaml_faults{
    YamlFaultRow{"end of sequence flow not found", "did not find expected node content"},
    YamlFaultRow{"end of map flow not found", "did not find expected node content"},
    YamlFaultRow{"end of map not found", "did not find expected key"},
    YamlFaultRow{"end of sequence not found", "did not find expected '-' indicator"},
    YamlFaultRow{"illegal map value", "mapping values are not allowed in this context"},
    YamlFaultRow{"illegal EOF in scalar", "found unexpected end of stream"},
};

tl::unexpected<Error> unreadable_yaml(const Request& request, Error error) {
  if (request.verb != Verb::patch) return fail(std::move(error));
  std::string why = error.message;
  for (const YamlFaultRow& row : yaml_faults)
    if (why.ends_with(row.here)) why = row.upstream;
  std::string_view line = error.where;  // "body:1"
  line.remove_prefix(std::min(line.find(':') + 1, line.size()));
  line = line.substr(0, line.find_first_not_of("0123456789"));
  return fail(Reason::bad_request,
              fmt::format("error decoding YAML: error converting YAML to JSON: yaml: line {}: {}",
                          line, why));
}

// JSON that cannot be what the request needs. Null is an empty object.
std::string shape_fault(const Request& request, const Json& body) {
  const bool list = request.verb == Verb::patch && request.patch_type == PatchType::json;
  if (list || body.is_object() || body.is_null()) return {};
  const std::string_view is = body.is_array()    ? "array"
                              : body.is_string() ? "string"
                              : body.is_bool()   ? "bool"
                                                 : "number";
  const std::string_view wanted =
      request.verb == Verb::patch
          ? "map[string]interface {}"
          : "struct { APIVersion string \"json:\\\"apiVersion,omitempty\\\"\"; Kind string "
            "\"json:\\\"kind,omitempty\\\"\" }";
  return fmt::format("json: cannot unmarshal {} into Go value of type {}", is, wanted);
}

// Whether a request without a body cannot be carried out.
bool needs_body(Verb verb) {
  return verb == Verb::create || verb == Verb::update || verb == Verb::patch;
}

Status read_body(const Call& call, std::string_view media_type, Request& request) {
  if (call.body.size() > body_bytes_max)
    return fail(Reason::request_entity_too_large,
                fmt::format("Request entity too large: limit is {}", body_bytes_max));
  if (request.verb == Verb::get || request.verb == Verb::list) return {};
  if (call.body.empty() && !needs_body(request.verb)) return {};
  TRY_VOID(read_media_type(media_type, request));
  if (!call.body.empty()) request.write.edit().body_bytes = call.body.size();
  if (media_type.ends_with("yaml")) {
    auto documents = parse_yaml(call.body, "body");
    if (!documents) return unreadable_yaml(request, std::move(documents.error()));
    if (!documents->empty()) request.body = RawJson(std::move(documents->front().value));
    return {};
  }
  auto text = parse_json(call.body);
  if (!text) return unreadable(call, request, text.error().message);
  if (std::string fault = shape_fault(request, text->value); !fault.empty())
    return unreadable(call, request, fault);
  if (text->value.is_null()) text->value = json::object();
  request.body = RawJson(std::move(text->value));
  if (!text->doubled.empty()) request.write.edit().doubled_fields = std::move(text->doubled);
  return {};
}

// dryRun, fieldValidation, fieldManager, force: what the options of a write say.
Status read_write_options(const Path& path, std::string_view user_agent, Request& request) {
  const auto* row = std::find_if(writes.begin(), writes.end(),
                                 [&](const OptionsRow& each) { return each.verb == request.verb; });
  if (row == writes.end()) return {};
  const auto text = [&](std::string_view name) -> std::string {
    const auto found = path.query.find(name);
    return found != path.query.end() ? found->second : std::string();
  };
  ErrorList causes;
  if (const std::string dry_run = text("dryRun"); dry_run == "All")
    request.dry_run = true;
  else if (!dry_run.empty())
    causes.push_back(not_supported("dryRun", "[" + quoted(dry_run) + "]", {"All"}));
  WriteOptions& options = request.write.edit();
  options.field_manager = text("fieldManager");
  if (options.field_manager.size() > field_manager_max)
    causes.push_back(too_long("fieldManager", field_manager_max));
  options.field_validation = text("fieldValidation");
  static constexpr std::array<std::string_view, 4> known{"", "Ignore", "Strict", "Warn"};
  if (std::find(known.begin(), known.end(), options.field_validation) == known.end())
    causes.push_back(not_supported("fieldValidation", quoted(options.field_validation),
                                   {known.begin(), known.end()}));
  request.force = is_set(path, "force");
  if (request.verb == Verb::patch && request.patch_type != PatchType::apply &&
      path.query.contains("force"))
    causes.push_back(forbidden("force", "may not be specified for non-apply patch"));
  const bool applies = request.verb == Verb::patch && request.patch_type == PatchType::apply;
  if (applies && options.field_manager.empty())
    causes.push_back(required("fieldManager", "is required for apply patch"));
  if (options.field_manager.empty())
    options.field_manager = user_agent.substr(0, user_agent.find('/'));
  if (causes.empty()) return {};
  return fail(invalid_options(row->options, std::move(causes)));
}

Json list_of(const KindInfo& kind, const Response& response) {
  json::array items;
  for (const ObjectPtr& item : response.items) {
    Json body = encode(*item);
    if (!kind.custom) {
      body.get_object().erase("kind");
      body.get_object().erase("apiVersion");
    }
    items.push_back(std::move(body));
  }
  json::object metadata{{"resourceVersion", response.resource_version}};
  if (!response.continue_.empty() || kind.custom) metadata["continue"] = response.continue_;
  if (response.remaining) metadata["remainingItemCount"] = *response.remaining;
  return json::object{{"kind", kind.kind + "List"},
                      {"apiVersion", kind.api_version()},
                      {"metadata", std::move(metadata)},
                      {"items", std::move(items)}};
}

}  // namespace

Result<Request> request_of(const KindRegistry& kinds, const Call& call) {
  TRY(Path path, parse_path(kinds, call.path));
  Request request;
  request.target = path.target;
  TRY(request.verb, verb_of(call.method, path.target));
  TRY_VOID(read_body(call, without_parameters(call.media_type), request));
  TRY(request.list, list_options(path));
  // An item is got, even where a watch is asked for.
  if (request.verb != Verb::list) request.list.edit().watch = false;
  TRY_VOID(read_write_options(path, call.user_agent, request));
  const bool removes = request.verb == Verb::remove || request.verb == Verb::remove_collection;
  TRY(request.remove, delete_options(path, removes ? request.body.get() : nullptr));
  return request;
}

Json body_of(const Request& request, const Response& response) {
  if (response.body.get() != nullptr) return *response.body.get();
  if (request.verb == Verb::list || request.verb == Verb::remove_collection)
    return list_of(*request.target.kind, response);
  return response.object ? encode(*response.object) : Json(json::object());
}

}  // namespace ddptwin::api
