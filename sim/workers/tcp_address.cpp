#include "tcp_address.hpp"

#include <fcntl.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <climits>
#include <cstdint>
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

// 0, or what went wrong. The socket is a blocking one again when it is connected.
int connect_within(int fd, const addrinfo& address, Duration timeout) {
  const int flags = ::fcntl(fd, F_GETFL);
  ::fcntl(fd, F_SETFL, flags | O_NONBLOCK);
  int error = ::connect(fd, address.ai_addr, address.ai_addrlen) == 0 ? 0 : errno;
  if (error == EINPROGRESS) {
    const auto milliseconds = std::chrono::ceil<std::chrono::milliseconds>(timeout).count();
    pollfd polled{fd, POLLOUT, 0};
    socklen_t size = sizeof error;
    if (::poll(&polled, 1, static_cast<int>(std::clamp<std::int64_t>(milliseconds, 0, INT_MAX))) !=
        1) {
      return ETIMEDOUT;
    }
    ::getsockopt(fd, SOL_SOCKET, SO_ERROR, &error, &size);
  }
  ::fcntl(fd, F_SETFL, flags);
  return error;
}

}  // namespace

Connected connect_to(const std::string& host, int port, Duration timeout) {
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
    result.error = fd < 0 ? errno : connect_within(fd, *address, timeout);
    if (result.error == 0) {
      const int on = 1;
      ::setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
      result.fd = fd;
      return result;
    }
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
