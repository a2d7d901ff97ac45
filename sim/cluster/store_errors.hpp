// The refusals of the store, in the API's words (spec/kubernetes.md section 1.11).
#pragma once

#include <string>
#include <string_view>

#include "core/result.hpp"
#include "objects/kinds.hpp"

namespace ddptwin {

Error not_found_error(const KindInfo& kind, std::string_view name);
Error already_exists_error(const KindInfo& kind, std::string_view name);
Error conflict_error(const KindInfo& kind, std::string_view name, std::string_view why);
// The object was written since it was read.
Error modified_error(const KindInfo& kind, std::string_view name);
Error forbidden_error(const KindInfo& kind, std::string_view name, std::string_view why);
Error invalid_error(const KindInfo& kind, std::string_view name, ErrorList causes);
// Of an options object: `ListOptions.meta.k8s.io "" is invalid: ...`.
Error invalid_options_error(std::string_view options_kind, ErrorList causes);
Error method_not_allowed_error();
Error resource_not_found_error();
// A 500 without a reason.
Error plain_error(std::string message);

}  // namespace ddptwin
