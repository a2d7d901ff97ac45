// WorkQueue against a naive second one: a list, two sets and a list of delays. TokenBucket against
// all that has ever been asked of it.
#include <algorithm>
#include <cmath>
#include <ostream>
#include <set>
#include <vector>

#include "controller/work_queue.hpp"
#include "core/virtual_loop.hpp"
#include "property.hpp"

namespace ddptwin::property::queue_properties_test {
namespace {

using controller::Key;

constexpr Time start{std::chrono::hours(1)};
constexpr Duration base_delay = 5ms;
constexpr Duration max_delay = 15ms;
constexpr int max_retries = 3;

enum class Verb : std::uint8_t { add, after, limited, forget, take, done, pass, clear };
constexpr const char* verb_names[] = {"add",  "add_after", "add_rate_limited", "forget",
                                      "take", "done",      "let pass",         "clear"};

struct QueueOp {
  Verb verb = Verb::add;
  Key key{};
  int number = 0;  // milliseconds of a delay; which of the keys in hand is done
};

void showValue(const QueueOp& op, std::ostream& out) {
  out << verb_names[static_cast<int>(op.verb)] << " " << op.key << " " << op.number;
}

rc::Gen<QueueOp> queue_op() {
  using gen::weightedElement;
  return gen::build<QueueOp>(gen::set(&QueueOp::verb, weightedElement<Verb>({{6, Verb::add},
                                                                             {4, Verb::after},
                                                                             {4, Verb::limited},
                                                                             {1, Verb::forget},
                                                                             {6, Verb::take},
                                                                             {6, Verb::done},
                                                                             {4, Verb::pass},
                                                                             {1, Verb::clear}})),
                             gen::set(&QueueOp::key, gen::element<Key>("a", "b", "c")),
                             gen::set(&QueueOp::number, gen::inRange(0, 40)));
}

// The whole state, each rule in its simplest words and everything looked for by walking.
class NaiveQueue {
 public:
  void add(const Key& key) {
    if (in_hand.contains(key))
      again.insert(key);
    else if (std::find(queued.begin(), queued.end(), key) == queued.end())
      push(key);
  }
  void add_after(const Key& key, Duration delay, Time now) {
    if (delay <= Duration::zero()) return add(key);
    const auto at = delay_of(key);
    if (at != delays.end() && at->due <= now + delay) return;
    if (at != delays.end()) delays.erase(at);
    delays.push_back({now + delay, key});
  }
  bool add_rate_limited(const Key& key, Time now) {
    if (failures[key] == max_retries) {
      failures.erase(key);
      return false;
    }
    Duration delay = base_delay;
    for (int i = 0; i < failures[key]; ++i) delay = std::min(delay * 2, max_delay);
    ++failures[key];
    add_after(key, delay, now);
    return true;
  }
  std::optional<Key> take() {
    if (queued.empty()) return std::nullopt;
    const Key key = queued.front();
    queued.erase(queued.begin());
    in_hand.insert(key);
    return key;
  }
  void done(const Key& key) {
    in_hand.erase(key);
    if (again.erase(key) > 0) push(key);
  }
  // Delays that end at one instant end in the order of their asking.
  void pass_until(Time now) {
    std::stable_sort(delays.begin(), delays.end(),
                     [](const Delay& a, const Delay& b) { return a.due < b.due; });
    while (!delays.empty() && delays.front().due <= now) {
      const Key key = delays.front().key;
      delays.erase(delays.begin());
      add(key);
    }
  }
  void clear() {
    const int calls = ready_calls;
    *this = NaiveQueue();
    ready_calls = calls;
  }

  struct Delay {
    Time due{};
    Key key{};
  };
  std::vector<Key> queued{};
  std::set<Key> in_hand{};
  std::set<Key> again{};  // added while in hand
  std::vector<Delay> delays{};
  std::map<Key, int> failures{};
  int ready_calls = 0;

 private:
  void push(const Key& key) {
    if (queued.empty()) ++ready_calls;
    queued.push_back(key);
  }
  std::vector<Delay>::iterator delay_of(const Key& key) {
    return std::find_if(delays.begin(), delays.end(),
                        [&](const Delay& delay) { return delay.key == key; });
  }
};

class Pair {
 public:
  Pair()
      : queue_(loop_, {base_delay, max_delay, 0, 100, max_retries}, [this] { ++ready_calls_; }) {}

