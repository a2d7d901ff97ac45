// The supervisor's end of the worker zygote (workers/zygote_protocol.hpp): started when the first
// worker is asked for, in the cluster's user namespace, with the host's own tree as its root.
#pragma once

#include <string>

#include "runtime/process/supervisor/system.hpp"
#include "workers/zygote_protocol.hpp"

namespace ddptwin::sandbox {

class ZygoteLink {
 public:
  static Result<ZygoteLink> start(const std::string& worker);

  // Returns once it is warm, or has ended, or a bounded time is over.
  void wait_until_warm() const;
  int socket() const { return socket_.get(); }
  pid_t pid() const { return pid_; }
  bool send(const zygote::Spawn& spawn) const { return zygote::send(socket_.get(), spawn); }

 private:
  ZygoteLink(Fd socket, pid_t pid) : socket_(std::move(socket)), pid_(pid) {}
  Fd socket_;
  pid_t pid_;
};

}  // namespace ddptwin::sandbox
