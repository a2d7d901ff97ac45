// Names of images as the kubelet reads them (spec/kubernetes.md §2.3; distribution/reference).
#pragma once

#include <string>

#include "core/result.hpp"

namespace ddptwin::kubelet {

// "busybox" -> "busybox:latest"; a name with a tag or a digest stays. The error's message is what
// the container waits with as InvalidImageName, and what the event InspectFailed says.
Result<std::string> with_default_tag(const std::string& image);

}  // namespace ddptwin::kubelet
