// Golden conversations with the PyTorchJob controller: text files of blocks
//
//   case C66 v1.9.0 v1.9.4        (which row of the table; no profile: all)
//   job master=1 worker=1 policy=Never
//   p
//   ----
//   create Pod j-master-0
//   ...
//
// A block is its commands, `----`, and the answer, up to an empty line. GOLDEN_REWRITE=1 writes the
// answers anew. The commands are the rows of a table in conversation.cpp.
#pragma once

#include <set>
#include <string>
#include <string_view>
#include <vector>

namespace ddptwin::conformance {

struct Verdict {
  std::string id{};
  std::string profile{};
  bool holds = false;
  std::string why{};  // the first line that differs, where it does not hold
};

struct FileResult {
  std::vector<Verdict> verdicts{};
  std::set<std::string_view> rules{};  // taken by any of its blocks
};

// Throws nothing; a file that cannot be read is a verdict that does not hold.
FileResult run_conversations(const std::string& file, bool rewrite);

}  // namespace ddptwin::conformance
