#include "runtime/process/wire.hpp"

#include <sys/mman.h>
#include <sys/stat.h>

namespace ddptwin::sandbox {
namespace {

constexpr char in_packet = 'p';
constexpr char in_memfd = 'm';
constexpr std::size_t packet_body_limit = 64 * 1024;

bool write_all(int fd, std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t written = ::write(fd, bytes.data(), bytes.size());
    if (written < 0) return false;
    bytes.remove_prefix(static_cast<std::size_t>(written));
  }
  return true;
}

std::optional<std::string> read_memfd(int fd) {
  struct stat info {};
  if (::fstat(fd, &info) != 0) return std::nullopt;
  std::string bytes(static_cast<std::size_t>(info.st_size), '\0');
  std::size_t filled = 0;
  while (filled < bytes.size()) {
    const ssize_t got =
        ::pread(fd, bytes.data() + filled, bytes.size() - filled, static_cast<off_t>(filled));
    if (got <= 0) return std::nullopt;
    filled += static_cast<std::size_t>(got);
  }
  return bytes;
}

}  // namespace

bool send_message(int socket, std::string_view body, const std::vector<int>& fds) {
  if (body.size() <= packet_body_limit) {
    return zygote::send_packet(socket, std::string(1, in_packet).append(body), fds);
  }
  const int memfd = ::memfd_create("ddptwin-message", MFD_CLOEXEC);
  if (memfd < 0) return false;
  std::vector<int> all{memfd};
  all.insert(all.end(), fds.begin(), fds.end());
  const bool sent =
      write_all(memfd, body) && zygote::send_packet(socket, std::string_view(&in_memfd, 1), all);
  const int error = errno;
  ::close(memfd);
  errno = error;
  return sent;
}

std::optional<Message> receive_message(int socket) {
  std::optional<zygote::Packet> packet = zygote::receive_packet(socket);
  // A peer that ended with packets of ours unread resets the link, once: what it said before is
  // still there, and then its end.
  if (!packet && errno == ECONNRESET) packet = zygote::receive_packet(socket);
  if (!packet) return std::nullopt;
  if (packet->bytes.empty()) return Message{{}, {}, true};
  if (packet->bytes.front() == in_packet) {
    packet->bytes.erase(0, 1);
    return Message{std::move(packet->bytes), std::move(packet->fds), false};
  }
  if (packet->fds.empty()) {
    errno = EPROTO;
    return std::nullopt;
  }
  std::optional<std::string> body = read_memfd(packet->fds.front());
  ::close(packet->fds.front());
  packet->fds.erase(packet->fds.begin());
  if (!body) {
    for (const int fd : packet->fds) ::close(fd);
    errno = EPROTO;
    return std::nullopt;
  }
  return Message{std::move(*body), std::move(packet->fds), false};
}

}  // namespace ddptwin::sandbox
