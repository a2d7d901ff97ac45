// What the platform refuses beyond its schema (spec/statefulset-platform.md §2, "Validation").
#pragma once

#include <optional>
#include <string_view>

#include "core/result.hpp"
#include "objects/ddpset.hpp"

namespace ddptwin::controller::ddpset {

inline constexpr std::string_view webhook_name = "validator.ddpset.platform.ddptwin.dev";

// Asked at CREATE and UPDATE of the DDPSet itself. `old` is null at CREATE. All errors in one
// message, in the API server's wrapping.
std::optional<Error> review(const DDPSet& set, const DDPSet* old);

}  // namespace ddptwin::controller::ddpset
