#include "api/status.hpp"

#include <boost/json.hpp>

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

int code_of(const Error& error) { return error.code != 0 ? error.code : http_code(error.reason); }

Json status_of(const Error& error) {
  json::object out{{"kind", "Status"},
                   {"apiVersion", "v1"},
                   {"metadata", json::object{}},
                   {"status", "Failure"}};
  out.emplace("message", error.message);
  put(out, "reason", std::string(to_string(error.reason)));
  if (error.details) out.emplace("details", details_of(*error.details));
  out.emplace("code", code_of(error));
  return out;
}

}  // namespace ddptwin::api
