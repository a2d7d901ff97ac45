#include "api/client.hpp"

#include <algorithm>
#include <array>
#include <boost/json.hpp>

#include "objects/core_v1.hpp"

namespace ddptwin::api {
namespace {

Target target_of(const Object& object, Subresource subresource = {}) {
  return {&object.kind(), object.metadata.namespace_, object.metadata.name, subresource};
}

}  // namespace

Subresource::Subresource(std::string_view name)
    : name_(std::find(names.begin(), names.end() - 1, name)) {}

std::string_view to_string(Verb verb) {
  static constexpr std::array<std::string_view, 7> names{
      "create", "get", "list", "update", "patch", "delete", "deletecollection"};
  return names[static_cast<std::size_t>(verb)];
}

std::string_view to_string(Propagation propagation) {
  static constexpr std::array<std::string_view, 3> names{"Background", "Foreground", "Orphan"};
  return names[static_cast<std::size_t>(propagation)];
}

std::string_view to_string(WatchEventType type) {
  static constexpr std::array<std::string_view, 5> names{"ADDED", "MODIFIED", "DELETED", "BOOKMARK",
                                                         "ERROR"};
  return names[static_cast<std::size_t>(type)];
}

ObjectPtr WatchEvent::told() const {
  if (removed_at == 0) return object;
  const std::shared_ptr<Object> last = object->clone();
  last->key_hash = object->key_hash;  // another state of the same name
  last->likely_slot = object->likely_slot;
  last->metadata.resourceVersion = std::to_string(removed_at);
  return last;
}

Request create(ObjectPtr object) {
  return {.verb = Verb::create,
          .target = {&object->kind(), object->metadata.namespace_, {}, {}},
          .object = std::move(object)};
}

Request update(ObjectPtr object, Subresource subresource) {
  return {
      .verb = Verb::update, .target = target_of(*object, subresource), .object = std::move(object)};
}

Request get(const KindInfo& kind, Text namespace_, Text name) {
  return {.target = {&kind, std::move(namespace_), std::move(name), {}}};
}

Request list(const KindInfo& kind, Text namespace_, ListOptions options) {
  Request request;
  request.verb = Verb::list;
  request.target = {&kind, std::move(namespace_), {}, {}};
  if (options != ListOptions()) request.list = std::move(options);
  return request;
}

Request remove(const Object& object, DeleteOptions options) {
  Request request;
  request.verb = Verb::remove;
  request.target = target_of(object);
  if (options != DeleteOptions()) request.remove = std::move(options);
  return request;
}

Request bind(const Object& pod, std::string_view node) {
  auto binding = std::make_shared<Binding>();
  binding->metadata.name = pod.metadata.name;
  binding->metadata.uid = pod.metadata.uid;
  binding->target.kind = "Node";
  binding->target.name = std::string(node);
  return {.verb = Verb::create, .target = target_of(pod, "binding"), .object = std::move(binding)};
}

Request evict(const Object& pod, const DeleteOptions& options) {
  boost::json::object deletion;
  if (options.grace_period_seconds) deletion["gracePeriodSeconds"] = *options.grace_period_seconds;
  if (options.propagation) deletion["propagationPolicy"] = to_string(*options.propagation);
  if (options.orphan_dependents) deletion["orphanDependents"] = true;
  boost::json::object preconditions;
  if (!options.precondition_uid.empty()) preconditions["uid"] = options.precondition_uid;
  if (!options.precondition_resource_version.empty())
    preconditions["resourceVersion"] = options.precondition_resource_version;
  if (!preconditions.empty()) deletion["preconditions"] = std::move(preconditions);
  boost::json::object body{
      {"apiVersion", "policy/v1"},
      {"kind", "Eviction"},
      {"metadata",
       boost::json::object{{"name", pod.metadata.name}, {"namespace", pod.metadata.namespace_}}}};
  if (!deletion.empty()) body["deleteOptions"] = std::move(deletion);
  Request request;
  request.verb = Verb::create;
  request.target = target_of(pod, "eviction");
  request.body = RawJson(std::move(body));
  return request;
}

Request patch(const Object& object, PatchType type, Json body, Subresource subresource) {
  Request request;
  request.verb = Verb::patch;
  request.target = target_of(object, subresource);
  request.patch_type = type;
  request.body = RawJson(std::move(body));
  return request;
}

}  // namespace ddptwin::api
