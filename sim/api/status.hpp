// metav1.Status: how the API server says what went wrong (spec/kubernetes.md section 1.11).
#pragma once

#include "core/result.hpp"
#include "objects/type.hpp"

namespace ddptwin::api {

// The body of a refusal, with its HTTP code.
Json status_of(const Error& error);
// The HTTP code of a refusal.
int code_of(const Error& error);

}  // namespace ddptwin::api
