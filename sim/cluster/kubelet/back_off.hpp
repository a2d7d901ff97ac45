// The delays between attempts that keep failing: restarts of a container, pulls of an image.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/time.hpp"

namespace ddptwin::kubelet {

// Doubles from `initial` up to `max`, each key by itself; a key that was quiet for more than twice
// `max` begins anew. Kept in the kubelet's memory only. Source: client-go flowcontrol.Backoff,
// spec/kubernetes.md §2.4.
class BackOff {
 public:
  BackOff(Duration initial, Duration max) : initial_(initial), max_(max) {}

  // Whether an attempt at `now` is too early, counted from what happened at `event`.
  bool waits_since(std::string_view key, Time event, Time now) const;
  // The same, counted from the last failure that was noted.
  bool waits(std::string_view key, Time now) const;
  // Notes a failure at `now` of something that happened at `event`: the next delay is longer.
  void next(std::string_view key, Time event, Time now);
  Duration delay(std::string_view key) const;
  // When waits() stops being true.
  std::optional<Time> ends(std::string_view key) const;
  void forget(std::string_view prefix);
  void clear() { entries_.clear(); }
  std::vector<std::string> keys() const;
  bool empty() const { return entries_.empty(); }

 private:
  struct Entry {
    Duration delay;
    Time updated;
  };
  bool expired(const Entry& entry, Time event) const { return event - entry.updated > 2 * max_; }

  Duration initial_, max_;
  std::map<std::string, Entry, std::less<>> entries_{};
};

}  // namespace ddptwin::kubelet
