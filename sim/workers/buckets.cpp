#include "buckets.hpp"

#include <algorithm>
#include <utility>

namespace ddptwin::workers {

std::vector<Bucket> assign_buckets(const std::vector<std::size_t>& parameter_bytes,
                                   const std::vector<std::size_t>& ready_order,
                                   const std::vector<std::size_t>& limits) {
  std::vector<Bucket> buckets;
  Bucket open;
  std::size_t bytes = 0;
  for (const std::size_t parameter : ready_order) {
    open.push_back(parameter);
    bytes += parameter_bytes[parameter];
    if (bytes < limits[std::min(buckets.size(), limits.size() - 1)]) continue;
    buckets.push_back(std::exchange(open, {}));
    bytes = 0;
  }
  if (!open.empty()) buckets.push_back(std::move(open));
  return buckets;
}

}  // namespace ddptwin::workers
