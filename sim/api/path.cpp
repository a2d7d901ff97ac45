#include "api/path.hpp"

#include <algorithm>
#include <boost/json.hpp>
#include <boost/url/decode_view.hpp>
#include <boost/url/parse.hpp>
#include <boost/url/url_view.hpp>

#include "api/status.hpp"
#include "core/numbers.hpp"
#include "objects/json_text.hpp"
#include "objects/validation.hpp"

namespace ddptwin::api {
namespace {

tl::unexpected<Error> unknown_path() {
  Error error{Reason::not_found, {}, "the server could not find the requested resource", {}, 0};
  error.details = std::make_shared<const ErrorDetails>();  // the answer shows it empty
  return fail(std::move(error));
}

Result<std::int64_t> number(std::string_view name, std::string_view text) {
  const auto value = go_integer<std::int64_t>(text);
  if (value) return *value;
  return fail(Reason::bad_request,
              fmt::format("strconv.ParseInt: parsing \"{}\": {}", text, value.error()),
              std::string(name));
}

Result<Propagation> propagation(std::string_view text) {
  if (text == "Background") return Propagation::background;
  if (text == "Foreground") return Propagation::foreground;
  if (text == "Orphan") return Propagation::orphan;
  return fail(invalid_options("DeleteOptions",
                              {not_supported("propagationPolicy", quoted(text),
                                             {"Foreground", "Background", "Orphan", "nil"})}));
}

// Takes the segments behind the group and version apart.
Result<Target> target_of(const KindRegistry& kinds, std::string_view group,
                         std::string_view version, std::vector<std::string> rest) {
  Target target;
  // "namespaces/NS/PLURAL..." is inside a namespace; "namespaces", "namespaces/NS" and its
  // subresources are not.
  if (rest.size() >= 3 && rest[0] == "namespaces" && rest[2] != "status" && rest[2] != "finalize") {
    target.namespace_ = rest[1];
    rest.erase(rest.begin(), rest.begin() + 2);
  }
  if (rest.empty() || rest.size() > 3) return unknown_path();
  target.kind = kinds.find_plural(group, version, rest[0]);
  if (target.kind == nullptr) return unknown_path();
  if (rest.size() > 1) target.name = rest[1];
  if (rest.size() > 2) target.subresource = rest[2];
  return target;
}

}  // namespace

Result<Path> parse_path(const KindRegistry& kinds, std::string_view text) {
  const auto url = boost::urls::parse_origin_form(text);
  if (!url) return fail(Reason::bad_request, "not a path: " + std::string(text));
  Path path;
  for (const auto& parameter : url->params()) path.query[parameter.key] = parameter.value;
  std::vector<std::string> segments;
  for (const auto& segment : url->segments())
    if (!segment.empty()) segments.push_back(segment);
  const bool core = segments.size() >= 3 && segments[0] == "api";
  const bool grouped = segments.size() >= 4 && segments[0] == "apis";
  if (!core && !grouped) return unknown_path();
  const std::string group = core ? "" : segments[1], version = core ? segments[1] : segments[2];
  segments.erase(segments.begin(), segments.begin() + (core ? 2 : 3));
  TRY(path.target, target_of(kinds, group, version, std::move(segments)));
  return path;
}

bool is_set(const Path& path, std::string_view option) {
  const auto found = path.query.find(option);
  if (found == path.query.end()) return false;
  const auto same_letter = [](char a, char b) { return (a | 0x20) == b; };
  constexpr std::string_view no = "false";
  const std::string& value = found->second;
  return value != "0" && !std::equal(value.begin(), value.end(), no.begin(), no.end(), same_letter);
}

Result<ListOptions> list_options(const Path& path) {
  ListOptions options;
  const auto text = [&](std::string_view name) -> std::string {
    const auto found = path.query.find(name);
    return found != path.query.end() ? found->second : std::string();
  };
  options.label_selector = text("labelSelector");
  options.field_selector = text("fieldSelector");
  options.continue_ = text("continue");
  options.resource_version = text("resourceVersion");
  options.resource_version_match = text("resourceVersionMatch");
  if (!text("limit").empty()) {
    TRY(options.limit, number("limit", text("limit")));
  }
  if (!text("timeoutSeconds").empty()) {
    TRY(options.timeout_seconds, number("timeoutSeconds", text("timeoutSeconds")));
  }
  options.watch = is_set(path, "watch");
  options.allow_bookmarks = is_set(path, "allowWatchBookmarks");
  if (path.query.contains("sendInitialEvents"))
    options.send_initial_events = is_set(path, "sendInitialEvents");
  return options;
}

Result<DeleteOptions> delete_options(const Path& path, const Json* body) {
  DeleteOptions options;
  if (const auto found = path.query.find("gracePeriodSeconds"); found != path.query.end()) {
    TRY(options.grace_period_seconds, number("gracePeriodSeconds", found->second));
  }
  if (const auto found = path.query.find("propagationPolicy"); found != path.query.end()) {
    TRY(options.propagation, propagation(found->second));
  }
  if (body == nullptr || !body->is_object()) return options;
  const auto& fields = body->get_object();
  if (const Json* grace = fields.if_contains("gracePeriodSeconds");
      grace != nullptr && grace->is_int64())
    options.grace_period_seconds = grace->get_int64();
  if (const Json* policy = fields.if_contains("propagationPolicy");
      policy != nullptr && policy->is_string()) {
    TRY(options.propagation, propagation(policy->get_string()));
  }
  if (const Json* orphan = fields.if_contains("orphanDependents");
      orphan != nullptr && orphan->is_bool())
    options.orphan_dependents = orphan->get_bool();
  if (const Json* conditions = fields.if_contains("preconditions");
      conditions != nullptr && conditions->is_object()) {
    const auto& asked = conditions->get_object();
    options.precondition_uid = text_member(asked, "uid");
    options.precondition_resource_version = text_member(asked, "resourceVersion");
  }
  return options;
}

}  // namespace ddptwin::api
