// Whether what the twin did is what the recording shows.
#pragma once

#include <boost/json.hpp>
#include <optional>
#include <string>

#include "symbols.hpp"

namespace ddptwin::golden {

struct Mismatch {
  std::string path{};
  std::string expected{};
  std::string actual{};
};

// The first place where `actual` (symbolic already, but for its times) is not what `expected`
// allows:
// "@3+30s" is any instant of step 3 and thirty seconds, "<ip>", "<d>", "<dump>" and the like any
// text.
std::optional<Mismatch> mismatch(const Symbols& symbols, const Json& expected, const Json& actual,
                                 const std::string& path = {});

// A text with its wildcards, matched against the whole of another.
bool matches(const std::string& expected, const std::string& actual);

}  // namespace ddptwin::golden
