#include "controller/endpoints/amended.hpp"

#include <algorithm>
#include <string>

namespace ddptwin::controller::endpoints {

const Amended::Change* Amended::change_of(std::string_view key) const {
  const auto found = std::find_if(changes_.begin(), changes_.end(),
                                  [&](const Change& change) { return change.key == key; });
  return found != changes_.end() ? &*found : nullptr;
}

// What is not changed lies in the same order in both maps.
bool Amended::operator==(const StringMap& map) const {
  std::ptrdiff_t set = 0;
  auto kept = from_.begin();
  const auto skip_changed = [&] {
    while (kept != from_.end() && change_of(kept->first) != nullptr) ++kept;
  };
  for (const auto& [key, value] : map) {
    if (const Change* change = change_of(key)) {
      if (change->value != value) return false;
      ++set;
      continue;
    }
    skip_changed();
    if (kept == from_.end() || kept->first != key || kept->second != value) return false;
    ++kept;
  }
  skip_changed();
  return kept == from_.end() &&
         set == std::count_if(changes_.begin(), changes_.end(),
                              [](const Change& change) { return change.value.has_value(); });
}

StringMap Amended::made() const {
  StringMap map = from_;
  for (const auto& [key, value] : changes_) {
    if (value)
      map.insert_or_assign(std::string(key), std::string(*value));
    else if (const auto found = map.find(key); found != map.end())
      map.erase(found);
  }
  return map;
}

}  // namespace ddptwin::controller::endpoints
