// What the scale subresource shows of an object (autoscaling/v1 Scale).
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "objects/kinds.hpp"

namespace ddptwin {

struct Scale {
  std::optional<std::int32_t> replicas{};  // that there should be; nothing: the field is absent
  std::int32_t replicas_now = 0;           // that its status tells of
  std::string selector{};                  // of its pods; empty: none
};
// Precondition of both: its kind has a scale.
Scale scale_of(const Object& object);
// The same as the API shows it, with so many replicas in its specification if that is given.
Json scale_body(const Object& object, std::optional<std::int32_t> replicas = std::nullopt);

// The value at ".spec.replicas", or null.
const Json* value_at(const Json& object, std::string_view path);

}  // namespace ddptwin
