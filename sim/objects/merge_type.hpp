// What server-side apply has to know of the type of a value: whether it is one value or many, and
// what tells the items of a list apart (spec/kubernetes.md section 1.7). Read from the tables of
// built-in kinds and from the schema of a custom one.
#pragma once

#include <boost/json/value.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "objects/schema.hpp"

namespace ddptwin {

class MergeType {
 public:
  enum class Form : std::uint8_t { scalar, list, map };
  enum class Scalar : std::uint8_t { number, string, boolean, any };

  // Of anything.
  MergeType() = default;
  // Of a whole object. `schema` may be null; a custom kind without one takes everything.
  static MergeType of(const KindInfo& kind, const Schema* schema);

  // Where the type leaves it open, the form of the value (null: of none).
  Form form(const Json* value) const;
  Scalar scalar() const;
  // A list or map that is owned as one.
  bool is_atomic(Form form) const;
  // Of a list that is not: the names of its keys in their order; none: a set.
  std::vector<std::string_view> keys() const;
  MergeType element() const;
  // What stands for a key that an item leaves out.
  std::optional<Json> key_default(std::string_view key) const;
  // Of a map: the type of a member, or nothing where it may not have such a member.
  std::optional<MergeType> member(std::string_view name) const;
  // The member has a name in the table: its map is a structure.
  bool declares(std::string_view name) const;

 private:
  explicit MergeType(const Type& type, const FieldOptions* options = nullptr);
  explicit MergeType(const Schema& schema) : schema_(&schema) {}
  bool is_whole() const { return is_root_ || (schema_ != nullptr && schema_->embedded); }
  const FieldInfo* field(std::string_view name) const;

  // Both null: of a value that nothing is known of.
  const Type* type_ = nullptr;
  const FieldOptions* options_ = nullptr;  // of the field whose value it is
  const Schema* schema_ = nullptr;
  bool is_root_ = false;  // an object with apiVersion and kind
};

}  // namespace ddptwin
