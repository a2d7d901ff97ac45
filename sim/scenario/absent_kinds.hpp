// Kinds that a real cluster serves and the twin does not: who writes one is not told that it does
// not exist.
#pragma once

#include <span>
#include <string_view>

namespace ddptwin::scenario {

struct AbsentKind {
  std::string_view api_version{};
  std::string_view kind{};
  std::string_view instead{};  // what to do, and what holds here without it
};

std::span<const AbsentKind> absent_kinds();
// Null: no real cluster is known to serve it either.
const AbsentKind* find_absent_kind(std::string_view api_version, std::string_view kind);

}  // namespace ddptwin::scenario
