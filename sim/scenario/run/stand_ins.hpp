// What stands in for what this machine has not: decided container by container before a run, from
// the manifests. A stand-in is never taken for the real thing: it is told at the run's start, with
// its verdict and in its reports.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "scenario/language/scenario.hpp"
#include "scenario/run/images.hpp"

namespace ddptwin::scenario {

// Of one container of a manifest's template.
struct StandIn {
  std::string object{};      // "pytorchjob/mnist"
  std::string container{};   // its name
  std::string where{};       // file, line and field
  std::string text{};        // why, and what
  std::string told() const;  // all of it in a line
};

// In the order of the manifests. Only of images that allow it (NamedImage::stand_in).
std::vector<StandIn> stand_ins_of(const Scenario& scenario, const std::vector<NamedImage>& images,
                                  Mode mode);

// The images without a description of which a container runs as it is.
std::vector<std::string> runs_as_of_host(const Scenario& scenario,
                                         const std::vector<NamedImage>& images, Mode mode);

// The training of that shape.
model::Workload stand_in_workload(const StandInShape& shape);

// In real time: what a container is started with in place of a command that cannot be had here
// (tools/stand_in_main.cpp); empty: it runs as it is.
std::function<std::vector<std::string>(const ContainerConfig&, const Image&)> stand_in_commands(
    const std::vector<NamedImage>& images);

// Reason::bad_input with the first container that something would stand in for, where the user
// wants none.
Status refuse_stand_ins(const Scenario& scenario, Mode mode);

}  // namespace ddptwin::scenario
