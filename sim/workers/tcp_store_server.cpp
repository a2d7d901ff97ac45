#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cstring>
#include <system_error>

#include "error.hpp"
#include "socket_io.hpp"
#include "tcp_store.hpp"

namespace ddptwin::workers {
namespace {

constexpr int backlog = 2048;
constexpr std::uint8_t ready = 0;
constexpr std::uint8_t not_ready = 1;
constexpr std::uint8_t watch_set = 3;

// A listening socket, or -1 with the reason appended to `failures`.
int listen_on(int family, int port, const char* name, std::string& failures) {
  sockaddr_storage address{};
  socklen_t size = sizeof(sockaddr_in);
  if (family == AF_INET6) {
    auto& v6 = reinterpret_cast<sockaddr_in6&>(address);
    v6.sin6_family = AF_INET6;
    v6.sin6_port = htons(static_cast<std::uint16_t>(port));
    size = sizeof v6;
  } else {
    auto& v4 = reinterpret_cast<sockaddr_in&>(address);
    v4.sin_family = AF_INET;
    v4.sin_port = htons(static_cast<std::uint16_t>(port));
  }
  const int fd = ::socket(family, SOCK_STREAM | SOCK_CLOEXEC, 0);
  const int on = 1;
  const int off = 0;
  ::setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
  if (family == AF_INET6) ::setsockopt(fd, IPPROTO_IPV6, IPV6_V6ONLY, &off, sizeof off);
  if (::bind(fd, reinterpret_cast<sockaddr*>(&address), size) == 0 && ::listen(fd, backlog) == 0) {
    return fd;
  }
  failures += std::string(" The server socket has failed to bind to ") + name + ":" +
              std::to_string(port) + " (errno: " + std::to_string(errno) + " - " +
              std::generic_category().message(errno) + ").";
  if (fd >= 0) ::close(fd);
  return -1;
}

std::int64_t to_number(const std::string& text) {
  std::int64_t number = 0;
  std::from_chars(text.data(), text.data() + text.size(), number);
  return number;
}

}  // namespace

TcpStoreServer::TcpStoreServer(int port) : stop_(::eventfd(0, EFD_CLOEXEC)) {
  std::string failures = "The server socket has failed to listen on any local network address.";
  listener_ = listen_on(AF_INET6, port, "[::]", failures);
  if (listener_ < 0) listener_ = listen_on(AF_INET, port, "0.0.0.0", failures);
  if (listener_ < 0) {
    ::close(stop_);
    throw PythonError("RuntimeError", failures);
  }
  thread_ = std::thread([this] { run(); });
}

TcpStoreServer::~TcpStoreServer() {
  ::eventfd_write(stop_, 1);
  thread_.join();
  ::close(listener_);
  ::close(stop_);
}

int TcpStoreServer::port() const {
  sockaddr_storage address{};
  socklen_t size = sizeof address;
  ::getsockname(listener_, reinterpret_cast<sockaddr*>(&address), &size);
  return ntohs(
      reinterpret_cast<const sockaddr_in&>(address).sin_port);  // at one place in v4 and v6
}

void TcpStoreServer::run() {
  std::vector<pollfd> polled{{listener_, POLLIN, 0}, {stop_, POLLIN, 0}};
  for (;;) {
    if (::poll(polled.data(), polled.size(), -1) < 0) continue;
    if (polled[1].revents != 0) break;
    for (std::size_t i = polled.size(); i-- > 2;) {
      if (polled[i].revents == 0) continue;
      try {
        answer(polled[i].fd);
      } catch (const PythonError&) {  // that client has gone, or does not speak the protocol
        drop(polled[i].fd);
        polled.erase(polled.begin() + static_cast<std::ptrdiff_t>(i));
      }
    }
    if (polled[0].revents != 0) {
      const int client = ::accept4(listener_, nullptr, nullptr, SOCK_CLOEXEC);
      const int on = 1;
      ::setsockopt(client, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
      if (client >= 0) polled.push_back({client, POLLIN, 0});
    }
  }
  for (std::size_t i = 2; i < polled.size(); ++i) ::close(polled[i].fd);
}

std::string TcpStoreServer::value_of(const std::string& key) const {
  const auto found = values_.find(key);
  return found == values_.end() ? std::string{} : found->second;
}

void TcpStoreServer::drop(int client) {
  for (auto& [key, clients] : waiting_) std::erase(clients, client);
  missing_.erase(client);
  ::close(client);
}

void TcpStoreServer::wake(const std::string& key) {
  const auto found = waiting_.find(key);
  if (found == waiting_.end()) return;
  for (const int client : found->second) {
    if (--missing_[client] > 0) continue;
    missing_.erase(client);
    try {
      send_number(client, ready);
    } catch (const PythonError&) {  // poll() reports it, and run() drops it
    }
  }
  waiting_.erase(found);
}

void TcpStoreServer::answer(int client) {
  switch (receive_number<StoreRequest>(client)) {
    case StoreRequest::set: {
      const std::string key = receive_text(client);
      values_[key] = receive_text(client);
      return wake(key);
    }
    case StoreRequest::compare_set: {
      const std::string key = receive_text(client);
      const std::string expected = receive_text(client);
      const std::string desired = receive_text(client);
      const auto found = values_.find(key);
      if (found == values_.end() && !expected.empty()) return send_text(client, expected);
      if (found != values_.end() && found->second != expected)
        return send_text(client, found->second);
      values_[key] = desired;
      send_text(client, desired);
      return wake(key);
    }
    case StoreRequest::get:
      return send_text(client, value_of(receive_text(client)));
    case StoreRequest::add: {
      const std::string key = receive_text(client);
      const std::int64_t sum = receive_number<std::int64_t>(client) + to_number(value_of(key));
      values_[key] = std::to_string(sum);
      send_number(client, sum);
      return wake(key);
    }
    case StoreRequest::check: {
      bool all = true;
      for (auto left = receive_number<std::uint64_t>(client); left > 0; --left) {
        all = values_.contains(receive_text(client)) && all;
      }
      return send_number(client, all ? ready : not_ready);
    }
    case StoreRequest::wait: {
      int missing = 0;
      for (auto left = receive_number<std::uint64_t>(client); left > 0; --left) {
        const std::string key = receive_text(client);
        if (values_.contains(key)) continue;
        waiting_[key].push_back(client);
        ++missing;
      }
      if (missing == 0) return send_number(client, ready);
      missing_[client] = missing;
      return;
    }
    case StoreRequest::count_keys:
      return send_number(client, static_cast<std::int64_t>(values_.size()));
    case StoreRequest::watch:
      receive_text(client);
      return send_number(client, watch_set);
    case StoreRequest::erase:
      return send_number(client, static_cast<std::int64_t>(values_.erase(receive_text(client))));
  }
  throw PythonError("RuntimeError", "the client speaks another protocol");
}

}  // namespace ddptwin::workers
