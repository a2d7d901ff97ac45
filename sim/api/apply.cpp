#include "api/apply.hpp"

#include <boost/json.hpp>

#include "objects/codec.hpp"
#include "objects/json_text.hpp"

namespace ddptwin::api {
namespace {

const Type& behind_shares(const Type& type) {
  const Type* at = &type;
  while (at->shape == Shape::verbatim || (at->shape == Shape::pointer && !at->may_be_absent))
    at = &at->element();
  return *at;
}

// Without what stands in every object of the type, whether anybody says it or not: null, and
// structures of nothing that are no choice, as emptyDir is one.
void drop_unsaid(const Type& type, Json& value) {
  if (type.shape == Shape::pointer || type.shape == Shape::verbatim)
    return drop_unsaid(type.element(), value);
  if (type.shape == Shape::list && value.is_array())
    for (Json& item : value.get_array()) drop_unsaid(type.element(), item);
  if (!value.is_object()) return;
  boost::json::object& members = value.get_object();
  if (type.shape == Shape::map)
    for (auto& member : members) drop_unsaid(type.element(), member.value());
  if (type.shape != Shape::structure) return;
  for (const FieldInfo& field : type.fields) {
    if (field.options.embedded) {
      drop_unsaid(field.type(), value);
      continue;
    }
    Json* member = members.if_contains(field.name);
    if (member == nullptr) continue;
    drop_unsaid(field.type(), *member);
    const bool always = behind_shares(field.type()).shape == Shape::structure;
    if (member->is_null() || (always && member->is_object() && member->get_object().empty()))
      members.erase(field.name);
  }
}

}  // namespace

Request apply(const KindInfo& kind, Json configuration, std::string manager, bool force,
              Subresource subresource) {
  Request request;
  request.verb = Verb::patch;
  request.patch_type = PatchType::apply;
  request.force = force;
  request.target.kind = &kind;
  request.target.subresource = subresource;
  const Json* metadata =
      configuration.is_object() ? configuration.get_object().if_contains("metadata") : nullptr;
  if (metadata != nullptr && metadata->is_object()) {
    request.target.namespace_ = text_member(metadata->get_object(), "namespace");
    request.target.name = text_member(metadata->get_object(), "name");
  }
  request.write.edit().field_manager = std::move(manager);
  request.body = RawJson(std::move(configuration));
  return request;
}

Request apply(const Object& object, std::string manager, bool force, Subresource subresource) {
  Json configuration = encode(object);
  if (object.kind().type != nullptr) drop_unsaid(object.kind().type(), configuration);
  if (!(subresource == "status")) configuration.get_object().erase("status");
  return apply(object.kind(), std::move(configuration), std::move(manager), force, subresource);
}

}  // namespace ddptwin::api
