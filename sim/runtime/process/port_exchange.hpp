// One request over a connection that stands, of HTTP/1.1 or of gRPC's health protocol, as the
// kubelet's probes make it (spec/kubernetes.md §2.7).
#pragma once

#include <boost/asio/io_context.hpp>
#include <functional>
#include <memory>

#include "runtime/port_request.hpp"

namespace ddptwin::sandbox {

class PortExchange {
 public:
  virtual ~PortExchange() = default;
  // Closes the connection; `done` is not called any more.
  virtual void cancel() = 0;
};

// Takes the socket. `done` is called at most once, from a handler of `io` and never inside this
// call.
std::shared_ptr<PortExchange> begin_exchange(boost::asio::io_context& io, int fd,
                                             const PortRequest& request,
                                             std::function<void(PortReply)> done);

}  // namespace ddptwin::sandbox
