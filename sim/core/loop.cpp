#include "core/loop.hpp"

namespace ddptwin {

Timer& Timer::operator=(Timer&& other) noexcept {
  if (this != &other) {
    cancel();
    loop_ = other.loop_;
    id_ = other.id_;
    other.loop_ = nullptr;
  }
  return *this;
}

void Timer::cancel() {
  if (loop_ != nullptr) loop_->cancel(id_);
  loop_ = nullptr;
}

bool Timer::pending() const { return loop_ != nullptr && loop_->is_pending(id_); }

}  // namespace ddptwin
