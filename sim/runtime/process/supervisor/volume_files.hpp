#pragma once

#include "runtime/process/protocol.hpp"
#include "runtime/process/supervisor/system.hpp"

namespace ddptwin::sandbox {

// Writes the files of a volume. Each appears whole: it is written beside its place and moved there,
// so that a reader sees the old content or the new one, and a mount of the single file keeps the
// old.
Status replace_files(const std::string& folder, const WriteVolume& volume);

}  // namespace ddptwin::sandbox
