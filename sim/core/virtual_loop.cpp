#include "core/virtual_loop.hpp"

#include <algorithm>

#include "core/result.hpp"

namespace ddptwin {
namespace {

constexpr std::size_t children = 4;
constexpr std::size_t cancelled_min = 64;  // fewer are not worth a sweep

}  // namespace

VirtualLoop::VirtualLoop(Random random, Time start, Order order)
    : random_(random), now_(start), order_(order) {}

VirtualLoop::~VirtualLoop() {
  // What a callback owns may post or cancel while it dies; it must find the loop whole.
  for (std::uint32_t i = 0; i < slots_; ++i) {
    slot(i).end_timer();
    slot(i).callback = nullptr;
  }
}

void VirtualLoop::add_block() {
  DDPTWIN_ASSERT(slots_ <= slot_mask);
  Slot* block = blocks_.emplace_back(std::make_unique<Slot[]>(slots_a_block)).get();
  for (std::uint32_t i = slots_a_block; i-- > 0;) {
    block[i].id = slots_ + i;
    give_back(block[i]);
  }
  slots_ += slots_a_block;
}

inline VirtualLoop::Slot& VirtualLoop::take_slot(Lane lane) {
  if (free_ == no_slot) add_block();
  Slot& taken = slot(free_);
  free_ = taken.next;
  taken.context = context();
  taken.lane = lane;
  return taken;
}

inline void VirtualLoop::free_slot(Slot& slot) {
  // The callback may own what posts as it dies: it dies while the slot is still taken.
  slot.callback = nullptr;
  give_back(slot);
}

inline void VirtualLoop::push_ready(Slot& slot) {
  ++ready_count_;
  if (order_ == Order::fifo)
    append(ready_in_order_, slot);
  else
    push_to_lane(slot);
}

void VirtualLoop::push_to_lane(Slot& slot) {
  const auto lane = static_cast<std::uint32_t>(slot.lane);
  if (lane >= lanes_.size()) lanes_.resize(std::max<std::size_t>(lane + 1, lanes_.size() * 2));
  if (lanes_[lane].head == nullptr) ready_lanes_.push_back(lane);
  append(lanes_[lane], slot);
}

Callback& VirtualLoop::posted(Lane lane) {
  Slot& taken = take_slot(lane);
  push_ready(taken);
  return taken.callback;
}

Timer VirtualLoop::at(Lane lane, Time time, Callback callback) {
  Slot& taken = take_slot(lane);
  taken.callback.emplace(std::move(callback));
  const std::uint64_t id = (++last_timer_ << slot_bits) | taken.index();
  taken.id = id;
  taken.next = in_no_queue;
  due_.push_back(Due{std::max(time, now_), id});
  sift_up(due_.size() - 1);
  return Timer(*this, id);
}

VirtualLoop::Slot* VirtualLoop::waiting(std::uint64_t timer) const {
  Slot& found = slot(static_cast<std::uint32_t>(timer & slot_mask));
  return found.id == timer ? &found : nullptr;
}

bool VirtualLoop::is_pending(std::uint64_t timer) const { return waiting(timer) != nullptr; }

void VirtualLoop::cancel(std::uint64_t timer) {
  Slot* found = waiting(timer);
  if (found == nullptr) return;
  found->end_timer();
  if (found->next != in_no_queue) {
    // Released, and not begun: its place in the lane stays, and nothing happens there.
    found->callback = nullptr;
    return;
  }
  ++cancelled_;
  free_slot(*found);
  // Timers that are far away and cancelled must not pile up.
  if (cancelled_ < cancelled_min || cancelled_ < due_.size() / 2) return;
  std::erase_if(due_, [this](const Due& due) { return waiting(due.id) == nullptr; });
  cancelled_ = 0;
  for (std::size_t i = due_.size() / children + 1; i-- > 0;) sift_down(i);
}

void VirtualLoop::sift_up(std::size_t at) {
  const Due moved = due_[at];
  while (at > 0) {
    const std::size_t parent = (at - 1) / children;
    if (!moved.before(due_[parent])) break;
    due_[at] = due_[parent];
    at = parent;
  }
  due_[at] = moved;
}

void VirtualLoop::sift_down(std::size_t at) {
  if (at >= due_.size()) return;
  const Due moved = due_[at];
  for (;;) {
    const std::size_t first = at * children + 1;
    if (first >= due_.size()) break;
    const std::size_t end = std::min(first + children, due_.size());
    std::size_t least = first;
    for (std::size_t i = first + 1; i < end; ++i)
      if (due_[i].before(due_[least])) least = i;
    if (!due_[least].before(moved)) break;
    due_[at] = due_[least];
    at = least;
  }
  due_[at] = moved;
}

void VirtualLoop::pop_due() {
  due_.front() = due_.back();
  due_.pop_back();
  sift_down(0);
}

// Precondition: something is ready.
inline VirtualLoop::Slot& VirtualLoop::next_ready() {
  --ready_count_;
  if (order_ == Order::fifo) return pop(ready_in_order_);
  const auto choice = static_cast<std::size_t>(random_.below(ready_lanes_.size()));
  Queue& lane = lanes_[ready_lanes_[choice]];
  Slot& first = pop(lane);
  if (lane.head == nullptr) {
    ready_lanes_[choice] = ready_lanes_.back();
    ready_lanes_.pop_back();
  }
  return first;
}

inline bool VirtualLoop::run_ready() {
  if (ready_count_ == 0) return false;
  Slot& work = next_ready();
  ++steps_;
  work.end_timer();
  set_context(work.context);
  if (work.callback) work.callback();
  free_slot(work);
  set_context(0);  // what comes in from outside next has no cause in here
  return true;
}

void VirtualLoop::drop_cancelled() {
  while (!due_.empty() && waiting(due_.front().id) == nullptr) {
    pop_due();
    --cancelled_;
  }
}

std::optional<Time> VirtualLoop::next_timer() const {
  std::optional<Time> next;
  // The heap's top may be cancelled; const forbids dropping it, so look for the earliest living
  // one.
  if (!due_.empty() && waiting(due_.front().id) != nullptr) return due_.front().time;
  for (const Due& due : due_)
    if (waiting(due.id) != nullptr && (!next || due.time < *next)) next = due.time;
  return next;
}

// What is not due is not looked at, be it cancelled or not.
void VirtualLoop::release_due() {
  while (!due_.empty() && due_.front().time <= now_) {
    Slot* released = waiting(due_.front().id);
    pop_due();
    if (released == nullptr) {
      --cancelled_;
      continue;
    }
    push_ready(*released);
  }
}

bool VirtualLoop::step() {
  if (ready_count_ == 0) {
    drop_cancelled();
    if (due_.empty()) return false;
    DDPTWIN_ASSERT(due_.front().time >= now_);
    now_ = due_.front().time;
    release_due();
  }
  return run_ready();
}

bool VirtualLoop::drain(std::uint64_t limit) {
  release_due();
  for (std::uint64_t i = 0; i < limit; ++i) {
    if (!run_ready()) return true;
    release_due();  // a callback may ask for a timer that is due at once
  }
  return ready_count_ == 0;
}

void VirtualLoop::run_until(Time until) {
  for (;;) {
    if (ready_count_ == 0) {
      drop_cancelled();
      if (due_.empty() || due_.front().time > until) break;
    }
    step();
  }
  now_ = std::max(now_, until);
}

}  // namespace ddptwin
