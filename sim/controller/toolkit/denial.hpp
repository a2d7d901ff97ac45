// How a validating webhook refuses a write, in the API server's words.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "objects/kinds.hpp"

namespace ddptwin::controller {

// `admission webhook "NAME" denied the request: WHY`
std::string denied_by(std::string_view webhook, std::string_view why);
// 422 Invalid with the causes in its details; nothing where there are none.
std::optional<Error> invalid_by(std::string_view webhook, const Object& object,
                                const ErrorList& errors);

}  // namespace ddptwin::controller
