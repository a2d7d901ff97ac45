// Timers of a loop without a process: for tests of what a process does while it waits.
#pragma once

#include <map>
#include <utility>

#include "core/loop.hpp"
#include "runtime/model/timers.hpp"

namespace ddptwin::model {

class LoopTimers final : public Timers {
 public:
  explicit LoopTimers(Loop& loop) : loop_(loop) {}
  TimerId after(Duration delay, Callback callback) override {
    timers_[++last_] = loop_.after(Lane{1}, delay, std::move(callback));
    return last_;
  }
  void cancel(TimerId timer) override { timers_.erase(timer); }

 private:
  Loop& loop_;
  std::map<TimerId, Timer> timers_{};
  TimerId last_ = 0;
};

}  // namespace ddptwin::model
