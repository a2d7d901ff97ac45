#include "socket_io.hpp"

#include <sys/socket.h>

#include <cerrno>
#include <cstdint>
#include <system_error>

#include "error.hpp"

namespace ddptwin::workers {
namespace {

constexpr std::uint64_t text_size_limit = std::uint64_t{1} << 30;

[[noreturn]] void fail(int error) {
  if (error == EAGAIN) throw PythonError("RuntimeError", "Socket Timeout");
  throw PythonError("RuntimeError", std::generic_category().message(error));
}

}  // namespace

void send_bytes(int fd, const void* bytes, std::size_t size) {
  const auto* from = static_cast<const char*>(bytes);
  while (size > 0) {
    const ssize_t sent = ::send(fd, from, size, MSG_NOSIGNAL);
    if (sent < 0 && errno == EINTR) continue;
    if (sent < 0) fail(errno);
    from += sent;
    size -= static_cast<std::size_t>(sent);
  }
}

void receive_bytes(int fd, void* bytes, std::size_t size) {
  auto* to = static_cast<char*>(bytes);
  while (size > 0) {
    const ssize_t received = ::recv(fd, to, size, 0);
    if (received < 0 && errno == EINTR) continue;
    if (received < 0) fail(errno);
    if (received == 0) fail(ECONNRESET);
    to += received;
    size -= static_cast<std::size_t>(received);
  }
}

void send_text(int fd, const std::string& text) {
  send_number<std::uint64_t>(fd, text.size());
  send_bytes(fd, text.data(), text.size());
}

std::string receive_text(int fd) {
  const auto size = receive_number<std::uint64_t>(fd);
  if (size > text_size_limit)
    throw PythonError("RuntimeError", "the store speaks another protocol");
  std::string text(size, '\0');
  receive_bytes(fd, text.data(), size);
  return text;
}

}  // namespace ddptwin::workers
