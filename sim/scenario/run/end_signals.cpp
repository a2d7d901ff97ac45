#include "scenario/run/end_signals.hpp"

#include <csignal>

namespace ddptwin::scenario {
namespace {

bool is_ignored(int signal) {
  struct sigaction now {};
  return ::sigaction(signal, nullptr, &now) == 0 && now.sa_handler == SIG_IGN;
}

}  // namespace

EndSignals::EndSignals(boost::asio::io_context& io, std::function<void()> on_signal)
    : signals_(io, SIGINT, SIGTERM, SIGPIPE), on_signal_(std::move(on_signal)) {
  if (!is_ignored(SIGHUP)) signals_.add(SIGHUP);
  wait();
}

// Again and again: a terminal that closes sends several.
void EndSignals::wait() {
  signals_.async_wait([this](const boost::system::error_code& error, int) {
    if (error) return;
    on_signal_();
    wait();
  });
}

}  // namespace ddptwin::scenario
