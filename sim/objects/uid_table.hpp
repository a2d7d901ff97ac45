#pragma once

#include <unordered_map>
#include <unordered_set>

#include "core/text_table.hpp"
#include "objects/shared_text.hpp"

namespace ddptwin {

// For looking up what is known of an object by its uid, which the object and the table share.
// Their order cannot be seen.
template <class T>
using UidTable = std::unordered_map<SharedText, T, TextHash>;
using UidSet = std::unordered_set<SharedText, TextHash>;

}  // namespace ddptwin
