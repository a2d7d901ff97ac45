// metav1.Status: how the API server says what went wrong (spec/kubernetes.md section 1.11).
#pragma once

#include "core/result.hpp"
#include "objects/kinds.hpp"

namespace ddptwin::api {

// The body of a refusal, with its HTTP code.
Json status_of(const Error& error);
// Options that a request may not have: `ListOptions.meta.k8s.io "" is invalid: ...`.
Error invalid_options(std::string_view options_kind, ErrorList causes);
// The HTTP code of a refusal.
int code_of(const Error& error);

}  // namespace ddptwin::api
