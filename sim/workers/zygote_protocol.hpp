// How to ask a worker zygote for a worker. The one file that the twin and its worker share:
// standard and POSIX headers only, everything inline, no libtorch.
//
// A zygote is `ddptwin-worker --zygote FD`: libtorch loaded and warm, one thread, FD one end of a
// socketpair(AF_UNIX, SOCK_SEQPACKET). Fork costs 5 ms where exec costs 400 (spec/ddp-semantics.md
// §1.3).
//
//   twin -> zygote   spawn   id, flags, root, cwd, argv, env, rlimits, descriptors (SCM_RIGHTS)
//   zygote -> twin   ready   once, when it is warm; requests may be sent before
//                    started id, pid as the zygote sees it, and a pidfd of it (SCM_RIGHTS)
//                    failed  id, errno, the step that failed; nothing runs
//                    exited  id, pid, status as waitpid() gives it; always after its started
//
// One message is one packet. A worker is a child of the zygote; it is inside every namespace that
// was passed, and `started` is only sent once it has joined them all, so its first instruction as a
// worker runs in its pod. The zygote must run in the user namespace that owns those namespaces.
// When the twin closes the socket (or dies), the zygote kills its workers and ends; when the zygote
// dies, its workers are killed (PR_SET_PDEATHSIG); when a pod's PID namespace ends, the kernel
// kills the worker in it, and `exited` reports it as any other death.
//
// Pass a PID namespace with every request or with none: a zygote in a user namespace that does not
// own the zygote's own PID namespace cannot go back to that, and answers EPERM.
//
//   zygote::Spawn spawn;
//   spawn.id = 7;
//   spawn.argv = {"ddptwin-worker", "--steps", "50"};
//   spawn.env = {"RANK=0", "WORLD_SIZE=2", "MASTER_ADDR=job-master-0", "MASTER_PORT=23456"};
//   spawn.descriptors = {{zygote::Role::out, log}, {zygote::Role::err, log},
//                        {zygote::Role::net_namespace, net}, {zygote::Role::mount_namespace, mnt}};
//   zygote::send(socket, spawn);
//   if (auto reply = zygote::receive_reply(socket)) ...  // when poll() says it is readable
#pragma once

#include <fcntl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/types.h>
#include <unistd.h>

#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace ddptwin::zygote {

inline constexpr std::size_t packet_size_limit = 160 * 1024;  // below the default socket buffer
inline constexpr std::size_t descriptor_count_limit = 32;

// What a passed descriptor is for. Namespaces are joined in this order: pid, ipc, uts, net, mount.
enum class Role : std::uint8_t {
  in,             // becomes 0; /dev/null of the zygote when absent
  out,            // becomes 1
  err,            // becomes 2
  pid_namespace,  // /proc/PID/ns/pid and so on
  ipc_namespace,
  uts_namespace,
  net_namespace,
  mount_namespace,
  cgroup_procs,  // a cgroup.procs (v2) or tasks (v1) file open for writing: the worker enters it
                 // first
};

// Bits of Spawn::flags.
inline constexpr std::uint32_t new_session = 1;  // setsid() in the worker
inline constexpr std::uint32_t drop_capabilities =
    2;  // no capability and no way back (no_new_privs)

struct Limit {  // setrlimit(resource, {soft, hard})
  std::int32_t resource = 0;
  std::uint64_t soft = 0;
  std::uint64_t hard = 0;
};

struct Descriptor {
  Role role = Role::out;
  int fd = -1;  // stays the sender's; the receiver owns its own copy
};

struct Spawn {
  std::uint64_t id = 0;  // chosen by the twin, named in every reply
  std::uint32_t flags = 0;
  std::string root{};               // chroot inside the mount namespace; empty: none
  std::string cwd{};                // inside root; empty: "/"
  std::vector<std::string> argv{};  // argv[0] is the worker's name, at least one
  std::vector<std::string> env{};   // "NAME=value", the whole environment
  std::vector<Limit> limits{};
  std::vector<Descriptor> descriptors{};
};

struct Reply {
  enum class Kind : std::uint8_t { ready, started, failed, exited };
  Kind kind = Kind::ready;
  std::uint64_t id = 0;
  pid_t pid = 0;       // in the zygote's PID namespace
  int status = 0;      // exited: as waitpid(); failed: errno
  std::string what{};  // failed: "join mount namespace"
  int pidfd = -1;      // started: the receiver's to close; -1 otherwise
};

