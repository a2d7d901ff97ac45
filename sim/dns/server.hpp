// DNS over UDP and TCP, on sockets that somebody bound: the cluster's supervisor inside its network
// namespace, or bind_sockets() here.
#pragma once

#include <memory>
#include <string>

#include "core/real_loop.hpp"
#include "dns/resolver.hpp"

namespace ddptwin::dns {

// Descriptors of a bound UDP socket and of a listening TCP socket, of one port. Plain numbers: who
// holds this value owns them.
struct Sockets {
  int udp = -1;
  int tcp = -1;
  std::uint16_t port = 0;
};

// Port 0: any port that is free for both.
Result<Sockets> bind_sockets(const std::string& address, std::uint16_t port);

// Serves until its end, which closes both sockets and all connections. At most
// connections_max TCP connections at a time; one that is silent for idle_time_max is closed.
class Server {
 public:
  static constexpr std::size_t connections_max = 256;
  static constexpr std::chrono::seconds idle_time_max{10};

  // Takes the descriptors over. Loop and resolver outlive it.
  Server(RealLoop& loop, Resolver& resolver, Sockets sockets);
  ~Server();
  Server(const Server&) = delete;
  Server& operator=(const Server&) = delete;

 private:
  struct State;
  std::shared_ptr<State> state_;  // coroutines that are being cancelled may outlive the server
};

}  // namespace ddptwin::dns
