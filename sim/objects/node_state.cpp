#include "objects/node_state.hpp"

#include <algorithm>

namespace ddptwin {

bool is_ready(const Node& node) {
  const auto& conditions = node.status.conditions;
  return std::any_of(conditions.begin(), conditions.end(), [](const Condition& one) {
    return one.type_ == "Ready" && one.status == "True";
  });
}

}  // namespace ddptwin
