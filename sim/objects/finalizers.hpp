// metadata.finalizers of any object.
#pragma once

#include <algorithm>
#include <string_view>

#include "objects/object.hpp"

namespace ddptwin {

inline bool has_finalizer(const Object& object, std::string_view finalizer) {
  const auto& all = object.metadata.finalizers;
  return std::find(all.begin(), all.end(), finalizer) != all.end();
}

}  // namespace ddptwin