// --- encoding: host byte order (both ends are one machine), strings as u32 length and bytes ---

class Writer {
 public:
  template <class T>
  void number(T value) {
    bytes_.append(reinterpret_cast<const char*>(&value), sizeof value);
  }
  void text(std::string_view value) {
    number(static_cast<std::uint32_t>(value.size()));
    bytes_.append(value);
  }
  void texts(const std::vector<std::string>& values) {
    number(static_cast<std::uint32_t>(values.size()));
    for (const std::string& value : values) text(value);
  }
  std::string take() { return std::move(bytes_); }

 private:
  std::string bytes_;
};

// Reads what Writer wrote. After a read past the end good() is false and all values are empty.
class Reader {
 public:
  explicit Reader(std::string_view bytes) : rest_(bytes) {}
  template <class T>
  T number() {
    T value{};
    if (rest_.size() < sizeof value) return fail(), value;
    std::memcpy(&value, rest_.data(), sizeof value);
    rest_.remove_prefix(sizeof value);
    return value;
  }
  std::string text() {
    const auto size = number<std::uint32_t>();
    if (rest_.size() < size) return fail(), std::string{};
    std::string value(rest_.substr(0, size));
    rest_.remove_prefix(size);
    return value;
  }
  std::vector<std::string> texts() {
    std::vector<std::string> values;
    for (auto left = number<std::uint32_t>(); left > 0 && good_; --left) values.push_back(text());
    return values;
  }
  bool good() const { return good_; }
  bool at_end() const { return good_ && rest_.empty(); }

 private:
  void fail() {
    good_ = false;
    rest_ = {};
  }
  std::string_view rest_;
  bool good_ = true;
};

inline constexpr std::uint32_t magic = 0x315a4444;  // "DDZ1": changes with the format

// The packet without its descriptors, which travel beside it in the order of `descriptors`.
inline std::string encode(const Spawn& spawn) {
  Writer out;
  out.number(magic);
  out.number(spawn.id);
  out.number(spawn.flags);
  out.text(spawn.root);
  out.text(spawn.cwd);
  out.texts(spawn.argv);
  out.texts(spawn.env);
  out.number(static_cast<std::uint32_t>(spawn.limits.size()));
  for (const Limit& limit : spawn.limits) {
    out.number(limit.resource);
    out.number(limit.soft);
    out.number(limit.hard);
  }
  out.number(static_cast<std::uint32_t>(spawn.descriptors.size()));
  for (const Descriptor& descriptor : spawn.descriptors) out.number(descriptor.role);
  return out.take();
}

// Nothing if the packet is not one of encode()'s, or if the number of descriptors does not match.
inline std::optional<Spawn> decode_spawn(std::string_view packet, const std::vector<int>& fds) {
  Reader in(packet);
  if (in.number<std::uint32_t>() != magic) return std::nullopt;
  Spawn spawn;
  spawn.id = in.number<std::uint64_t>();
  spawn.flags = in.number<std::uint32_t>();
  spawn.root = in.text();
  spawn.cwd = in.text();
  spawn.argv = in.texts();
  spawn.env = in.texts();
  for (auto left = in.number<std::uint32_t>(); left > 0 && in.good(); --left) {
    Limit limit;
    limit.resource = in.number<std::int32_t>();
    limit.soft = in.number<std::uint64_t>();
    limit.hard = in.number<std::uint64_t>();
    spawn.limits.push_back(limit);
  }
  if (in.number<std::uint32_t>() != fds.size()) return std::nullopt;
  for (const int fd : fds) spawn.descriptors.push_back({in.number<Role>(), fd});
  if (!in.at_end() || spawn.argv.empty()) return std::nullopt;
  return spawn;
}

inline std::string encode(const Reply& reply) {
  Writer out;
  out.number(magic);
  out.number(reply.kind);
  out.number(reply.id);
  out.number(static_cast<std::int32_t>(reply.pid));
  out.number(static_cast<std::int32_t>(reply.status));
  out.text(reply.what);
  return out.take();
}

