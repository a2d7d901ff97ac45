// What is known of an image that a manifest names: what a scenario says of it, and what everybody
// knows.
#pragma once

#include <string>
#include <vector>

#include "scenario/language/scenario.hpp"

namespace ddptwin::scenario {

// The image of the twin's own worker.
inline constexpr const char* worker_image_name = "ddptwin-worker";

// Known without a description: ddptwin-worker, and what the training operator itself names.
const std::vector<NamedImage>& built_in_images();

// What is said of an image: under its own name, else under that of its repository, which has no
// tag; null: nothing.
const NamedImage* description_of(const std::vector<NamedImage>& images, const std::string& image);
// By the scenario, else among built_in_images(); null: by nobody.
const NamedImage* known_image(const Scenario& scenario, const std::string& image);

}  // namespace ddptwin::scenario
