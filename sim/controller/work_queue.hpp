#pragma once

#include <boost/container/deque.hpp>
#include <boost/unordered/unordered_flat_set.hpp>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/loop.hpp"
#include "core/text_table.hpp"

namespace ddptwin::controller {

using Key = std::string;  // "namespace/name", or whatever a controller plans by

// A key in its two parts, which refer to it or to an object. A name without namespace, which has no
// slash, has an empty first part.
struct KeyParts {
  std::string_view namespace_{};
  std::string_view name{};
  std::uint32_t hash = 0;  // hash_of_names(), where an object of that name knows it
};
KeyParts split_key(std::string_view key);
Key joined_key(const KeyParts& parts);
bool is_joined_of(std::string_view key, const KeyParts& parts);

// Of an object that knows it, or of its names: the two agree.
struct KeyHash {
  std::size_t operator()(const KeyParts& key) const {
    return key.hash != 0 ? key.hash : hash_of_names(key.namespace_, key.name);
  }
};

// Tokens that come back at a steady rate: golang.org/x/time/rate as client-go uses it.
class TokenBucket {
 public:
  TokenBucket(double per_second, int burst) : per_second_(per_second), burst_(burst) {}

  // Takes a token, perhaps one of the future; how long to wait until it is there.
  Duration reserve(Time now);

 private:
  double per_second_;
  int burst_;
  double tokens_ = 0;
  std::optional<Time> last_{};
};

struct RateLimits {
  Duration base_delay = std::chrono::milliseconds(5);  // doubles with each failure of one key
  Duration max_delay = std::chrono::seconds(1000);
  double per_second = 10;  // over all keys; 0: not limited
  int burst = 100;
  int max_retries = 0;  // of one key in a row, then it is dropped; 0: it is tried for ever
};

// Work waiting for one controller. A key is in at most one of: queued, in hand; a key added while
// in hand is remembered and queued again by done(), so no change is ever lost and no key is planned
// twice at once. A key has the context of its newest addition: the change that made the state which
// it is planned on. Source: client-go workqueue with DefaultControllerRateLimiter
// (spec/pytorchjob.md §4.1).
class WorkQueue {
 public:
  // Of a key that is queued or in hand, or has been: most keys come again.
  class Entry {
   public:
    const Key& key() const { return key_; }
    // Under which it was added last, where that is asked when it is taken.
    std::uint64_t context() const { return context_; }

   private:
    friend class WorkQueue;
    bool is_at_rest() const { return !dirty_ && !in_hand_; }
    Key key_{};
    std::size_t hash_ = 0;
    std::uint64_t context_ = 0;
    bool dirty_ = false;  // to be planned: queued, or added again while in hand
    bool in_hand_ = false;
  };

  // `ready` is called when the queue had nothing and now has something.
  WorkQueue(Loop& loop, RateLimits limits, std::function<void()> ready);

  void add(const KeyParts& key);
  void add(const Key& key) { add(split_key(key)); }
  // Adds it when the delay is over. Of two delays of one key the earlier end holds.
  void add_after(const Key& key, Duration delay);
  // False: it has been tried again as often as it may, and its failures no longer count.
  bool add_rate_limited(const Key& key);
  // The key's failures no longer count.
  void forget(const Key& key) {
    if (!failures_.empty()) failures_.erase(key);
  }
  int failures(const Key& key) const;
  std::vector<Key> failing() const;  // those that have failures, in any order

  // The next key, in hand from now on; it stays where it is until done(). Null when empty.
  Entry* take();
  void done(Entry& taken);  // precondition: it was taken and is not yet done
  bool empty() const { return queue_.empty(); }
  // Everything is gone, as after a crash.
  void clear();

 private:
  struct Waiting {
    Time due;
    Timer timer;
  };

  // Entries are looked up by the parts of their keys; each is the only one of its key.
  struct EntryHash {
    using is_transparent = void;
    std::size_t operator()(const KeyParts& key) const { return KeyHash()(key); }
    std::size_t operator()(const Entry* entry) const { return entry->hash_; }
  };
  struct SameEntry {
    using is_transparent = void;
    bool operator()(const Entry* a, const Entry* b) const { return a == b; }
    bool operator()(const KeyParts& a, const Entry* b) const { return is_joined_of(b->key_, a); }
    bool operator()(const Entry* a, const KeyParts& b) const { return is_joined_of(a->key_, b); }
  };

  Entry& entry_for(const KeyParts& key);
  Entry& unused_entry();
  void push(Entry& entry);

  Loop& loop_;
  Lane lane_;
  RateLimits limits_;
  TokenBucket bucket_;
  std::function<void()> ready_;
  // Looked up only: its order cannot be seen.
  boost::unordered_flat_set<Entry*, EntryHash, SameEntry> entries_;
  std::vector<std::unique_ptr<Entry>> made_;
  std::size_t at_rest_ = 0;  // how many of them
  std::size_t turn_ = 0;     // the next of them to be given to another key, if it is at rest
  boost::container::deque<Entry*> queue_;
  TextTable<Waiting> waiting_;
  TextTable<int> failures_;
};

}  // namespace ddptwin::controller
