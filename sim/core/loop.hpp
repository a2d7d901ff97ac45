// The clock and the order of events, as a port with two bodies: virtual_loop.hpp and real_loop.hpp
// (design.md section 1).
#pragma once

#include <compare>
#include <cstdint>
#include <memory>
#include <string_view>
#include <utility>

#include "core/callback.hpp"
#include "core/time.hpp"

namespace ddptwin {

// Who posts: a watch stream, a container, a link, ... One lane keeps its order; between lanes that
// are ready the virtual loop's seed decides, as nothing orders two watches of a real cluster.
enum class Lane : std::uint32_t {};

class Loop;

// Something that will be called back. Its end cancels the call; so does cancel(). An empty one is
// inert. A Timer may outlive its Loop's run but not the Loop.
class Timer {
 public:
  Timer() = default;
  Timer(Loop& loop, std::uint64_t id) : loop_(&loop), id_(id) {}
  Timer(Timer&& other) noexcept : loop_(other.loop_), id_(other.id_) { other.loop_ = nullptr; }
  Timer& operator=(Timer&& other) noexcept;
  ~Timer() { cancel(); }

  void cancel();
  // True from at() until the callback begins or the timer is cancelled.
  bool pending() const;

 private:
  Loop* loop_ = nullptr;
  std::uint64_t id_ = 0;
};

class Loop {
 public:
  virtual ~Loop() = default;

  virtual Time now() const = 0;  // stands still while a callback runs, on both loops
  // Runs the callback soon, after all that this lane was posted before; never inside this call. It
  // is made where it waits.
  template <class F>
  void post(Lane lane, F&& callback) {
    posted(lane).emplace(std::forward<F>(callback));
  }
  // Runs the callback on the lane once now() >= time.
  [[nodiscard]] virtual Timer at(Lane lane, Time time, Callback callback) = 0;
  [[nodiscard]] Timer after(Lane lane, Duration delay, Callback callback) {
    return at(lane, now() + delay, std::move(callback));
  }
  // A lane that nobody else has. Lanes are numbered in the order in which they are asked for.
  Lane new_lane() { return Lane{++last_lane_}; }

  // The causal context: a number that travels from the callback that posts to the callback that is
  // posted. Trace keeps in it the id of the record that led to what runs now; 0 is nothing.
  std::uint64_t context() const { return context_; }
  void set_context(std::uint64_t context) { context_ = context; }

 protected:
  friend class Timer;
  // Where the next callback of that lane waits, empty and to be filled at once.
  virtual Callback& posted(Lane lane) = 0;
  virtual void cancel(std::uint64_t timer) = 0;
  virtual bool is_pending(std::uint64_t timer) const = 0;

 private:
  std::uint32_t last_lane_ = 0;
  std::uint64_t context_ = 0;
};

// Until its end something is done under another context, or under the one there is; then the
// context is as it was, whatever was written meanwhile. Who does several things in one callback
// does each in a scope of its own: none is then the cause of the next. Who keeps what others have
// asked for keeps with each the context that it was asked under, the newest where it was asked for
// again, and does it under that (docs/decisions/0003-causes-travel-with-the-loop.md).
class ContextScope {
 public:
  explicit ContextScope(Loop& loop) : loop_(loop), outer_(loop.context()) {}
  ContextScope(Loop& loop, std::uint64_t context) : ContextScope(loop) {
    loop.set_context(context);
  }
  ~ContextScope() { loop_.set_context(outer_); }
  ContextScope(const ContextScope&) = delete;
  ContextScope& operator=(const ContextScope&) = delete;

 private:
  Loop& loop_;
  std::uint64_t outer_;
};

}  // namespace ddptwin
