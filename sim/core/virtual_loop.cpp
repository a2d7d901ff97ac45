#include "core/virtual_loop.hpp"

#include <algorithm>

#include "core/result.hpp"

namespace ddptwin {

VirtualLoop::VirtualLoop(Random random, Time start, Order order)
    : random_(random), now_(start), order_(order) {}

VirtualLoop::~VirtualLoop() {
  // What a callback owns may post or cancel while it dies; it must find the loop whole.
  auto timers = std::move(timers_);
  timers_.clear();
  auto lanes = std::move(lanes_);
  lanes_.clear();
}

void VirtualLoop::post(Lane lane, Callback callback) {
  push_ready(lane, Work{std::move(callback), context()});
}

Timer VirtualLoop::at(Lane lane, Time time, Callback callback) {
  const std::uint64_t id = ++last_timer_;
  timers_.emplace(id, Waiting{std::max(time, now_), lane, std::move(callback), context()});
  due_.push_back(Due{std::max(time, now_), id});
  std::push_heap(due_.begin(), due_.end());
  return Timer(*this, id);
}

void VirtualLoop::cancel(std::uint64_t timer) { timers_.erase(timer); }

bool VirtualLoop::is_pending(std::uint64_t timer) const { return timers_.contains(timer); }

void VirtualLoop::push_ready(Lane lane, Work work) {
  const auto index = static_cast<std::uint32_t>(lane);
  if (index >= lanes_.size()) lanes_.resize(index + 1);
  if (order_ == Order::fifo)
    ready_in_order_.push_back(index);
  else if (lanes_[index].empty())
    ready_lanes_.push_back(index);
  lanes_[index].push_back(std::move(work));
  ++ready_count_;
}

bool VirtualLoop::run_ready() {
  if (ready_count_ == 0) return false;
  std::uint32_t lane = 0;
  if (order_ == Order::fifo) {
    lane = ready_in_order_.front();
    ready_in_order_.pop_front();
  } else {
    const auto choice = static_cast<std::size_t>(random_.below(ready_lanes_.size()));
    lane = ready_lanes_[choice];
    if (lanes_[lane].size() == 1) {
      ready_lanes_[choice] = ready_lanes_.back();
      ready_lanes_.pop_back();
    }
  }
  Work work = std::move(lanes_[lane].front());
  lanes_[lane].pop_front();
  --ready_count_;
  ++steps_;
  set_context(work.context);
  work.callback();
  return true;
}

void VirtualLoop::drop_cancelled() {
  while (!due_.empty() && !timers_.contains(due_.front().id)) {
    std::pop_heap(due_.begin(), due_.end());
    due_.pop_back();
  }
}

std::optional<Time> VirtualLoop::next_timer() const {
  std::optional<Time> next;
  // The heap's top may be cancelled; const forbids dropping it, so look for the earliest living
  // one.
  if (!due_.empty() && timers_.contains(due_.front().id)) return due_.front().time;
  for (const Due& due : due_)
    if (timers_.contains(due.id) && (!next || due.time < *next)) next = due.time;
  return next;
}

void VirtualLoop::release_due() {
  for (drop_cancelled(); !due_.empty() && due_.front().time <= now_; drop_cancelled()) {
    auto waiting = timers_.extract(due_.front().id);
    std::pop_heap(due_.begin(), due_.end());
    due_.pop_back();
    push_ready(waiting.mapped().lane,
               Work{std::move(waiting.mapped().callback), waiting.mapped().context});
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
