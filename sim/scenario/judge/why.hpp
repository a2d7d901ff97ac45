// The reason that a verdict gives: what the trace knows of why objects have ended as they did, or
// have not come as far as they were to.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "scenario/judge/observer.hpp"

namespace ddptwin::scenario {

struct Why {
  std::string line{};  // "pod/j-master-0 container pytorch exit 1: "...""; or empty
  std::vector<std::string>
      text{};  // the same at length: the last lines that it printed, the others
};
// Of the objects, those too that are gone, with all that has the same owners.
Why why(const Observer& observer, const Selection& of);

// Until when somebody may still tell more of why the objects have failed: so far only one has ended
// who lost a peer, and others run yet. Nothing where that is not so.
std::optional<Time> told_until(const Observer& observer, const Selection& of, Time now);

// How a job or pod ended or stands, and why: "pytorchjob/j Failed: 1 Master replica failed:
// container pytorch exit 1: "..."". Behind a job stand those that it made and failed of:
// "jobset/s Failed: ... <- job/s-w-0 Failed: ...: pod/s-w-0-0 container main exit 3".
std::string told_end(const Observer& observer, const SeenObject& seen);

// Of all jobs that no other job made, and of all pods that nobody owns; those first that have not
// succeeded.
std::vector<std::string> told_ends(const Observer& observer);

}  // namespace ddptwin::scenario
