#include "rendezvous.hpp"

#include <unistd.h>

#include <thread>

#include "tcp_address.hpp"

namespace ddptwin::workers {

void await_master(const RankEnvironment& environment, Duration window) {
  using Clock = std::chrono::steady_clock;
  const Clock::time_point end = Clock::now() + window;
  while (Clock::now() < end) {
    const Connected result =
        connect_to(environment.master_addr, environment.master_port, end - Clock::now());
    if (result.fd >= 0) ::close(result.fd);
    if (result.fd >= 0 || !is_worth_retrying(result)) return;
    if (environment.hosts_store() && result.gai_error == 0) return;
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
  }
}

}  // namespace ddptwin::workers