inline std::optional<Reply> decode_reply(std::string_view packet, const std::vector<int>& fds) {
  Reader in(packet);
  if (in.number<std::uint32_t>() != magic) return std::nullopt;
  Reply reply;
  reply.kind = in.number<Reply::Kind>();
  reply.id = in.number<std::uint64_t>();
  reply.pid = in.number<std::int32_t>();
  reply.status = in.number<std::int32_t>();
  reply.what = in.text();
  if (!in.at_end() || fds.size() > 1) return std::nullopt;
  if (!fds.empty()) reply.pidfd = fds.front();
  return reply;
}

// --- packets over the socket; errors are left in errno ---

struct Packet {
  std::string bytes;
  std::vector<int> fds;  // the receiver's, close-on-exec
};

inline bool send_packet(int socket, std::string_view bytes, const std::vector<int>& fds) {
  if (bytes.size() > packet_size_limit || fds.size() > descriptor_count_limit) {
    errno = EMSGSIZE;
    return false;
  }
  iovec part{const_cast<char*>(bytes.data()), bytes.size()};
  alignas(cmsghdr) char control[CMSG_SPACE(sizeof(int) * descriptor_count_limit)] = {};
  msghdr message{};
  message.msg_iov = &part;
  message.msg_iovlen = 1;
  if (!fds.empty()) {
    message.msg_control = control;
    message.msg_controllen = CMSG_SPACE(sizeof(int) * fds.size());
    cmsghdr* header = CMSG_FIRSTHDR(&message);
    header->cmsg_level = SOL_SOCKET;
    header->cmsg_type = SCM_RIGHTS;
    header->cmsg_len = CMSG_LEN(sizeof(int) * fds.size());
    std::memcpy(CMSG_DATA(header), fds.data(), sizeof(int) * fds.size());
  }
  ssize_t sent = -1;
  do {
    sent = ::sendmsg(socket, &message, MSG_NOSIGNAL);
  } while (sent < 0 && errno == EINTR);
  return sent == static_cast<ssize_t>(bytes.size());
}

// The next packet; an empty one (no bytes) at the end of the stream; nothing on an error.
inline std::optional<Packet> receive_packet(int socket) {
  Packet packet;
  packet.bytes.resize(packet_size_limit);
  iovec part{packet.bytes.data(), packet.bytes.size()};
  alignas(cmsghdr) char control[CMSG_SPACE(sizeof(int) * descriptor_count_limit)];
  msghdr message{};
  message.msg_iov = &part;
  message.msg_iovlen = 1;
  message.msg_control = control;
  message.msg_controllen = sizeof control;
  ssize_t received = -1;
  do {
    received = ::recvmsg(socket, &message, MSG_CMSG_CLOEXEC);
  } while (received < 0 && errno == EINTR);
  if (received < 0) return std::nullopt;
  packet.bytes.resize(static_cast<std::size_t>(received));
  for (cmsghdr* header = CMSG_FIRSTHDR(&message); header != nullptr;
       header = CMSG_NXTHDR(&message, header)) {
    if (header->cmsg_level != SOL_SOCKET || header->cmsg_type != SCM_RIGHTS) continue;
    packet.fds.resize((header->cmsg_len - CMSG_LEN(0)) / sizeof(int));
    std::memcpy(packet.fds.data(), CMSG_DATA(header), packet.fds.size() * sizeof(int));
  }
  return packet;
}

// False with errno EMSGSIZE if argv and env do not fit one packet, EPIPE if the zygote is gone.
inline bool send(int socket, const Spawn& spawn) {
  std::vector<int> fds;
  for (const Descriptor& descriptor : spawn.descriptors) fds.push_back(descriptor.fd);
  return send_packet(socket, encode(spawn), fds);
}

// Nothing when the zygote has ended (errno 0) or on an error (errno, EAGAIN for a non-blocking
// socket).
inline std::optional<Reply> receive_reply(int socket) {
  std::optional<Packet> packet = receive_packet(socket);
  if (!packet) return std::nullopt;
  std::optional<Reply> reply = decode_reply(packet->bytes, packet->fds);
  if (!reply) {
    for (const int fd : packet->fds) ::close(fd);
    errno = packet->bytes.empty() ? 0 : EPROTO;
  }
  return reply;
}

}  // namespace ddptwin::zygote
