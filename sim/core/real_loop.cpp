#include "core/real_loop.hpp"

#include <algorithm>
#include <boost/asio/io_context.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/steady_timer.hpp>
#include <map>

namespace ddptwin {

struct RealLoop::Impl {
  struct Waiting {
    boost::asio::steady_timer timer;
    Callback callback;
    std::uint64_t context;
  };

  explicit Impl(boost::asio::io_context& context)
      : io(context),
        steady_start(std::chrono::steady_clock::now()),
        wall_start(std::chrono::duration_cast<Duration>(
            std::chrono::system_clock::now().time_since_epoch())) {}

  // Wall time that never jumps: the wall clock once, the steady clock from there.
  Time read() const { return Time(wall_start + (std::chrono::steady_clock::now() - steady_start)); }
  std::chrono::steady_clock::time_point steady(Time time) const {
    return steady_start + (time.since_epoch() - wall_start);
  }

  boost::asio::io_context& io;
  std::chrono::steady_clock::time_point steady_start;
  Duration wall_start;
  std::optional<Time> inside{};  // the time of the callback that runs now
  std::uint64_t last_timer = 0;
  std::map<std::uint64_t, std::unique_ptr<Waiting>> timers{};
};

RealLoop::RealLoop(boost::asio::io_context& io) : impl_(std::make_unique<Impl>(io)) {}
RealLoop::~RealLoop() {
  auto timers = std::move(impl_->timers);  // see VirtualLoop's end
  impl_->timers.clear();
}

boost::asio::io_context& RealLoop::io() { return impl_->io; }

Time RealLoop::now() const { return impl_->inside ? *impl_->inside : impl_->read(); }

void RealLoop::enter(Callback callback) {
  if (impl_->inside) return callback();
  struct Inside {
    std::optional<Time>& time;
    ~Inside() { time.reset(); }
  } inside{impl_->inside};
  impl_->inside = impl_->read();
  callback();
  set_context(0);  // what comes in from outside next has no cause in here
}

// Asio keeps one queue for all, so every lane keeps its order.
Callback& RealLoop::posted(Lane) {
  auto callback = std::make_unique<Callback>();
  Callback& place = *callback;
  boost::asio::post(impl_->io, [this, context = context(), callback = std::move(callback)] {
    set_context(context);
    enter(std::move(*callback));
  });
  return place;
}

Timer RealLoop::at(Lane, Time time, Callback callback) {
  const std::uint64_t id = ++impl_->last_timer;
  auto waiting = std::make_unique<Impl::Waiting>(Impl::Waiting{
      boost::asio::steady_timer(impl_->io, impl_->steady(time)), std::move(callback), context()});
  waiting->timer.async_wait([this, id](boost::system::error_code error) {
    if (error) return;
    auto found = impl_->timers.find(id);
    if (found == impl_->timers.end()) return;
    auto due = std::move(found->second);
    impl_->timers.erase(found);
    set_context(due->context);
    enter(std::move(due->callback));
  });
  impl_->timers.emplace(id, std::move(waiting));
  return Timer(*this, id);
}

void RealLoop::cancel(std::uint64_t timer) { impl_->timers.erase(timer); }
bool RealLoop::is_pending(std::uint64_t timer) const { return impl_->timers.contains(timer); }

}  // namespace ddptwin
