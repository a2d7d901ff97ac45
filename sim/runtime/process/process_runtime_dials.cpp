// Connection attempts of a node to its pods, as a TCP probe makes them.
#include <arpa/inet.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include <boost/asio/io_context.hpp>
#include <boost/asio/posix/stream_descriptor.hpp>
#include <cerrno>
#include <memory>
#include <utility>

#include "runtime/process/process_runtime.hpp"
#include "runtime/process/runtime_state.hpp"

namespace ddptwin {

using boost::asio::posix::stream_descriptor;
using sandbox::Operation;
using sandbox::Outcome;
using sandbox::Reply;

void ProcessRuntime::try_connect(const std::string& address, std::uint16_t port, Duration patience,
                                 Done<int> done) {
  supervisor_->call(
      Operation::open_socket, sandbox::OpenSocket{"", 0, true, true}, {},
      [this, address, port, patience, done = std::move(done)](const Reply& reply) mutable {
        if (reply.outcome != Outcome::ok || reply.sockets.size() != 1)
          return answer(loop_, lane_, std::move(done), Result<int>(fail(error_of(reply))));
        const int fd = ::fcntl(reply.sockets.front(), F_DUPFD_CLOEXEC, 0);
        if (fd < 0) return answer(loop_, lane_, std::move(done), Result<int>(errno));
        dial(fd, address, port, patience, std::move(done));
      });
}

void ProcessRuntime::dial(int fd, const std::string& address, std::uint16_t port, Duration patience,
                          Done<int> done) {
  const std::uint64_t id = ++dial_count_;
  const auto made =
      dials_.emplace(id, std::make_unique<Dial>(Dial{stream_descriptor(loop_.io(), fd)}));
  Dial& dial = *made.first->second;
  dial.done = std::move(done);
  sockaddr_in to{};
  to.sin_family = AF_INET;
  to.sin_port = htons(port);
  if (::inet_pton(AF_INET, address.c_str(), &to.sin_addr) != 1) return dialled(id, EHOSTUNREACH);
  if (::connect(fd, reinterpret_cast<const sockaddr*>(&to), sizeof to) == 0) return dialled(id, 0);
  if (errno != EINPROGRESS) return dialled(id, errno);
  dial.limit = loop_.after(lane_, patience, [this, id] { dialled(id, ETIMEDOUT); });
  dial.socket.async_wait(stream_descriptor::wait_write, [this, id, context = loop_.context()](
                                                            boost::system::error_code error) {
    if (error) return;
    loop_.enter([this, id, context] {
      const auto found = dials_.find(id);
      if (found == dials_.end()) return;
      int outcome = 0;
      socklen_t size = sizeof outcome;
      ::getsockopt(found->second->socket.native_handle(), SOL_SOCKET, SO_ERROR, &outcome, &size);
      loop_.set_context(context);
      dialled(id, outcome);
      loop_.set_context(0);
    });
  });
}

void ProcessRuntime::dialled(std::uint64_t id, int outcome) {
  auto over = dials_.extract(id);
  answer(loop_, lane_, std::move(over.mapped()->done), Result<int>(outcome));
}

}  // namespace ddptwin
