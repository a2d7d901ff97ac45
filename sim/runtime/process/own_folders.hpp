// Folders of the host that pods do not see: each pod has its own in their place.
#pragma once

#include <sys/types.h>

#include <algorithm>
#include <array>
#include <string_view>

#include "core/paths.hpp"

namespace ddptwin::sandbox {

struct OwnFolder {
  std::string_view path;
  mode_t mode;  // as it has everywhere
};
// The homes are empty, as in an image: what lies in the developer's is nobody else's, and may be
// secret.
inline constexpr std::array own_folders{OwnFolder{"/proc", 0555}, OwnFolder{"/sys", 0555},
                                        OwnFolder{"/dev", 0755},  OwnFolder{"/tmp", 01777},
                                        OwnFolder{"/run", 0755},  OwnFolder{"/lost+found", 0700},
                                        OwnFolder{"/root", 0700}, OwnFolder{"/home", 0755}};

// Whether the absolute path is one of them or lies below one.
inline bool is_own_folder(std::string_view path) {
  return std::any_of(own_folders.begin(), own_folders.end(),
                     [path](const OwnFolder& folder) { return is_at_or_below(path, folder.path); });
}

}  // namespace ddptwin::sandbox
