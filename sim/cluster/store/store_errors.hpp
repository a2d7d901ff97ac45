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
// Somebody means an object of another uid than the stored one.
Error wrong_uid_error(const KindInfo& kind, const ObjectMeta& stored, std::string_view meant);
Error forbidden_error(const KindInfo& kind, std::string_view name, std::string_view why);
Error invalid_error(const KindInfo& kind, std::string_view name, ErrorList causes);
Error method_not_allowed_error();
Error resource_not_found_error();
// The store has not come to that version yet.
Error too_large_version_error(std::uint64_t asked, std::uint64_t current);
// The version that a page continues is forgotten; `rest` continues with the objects as they are.
Error expired_page_error(std::string rest);
// A 500 without a reason.
Error plain_error(std::string message);
// Not a refusal: what a subresource answers that has nothing else to say, metav1.Status of a 201.
RawJson created_status_body();

}  // namespace ddptwin
