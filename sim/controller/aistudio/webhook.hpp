// AIStudio's admission of DDPTasks: what their definition cannot say (spec/aistudio.md §2).
#pragma once

#include <optional>

#include "core/result.hpp"
#include "objects/ddptask.hpp"

namespace ddptwin::controller::aistudio {

inline constexpr std::string_view webhook_name = "ddptask.aistudio.twin";

// Asked at CREATE and UPDATE of the task itself, never of a subresource. `old` is null at CREATE.
// Nothing: admitted; else Invalid (422), each wrong field a cause.
std::optional<Error> review(const DDPTask& task, const DDPTask* old);

}  // namespace ddptwin::controller::aistudio
