// Trainer's side of the API: definitions, webhooks and the runtimes that come with it.
#pragma once

#include "controller/trainer/profile.hpp"
#include "objects/trainer_definition.hpp"
#include "scenario/systems/system.hpp"

namespace ddptwin::scenario {

// What its definitions know.
TrainerSchemaOptions schema_options(const controller::trainer::Profile& profile);

void install_trainer_api(Installer& into, const controller::trainer::Profile& profile);

}  // namespace ddptwin::scenario
