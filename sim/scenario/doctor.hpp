// What this machine can do for runs in real time, found by doing it.
#pragma once

#include <string>
#include <vector>

namespace ddptwin::scenario {

struct Ability {
  enum class Kind { has, lacks, note };
  Kind kind = Kind::has;
  std::string what{};
  std::string told{};  // what was found, or what its lack means and how to mend it
};

struct Diagnosis {
  std::vector<Ability> abilities{};
  bool runs_pods = false;  // otherwise only virtual time is left
};

// Takes some seconds: starts sandboxes, a pod, and a Python that imports torch. Nothing of it
// stays.
Diagnosis examine_host();

}  // namespace ddptwin::scenario
