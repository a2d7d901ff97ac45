#include "cluster/kubelet/host_paths.hpp"

namespace ddptwin::kubelet {

PathKind HostPaths::kind(const std::string& path) const {
  if (const PathKind there = machine_(path); there != PathKind::absent) return there;
  std::string_view at = path;
  while (at.size() > 1 && at.ends_with('/')) at.remove_suffix(1);
  if (const auto found = made_.find(at); found != made_.end()) return found->second;
  // What pods have put below a folder of theirs nobody here has seen.
  for (auto cut = at.rfind('/'); cut != at.npos && cut > 0; cut = at.rfind('/')) {
    at = at.substr(0, cut);
    if (made_.contains(at)) return PathKind::unseen;
  }
  return PathKind::absent;
}

void HostPaths::pass(const std::string& path, PathKind kind) {
  std::string_view at = path;
  while (at.size() > 1 && at.ends_with('/')) at.remove_suffix(1);
  made_.emplace(at, kind);
}

}  // namespace ddptwin::kubelet
