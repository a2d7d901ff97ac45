#include "core/signals.hpp"

#include <array>

namespace ddptwin {

std::span<const SignalRow> signal_rows() {
  static constexpr std::array<SignalRow, 30> rows{
      {{"HUP", 1},     {"INT", 2},   {"QUIT", 3},   {"ILL", 4},   {"TRAP", 5},  {"ABRT", 6},
       {"BUS", 7},     {"FPE", 8},   {"KILL", 9},   {"USR1", 10}, {"SEGV", 11}, {"USR2", 12},
       {"PIPE", 13},   {"ALRM", 14}, {"TERM", 15},  {"CHLD", 17}, {"CONT", 18}, {"STOP", 19},
       {"TSTP", 20},   {"TTIN", 21}, {"TTOU", 22},  {"URG", 23},  {"XCPU", 24}, {"XFSZ", 25},
       {"VTALRM", 26}, {"PROF", 27}, {"WINCH", 28}, {"IO", 29},   {"PWR", 30},  {"SYS", 31}}};
  return rows;
}

std::optional<int> signal_number(std::string_view name) {
  if (name.starts_with("SIG")) name.remove_prefix(3);
  for (const SignalRow& row : signal_rows())
    if (row.name == name) return row.number;
  return std::nullopt;
}

}  // namespace ddptwin
