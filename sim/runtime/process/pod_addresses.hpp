// Who has which pod IP. As in a real cluster each node has a range of its own: 10.244.NODE.0/24 of
// 10.244.0.0/16, .1 being the gateway of node 0's range; where there may be more than 256 nodes,
// the later ones have 10.129.N.0/24 and so on. An address is given again only after the range has
// been used up, so that a pod's successor is seldom taken for it. The nodes themselves lie in
// 192.168.0.0/16; a pod on the host network has its node's address.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>

#include "core/result.hpp"

namespace ddptwin {

struct SandboxConfig;

class PodAddresses {
 public:
  static constexpr const char* gateway = "10.244.0.1";
  static constexpr const char* nodes = "192.168.0.0";
  static constexpr std::uint8_t prefix = 16;  // of both

  static constexpr int ranges_of_prefix = 256;
  static constexpr int ranges_limit = 64 * 256;

  // Precondition: ranges_max is at most ranges_limit.
  explicit PodAddresses(int ranges_max = ranges_of_prefix) : ranges_max_(ranges_max) {}

  // Nothing when the node's range is full (253 pods) or all ranges are given out.
  std::optional<std::string> take(const std::string& node);
  // Of a sandbox. The error is the runtime's, as PodRuntime tells it.
  Result<std::string> take(const SandboxConfig& sandbox);
  // What was never taken, a node's address, may be given back too.
  void give_back(const std::string& address);

 private:
  struct Range {
    int number = 0;
    int last = 1;
  };
  int ranges_max_;
  std::map<std::string, Range> ranges_;
  std::set<std::string> taken_;
};

}  // namespace ddptwin
