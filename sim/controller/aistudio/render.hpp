// What a DDPTask makes: its workers' pods and a headless Service for the name of each
// (spec/aistudio.md §3, §4).
#pragma once

#include <memory>
#include <string>

#include "controller/aistudio/policy.hpp"

namespace ddptwin::controller::aistudio {

// Of that attempt, on none of the nodes that its status has excluded.
std::shared_ptr<Pod> pod_of(const DDPTask& task, const DDPTaskStatus& status, int rank);
std::shared_ptr<Service> service_of(const DDPTask& task, int rank);

}  // namespace ddptwin::controller::aistudio
