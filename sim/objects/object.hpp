// What every stored object is: metadata, a kind, and a body described by a table.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "objects/type.hpp"

namespace ddptwin {

struct KindInfo;

// metav1.OwnerReference
struct OwnerReference {
  Text apiVersion{};
  Text kind{};
  Text name{};
  SharedText uid{};
  std::optional<bool> controller{};
  std::optional<bool> blockOwnerDeletion{};
  static const Type& type();
};

// metav1.ManagedFieldsEntry
struct ManagedFieldsEntry {
  std::string manager{};
  std::string operation{};  // Apply or Update
  std::string apiVersion{};
  OptionalTime time{};
  std::string fieldsType{};
  RawJson fieldsV1{};
  std::string subresource{};
  static const Type& type();
};

// metav1.ObjectMeta
struct ObjectMeta {
  // What few objects have.
  struct Rest {
    Text generateName{};
    Text selfLink{};
    Cow<std::vector<ManagedFieldsEntry>> managedFields{};
    Extra extra{};
  };

  Text name{};
  Text namespace_{};
  SharedText uid{};
  Text resourceVersion{};
  std::int64_t generation = 0;
  OptionalTime creationTimestamp{};
  OptionalTime deletionTimestamp{};
  OptionalInt64 deletionGracePeriodSeconds{};
  Cow<StringMap> labels{};
  Cow<StringMap> annotations{};
  Cow<std::vector<OwnerReference>> ownerReferences{};
  Cow<std::vector<std::string>> finalizers{};
  Cow<Rest> rest{};
  static const Type& type();

  // The owner with controller=true, or null (metav1.GetControllerOf).
  const OwnerReference* controller() const;
  const Text* label(std::string_view key) const;
};

// The base of every stored object. Immutable once stored: change a clone.
struct Object {
  // What ObjectMap finds it by, worked out once: a stored object lies in a map of each who watches
  // its kind. 0: not yet; a copy may get another name. Beside the name, which is looked at next.
  mutable std::uint32_t key_hash = 0;
  // The slot of the first ObjectMap that kept it, which is the store's. Those who watch see the
  // same objects come and go, and keep most of them in the same slot: ObjectMap looks there first,
  // and goes by the name.
  mutable std::uint32_t likely_slot = no_slot;
  static constexpr std::uint32_t no_slot = 0xffffffff;
  ObjectMeta metadata{};

  virtual ~Object() = default;
  virtual const KindInfo& kind() const = 0;
  virtual std::shared_ptr<Object> clone() const = 0;
  // The address that the kind's table (KindInfo::type) reads.
  virtual void* body() = 0;
  const void* body() const { return const_cast<Object*>(this)->body(); }

 protected:
  Object() = default;
  Object(const Object& other) : metadata(other.metadata) {}
  Object& operator=(const Object& other) {
    metadata = other.metadata;
    key_hash = 0;
    likely_slot = no_slot;
    return *this;
  }
};

using ObjectPtr = std::shared_ptr<const Object>;

// T::info() for who asks for each object: without the room on the stack that making the row takes.
template <class T>
const KindInfo& info_of() {
  static const KindInfo& row = T::info();
  return row;
}

// Gives a kind's struct its virtual part. Derived has `static const KindInfo& info()`.
template <class Derived>
struct ObjectOf : Object {
  const KindInfo& kind() const override { return info_of<Derived>(); }
  std::shared_ptr<Object> clone() const override {
    return std::make_shared<Derived>(static_cast<const Derived&>(*this));
  }
  void* body() override { return static_cast<Derived*>(this); }
};

// An object of a kind without a struct: any CRD. Everything but its metadata is a JSON tree.
struct GenericObject final : Object {
  explicit GenericObject(std::shared_ptr<const KindInfo> kind) : kind_(std::move(kind)) {}
  Extra extra{};  // the object without apiVersion, kind and metadata
  const KindInfo& kind() const override { return *kind_; }
  std::shared_ptr<Object> clone() const override { return std::make_shared<GenericObject>(*this); }
  void* body() override { return this; }
  static const Type& type();

 private:
  std::shared_ptr<const KindInfo> kind_;
};

// The object as a T, or null when it is of another kind.
template <class T>
std::shared_ptr<const T> as(const ObjectPtr& object) {
  return object && &object->kind() == &info_of<T>() ? std::static_pointer_cast<const T>(object)
                                                    : nullptr;
}
template <class T>
const T* as(const Object& object) {
  return &object.kind() == &info_of<T>() ? static_cast<const T*>(&object) : nullptr;
}

// "namespace/name", or "name" of a cluster-scoped object.
std::string key_of(const ObjectMeta& metadata);

}  // namespace ddptwin