  void apply(const QueueOp& op) {
    switch (op.verb) {
      case Verb::add:
        naive_.add(op.key);
        return queue_.add(op.key);
      case Verb::after:
        naive_.add_after(op.key, std::chrono::milliseconds(op.number), loop_.now());
        return queue_.add_after(op.key, std::chrono::milliseconds(op.number));
      case Verb::limited:
        RC_ASSERT(queue_.add_rate_limited(op.key) == naive_.add_rate_limited(op.key, loop_.now()));
        return;
      case Verb::forget:
        naive_.failures.erase(op.key);
        return queue_.forget(op.key);
      case Verb::take:
        RC_ASSERT(took() == naive_.take());
        return;
      case Verb::done:
        return done(op.number);
      case Verb::pass:
        loop_.run_until(loop_.now() + std::chrono::milliseconds(op.number));
        return naive_.pass_until(loop_.now());
      case Verb::clear:
        naive_.clear();
        taken_.clear();
        return queue_.clear();
    }
  }
  void compare() {
    RC_ASSERT(queue_.empty() == naive_.queued.empty());
    RC_ASSERT(ready_calls_ == naive_.ready_calls);
    for (const Key key : {"a", "b", "c"}) {
      const auto failed = naive_.failures.find(key);
      RC_ASSERT(queue_.failures(key) == (failed != naive_.failures.end() ? failed->second : 0));
    }
  }
  // Nothing that was added is lost: with time, all of it can be taken in the same order.
  void finish() {
    while (!naive_.in_hand.empty()) done(0);
    loop_.run_until(loop_.now() + 1s);
    naive_.pass_until(loop_.now());
    while (const auto key = naive_.take()) {
      RC_ASSERT(took() == key);
      naive_.done(*key);
      give_back(*key);
    }
    RC_ASSERT(queue_.empty());
  }

 private:
  void done(int which) {
    if (naive_.in_hand.empty()) return;
    const auto size = static_cast<int>(naive_.in_hand.size());
    const Key key = *std::next(naive_.in_hand.begin(), which % size);
    naive_.done(key);
    give_back(key);
  }
  void give_back(const Key& key) { queue_.done(*taken_.extract(key).mapped()); }

  VirtualLoop loop_{Random(1), start};
  NaiveQueue naive_{};
  int ready_calls_ = 0;
  std::optional<Key> took() {
    controller::WorkQueue::Entry* entry = queue_.take();
    if (entry == nullptr) return std::nullopt;
    taken_[entry->key()] = entry;
    return entry->key();
  }

  std::map<Key, controller::WorkQueue::Entry*> taken_{};
  controller::WorkQueue queue_;
};

TEST(WorkQueueProperties, ItAgreesWithThreeNaiveSets) {
  holds([] {
    const auto ops = *gen::vector_of(queue_op()).as("operations");
    Pair pair;
    for (const QueueOp& op : ops) {
      pair.apply(op);
      pair.compare();
    }
    pair.finish();
  });
}

// Of any stretch of time: no more than its burst and what its rate brings meanwhile, and no later
// than that takes. However long nobody asks, more is not saved up.
TEST(WorkQueueProperties, ATokenBucketLetsItsBurstAndItsRateThroughAndNoMore) {
  holds([] {
    const int burst = *gen::inRange(1, 8);
    const int per_second = *gen::elementOf(std::vector<int>{1, 5, 20});
    const auto gaps = *gen::vector_of(gen::elementOf(
        std::vector<Duration>{Duration::zero(), 1ms, 70ms, 300ms, 2s, std::chrono::hours(1)}));
    controller::TokenBucket bucket(per_second, burst);
    std::vector<Time> asked;
    Time now = start;
    for (const Duration gap : gaps) {
      asked.push_back(now = now + gap);
      double wait = 0;
      for (std::size_t first = 0; first < asked.size(); ++first) {
        const int of_these = static_cast<int>(asked.size() - first);
        wait = std::max(wait, static_cast<double>(of_these - burst) / per_second -
                                  seconds_of(now - asked[first]));
      }
      RC_LOG() << "asked after " << seconds_of(gap) << " s: waits " << wait << " s\n";
      RC_ASSERT(std::abs(seconds_of(bucket.reserve(now)) - wait) < 1e-6);
    }
  });
}

}  // namespace
}  // namespace ddptwin::property::queue_properties_test
