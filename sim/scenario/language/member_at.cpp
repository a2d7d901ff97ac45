#include "scenario/language/member_at.hpp"

namespace ddptwin::scenario {

namespace json = boost::json;

const json::value* member_at(const json::value& value,
                             std::initializer_list<std::string_view> path) {
  const json::value* at = &value;
  for (const std::string_view key : path) {
    const auto* object = at->if_object();
    at = object == nullptr ? nullptr : object->if_contains(key);
    if (at == nullptr) return nullptr;
  }
  return at;
}

std::string text_at(const json::value& value, std::initializer_list<std::string_view> path) {
  const json::value* found = member_at(value, path);
  return found != nullptr && found->is_string() ? std::string(found->as_string()) : std::string();
}

}  // namespace ddptwin::scenario
