// Connecting to a name and a port, with the words c10d uses for what goes wrong.
#pragma once

#include <string>

#include "options.hpp"

namespace ddptwin::workers {

struct Connected {
  int fd = -1;        // connected, close-on-exec, no delay; -1: none
  int error = 0;      // errno of the last address tried
  int gai_error = 0;  // of getaddrinfo, when the name has no address
  std::string
      detail;  // "The client socket has failed to connect to [10.0.0.2]:29500 (errno: ...)."
};

// Waits at most `timeout` for an answer, which a dropped SYN never brings; the error is then
// ETIMEDOUT.
Connected connect_to(const std::string& host, int port, Duration timeout);

// Refused, reset, or a name without address: c10d tries again (spec/ddp-semantics.md §3.3).
bool is_worth_retrying(const Connected& result);

}  // namespace ddptwin::workers
