// The devices of which a container's NVIDIA_VISIBLE_DEVICES tells.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace ddptwin {

inline constexpr std::string_view visible_devices_variable = "NVIDIA_VISIBLE_DEVICES";

// The entries of its value, as a plugin tells them: UUIDs with commas between. None where it is no
// list of them ("all", "none", "void").
std::vector<std::string> visible_devices(std::string_view value);

}  // namespace ddptwin
