#include "controller/endpoints/amended.hpp"

#include <algorithm>
#include <string>

namespace ddptwin::controller::endpoints {

// Their lengths tell most of them apart.
inline const Amended::Change* Amended::change_of(std::string_view key) const {
  for (const Change& change : changes_)
    if (change.key == key) return &change;
  return nullptr;
}

// What is not changed lies in the same order in both maps.
bool Amended::operator==(const StringMap& map) const {
  std::ptrdiff_t set = 0;
  auto kept = from_.begin();
  for (const auto& [key, value] : map) {
    if (const Change* change = change_of(key)) {
      if (change->value != value) return false;
      ++set;
      continue;
    }
    // What lies between is changed, or it is missing.
    for (; kept != from_.end() && kept->first != key; ++kept)
      if (change_of(kept->first) == nullptr) return false;
    if (kept == from_.end() || kept->second != value) return false;
    ++kept;
  }
  const auto is_changed = [&](const auto& entry) { return change_of(entry.first) != nullptr; };
  return std::all_of(kept, from_.end(), is_changed) &&
         set == std::count_if(changes_.begin(), changes_.end(),
                              [](const Change& change) { return change.value.has_value(); });
}

// In the order of the keys, so that nothing is moved.
StringMap Amended::made() const {
  auto changes = changes_;
  std::sort(changes.begin(), changes.end(),
            [](const Change& a, const Change& b) { return a.key < b.key; });
  StringMap map;
  map.reserve(from_.size() + changes.size());
  const auto add = [&](std::string_view key, std::string_view value) {
    map.emplace_hint(map.end(), key, value);
  };
  auto change = changes.begin();
  const auto add_changes_before = [&](const std::string* key) {
    for (; change != changes.end() && (key == nullptr || change->key < *key); ++change)
      if (change->value) add(change->key, *change->value);
  };
  for (const auto& [key, value] : from_) {
    add_changes_before(&key);
    if (change == changes.end() || change->key != key) add(key, value);
  }
  add_changes_before(nullptr);
  return map;
}

}  // namespace ddptwin::controller::endpoints
