#include "objects/strategy.hpp"

#include <algorithm>
#include <boost/json.hpp>

#include "objects/codec.hpp"

namespace ddptwin {
namespace {

const Type& table_of(const Object& object) {
  return object.kind().type != nullptr ? object.kind().type() : GenericObject::type();
}

const Json* generic_field(const Object& object, std::string_view field) {
  const Json* json = static_cast<const GenericObject&>(object).extra.get();
  return json != nullptr ? json->get_object().if_contains(field) : nullptr;
}

void set_generic_field(Object& object, std::string_view field, const Json* value) {
  auto& extra = static_cast<GenericObject&>(object).extra;
  boost::json::object members =
      extra.get() != nullptr ? extra.get()->get_object() : boost::json::object();
  if (value != nullptr)
    members[field] = *value;
  else
    members.erase(field);
  extra = RawJson(std::move(members));
}

bool is_generic(const Object& object) { return object.kind().type == nullptr; }

bool is_beside_spec(const FieldInfo& field) {
  return field.name == "metadata" || field.name == "status";
}

bool same_generic_spec(const Object& a, const Object& b) {
  const auto without_status = [](const Object& object) {
    const Json* json = static_cast<const GenericObject&>(object).extra.get();
    boost::json::object members = json != nullptr ? json->get_object() : boost::json::object();
    members.erase("status");
    return members;
  };
  return without_status(a) == without_status(b);
}

}  // namespace

void copy_field(Object& to, const Object& from, std::string_view field) {
  if (is_generic(to)) return set_generic_field(to, field, generic_field(from, field));
  const FieldInfo* row = table_of(to).find(field);
  if (row != nullptr) row->type().assign(row->member(to.body()), row->read(from.body()));
}

void clear_field(Object& object, std::string_view field) {
  if (is_generic(object)) return set_generic_field(object, field, nullptr);
  const FieldInfo* row = table_of(object).find(field);
  if (row != nullptr) row->type().clear(row->member(object.body()));
}

void copy_spec(Object& to, const Object& from) {
  if (is_generic(to)) {
    const Json* json = generic_field(to, "status");
    const std::optional<Json> status = json != nullptr ? std::optional(*json) : std::nullopt;
    static_cast<GenericObject&>(to).extra = static_cast<const GenericObject&>(from).extra;
    return set_generic_field(to, "status", status ? &*status : nullptr);
  }
  const Type& type = table_of(to);
  for (const FieldInfo& field : type.fields)
    if (!is_beside_spec(field))
      field.type().assign(field.member(to.body()), field.read(from.body()));
  if (type.extra != nullptr) *type.extra(to.body()) = *type.read_extra(from.body());
}

bool same_spec(const Object& a, const Object& b) {
  if (is_generic(a)) return same_generic_spec(a, b);
  const Type& type = table_of(a);
  for (const FieldInfo& field : type.fields)
    if (!is_beside_spec(field) && !equal(field.type(), field.read(a.body()), field.read(b.body())))
      return false;
  return type.read_extra == nullptr || *type.read_extra(a.body()) == *type.read_extra(b.body());
}

bool same_content(const Object& a, const Object& b) {
  if (is_generic(a)) {
    if (static_cast<const GenericObject&>(a).extra != static_cast<const GenericObject&>(b).extra)
      return false;
  } else {
    // Nearly every write changes one of these two; their metadata is the longest of all to compare.
    // A status comes last.
    const auto& fields = table_of(a).fields;
    const auto status = std::find_if(fields.rbegin(), fields.rend(),
                                     [](const FieldInfo& field) { return field.name == "status"; });
    if (status != fields.rend() &&
        !equal(status->type(), status->read(a.body()), status->read(b.body())))
      return false;
    if (!same_spec(a, b)) return false;
  }
  for (const FieldInfo& field : ObjectMeta::type().fields)
    if (field.name != "resourceVersion" && field.name != "managedFields" &&
        !equal(field.type(), field.read(&a.metadata), field.read(&b.metadata)))
      return false;
  return a.metadata.rest->extra == b.metadata.rest->extra;
}

void keep_system_metadata(ObjectMeta& updated, const ObjectMeta& old) {
  updated.creationTimestamp = old.creationTimestamp;
  if (updated.uid.empty()) updated.uid = old.uid;
  if (!updated.deletionTimestamp) updated.deletionTimestamp = old.deletionTimestamp;
  updated.deletionGracePeriodSeconds = old.deletionGracePeriodSeconds;
  updated.generation = old.generation;
  if (!updated.rest->selfLink.empty()) updated.rest.edit().selfLink = {};
}

std::string merge_owner_references(ObjectMeta& metadata) {
  const std::vector<OwnerReference>& all = *metadata.ownerReferences;
  std::vector<OwnerReference> kept;
  std::string doubled;
  for (const OwnerReference& owner : all) {
    // Only references that are equal in all are one; others of that uid stay.
    const bool same = std::any_of(kept.begin(), kept.end(),
                                  [&](const OwnerReference& k) { return equal(k, owner); });
    const bool same_uid = std::any_of(kept.begin(), kept.end(),
                                      [&](const OwnerReference& k) { return k.uid == owner.uid; });
    if (same_uid) doubled += (doubled.empty() ? "" : ", ") + owner.uid.str();
    if (!same) kept.push_back(owner);
  }
  if (doubled.empty()) return {};
  if (kept.size() < all.size()) metadata.ownerReferences = std::move(kept);
  return ".metadata.ownerReferences contains duplicate entries; API server dedups owner references "
         "in 1.20+, and may reject such requests as early as 1.24; please fix your requests; "
         "duplicate UID(s) observed: " +
         doubled;
}

bool tracks_generation(const KindInfo& kind) { return kind.custom || kind.generation; }

void advance_generation(Object& updated, const Object& old) {
  const KindInfo& kind = updated.kind();
  if (!tracks_generation(kind)) return;
  const Cow<StringMap>&labels = updated.metadata.labels, &labels_before = old.metadata.labels;
  const bool same_labels =
      !kind.generation_of_labels || labels.same_as(labels_before) || *labels == *labels_before;
  if (!same_labels || !same_spec(updated, old))
    updated.metadata.generation = old.metadata.generation + 1;
}

}  // namespace ddptwin
