// How an object is named in another one.
#pragma once

#include "objects/core_v1.hpp"

namespace ddptwin {

// All that tells it apart, its version too (client-go's reference.GetReference).
ObjectReference object_reference(const Object& object, std::string_view field_path = {});

}  // namespace ddptwin
