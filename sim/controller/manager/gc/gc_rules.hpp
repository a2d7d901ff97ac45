// Words that the garbage collector's parts share.
#pragma once

#include <string_view>

#include "objects/finalizers.hpp"

namespace ddptwin::gc {

inline constexpr std::string_view orphan = "orphan";
inline constexpr std::string_view foreground = "foregroundDeletion";

using ddptwin::has_finalizer;

}  // namespace ddptwin::gc
