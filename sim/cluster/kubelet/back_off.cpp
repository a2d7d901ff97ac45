#include "cluster/kubelet/back_off.hpp"

namespace ddptwin::kubelet {

bool BackOff::waits_since(std::string_view key, Time event, Time now) const {
  const auto at = entries_.find(key);
  if (at == entries_.end() || expired(at->second, event)) return false;
  return now - event < at->second.delay;
}

bool BackOff::waits(std::string_view key, Time now) const {
  const auto at = entries_.find(key);
  if (at == entries_.end() || expired(at->second, now)) return false;
  return now - at->second.updated < at->second.delay;
}

void BackOff::next(std::string_view key, Time event, Time now) {
  const auto at = entries_.find(key);
  if (at == entries_.end()) {
    entries_.emplace(key, Entry{initial_, now});
    return;
  }
  Entry& entry = at->second;
  entry.delay = expired(entry, event) ? initial_ : std::min(entry.delay * 2, max_);
  entry.updated = now;
}

Duration BackOff::delay(std::string_view key) const {
  const auto at = entries_.find(key);
  return at == entries_.end() ? Duration{0} : at->second.delay;
}

std::optional<Time> BackOff::ends(std::string_view key) const {
  const auto at = entries_.find(key);
  if (at == entries_.end()) return std::nullopt;
  return at->second.updated + at->second.delay;
}

std::vector<std::string> BackOff::keys() const {
  std::vector<std::string> keys;
  for (const auto& [key, entry] : entries_) keys.push_back(key);
  return keys;
}

void BackOff::forget(std::string_view prefix) {
  auto at = entries_.lower_bound(prefix);
  while (at != entries_.end() && at->first.starts_with(prefix)) at = entries_.erase(at);
}

}  // namespace ddptwin::kubelet
