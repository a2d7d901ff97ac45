#include <fmt/format.h>
#include <netdb.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "atlctl.hpp"

namespace ddptwin::atl {
namespace {

sockaddr_in any_address(std::uint16_t port) {
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(port);
  address.sin_addr.s_addr = htonl(INADDR_ANY);
  return address;
}

}  // namespace

Socket::~Socket() {
  if (fd_ >= 0) ::close(fd_);
}

int listen_on(std::uint16_t port) {
  const int fd = ::socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
  const int on = 1;
  ::setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
  const sockaddr_in address = any_address(port);
  constexpr int backlog = 1024;
  if (::bind(fd, reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0 ||
      ::listen(fd, backlog) != 0) {
    fmt::print(stderr, "atlctl: port {}: {}\n", port, std::strerror(errno));
    std::exit(1);
  }
  return fd;
}

Address look_up(const std::string& name) {
  addrinfo hints{}, *found = nullptr;
  hints.ai_family = AF_INET;
  hints.ai_socktype = SOCK_STREAM;
  const int error = ::getaddrinfo(name.c_str(), nullptr, &hints, &found);
  if (error != 0) return {{}, ::gai_strerror(error)};
  Address address{reinterpret_cast<const sockaddr_in*>(found->ai_addr)->sin_addr, {}};
  ::freeaddrinfo(found);
  return address;
}

Connection connect_to(const in_addr& ip, std::uint16_t port, Duration patience) {
  Connection made;
  made.socket = Socket(::socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
  sockaddr_in address = any_address(port);
  address.sin_addr = ip;
  const int fd = made.socket.fd();
  const int at_once = ::connect(fd, reinterpret_cast<const sockaddr*>(&address), sizeof address);
  if (at_once != 0 && errno != EINPROGRESS) {
    made.fault = std::strerror(errno);
    return made;
  }
  pollfd wait{fd, POLLOUT, 0};
  const auto time = std::chrono::duration_cast<std::chrono::milliseconds>(patience);
  int error = ETIMEDOUT;
  if (::poll(&wait, 1, static_cast<int>(time.count())) > 0) {
    socklen_t length = sizeof error;
    ::getsockopt(fd, SOL_SOCKET, SO_ERROR, &error, &length);
  }
  if (error != 0) made.fault = std::strerror(error);
  return made;
}

std::string read_all(int fd, Duration patience) {
  const auto time = std::chrono::duration_cast<std::chrono::milliseconds>(patience);
  std::string text;
  for (;;) {
    pollfd wait{fd, POLLIN, 0};
    const int ready =
        ::poll(&wait, 1, patience == Duration::zero() ? -1 : static_cast<int>(time.count()));
    if (ready < 0 && errno == EINTR) continue;
    if (ready <= 0) return text;
    char some[4096];
    const ssize_t size = ::read(fd, some, sizeof some);
    if (size < 0 && (errno == EINTR || errno == EAGAIN)) continue;
    if (size <= 0) return text;
    text.append(some, static_cast<std::size_t>(size));
  }
}

bool send_all(int fd, const std::string& text) {
  for (std::size_t from = 0; from < text.size();) {
    const ssize_t size = ::send(fd, text.data() + from, text.size() - from, MSG_NOSIGNAL);
    if (size < 0 && errno == EAGAIN) {
      pollfd wait{fd, POLLOUT, 0};
      ::poll(&wait, 1, -1);
      continue;
    }
    if (size < 0 && errno == EINTR) continue;
    if (size <= 0) return false;
    from += static_cast<std::size_t>(size);
  }
  return true;
}

}  // namespace ddptwin::atl
