#include "api/status.hpp"

#include <boost/json.hpp>

#include "objects/validation.hpp"

namespace ddptwin::api {
namespace {

namespace json = boost::json;

void put(json::object& out, std::string_view key, const std::string& value) {
  if (!value.empty()) out.emplace(key, value);
}

json::object details_of(const ErrorDetails& details) {
  json::object out;
  put(out, "name", details.name);
  put(out, "group", details.group);
  put(out, "kind", details.kind);
  put(out, "uid", details.uid);
  json::array causes;
  for (const ErrorCause& cause : details.causes) {
    json::object one;
    put(one, "reason", cause.reason);
    put(one, "message", cause.message);
    put(one, "field", cause.field);
    causes.push_back(std::move(one));
  }
  if (!causes.empty()) out.emplace("causes", std::move(causes));
  if (details.retry_after_seconds > 0)
    out.emplace("retryAfterSeconds", details.retry_after_seconds);
  return out;
}

}  // namespace

Error invalid_options(std::string_view options_kind, ErrorList causes) {
  auto details = std::make_shared<ErrorDetails>();
  details->group = "meta.k8s.io";
  details->kind = std::string(options_kind);
  std::string message =
      std::string(options_kind) + ".meta.k8s.io \"\" is invalid: " + summary_of(causes);
  details->causes = std::move(causes);
  return {Reason::invalid, {}, std::move(message), std::move(details), 0, {}};
}

int code_of(const Error& error) { return error.code != 0 ? error.code : http_code(error.reason); }

Json status_of(const Error& error) {
  json::object metadata;
  if (error.details) put(metadata, "continue", error.details->continue_);
  json::object out{{"kind", "Status"},
                   {"apiVersion", "v1"},
                   {"metadata", std::move(metadata)},
                   {"status", "Failure"}};
  out.emplace("message", error.message);
  put(out, "reason", std::string(to_string(error.reason)));
  if (error.details) out.emplace("details", details_of(*error.details));
  out.emplace("code", code_of(error));
  return out;
}

}  // namespace ddptwin::api
