// What the API server refuses of a HorizontalPodAutoscaler, in its words
// (pkg/apis/autoscaling/validation of Kubernetes 1.35, the gate HPAScaleToZero off).
#pragma once

#include "objects/autoscaling.hpp"
#include "objects/validation.hpp"

namespace ddptwin {

ErrorList validate_autoscaler(const Object& object);
// What was there already may stay: no replicas as the minimum, and an apiVersion of any form.
ErrorList validate_autoscaler_update(const Object& updated, const Object& old);

}  // namespace ddptwin
