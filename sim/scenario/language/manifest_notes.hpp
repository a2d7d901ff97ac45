// What a run takes of its manifests otherwise than it is written: told in its first lines.
#pragma once

#include <string>

namespace ddptwin::scenario {

struct ManifestNote {
  std::string object{};  // pytorchjob/train
  std::string text{};    // file, line, field, and what is so
};

// A document of a kind that the twin has not: no part of the run (absent_kinds.hpp).
struct SetAside {
  std::string api_version{};
  std::string kind{};
  std::string name{};
  std::string where{};    // of its kind: file, line and field
  std::string refusal{};  // what is said where the run cannot do without it
  bool runs = false;      // it is what its author wants to see run
};

}  // namespace ddptwin::scenario
