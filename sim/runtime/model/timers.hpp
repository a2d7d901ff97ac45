// Waiting, as a process does it: the port behind Process::after().
#pragma once

#include <cstdint>

#include "core/callback.hpp"
#include "core/time.hpp"

namespace ddptwin::model {

using TimerId = std::uint32_t;

class Timers {
 public:
  virtual ~Timers() = default;
  // Runs the callback after that much time, never inside the call.
  virtual TimerId after(Duration delay, Callback callback) = 0;
  virtual void cancel(TimerId timer) = 0;  // 0 and what has run are ignored
};

}  // namespace ddptwin::model
