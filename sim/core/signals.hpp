// Signals by name, as Linux numbers them on x86 and ARM (signal(7)).
#pragma once

#include <optional>
#include <span>
#include <string_view>

namespace ddptwin {

struct SignalRow {
  std::string_view name;  // "KILL"
  int number;
};
// In the order of their numbers.
std::span<const SignalRow> signal_rows();

// The last real-time signal.
inline constexpr int signal_number_max = 64;

// "KILL" or "SIGKILL".
std::optional<int> signal_number(std::string_view name);

}  // namespace ddptwin
