// The published schema of a structure, made from its table.
#pragma once

#include <boost/json/value.hpp>
#include <span>
#include <string_view>
#include <vector>

#include "objects/type.hpp"

namespace ddptwin {

// What a definition says about one structure beyond its fields' types.
struct SchemaNote {
  std::string_view structure;  // Type::name
  std::string_view field;      // empty: of the structure itself
  enum class What : std::uint8_t {
    required,   // `value`: names, comma-separated, of the structure's fields
    list_map,   // `value`: the keys, comma-separated
    fallback,   // `value`: the default, as JSON
    immutable,  // `value`: the message of the rule
    absent,     // this version of the definition does not know the field
    allowed,    // `value`: the enum, comma-separated
    minimum,    // `value`: a number
    max_items,  // `value`: a number
  } what;
  std::string_view value;
};

// Types that keep raw JSON accept anything; metadata inside a template keeps what a user may set.
Json schema_of(const Type& type, std::span<const SchemaNote> notes);

}  // namespace ddptwin
