// JSON to objects and back, and comparing, by the tables of type.hpp.
#pragma once

#include <boost/json/value.hpp>
#include <string>
#include <vector>

#include "objects/field_path.hpp"
#include "objects/kinds.hpp"

namespace ddptwin {

// What was strange in a body and not an error: unknown and duplicate fields
// (spec/kubernetes.md 1.15).
struct DecodeNotes {
  std::vector<std::string> unknown_fields{};  // paths: spec.foo, spec.containers[0].bar
};

// Reads a value into what `to` points at (of that type, in its default state). Unknown fields are
// kept in the structure's `extra` and noted. The error's `where` is the field path.
Status decode(const Type& type, void* to, const Json& json, const FieldPath& path,
              DecodeNotes& notes);
Json encode(const Type& type, const void* value);
bool equal(const Type& type, const void* a, const void* b);

// One place where two values differ.
struct Difference {
  std::string path;
  Json before;  // null when absent
  Json after;
};
std::vector<Difference> diff(const Type& type, const void* before, const void* after);

template <class T>
Json to_json(const T& value) {
  return encode(type_of<T>(), &value);
}
template <class T>
Result<T> from_json(const Json& json, const FieldPath& path = {}) {
  T value{};
  DecodeNotes notes;
  if (auto done = decode(type_of<T>(), &value, json, path, notes); !done)
    return tl::make_unexpected(std::move(done).error());
  return value;
}
template <class T>
bool equal(const T& a, const T& b) {
  return equal(type_of<T>(), &a, &b);
}

// Whole objects, with apiVersion and kind.
Json encode(const Object& object);
std::string to_text(const Object& object);  // compact JSON
bool equal(const Object& a, const Object& b);
std::vector<Difference> diff(const Object& before, const Object& after);

struct Decoded {
  std::shared_ptr<Object> object;
  DecodeNotes notes;
};
// The body of a create or update. `expected` may be null: the body's apiVersion and kind then
// decide.
Result<Decoded> decode_object(const KindRegistry& kinds, Json json,
                              const KindInfo* expected = nullptr);

}  // namespace ddptwin
