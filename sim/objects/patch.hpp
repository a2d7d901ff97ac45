// The three patch types that do not need field ownership (spec/kubernetes.md section 1.6).
#pragma once

#include <boost/json/fwd.hpp>

#include "core/result.hpp"
#include "objects/type.hpp"

namespace ddptwin {

// RFC 6902 as the API server reads it: replace of an absent member adds it, index -1 is the last.
Result<Json> apply_json_patch(const Json& document, const Json& patch);

// RFC 7386.
Result<Json> apply_merge_patch(const Json& document, const Json& patch);

// Strategic merge: lists are merged by the keys that the type's table names.
Result<Json> apply_strategic_patch(const Type& type, const Json& document, const Json& patch);

}  // namespace ddptwin
