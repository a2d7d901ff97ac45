#include "answers.hpp"

#include <algorithm>
#include <tuple>

#include "api/status.hpp"
#include "objects/codec.hpp"
#include "objects/json_text.hpp"

namespace ddptwin::golden {
namespace {

namespace json = boost::json;

// Lists whose order depends on races of the endpoint controllers are put in the order of the
// recordings.
void sort_by(Json& list, std::string_view by) {
  if (!list.is_array()) return;
  auto& elements = list.get_array();
  std::stable_sort(elements.begin(), elements.end(), [&](const Json& a, const Json& b) {
    const auto rank = [&](const Json& j) {
      const Json* member = j.is_object() ? j.get_object().if_contains(by) : nullptr;
      return member != nullptr ? json::serialize(*member) : std::string();
    };
    return rank(a) < rank(b);
  });
}

// A Warning header quotes its text.
std::string in_header(std::string_view warning) {
  std::string out;
  for (const char c : warning) {
    if (c == '"' || c == '\\') out += '\\';
    out += c;
  }
  return out;
}

}  // namespace

Json shown(const Object& object) {
  Json body = encode(object);
  auto& top = body.get_object();
  auto& metadata = top.at("metadata").get_object();
  metadata.erase("resourceVersion");
  metadata.erase("managedFields");
  const std::string& kind = object.kind().kind;
  if (kind == "Endpoints" || kind == "EndpointSlice") {
    metadata.erase("generation");
    if (Json* annotations = metadata.if_contains("annotations")) {
      annotations->as_object().erase("endpoints.kubernetes.io/last-change-trigger-time");
      if (annotations->as_object().empty()) metadata.erase("annotations");
    }
    if (Json* endpoints = top.if_contains("endpoints")) sort_by(*endpoints, "addresses");
  }
  return body;
}

Json shown_with_managers(const Object& object) {
  Json body = shown(object);
  std::vector<ManagedFieldsEntry> entries = *object.metadata.rest->managedFields;
  std::sort(entries.begin(), entries.end(), [](const auto& a, const auto& b) {
    return std::tie(a.manager, a.operation, a.subresource) <
           std::tie(b.manager, b.operation, b.subresource);
  });
  if (!entries.empty())
    body.get_object().at("metadata").get_object()["managedFields"] = to_json(entries);
  return body;
}

void strip(Json& value) {
  if (value.is_array())
    for (Json& element : value.get_array()) strip(element);
  if (!value.is_object()) return;
  for (auto& member : value.get_object()) {
    if (member.key() == "metadata" && member.value().is_object()) {
      member.value().get_object().erase("resourceVersion");
      member.value().get_object().erase("managedFields");
    }
    strip(member.value());
  }
}

Json answer_of(const Symbols& symbols, const Result<api::Response>& result, bool want_body) {
  json::object out;
  const auto add_warnings = [&](const std::vector<std::string>& all) {
    json::array warnings;
    for (const std::string& warning : all)
      warnings.emplace_back(in_header(symbols.symbolic(warning)));
    if (!warnings.empty()) out.emplace("warnings", std::move(warnings));
  };
  if (!result) {
    out.emplace("code", api::code_of(result.error()));
    add_warnings(result.error().warnings);
    out.emplace("body", symbols.symbolic(api::status_of(result.error())));
    return out;
  }
  out.emplace("code", result->code);
  // Of a success only a Status is recorded unasked.
  const Json* body = result->body.get();
  const bool is_status =
      body != nullptr && body->is_object() && text_member(body->get_object(), "kind") == "Status";
  if (body != nullptr && (want_body || is_status))
    out.emplace("body", symbols.symbolic(*body));
  else if (want_body && result->object)
    out.emplace("body", symbols.symbolic(shown(*result->object)));
  if (Json* shown_body = out.if_contains("body")) strip(*shown_body);
  add_warnings(result->warnings);
  return out;
}

}  // namespace ddptwin::golden
