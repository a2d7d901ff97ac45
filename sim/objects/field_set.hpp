// A set of an object's fields, as metadata.managedFields tells who owns which (FieldsV1,
// spec/kubernetes.md section 1.7).
#pragma once

#include <boost/json/fwd.hpp>
#include <compare>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "objects/type.hpp"

namespace ddptwin {

// One step of a path: `.name`, `[name="c"]` of a list that has keys, `[="x"]` of a set, `[0]`.
struct PathElement {
  // In the order that paths are told in.
  enum class Kind : std::uint8_t { field, key, value, index };
  Kind kind = Kind::field;
  std::string text{};  // the field's name; JSON of the keys, of the value; the number

  static PathElement field(std::string_view name) { return {Kind::field, std::string(name)}; }
  std::string shown() const;  // as an error names it
  std::string wire() const;   // as FieldsV1 does: f:name, k:{"name":"c"}, v:"x", i:0
  // Nothing where the text is none.
  static std::optional<PathElement> read(std::string_view wire);

  bool operator==(const PathElement&) const = default;
  // Numbers inside keys and values by their size.
  std::strong_ordering operator<=>(const PathElement& other) const;
};
using FieldPathTo = std::vector<PathElement>;
std::string shown(const FieldPathTo& path);  // .spec.containers[name="c"].image

// A tree of places. A place in the set does not say that those below it are, nor the other way
// round. No branch of the tree is empty.
struct FieldSet {
  using Branch = std::pair<PathElement, FieldSet>;
  bool itself = false;          // this place is in the set
  std::vector<Branch> below{};  // in their order

  bool empty() const { return !itself && below.empty(); }
  const FieldSet* find(const PathElement& step) const;
  bool has(const PathElement& step) const;
  FieldSet& descend(const PathElement& step);
  void insert(const FieldPathTo& path);
  // All places, each before those below it.
  std::vector<FieldPathTo> paths() const;

  FieldSet united(const FieldSet& other) const;
  FieldSet common(const FieldSet& other) const;
  FieldSet without(const FieldSet& other) const;
  // And without all that lies below a place of the other.
  FieldSet excluding(const FieldSet& other) const;

  // FieldsV1; a text that is none reads as far as it is one.
  Json wire() const;
  static FieldSet read(const Json& wire);

  bool operator==(const FieldSet&) const = default;
};

}  // namespace ddptwin
