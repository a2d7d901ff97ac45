#include "tcp_address.hpp"

#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <memory>
#include <system_error>

namespace ddptwin::workers {
namespace {

std::string numeric(const addrinfo& address) {
  std::array<char, NI_MAXHOST> host{};
  std::array<char, NI_MAXSERV> port{};
  ::getnameinfo(address.ai_addr, address.ai_addrlen, host.data(), host.size(), port.data(),
                port.size(), NI_NUMERICHOST | NI_NUMERICSERV);
  return "[" + std::string(host.data()) + "]:" + port.data();
}

}  // namespace

Connected connect_to(const std::string& host, int port) {
  Connected result;
  addrinfo hints{};
  hints.ai_family = AF_UNSPEC;
  hints.ai_socktype = SOCK_STREAM;
  addrinfo* found = nullptr;
  result.gai_error = ::getaddrinfo(host.c_str(), std::to_string(port).c_str(), &hints, &found);
  if (result.gai_error != 0) return result;
  const std::unique_ptr<addrinfo, decltype(&::freeaddrinfo)> owner(found, &::freeaddrinfo);
  for (const addrinfo* address = found; address != nullptr; address = address->ai_next) {
    const int fd = ::socket(address->ai_family, address->ai_socktype | SOCK_CLOEXEC, 0);
    if (fd >= 0 && ::connect(fd, address->ai_addr, address->ai_addrlen) == 0) {
      const int on = 1;
      ::setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
      result.fd = fd;
      return result;
    }
    result.error = errno;
    if (fd >= 0) ::close(fd);
    result.detail += " The client socket has failed to connect to " + numeric(*address) +
                     " (errno: " + std::to_string(result.error) + " - " +
                     std::generic_category().message(result.error) + ").";
  }
  return result;
}

bool is_worth_retrying(const Connected& result) {
  return result.gai_error != 0 || result.error == ECONNREFUSED || result.error == ECONNRESET;
}

}  // namespace ddptwin::workers
