#include "controller/work_queue.hpp"

#include <algorithm>
#include <utility>

#include "core/concat.hpp"
#include "core/result.hpp"
#include "core/same_text.hpp"

namespace ddptwin::controller {

using namespace std::string_view_literals;

KeyParts split_key(std::string_view key) {
  const std::size_t slash = key.find('/');
  if (slash == std::string_view::npos) return {{}, key};
  return {key.substr(0, slash), key.substr(slash + 1)};
}

Key joined_key(const KeyParts& parts) {
  return concat({parts.namespace_, parts.namespace_.empty() ? ""sv : "/"sv, parts.name});
}

bool is_joined_of(std::string_view key, const KeyParts& parts) {
  const std::string_view space = parts.namespace_;
  const std::size_t before = space.empty() ? 0 : space.size() + 1;
  return key.size() == before + parts.name.size() && same_text(key.substr(before), parts.name) &&
         (before == 0 ||
          (key[space.size()] == '/' && same_text(key.substr(0, space.size()), space)));
}

Duration TokenBucket::reserve(Time now) {
  if (per_second_ <= 0) return Duration::zero();
  tokens_ = last_ ? std::min(static_cast<double>(burst_),
                             tokens_ + seconds_of(now - *last_) * per_second_)
                  : static_cast<double>(burst_);
  last_ = now;
  tokens_ -= 1;
  if (tokens_ >= 0) return Duration::zero();
  return std::chrono::duration_cast<Duration>(
      std::chrono::duration<double>(-tokens_ / per_second_));
}

WorkQueue::WorkQueue(Loop& loop, RateLimits limits, std::function<void()> ready)
    : loop_(loop),
      lane_(loop.new_lane()),
      limits_(limits),
      bucket_(limits.per_second, limits.burst),
      ready_(std::move(ready)) {}

WorkQueue::Entry& WorkQueue::entry_for(const KeyParts& key) {
  if (const auto known = entries_.find(key); known != entries_.end()) return **known;
  Entry& entry = unused_entry();
  entry.key_ = joined_key(key);
  entry.hash_ = KeyHash()(key);
  entries_.insert(&entry);
  return entry;
}

// That of a key at rest, where there are many: so there are never many more entries than there were
// keys to be planned at once. It is found soon, for most are at rest then.
WorkQueue::Entry& WorkQueue::unused_entry() {
  constexpr std::size_t few = 32;
  if (at_rest_ < few || at_rest_ < made_.size() / 2) {
    ++at_rest_;
    return *made_.emplace_back(std::make_unique<Entry>());
  }
  for (;; ++turn_) {
    if (turn_ >= made_.size()) turn_ = 0;
    Entry& entry = *made_[turn_];
    if (!entry.is_at_rest()) continue;
    ++turn_;
    entries_.erase(&entry);
    return entry;
  }
}

void WorkQueue::add(const KeyParts& key) {
  Entry& entry = entry_for(key);
  if (entry.is_at_rest()) --at_rest_;
  entry.context_ = loop_.context();
  if (std::exchange(entry.dirty_, true)) return;
  if (!entry.in_hand_) push(entry);
}

void WorkQueue::push(Entry& entry) {
  queue_.push_back(&entry);
  if (queue_.size() == 1) ready_();
}

void WorkQueue::add_after(const Key& key, Duration delay) {
  if (delay <= Duration::zero()) return add(key);
  const Time due = loop_.now() + delay;
  if (const auto found = waiting_.find(key); found != waiting_.end() && found->second.due <= due)
    return;
  waiting_[key] = Waiting{due, loop_.at(lane_, due, [this, key, due] {
                            // A timer that is due may still be overtaken by clear() or a new delay.
                            const auto entry = waiting_.find(key);
                            if (entry == waiting_.end() || entry->second.due != due) return;
                            waiting_.erase(entry);
                            add(key);
                          })};
}

bool WorkQueue::add_rate_limited(const Key& key) {
  constexpr int doublings_max = 40;  // beyond any max_delay, below an overflow
  int& failures = failures_[key];
  if (limits_.max_retries > 0 && failures >= limits_.max_retries) {
    forget(key);
    return false;
  }
  const int failed = std::min(failures++, doublings_max);
  const double factor = static_cast<double>(std::int64_t{1} << failed);
  const double delay =
      std::min(seconds_of(limits_.base_delay) * factor, seconds_of(limits_.max_delay));
  const Duration own = std::chrono::duration_cast<Duration>(std::chrono::duration<double>(delay));
  add_after(key, std::max(own, bucket_.reserve(loop_.now())));
  return true;
}

std::vector<Key> WorkQueue::failing() const {
  std::vector<Key> keys;
  for (const auto& [key, failures] : failures_) keys.push_back(key);
  return keys;
}

int WorkQueue::failures(const Key& key) const {
  const auto found = failures_.find(key);
  return found != failures_.end() ? found->second : 0;
}

WorkQueue::Entry* WorkQueue::take() {
  if (queue_.empty()) return nullptr;
  Entry* entry = queue_.front();
  queue_.pop_front();
  entry->dirty_ = false;
  entry->in_hand_ = true;
  return entry;
}

void WorkQueue::done(Entry& taken) {
  DDPTWIN_ASSERT(taken.in_hand_);
  taken.in_hand_ = false;
  if (taken.dirty_) return push(taken);
  ++at_rest_;
}

void WorkQueue::clear() {
  queue_.clear();
  entries_.clear();
  made_.clear();
  at_rest_ = turn_ = 0;
  waiting_.clear();
  failures_.clear();
  bucket_ = TokenBucket(limits_.per_second, limits_.burst);
}

}  // namespace ddptwin::controller
