// A domain name as DNS has it: labels of bytes.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "core/result.hpp"

namespace ddptwin::dns {

// The bytes of a name on the wire, at most (RFC 1035 section 2.3.4).
inline constexpr std::size_t name_size_max = 255;

// Invariant of what parse() and the wire codec give: every label has 1 to 63 bytes and wire_size()
// is at most name_size_max. The root has no labels. == compares bytes; DNS itself
// ignores the case of ASCII letters: compare what lower() gives.
struct Name {
  std::vector<std::string> labels{};

  // From presentation form, "a.b.c" and "a.b.c." alike; \. and \DDD are understood.
  static Result<Name> parse(std::string_view text);
  // With the final dot; bytes that are not plain are written as \DDD.
  std::string text() const;
  Name lower() const;
  bool ends_with(const Name& zone) const;
  std::size_t wire_size() const;

  bool operator==(const Name&) const = default;
};

// "a.b" + "c" is "a.b.c".
Name operator+(Name head, const Name& tail);

std::string lower(std::string_view text);  // ASCII only

}  // namespace ddptwin::dns
