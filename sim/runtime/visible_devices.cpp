#include "runtime/visible_devices.hpp"

#include <algorithm>

namespace ddptwin {

std::vector<std::string> visible_devices(std::string_view value) {
  std::vector<std::string> devices;
  if (value == "all" || value == "none" || value == "void") return devices;
  while (!value.empty()) {
    const std::string_view device = value.substr(0, value.find(','));
    if (!device.empty()) devices.emplace_back(device);
    value.remove_prefix(std::min(value.size(), device.size() + 1));
  }
  return devices;
}

}  // namespace ddptwin
