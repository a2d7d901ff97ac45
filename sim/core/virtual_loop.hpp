// The loop whose time jumps to the next event and whose order between lanes comes from a seed.
#pragma once

#include <memory>
#include <optional>
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
  static constexpr unsigned slot_bits = 24;
  static constexpr std::uint32_t slot_mask = (1U << slot_bits) - 1;
  static constexpr std::uint32_t no_slot = 0xffffffff, in_no_queue = 0xfffffffe;
  // Where a callback waits, ready or for its time, in one line of a cache. Slots stay where they
  // are and are used again.
  struct alignas(64) Slot {
    Callback callback{};
    std::uint64_t context = 0;
    // Its index, and above it the number of the timer, until that begins; 0 there: no timer, or a
    // cancelled one.
    std::uint64_t id = 0;
    Lane lane{};
    std::uint32_t next = no_slot;  // in its queue, or of the free ones; in_no_queue: not yet due

    std::uint32_t index() const { return static_cast<std::uint32_t>(id & slot_mask); }
    void end_timer() { id &= slot_mask; }
  };
  static_assert(sizeof(Slot) == 64);
  struct Queue {
    Slot* head = nullptr;
    Slot* tail = nullptr;
  };
  // The low bits of a timer's id are its slot, the others count: of two timers the one made first
  // has the smaller id.
  struct Due {
    Time time;
    std::uint64_t id;
    bool before(const Due& other) const {
      return time != other.time ? time < other.time : id < other.id;
    }
  };
  static constexpr std::uint32_t slots_a_block = 64;

  Callback& posted(Lane lane) override;
  void cancel(std::uint64_t timer) override;
  bool is_pending(std::uint64_t timer) const override;
  Slot& slot(std::uint32_t index) const {
    return blocks_[index / slots_a_block][index % slots_a_block];
  }
  Slot* next_of(const Slot& one) const { return one.next == no_slot ? nullptr : &slot(one.next); }
  static void append(Queue& queue, Slot& last) {
    last.next = no_slot;
    if (queue.head == nullptr)
      queue.head = &last;
    else
      queue.tail->next = last.index();
    queue.tail = &last;
  }
  Slot& pop(Queue& queue) const {
    Slot& first = *queue.head;
    queue.head = next_of(first);
    return first;
  }
  Slot& take_slot(Lane lane);
  void give_back(Slot& slot) {
    slot.next = free_;
    free_ = slot.index();
  }
  void free_slot(Slot& slot);
  void add_block();
  Slot* waiting(std::uint64_t timer) const;
  void push_ready(Slot& slot);
  void push_to_lane(Slot& slot);
  Slot& next_ready();
  bool run_ready();
  void release_due();
  void drop_cancelled();
  // due_ is a heap of four children a node: half as deep as one of two, and a node's children
  // share a cache line.
  void sift_up(std::size_t at);
  void sift_down(std::size_t at);
  void pop_due();

  Random random_;
  Time now_;
  Order order_;
  std::vector<std::unique_ptr<Slot[]>> blocks_{};
  std::uint32_t slots_ = 0;
  std::uint32_t free_ = no_slot;              // the first of those that nothing waits in
  std::vector<Queue> lanes_{};                // fair: by lane number
  std::vector<std::uint32_t> ready_lanes_{};  // fair: lanes with work, each once
  Queue ready_in_order_{};                    // fifo
  std::uint64_t ready_count_ = 0;
  std::vector<Due> due_{};     // those of cancelled timers too
  std::size_t cancelled_ = 0;  // of due_
  std::uint64_t last_timer_ = 0;
  std::uint64_t steps_ = 0;
};

}  // namespace ddptwin
