// Whether a job goes on, and who of it waits for what: the grounds of the invariant `progress`
// (spec/failure-modes.md §2, INV-PROGRESS). A job comes further by a step that nobody had done, a
// checkpoint, a pod that is placed, starts or ends well, and, as long as it tells of no steps, by a
// line of its main containers that says something new. What it had reached before counts on one way
// back only: a job that does the same again and again stands still.
#pragma once

#include <string>

#include "scenario/invariants/facts.hpp"

namespace ddptwin::scenario::invariants {

// So many restarts since a job came further are a loop: its own pace is of no matter then, nor are
// lines that only begin anew.
inline constexpr int attempts_many = 3;

// It is the operator's, and neither at its end nor suspended.
bool can_stand_still(const JobFacts& job, const Facts& facts);
// When it will have stood still for too long, as things are now (invariants.hpp, `progress_within`
// and `silence_within`).
Time stands_still_at(const JobFacts& job, const Facts& facts);
// "since step 5 of 20, with 360 restarts since"
std::string since_when(const JobFacts& job);
// Who waits for what: those that hold the others up first.
std::string who_waits(const JobFacts& job, const Facts& facts, Time now);

}  // namespace ddptwin::scenario::invariants
