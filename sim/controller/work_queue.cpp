#include "controller/work_queue.hpp"

#include <algorithm>
#include <utility>

#include "core/result.hpp"

namespace ddptwin::controller {

void join(Key& key, const KeyParts& parts) {
  key.clear();
  key.reserve(parts.namespace_.size() + 1 + parts.name.size());
  if (!parts.namespace_.empty()) {
    key += parts.namespace_;
    key += '/';
  }
  key += parts.name;
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

// Its text is put together where it stays, in the room of an earlier one.
WorkQueue::Entry& WorkQueue::entry_for(const KeyParts& key) {
  if (free_.empty()) free_.push_back(made_.emplace_back(std::make_unique<Entry>()).get());
  Entry& entry = *free_.back();
  join(entry.key, key);
  const auto [known, is_new] = entries_.insert(&entry);
  if (is_new) free_.pop_back();
  return **known;
}

void WorkQueue::add(const KeyParts& key) {
  Entry& entry = entry_for(key);
  if (std::exchange(entry.dirty, true)) return;
  if (!entry.in_hand) push(entry);
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

int WorkQueue::failures(const Key& key) const {
  const auto found = failures_.find(key);
  return found != failures_.end() ? found->second : 0;
}

const Key* WorkQueue::take() {
  if (queue_.empty()) return nullptr;
  Entry& entry = *queue_.front();
  queue_.pop_front();
  entry.dirty = false;
  entry.in_hand = true;
  return &entry.key;
}

void WorkQueue::done(const Key& key) {
  const auto found = entries_.find(key);
  DDPTWIN_ASSERT(found != entries_.end() && (*found)->in_hand);
  Entry& entry = **found;
  entry.in_hand = false;
  if (entry.dirty) return push(entry);
  entries_.erase(found);
  free_.push_back(&entry);
}

void WorkQueue::clear() {
  queue_.clear();
  entries_.clear();
  free_.clear();
  made_.clear();
  waiting_.clear();
  failures_.clear();
  bucket_ = TokenBucket(limits_.per_second, limits_.burst);
}

}  // namespace ddptwin::controller
