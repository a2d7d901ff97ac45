// What the parts of the program atlctl share: sockets, and what its words run.
#pragma once

#include <netinet/in.h>

#include <cstdint>
#include <string>
#include <utility>

#include "core/time.hpp"
#include "runtime/model/programs/atl_agent.hpp"

namespace ddptwin::atl {

// A file descriptor of one owner; -1: none.
class Socket {
 public:
  explicit Socket(int fd) : fd_(fd) {}
  ~Socket();
  Socket(Socket&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}
  Socket& operator=(Socket&& other) noexcept {
    std::swap(fd_, other.fd_);
    return *this;
  }
  int fd() const { return fd_; }

 private:
  int fd_;
};

// Ends the program where the port cannot be had.
int listen_on(std::uint16_t port);

struct Address {
  in_addr ip{};
  std::string fault{};  // empty: it is known
};
Address look_up(const std::string& name);

struct Connection {
  Socket socket{-1};
  std::string fault{};  // empty: it was made
};
Connection connect_to(const in_addr& ip, std::uint16_t port, Duration patience);

// All that comes until the other end closes, or until nothing comes for that long (zero: for ever).
std::string read_all(int fd, Duration patience);
// False: nobody reads it.
bool send_all(int fd, const std::string& text);

// An order as it is sent: its words with a zero behind each. An answer: what the command has
// printed, this character, and then "1" or "0" for whether the entry command runs and the code that
// is told, if there is one.
inline constexpr char end_of_output = '\x04';

// These are the exit code of the program.
int run_agent(AgentArguments arguments);
int run_client(const Order& order);

}  // namespace ddptwin::atl
