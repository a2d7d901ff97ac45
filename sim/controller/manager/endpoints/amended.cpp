#include "controller/manager/endpoints/amended.hpp"

#include <algorithm>

namespace ddptwin::controller::endpoints {

// In the order of the keys, so that nothing is moved.
StringMap Amended::made() const {
  auto changes = changes_;
  std::sort(changes.begin(), changes.end(),
            [](const Change& a, const Change& b) { return a.key < b.key; });
  StringMap map;
  map.reserve(from_.size() + changes.size());
  const auto add = [&](const Text& key, const Text& value) {
    map.emplace_hint(map.end(), key, value);
  };
  auto change = changes.begin();
  const auto add_changes_before = [&](const Text* key) {
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
