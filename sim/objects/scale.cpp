#include "objects/scale.hpp"

#include <boost/json.hpp>

#include "objects/codec.hpp"
#include "objects/pod_spec.hpp"
#include "objects/selector.hpp"

namespace ddptwin {
namespace {

namespace json = boost::json;

std::optional<std::int64_t> integer(const Json* value) {
  return value != nullptr && value->is_int64() ? std::optional(value->get_int64()) : std::nullopt;
}

// A custom resource has the text itself, a built-in kind its LabelSelector; empty: none.
std::string selector_text(const Json& whole, const ScalePaths& paths) {
  const Json* selector =
      paths.label_selector.empty() ? nullptr : value_at(whole, paths.label_selector);
  if (selector == nullptr) return {};
  if (selector->is_string()) return std::string(selector->get_string());
  const auto parsed = from_json<LabelSelector>(*selector);
  if (!parsed) return {};
  const auto matcher = LabelMatcher::from(*parsed);
  return matcher ? matcher->text() : std::string();
}

}  // namespace

const Json* value_at(const Json& object, std::string_view path) {
  const Json* at = &object;
  while (!path.empty() && at != nullptr) {
    path.remove_prefix(1);
    const std::size_t dot = path.find('.');
    at = at->is_object() ? at->get_object().if_contains(path.substr(0, dot)) : nullptr;
    path = dot == std::string_view::npos ? std::string_view() : path.substr(dot);
  }
  return at;
}

Scale scale_of(const Object& object) {
  const ScalePaths& paths = *object.kind().scale;
  const Json whole = encode(object);
  Scale scale;
  if (const auto replicas = integer(value_at(whole, paths.spec_replicas)))
    scale.replicas = static_cast<std::int32_t>(*replicas);
  scale.replicas_now =
      static_cast<std::int32_t>(integer(value_at(whole, paths.status_replicas)).value_or(0));
  scale.selector = selector_text(whole, paths);
  return scale;
}

Json scale_body(const Object& object, std::optional<std::int32_t> replicas) {
  const Scale scale = scale_of(object);
  const ObjectMeta& meta = object.metadata;
  json::object metadata{{"name", meta.name.view()}};
  if (!meta.namespace_.empty()) metadata["namespace"] = meta.namespace_.view();
  metadata["uid"] = meta.uid.view();
  metadata["resourceVersion"] = meta.resourceVersion.view();
  if (meta.creationTimestamp)
    metadata["creationTimestamp"] = format_rfc3339(*meta.creationTimestamp);
  json::object spec, status;
  if (const std::int32_t n = replicas.value_or(scale.replicas.value_or(0)); n != 0)
    spec["replicas"] = n;
  status["replicas"] = scale.replicas_now;
  if (!scale.selector.empty()) status["selector"] = scale.selector;
  return json::object{{"kind", "Scale"},
                      {"apiVersion", "autoscaling/v1"},
                      {"metadata", std::move(metadata)},
                      {"spec", std::move(spec)},
                      {"status", std::move(status)}};
}

}  // namespace ddptwin
