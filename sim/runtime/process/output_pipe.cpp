#include "runtime/process/output_pipe.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <array>
#include <boost/asio/buffer.hpp>
#include <boost/asio/io_context.hpp>
#include <cerrno>
#include <cstring>
#include <utility>

namespace ddptwin::sandbox {

struct OutputPipe::Reader {
  Reader(RealLoop& real, OutputPipe& pipe, int fd, OnBytes on_bytes, OnEnd on_end)
      : loop(real),
        owner(&pipe),
        descriptor(real.io(), fd),
        bytes(std::move(on_bytes)),
        end(std::move(on_end)) {}

  static void read(const std::shared_ptr<Reader>& self) {
    self->descriptor.async_read_some(boost::asio::buffer(self->buffer),
                                     [self](boost::system::error_code error, std::size_t size) {
                                       if (self->owner == nullptr) return;
                                       self->loop.enter([&] {
                                         if (size > 0)
                                           self->bytes(std::string_view(self->buffer.data(), size));
                                         if (self->owner == nullptr) return;
                                         if (!error) return read(self);
                                         self->owner->ended_ = true;
                                         const OnEnd ended =
                                             std::move(self->end);  // it may end the pipe
                                         ended();
                                       });
                                     });
  }

  RealLoop& loop;
  OutputPipe* owner;  // null when the pipe has ended
  boost::asio::posix::stream_descriptor descriptor;
  OnBytes bytes;
  OnEnd end;
  std::array<char, 16 * 1024> buffer{};
};

Result<std::unique_ptr<OutputPipe>> OutputPipe::make(RealLoop& loop, OnBytes bytes, OnEnd end) {
  int ends[2] = {-1, -1};
  if (::pipe2(ends, O_CLOEXEC) != 0) {
    return fail(Reason::io, std::string("pipe: ") + std::strerror(errno));
  }
  ::fcntl(ends[0], F_SETFL, O_NONBLOCK);
  std::unique_ptr<OutputPipe> pipe(new OutputPipe);
  pipe->write_end_ = ends[1];
  pipe->reader_ = std::make_shared<Reader>(loop, *pipe, ends[0], std::move(bytes), std::move(end));
  Reader::read(pipe->reader_);
  return pipe;
}

OutputPipe::~OutputPipe() {
  close_write_end();
  reader_->owner = nullptr;
  boost::system::error_code ignored;
  reader_->descriptor.close(ignored);
}

void OutputPipe::close_write_end() {
  if (write_end_ >= 0) ::close(std::exchange(write_end_, -1));
}

}  // namespace ddptwin::sandbox
