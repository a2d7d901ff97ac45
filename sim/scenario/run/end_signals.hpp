// The signals that end a run early and cleanly.
#pragma once

#include <boost/asio/io_context.hpp>
#include <boost/asio/signal_set.hpp>
#include <functional>

namespace ddptwin::scenario {

// SIGINT, SIGTERM, SIGHUP (a closed terminal; not where it is ignored, as under nohup) and SIGPIPE
// (nobody reads what is printed). All are told while it lives, none ends the process.
class EndSignals {
 public:
  EndSignals(boost::asio::io_context& io, std::function<void()> on_signal);
  EndSignals(const EndSignals&) = delete;
  EndSignals& operator=(const EndSignals&) = delete;

 private:
  void wait();

  boost::asio::signal_set signals_;
  std::function<void()> on_signal_;
};

}  // namespace ddptwin::scenario
