// What the API server fills into and refuses of the kinds of apps/v1, in its words
// (spec/kubernetes.md §4; the recordings sts-create-validation-messages, sts-immutable-fields,
// sts-minimal-defaults).
#pragma once

#include "objects/apps_v1.hpp"
#include "objects/validation.hpp"

namespace ddptwin {

void default_stateful_set(StatefulSet& set);
ErrorList validate_stateful_set(const Object& object);
ErrorList validate_stateful_set_update(const Object& updated, const Object& old);
ErrorList validate_controller_revision_update(const Object& updated, const Object& old);

}  // namespace ddptwin
