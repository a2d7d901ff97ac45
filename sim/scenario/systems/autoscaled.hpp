// Systems that make HorizontalPodAutoscalers for some of their objects.
#pragma once

#include "objects/object.hpp"

namespace ddptwin {

// Whether the object's controller makes an autoscaler for it, upon which somebody has to act then.
bool is_autoscaled(const Object& object);
// The same of one system's kinds, each a line of the table.
bool is_autoscaled_by_training_operator(const Object& object);

}  // namespace ddptwin
