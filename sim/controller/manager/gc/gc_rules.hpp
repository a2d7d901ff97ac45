// Words that the garbage collector's parts share.
#pragma once

#include <algorithm>
#include <string_view>

#include "objects/object.hpp"

namespace ddptwin::gc {

inline constexpr std::string_view orphan = "orphan";
inline constexpr std::string_view foreground = "foregroundDeletion";

inline bool has_finalizer(const Object& object, std::string_view finalizer) {
  const auto& all = object.metadata.finalizers;
  return std::find(all.begin(), all.end(), finalizer) != all.end();
}

}  // namespace ddptwin::gc
