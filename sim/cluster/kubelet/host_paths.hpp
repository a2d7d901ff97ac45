// What lies at the paths of hostPath volumes: of the machine, and what mounting them has made. All
// nodes of a cluster share it, as they share the folders.
#pragma once

#include <map>
#include <string>
#include <string_view>

#include "cluster/kubelet/pod_context.hpp"

namespace ddptwin::kubelet {

class HostPaths {
 public:
  using Look = PathKind (*)(const std::string& path);

  explicit HostPaths(Look machine) : machine_(machine) {}

  PathKind kind(const std::string& path) const;
  // A kubelet has let a volume of the path pass: with a type that makes it, or with none.
  void pass(const std::string& path, PathKind kind);

 private:
  Look machine_;
  std::map<std::string, PathKind, std::less<>> made_{};
};

}  // namespace ddptwin::kubelet
