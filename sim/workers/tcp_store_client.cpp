#include <netdb.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <thread>

#include "error.hpp"
#include "socket_io.hpp"
#include "tcp_address.hpp"
#include "tcp_store.hpp"

namespace ddptwin::workers {
namespace {

constexpr auto retry_pause = std::chrono::seconds(1);

std::string place(const std::string& host, int port) {
  return "(" + host + ", " + std::to_string(port) + ")";
}

}  // namespace

TcpStoreClient::TcpStoreClient(const std::string& host, int port, Duration timeout)
    : timeout_(timeout) {
  using Clock = std::chrono::steady_clock;
  const Clock::time_point end = Clock::now() + timeout;
  for (;;) {
    const Connected result = connect_to(host, port, end - Clock::now());
    if (result.fd >= 0) {
      fd_ = result.fd;
      return;
    }
    if (result.gai_error != 0) {
      std::fprintf(stderr,
                   "[W socket.cpp:601] [c10d] The IPv6 network addresses of %s cannot be retrieved "
                   "(gai error: %d - %s).\n",
                   place(host, port).c_str(), result.gai_error, ::gai_strerror(result.gai_error));
    }
    // As c10d 1.13: it gives up when the next try would come too late, so after T less one second;
    // after T when nothing has answered.
    if (result.error == ETIMEDOUT ||
        (is_worth_retrying(result) && Clock::now() + retry_pause >= end)) {
      const auto seconds = std::chrono::duration_cast<std::chrono::seconds>(timeout).count();
      throw PythonError("TimeoutError",
                        "The client socket has timed out after " + std::to_string(seconds) +
                            "s while trying to connect to " + place(host, port) + ".");
    }
    if (!is_worth_retrying(result)) {
      throw PythonError("RuntimeError",
                        "The client socket has failed to connect to any network address of " +
                            place(host, port) + "." + result.detail);
    }
    std::this_thread::sleep_for(retry_pause);
  }
}

TcpStoreClient::~TcpStoreClient() { ::close(fd_); }

void TcpStoreClient::set_receive_timeout(Duration timeout) {
  const auto microseconds = std::chrono::duration_cast<std::chrono::microseconds>(timeout).count();
  timeval value{};
  value.tv_sec = microseconds / 1000000;
  value.tv_usec = microseconds % 1000000;
  ::setsockopt(fd_, SOL_SOCKET, SO_RCVTIMEO, &value, sizeof value);
}

void TcpStoreClient::set(const std::string& key, const std::string& value) {
  send_number(fd_, StoreRequest::set);
  send_text(fd_, key);
  send_text(fd_, value);
}

std::string TcpStoreClient::get(const std::string& key) {
  wait({key}, timeout_);
  send_number(fd_, StoreRequest::get);
  send_text(fd_, key);
  return receive_text(fd_);
}

std::int64_t TcpStoreClient::add(const std::string& key, std::int64_t number) {
  send_number(fd_, StoreRequest::add);
  send_text(fd_, key);
  send_number(fd_, number);
  return receive_number<std::int64_t>(fd_);
}

bool TcpStoreClient::check(const std::vector<std::string>& keys) {
  send_number(fd_, StoreRequest::check);
  send_number<std::uint64_t>(fd_, keys.size());
  for (const std::string& key : keys) send_text(fd_, key);
  return receive_number<std::uint8_t>(fd_) == 0;
}

void TcpStoreClient::wait(const std::vector<std::string>& keys, Duration timeout) {
  send_number(fd_, StoreRequest::wait);
  send_number<std::uint64_t>(fd_, keys.size());
  for (const std::string& key : keys) send_text(fd_, key);
  set_receive_timeout(timeout);
  receive_number<std::uint8_t>(fd_);
  set_receive_timeout(Duration::zero());
}

}  // namespace ddptwin::workers
