// What the entries share. An entry reads one input and checks the laws of its parser: libFuzzer
// drives it in the preset `fuzz`, replay_main.cpp everywhere else.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string_view>

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size);

namespace ddptwin::fuzz {

inline std::string_view text_of(const std::uint8_t* data, std::size_t size) {
  return {reinterpret_cast<const char*>(data), size};
}

// A law of the parser: a broken one is a finding like any crash.
inline void law(bool holds) {
  if (!holds) std::abort();
}

}  // namespace ddptwin::fuzz
