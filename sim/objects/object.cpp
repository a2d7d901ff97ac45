#include "objects/object.hpp"

#include <algorithm>

#include "objects/fields.hpp"

namespace ddptwin {

const Type& OwnerReference::type() {
  using S = OwnerReference;
  static const Type type =
      structure<S>("v1.OwnerReference",
                   {F(apiVersion, .always = true), F(kind, .always = true), F(name, .always = true),
                    F(uid, .always = true), F(controller), F(blockOwnerDeletion)});
  return type;
}

const Type& ManagedFieldsEntry::type() {
  using S = ManagedFieldsEntry;
  static const Type type =
      structure<S>("v1.ManagedFieldsEntry", {F(manager), F(operation), F(apiVersion), F(time),
                                             F(fieldsType), F(fieldsV1), F(subresource)});
  return type;
}

const Type& ObjectMeta::type() {
  using S = ObjectMeta;
  static const Type type =
      structure<S>("v1.ObjectMeta",
                   {F(name), PART(rest, generateName), F(namespace_), PART(rest, selfLink), F(uid),
                    F(resourceVersion), F(generation), F(creationTimestamp), F(deletionTimestamp),
                    F(deletionGracePeriodSeconds), F(labels), F(annotations),
                    F(ownerReferences, .merge = Merge::merge, .merge_key = "uid"),
                    F(finalizers, .merge = Merge::merge, .set = true),
                    PART(rest, managedFields, .atomic = true)});
  return type;
}

const OwnerReference* ObjectMeta::controller() const {
  for (const OwnerReference& owner : *ownerReferences)
    if (owner.controller.value_or(false)) return &owner;
  return nullptr;
}

const Text* ObjectMeta::label(std::string_view key) const {
  // A few, which begin alike: most differ in their lengths, so that a walk compares less than a
  // search.
  for (const auto& [known, value] : *labels)
    if (known == key) return &value;
  return nullptr;
}

const Type& GenericObject::type() {
  // Not structure<>(): a generic object is not default-constructible, it has a kind.
  static const Type type = [] {
    Type t{Shape::structure, "unstructured.Unstructured"};
    t.fields = {field<GenericObject, &GenericObject::metadata>("metadata")};
    t.read_extra = [](const void* p) -> const Extra* {
      return &static_cast<const GenericObject*>(p)->extra;
    };
    t.extra = [](void* p) -> Extra* { return &static_cast<GenericObject*>(p)->extra; };
    return t;
  }();
  return type;
}

std::string key_of(const ObjectMeta& metadata) {
  const std::string_view space = metadata.namespace_, name = metadata.name;
  std::string key(space.size() + (space.empty() ? 0 : 1) + name.size(), '/');
  std::copy(space.begin(), space.end(), key.begin());
  std::copy(name.begin(), name.end(), key.end() - static_cast<std::ptrdiff_t>(name.size()));
  return key;
}

}  // namespace ddptwin
