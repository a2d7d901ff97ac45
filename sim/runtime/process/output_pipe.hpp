// What a container or a command prints, read as it comes.
#pragma once

#include <boost/asio/posix/stream_descriptor.hpp>
#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include "core/real_loop.hpp"
#include "core/result.hpp"

namespace ddptwin::sandbox {

// The reading end of a pipe. Its end closes it; callbacks come inside RealLoop::enter and not after
// that.
class OutputPipe {
 public:
  using OnBytes = std::function<void(std::string_view)>;
  using OnEnd = std::function<void()>;

  // Makes the pipe; the writing end is to be handed on and closed.
  static Result<std::unique_ptr<OutputPipe>> make(RealLoop& loop, OnBytes bytes, OnEnd end);
  ~OutputPipe();
  OutputPipe(const OutputPipe&) = delete;
  OutputPipe& operator=(const OutputPipe&) = delete;

  int write_end() const { return write_end_; }
  void close_write_end();
  bool ended() const { return ended_; }

 private:
  OutputPipe() = default;
  struct Reader;
  std::shared_ptr<Reader> reader_;  // shared with the pending read, which may outlive the pipe
  int write_end_ = -1;
  bool ended_ = false;
};

}  // namespace ddptwin::sandbox
