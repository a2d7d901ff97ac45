// The loop whose time jumps to the next event and whose order between lanes comes from a seed.
#pragma once

#include <deque>
#include <map>
#include <unordered_map>
#include <vector>

#include "core/loop.hpp"
#include "core/random.hpp"

namespace ddptwin {

// Invariants: time never goes back; callbacks of one lane run in the order in which they became
// ready; no wall clock is read. Timers of one instant become ready in the order in which they were
// made.
class VirtualLoop final : public Loop {
 public:
  // In the order of `fair` the seed chooses between ready lanes; `fifo` runs whatever became ready
  // first and is what a quiet machine does nearly always.
  enum class Order : std::uint8_t { fair, fifo };

  explicit VirtualLoop(Random random, Time start, Order order = Order::fair);
  ~VirtualLoop() override;

  Time now() const override { return now_; }
  void post(Lane lane, Callback callback) override;
  [[nodiscard]] Timer at(Lane lane, Time time, Callback callback) override;

  // Runs one callback, jumping to the next timer when none is ready. False: nothing is left to do.
  bool step();
  // Runs everything due up to and including `until`, then sets the time to it.
  void run_until(Time until);
  // Runs what is ready now and what that makes ready, without moving the time. At most `limit`
  // callbacks; false when the limit was met.
  bool drain(std::uint64_t limit = 10'000'000);
  // When the next timer is due, if there is one and nothing is ready: the moment step() would jump
  // to.
  bool idle() const { return ready_count_ == 0; }
  std::optional<Time> next_timer() const;
  std::uint64_t steps() const { return steps_; }

 private:
  struct Work {
    Callback callback;
    std::uint64_t context;
  };
  struct Waiting {
    Time time;
    Lane lane;
    Callback callback;
    std::uint64_t context;
  };
  struct Due {
    Time time;
    std::uint64_t id;
    // Reversed: std::push_heap keeps the greatest on top and the earliest is wanted there.
    bool operator<(const Due& other) const {
      return time != other.time ? time > other.time : id > other.id;
    }
  };

  void cancel(std::uint64_t timer) override;
  bool is_pending(std::uint64_t timer) const override;
  void push_ready(Lane lane, Work work);
  bool run_ready();
  void release_due();
  void drop_cancelled();

  Random random_;
  Time now_;
  Order order_;
  std::vector<std::deque<Work>> lanes_;       // by lane number
  std::vector<std::uint32_t> ready_lanes_;    // fair: lanes with work, each once
  std::deque<std::uint32_t> ready_in_order_;  // fifo: one entry a callback
  std::uint64_t ready_count_ = 0;
  // Looked up by id only, never walked: its order cannot be seen.
  std::unordered_map<std::uint64_t, Waiting> timers_;
  std::vector<Due> due_;  // a heap
  std::uint64_t last_timer_ = 0;
  std::uint64_t steps_ = 0;
};

}  // namespace ddptwin
