// Group over c10d: TCPStore with ProcessGroupGloo, or ProcessGroupNCCL where libtorch has it and a
// GPU is there. Builds against libtorch 1.13 (Debian) and 2.x (a wheel): spec/ddp-semantics.md
// §9.7.
#pragma once

#include <memory>

#include "environment.hpp"
#include "group.hpp"
#include "options.hpp"

namespace ddptwin::workers {

std::unique_ptr<Group> join_torch_group(const Options& options, const RankEnvironment& environment);

}  // namespace ddptwin::workers
