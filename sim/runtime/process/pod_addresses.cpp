#include "runtime/process/pod_addresses.hpp"

#include <fmt/format.h>

#include "runtime/runtime.hpp"

namespace ddptwin {

std::optional<std::string> PodAddresses::take(const std::string& node) {
  constexpr int first = 2, last = 254;
  auto found = ranges_.find(node);
  if (found == ranges_.end()) {
    if (static_cast<int>(ranges_.size()) == ranges_max_) return std::nullopt;
    found = ranges_.emplace(node, Range{static_cast<int>(ranges_.size())}).first;
  }
  Range& range = found->second;
  // Second part of the address: 244, then 129, 130, ...
  const int part = range.number < ranges_of_prefix ? 244 : 128 + range.number / ranges_of_prefix;
  for (int tried = 0; tried <= last - first; ++tried) {
    range.last = range.last >= last ? first : range.last + 1;
    std::string address =
        fmt::format("10.{}.{}.{}", part, range.number % ranges_of_prefix, range.last);
    if (taken_.insert(address).second) return address;
  }
  return std::nullopt;
}

Result<std::string> PodAddresses::take(const SandboxConfig& sandbox) {
  if (!sandbox.host_network) {
    if (auto address = take(sandbox.node)) return std::move(*address);
    return fail(Reason::unknown, "no pod IP is left in the range of the node", "Unknown");
  }
  if (!sandbox.node_address.empty()) return sandbox.node_address;
  return fail(Reason::unknown, fmt::format("the node \"{}\" has no InternalIP", sandbox.node),
              "Unknown");
}

void PodAddresses::give_back(const std::string& address) { taken_.erase(address); }

}  // namespace ddptwin
