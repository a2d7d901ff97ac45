// What a kind tells of itself in its status, as scenarios may name it.
#pragma once

#include <span>
#include <string_view>

namespace ddptwin {
struct KindInfo;
}

namespace ddptwin::scenario {

struct StatusWords {
  const KindInfo& (*info)();
  std::span<const std::string_view> phases{};
  std::span<const std::string_view> conditions{};
  // Others may set conditions of their own (a readiness gate's): only what is nearly a known one is
  // a slip.
  bool open = false;
  // Its phases are not in its status: somebody watches what becomes of it (state_watch.hpp).
  bool watched = false;
  // The phase in which its pods have done what they are for; empty: there is none.
  std::string_view good{};
  // It is what is expected where nobody says anything.
  bool is_expected = false;
};

// Of its system, or of Kubernetes itself; of a kind that is not listed only the object itself is
// known.
const StatusWords& status_words(const KindInfo& kind);

}  // namespace ddptwin::scenario
