// How Trainer writes what it makes (spec/trainjob.md §2.6): it applies it, by force, as the manager
// "trainer".
#pragma once

#include "api/client.hpp"
#include "controller/trainer/plugins.hpp"

namespace ddptwin::controller::trainer {

api::Request apply_object(Applied object);

}  // namespace ddptwin::controller::trainer
