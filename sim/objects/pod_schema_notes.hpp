// What definitions of custom resources say about the pod template in them, as controller-gen
// publishes it.
#pragma once

#include <span>

#include "objects/schema_of_type.hpp"

namespace ddptwin {

// They live for ever.
std::span<const SchemaNote> pod_schema_notes();
// Of definitions that were made when the Kubernetes API had begun to name the keys of these lists.
std::span<const SchemaNote> keyed_pod_list_notes();

}  // namespace ddptwin
