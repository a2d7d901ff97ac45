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
    required,         // `value`: names, comma-separated, of the structure's fields
    list_map,         // `value`: the keys, comma-separated
    fallback,         // `value`: the default, as JSON
    immutable,        // `value`: the message of the rule
    absent,           // this version of the definition does not know the field
    allowed,          // `value`: the enum, comma-separated
    minimum,          // `value`: a number
    maximum,          // `value`: a number
    min_length,       // `value`: a number
    max_length,       // `value`: a number
    min_items,        // `value`: a number
    max_items,        // `value`: a number
    item_max_length,  // of a list of texts; `value`: a number
    min_properties,   // of the structure; `value`: a number
    set,              // a list of different values
    whole_number,     // an int32, whatever else the type may be
    rule,             // in CEL (schema_rules.hpp); `detail`: its message
  } what;
  std::string_view value;
  std::string_view detail{};
};

// Types that keep raw JSON accept anything; metadata inside a template keeps what a user may set.
Json schema_of(const Type& type, std::span<const SchemaNote> notes);

}  // namespace ddptwin
