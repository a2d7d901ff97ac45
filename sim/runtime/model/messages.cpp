#include "runtime/model/messages.hpp"

#include <fmt/format.h>

#include <chrono>
#include <system_error>

#include "runtime/model/resolver.hpp"

namespace ddptwin::model {
namespace {

constexpr std::string_view wheel_folder = "/__w/pytorch/pytorch/third_party/gloo/gloo/";

Error python(Reason reason, std::string type, std::string text) {
  return Error{reason, std::move(type), std::move(text), nullptr, 0, {}};
}
Error runtime_error(Reason reason, std::string text) {
  return python(reason, "RuntimeError", std::move(text));
}
Error network_error(const TorchProfile& torch, Reason reason, std::string text) {
  return python(reason, torch.named_errors ? "torch.distributed.DistNetworkError" : "RuntimeError",
                std::move(text));
}
Error store_error(const TorchProfile& torch, Reason reason, std::string text) {
  return python(reason, torch.named_errors ? "torch.distributed.DistStoreError" : "RuntimeError",
                std::move(text));
}

// "[./gloo/transport/tcp/pair.cc:598]", or as the wheel was built.
std::string at(const TorchProfile& torch, std::string_view file, int line_1, int line_2) {
  return torch.debian_texts ? fmt::format("[./gloo/{}:{}]", file, line_1)
                            : fmt::format("[{}{}:{}]", wheel_folder, file, line_2);
}
std::string enforce(const TorchProfile& torch, std::string_view file, int line_1, int line_2) {
  return "[enforce fail at " + at(torch, file, line_1, line_2).substr(1);
}

std::int64_t milliseconds(Duration duration) {
  return std::chrono::duration_cast<std::chrono::milliseconds>(duration).count();
}
std::int64_t seconds(Duration duration) {
  return std::chrono::duration_cast<std::chrono::seconds>(duration).count();
}

constexpr std::string_view crash_advice =
    ". This is typically caused by a remote worker crashing. Check the logs of the remote worker "
    "before reporting an error. GLHF! 🏖️";
constexpr std::string_view hang_advice =
    ". This is typically caused by a remote worker hanging or bugs in the application.";

}  // namespace

Error variable_missing(std::string_view name) {
  return python(Reason::invalid, "ValueError",
                fmt::format("Error initializing torch.distributed using env:// rendezvous: "
                            "environment variable {} expected, but not set",
                            name));
}

Error not_a_number(std::string_view text) {
  return python(Reason::invalid, "ValueError",
                fmt::format("invalid literal for int() with base 10: '{}'", text));
}

Error port_outside(int port) {
  return python(Reason::invalid, "ValueError",
                fmt::format("port must have value from 0 to 65535 but was {}.", port));
}

Error port_in_use(const TorchProfile& torch, int port) {
  constexpr std::string_view failed =
      "The server socket has failed to listen on any local network address.";
  return network_error(
      torch, Reason::io,
      torch.debian_texts
          ? fmt::format("{0} The server socket has failed to bind to [::]:{1} (errno: 98 - Address "
                        "already in use). The server socket has failed to bind to 0.0.0.0:{1} "
                        "(errno: 98 - Address already in use).",
                        failed, port)
          : fmt::format("{} port: {}, useIpv6: false, code: -98, name: EADDRINUSE, message: "
                        "address already in use",
                        failed, port));
}

Error connect_timed_out(const TorchProfile& torch, Duration timeout, std::string_view host,
                        int port) {
  const std::string after = torch.debian_texts ? fmt::format("{}s", seconds(timeout))
                                               : fmt::format("{}ms", milliseconds(timeout));
  Error error = network_error(
      torch, Reason::timeout,
      fmt::format("The client socket has timed out after {} while trying to connect to ({}, {}).",
                  after, host, port));
  if (!torch.named_errors) error.where = "TimeoutError";
  return error;
}

Error cannot_connect(const TorchProfile& torch, std::string_view host, int port,
                     std::string_view ip, int error_number) {
  return network_error(
      torch, Reason::io,
      fmt::format("The client socket has failed to connect to any network address of ({0}, {1}). "
                  "The client socket has failed to connect to [{2}]:{1} (errno: {3} - {4}).",
                  host, port, ip, error_number, std::generic_category().message(error_number)));
}

Error key_missing(const TorchProfile& torch, Duration timeout, std::string_view keys) {
  return store_error(torch, Reason::timeout,
                     torch.debian_texts ? "Socket Timeout"
                                        : fmt::format("wait timeout after {}ms, keys: {}",
                                                      milliseconds(timeout), keys));
}

Error store_closed(const TorchProfile& torch) {
  return network_error(torch, Reason::io,
                       torch.debian_texts
                           ? "Connection reset by peer"
                           : "Failed to recv, got 0 bytes. Connection was likely closed. "
                             "Did the remote server shutdown or crash?");
}

Error store_broken_pipe(const TorchProfile& torch) {
  return network_error(torch, Reason::io, "Broken pipe");
}

Error clients_missing(const TorchProfile& torch, Duration timeout, int joined, int world) {
  return store_error(torch, Reason::timeout,
                     fmt::format("Timed out after {} seconds waiting for clients. {}/{} clients "
                                 "joined.",
                                 seconds(timeout), joined, world));
}

std::string address_key(int rank) { return fmt::format("/default_pg/0//cpu//0/{}", rank); }

std::string name_warning(const TorchProfile& torch, std::string_view host, int port,
                         int gai_error) {
  return fmt::format(
      "[W socket.cpp:{}] [c10d] The IPv6 network addresses of ({}, {}) cannot be retrieved (gai "
      "error: {} - {}).",
      torch.debian_texts ? 601 : 764, host, port, gai_error, gai_text(gai_error));
}

std::string timeout_log(const TorchProfile& torch, const Error& error) {
  return fmt::format("[E socket.cpp:{}] [c10d] {}", torch.debian_texts ? 860 : 1028, error.message);
}

Error rank_outside(const TorchProfile& torch, int rank, int world) {
  return runtime_error(
      Reason::invalid,
      fmt::format("{} rank < size. {} vs {}", enforce(torch, "context.cc", 27, 23), rank, world));
}

Error address_size(int expected, int found) {
  return runtime_error(Reason::invalid,
                       fmt::format("[enforce fail at ./gloo/transport/tcp/address.cc:45] "
                                   "sizeof(impl_) == bytes.size(). {} vs {}",
                                   expected, found));
}

Error pair_refused(const TorchProfile& torch, std::string_view ip, int port) {
  return runtime_error(
      Reason::io,
      torch.debian_texts
          ? fmt::format("{} connect [{}]:{}: Connection refused",
                        at(torch, "transport/tcp/pair.cc", 799, 0), ip, port)
          : fmt::format("Gloo connectFullMesh failed with {} timed out connecting: SO_ERROR: "
                        "Connection refused, remote=[{}]:{}$1",
                        at(torch, "transport/tcp/pair.cc", 0, 152), ip, port));
}

Error pair_timed_out(const TorchProfile& torch, std::string_view ip, int port) {
  return runtime_error(
      Reason::timeout,
      torch.debian_texts ? fmt::format("{} Connect timeout [{}]:{}",
                                       at(torch, "transport/tcp/pair.h", 324, 0), ip, port)
                         : fmt::format("Gloo connectFullMesh failed with {} Connect timeout [none]",
                                       at(torch, "transport/tcp/pair.h", 0, 311)));
}

Error barrier_timed_out(int rank, int world, std::int64_t count) {
  return runtime_error(
      Reason::timeout,
      fmt::format("Timed out initializing process group in store based barrier on rank: {}, for "
                  "key: store_based_barrier_key:1 (world_size={}, worker_count={})",
                  rank, world, count));
}

Error loss_error(const TorchProfile& torch, const Loss& loss, Duration timeout) {
  const std::string peer = fmt::format("[{}]:{}", loss.peer_ip, loss.peer_port);
  const auto read_error = [&](std::string_view why) {
    return fmt::format("{} Read error {}: {}{}", at(torch, "transport/tcp/pair.cc", 589, 545), peer,
                       why, torch.advises ? hang_advice : "");
  };
  switch (loss.kind) {
    case Loss::Kind::reset:
      return runtime_error(Reason::io, read_error("Connection reset by peer"));
    case Loss::Kind::tcp_gave_up:
      return runtime_error(Reason::io, read_error("Connection timed out"));
    case Loss::Kind::timed_out:
      return runtime_error(Reason::timeout,
                           fmt::format("{} Timed out waiting {}ms for {} operation to complete",
                                       at(torch, "transport/tcp/unbound_buffer.cc",
                                          loss.sending ? 133 : 81, loss.sending ? 129 : 78),
                                       milliseconds(timeout), loss.sending ? "send" : "recv"));
    case Loss::Kind::closed:
    case Loss::Kind::other_size:
    case Loss::Kind::other_shapes:
      break;
  }
  return runtime_error(Reason::io, fmt::format("{} Connection closed by peer {}{}",
                                               at(torch, "transport/tcp/pair.cc", 598, 561), peer,
                                               torch.advises ? crash_advice : ""));
}

std::vector<std::string> tensor_size(const TorchProfile& torch, const Loss& loss) {
  return {"terminate called after throwing an instance of 'gloo::EnforceNotMet'",
          fmt::format("  what():  {} op.preamble.length <= op.nbytes. {} vs {}{}",
                      enforce(torch, "transport/tcp/pair.cc", 510, 464), loss.sent, loss.room,
                      torch.advises ? ". Received data size doesn't match expected size. Is there "
                                      "a distributed collective mismatch in your code?"
                                    : "")};
}

Error other_shapes(int rank, std::string_view sizes) {
  return runtime_error(Reason::invalid,
                       fmt::format("[{}]: params[0] in this process with sizes {} appears not to "
                                   "match sizes of the same param in process 0.",
                                   rank, sizes));
}

}  // namespace ddptwin::model
