#include "runtime/model/workload.hpp"

namespace ddptwin::model {

std::string filled_in(const std::string& line, const LineFacts& facts) {
  std::string text;
  for (std::size_t at = 0; at < line.size();) {
    const std::size_t open = line.find('{', at);
    const std::size_t close = line.find('}', open);
    text += line.substr(at, open - at);
    if (close == std::string::npos) {
      if (open != std::string::npos) text += line.substr(open);
      break;
    }
    const std::string name = line.substr(open + 1, close - open - 1);
    if (name == "rank")
      text += std::to_string(facts.rank);
    else if (name == "world_size")
      text += std::to_string(facts.world_size);
    else if (name == "step")
      text += std::to_string(facts.step);
    else if (name == "steps")
      text += std::to_string(facts.steps);
    else
      text += line.substr(open, close - open + 1);
    at = close + 1;
  }
  return text;
}

}  // namespace ddptwin::model
