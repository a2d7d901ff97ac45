// Members of an object of JSON, for what is kept as it was written. One that is null, or of another
// type, is as if it were not there.
#pragma once

#include <boost/json.hpp>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "objects/quantity.hpp"

namespace ddptwin {

// Null: there is none, or it is null.
inline const boost::json::value* member_of(const boost::json::object& from, std::string_view name) {
  const boost::json::value* found = from.if_contains(name);
  return found == nullptr || found->is_null() ? nullptr : found;
}
inline const boost::json::object* map_of(const boost::json::object& from, std::string_view name) {
  const boost::json::value* found = member_of(from, name);
  return found != nullptr ? found->if_object() : nullptr;
}
inline boost::json::object map_or_empty(const boost::json::object& from, std::string_view name) {
  const boost::json::object* found = map_of(from, name);
  return found != nullptr ? *found : boost::json::object();
}
// Empty: nothing is said.
inline std::string text_of(const boost::json::object& from, std::string_view name) {
  const boost::json::value* found = member_of(from, name);
  return found != nullptr && found->is_string() ? std::string(found->get_string()) : std::string();
}
inline std::optional<std::int64_t> integer_of(const boost::json::object& from,
                                              std::string_view name) {
  const boost::json::value* found = member_of(from, name);
  return found != nullptr && found->is_int64() ? std::optional(found->get_int64()) : std::nullopt;
}
// Of a text or a number; nothing: it is absent, or no quantity.
inline std::optional<Quantity> quantity_of(const boost::json::object& from, std::string_view name) {
  const boost::json::value* found = member_of(from, name);
  if (found == nullptr) return std::nullopt;
  const auto read = Quantity::parse(found->is_string() ? std::string(found->get_string())
                                                       : boost::json::serialize(*found));
  return read ? std::optional(*read) : std::nullopt;
}

}  // namespace ddptwin
