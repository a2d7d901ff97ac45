// What definitions of custom resources say about the pod template in them, as controller-gen
// publishes it.
#pragma once

#include <span>

#include "objects/schema_of_type.hpp"

namespace ddptwin {

// They live for ever.
std::span<const SchemaNote> pod_schema_notes();

}  // namespace ddptwin
