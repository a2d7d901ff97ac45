// Paths as texts, without a look at any file.
#pragma once

#include <string_view>

namespace ddptwin {

// "/data" and "/data/x" are at or below "/data" and "/data/"; every absolute path is below "/".
inline bool is_at_or_below(std::string_view path, std::string_view folder) {
  while (folder.ends_with('/')) folder.remove_suffix(1);
  return path.starts_with(folder) && (path.size() == folder.size() || path[folder.size()] == '/');
}

}  // namespace ddptwin
