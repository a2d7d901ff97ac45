// The loop whose time passes: a Boost.Asio io_context under the same port. It is the only place
// where the twin reads the machine's clock.
#pragma once

#include <memory>
#include <optional>

#include "core/loop.hpp"

namespace boost::asio {
class io_context;
}

namespace ddptwin {

class RealLoop final : public Loop {
 public:
  explicit RealLoop(boost::asio::io_context& io);
  ~RealLoop() override;

  Time now() const override;
  [[nodiscard]] Timer at(Lane lane, Time time, Callback callback) override;

  boost::asio::io_context& io();
  // Every callback that reaches the world from outside (a socket, a child's end) goes through here,
  // so that now() is fresh and stands still inside it.
  void enter(Callback callback);

 private:
  Callback& posted(Lane lane) override;
  void cancel(std::uint64_t timer) override;
  bool is_pending(std::uint64_t timer) const override;

  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace ddptwin
