#include "cluster/process_runtime/pod_addresses.hpp"

#include <fmt/format.h>

namespace ddptwin {

std::optional<std::string> PodAddresses::take(const std::string& node) {
  constexpr int ranges_max = 256;
  constexpr int first = 2, last = 254;
  auto found = ranges_.find(node);
  if (found == ranges_.end()) {
    if (ranges_.size() == ranges_max) return std::nullopt;
    found = ranges_.emplace(node, Range{static_cast<int>(ranges_.size())}).first;
  }
  Range& range = found->second;
  for (int tried = 0; tried <= last - first; ++tried) {
    range.last = range.last >= last ? first : range.last + 1;
    std::string address = fmt::format("10.244.{}.{}", range.number, range.last);
    if (taken_.insert(address).second) return address;
  }
  return std::nullopt;
}

void PodAddresses::give_back(const std::string& address) { taken_.erase(address); }

}  // namespace ddptwin
