// When virtual time begins, wherever nobody says otherwise.
#pragma once

#include "core/time.hpp"

namespace ddptwin {

// 2026-01-01T00:00:00Z: fixed, so that runs repeat.
inline constexpr Time virtual_start{std::chrono::seconds(1'767'225'600)};

}  // namespace ddptwin
