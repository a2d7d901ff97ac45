// Objects that a table's cases write in a few words: what they say, laid over a default one.
#pragma once

#include <boost/json.hpp>
#include <span>
#include <string>
#include <string_view>

namespace ddptwin::conformance {

struct Shorthand {
  const char* key;
  std::string_view name;  // of the object, where the case says no other
  boost::json::object (*make)(const boost::json::object& said, std::string_view name);
};
std::span<const Shorthand> shorthands();

// A block of a user's page, kept byte for byte: laid over the page's first block, which is whole,
// as a user would fill its "..." in. Of several documents in a block the one with that number;
// lists of groups and containers are laid over one another item by item.
boost::json::object block_of_page(const std::string& folder, const std::string& file, int part);

void merge(boost::json::object& to, const boost::json::value& patch);

}  // namespace ddptwin::conformance
