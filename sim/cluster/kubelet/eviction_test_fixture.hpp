// For the tests of what a node is short of.
#pragma once

#include "objects/pod_spec.hpp"

namespace ddptwin::kubelet::test {

// A pod with a container "c" that requests so much of it; "": nothing.
inline PodSpec requesting(std::string_view resource, const char* request, std::int32_t priority) {
  PodSpec spec;
  Container& container = spec.containers.edit().emplace_back();
  container.name = "c";
  if (*request != '\0')
    container.resources.requests.edit()[std::string(resource)] = *Quantity::parse(request);
  spec.priority = priority;
  return spec;
}

}  // namespace ddptwin::kubelet::test
