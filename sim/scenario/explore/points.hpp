// Every place where a fault can act in a run, from what an undisturbed one showed.
#pragma once

#include <span>
#include <vector>

#include "scenario/faults/census.hpp"
#include "scenario/language/fault.hpp"

namespace ddptwin::scenario {

// Each single fault of the kinds at each of its points, in a fixed order: of calls each write of
// each process, of watches each event that each process heard of each kind, of controllers,
// scheduler, nodes and kubelets the moment after each of their writes, of containers each start and
// each training step of each pod, of links each step of each pair of pods that train, of DNS each
// question of each name.
std::vector<Fault> every_point(const Census& census, std::span<const FaultRow* const> kinds);

// What `of` of a fault calls this process, and no other.
std::string name_of(const Census::Process& process);

}  // namespace ddptwin::scenario
