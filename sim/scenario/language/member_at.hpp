// Parts of a value by the names of its members, where they are there.
#pragma once

#include <boost/json/value.hpp>
#include <initializer_list>
#include <string>
#include <string_view>

namespace ddptwin::scenario {

// The members in turn; null: there is no such place.
const boost::json::value* member_at(const boost::json::value& value,
                                    std::initializer_list<std::string_view> path);
// Empty: there is no text at such a place.
std::string text_at(const boost::json::value& value, std::initializer_list<std::string_view> path);

}  // namespace ddptwin::scenario
