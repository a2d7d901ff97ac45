// ddptwin and its supervisor keep several descriptors open for each container.
#pragma once

#include <sys/resource.h>

namespace ddptwin::sandbox {

// The usual soft limit of 1024 is soon reached; the hard limit is not.
inline void raise_open_files() {
  rlimit files{};
  ::getrlimit(RLIMIT_NOFILE, &files);
  files.rlim_cur = files.rlim_max;
  ::setrlimit(RLIMIT_NOFILE, &files);
}

}  // namespace ddptwin::sandbox
