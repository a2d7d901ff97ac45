// Connections of a node to its pods, as probes make them.
#include <arpa/inet.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include <boost/asio/io_context.hpp>
#include <boost/asio/posix/stream_descriptor.hpp>
#include <cerrno>
#include <memory>
#include <utility>

#include "runtime/process/port_exchange.hpp"
#include "runtime/process/process_runtime.hpp"
#include "runtime/process/runtime_state.hpp"

namespace ddptwin {

using boost::asio::posix::stream_descriptor;
using sandbox::Operation;
using sandbox::Outcome;
using sandbox::Reply;

void ProcessRuntime::try_connect(const std::string& address, std::uint16_t port, Duration patience,
                                 Done<int> done) {
  dial(address, port, patience,
       [this, done = std::move(done)](Result<int> outcome, stream_descriptor*) mutable {
         answer(loop_, lane_, std::move(done), std::move(outcome));
       });
}

void ProcessRuntime::ask(const PortRequest& request, Duration patience, Done<PortReply> done) {
  constexpr Duration tcp_gives_up = std::chrono::seconds(127);  // tcp_syn_retries = 6
  const bool patient = patience == Duration::zero();
  const Time end = loop_.now() + (patient ? tcp_gives_up : patience);
  dial(request.address, request.port, end - loop_.now(),
       [this, request, end, patient, done = std::move(done)](Result<int> outcome,
                                                             stream_descriptor* socket) mutable {
         if (!outcome)
           return answer(loop_, lane_, std::move(done), Result<PortReply>(fail(outcome.error())));
         PortReply reply{.dial = *outcome};
         if (*outcome != 0 || request.protocol == PortProtocol::https) {
           constexpr int ok = 200;
           if (*outcome == 0) reply.status = ok;
           return answer(loop_, lane_, std::move(done), Result<PortReply>(std::move(reply)));
         }
         exchange(socket->release(), request, patient ? std::optional<Time>() : end,
                  std::move(done));
       });
}

void ProcessRuntime::exchange(int fd, const PortRequest& request, std::optional<Time> end,
                              Done<PortReply> done) {
  const std::uint64_t id = ++dial_count_;
  Exchange& made = *exchanges_.emplace(id, std::make_unique<Exchange>()).first->second;
  made.done = std::move(done);
  if (end) made.limit = loop_.at(lane_, *end, [this, id] { replied(id, PortReply{.late = true}); });
  made.exchange = sandbox::begin_exchange(
      loop_.io(), fd, request, [this, id, context = loop_.context()](PortReply reply) {
        loop_.enter([this, id, context, reply = std::move(reply)]() mutable {
          loop_.set_context(context);
          replied(id, std::move(reply));
          loop_.set_context(0);
        });
      });
}

void ProcessRuntime::replied(std::uint64_t id, PortReply reply) {
  const auto over = exchanges_.extract(id);
  if (over.empty()) return;
  over.mapped()->exchange->cancel();
  answer(loop_, lane_, std::move(over.mapped()->done), Result<PortReply>(std::move(reply)));
}

void ProcessRuntime::dial(const std::string& address, std::uint16_t port, Duration patience,
                          Dialled done) {
  supervisor_->call(
      Operation::open_socket, sandbox::OpenSocket{"", 0, true, true}, {},
      [this, address, port, patience, done = std::move(done)](const Reply& reply) mutable {
        if (reply.outcome != Outcome::ok || reply.sockets.size() != 1)
          return done(fail(error_of(reply)), nullptr);
        const int fd = ::fcntl(reply.sockets.front(), F_DUPFD_CLOEXEC, 0);
        if (fd < 0) return done(errno, nullptr);
        dial_with(fd, address, port, patience, std::move(done));
      });
}

void ProcessRuntime::dial_with(int fd, const std::string& address, std::uint16_t port,
                               Duration patience, Dialled done) {
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
  over.mapped()->done(outcome, &over.mapped()->socket);
}

}  // namespace ddptwin
