// ddptwin's end of the sandbox supervisor (README.md): starts it, sends requests, hands out
// answers.
#pragma once

#include <boost/asio/posix/stream_descriptor.hpp>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "core/real_loop.hpp"
#include "core/result.hpp"
#include "runtime/process/protocol.hpp"
#include "runtime/process/wire.hpp"

namespace ddptwin::sandbox {

class SupervisorClient {
 public:
  using Answer = UniqueFunction<void(const Reply&)>;
  using Listener = std::function<void(const Reply&)>;
  static constexpr std::string_view died = "the sandbox supervisor has died";

  // Starts `program` (ddptwin-sandbox) and configures it. Call it on a thread that lives as long as
  // the process: the sandboxes end with that thread. Reason::unsupported_machine where the kernel
  // refuses.
  static Result<std::unique_ptr<SupervisorClient>> start(RealLoop& loop, const std::string& program,
                                                         const Configure& configure);
  // Ends everything and waits until it is gone.
  ~SupervisorClient();
  SupervisorClient(const SupervisorClient&) = delete;
  SupervisorClient& operator=(const SupervisorClient&) = delete;

  // The descriptors are sent as copies and stay the caller's. The answer comes inside
  // RealLoop::enter, with the causal context of this call, never inside it. A supervisor that has
  // died answers everything with `refused`.
  template <class T>
  void call(Operation operation, const T& body, const std::vector<int>& fds, Answer answer) {
    send(operation, encode(body), fds, std::move(answer));
  }
  // The same, waited for. For start-up: the loop stands still meanwhile.
  // The sockets of the answer are the caller's.
  Result<Reply> call_and_wait(Operation operation, const std::string& body);

  void listen(Listener events) { events_ = std::move(events); }
  bool alive() const { return socket_.is_open(); }
  // What pods see of this host otherwise than its own tree, in sentences.
  const std::vector<std::string>& host_notes() const { return host_notes_; }
  pid_t guard() const { return guard_; }

 private:
  SupervisorClient(RealLoop& loop, int socket, pid_t guard);
  std::uint64_t send(Operation operation, std::string body, const std::vector<int>& fds,
                     Answer answer);
  Result<Reply> wait_for(std::uint64_t id, const std::optional<Reply>& answer);
  void flush();
  void wait_to_write();
  void wait_to_read();
  void read_ready();
  void dispatch(const Reply& reply);
  void lost();

  // Later, unless this has ended by then.
  void post(void (SupervisorClient::*step)());
  // Answers a request that was not sent.
  void refuse(std::uint64_t id, std::string why);
  void tell_refusals();

  struct Outgoing {
    std::uint64_t id;
    std::string body;
    std::vector<int> fds;  // our own copies
  };
  RealLoop& loop_;
  boost::asio::posix::stream_descriptor socket_;
  pid_t guard_;
  std::uint64_t last_id_ = 0;
  struct Waiting {
    Answer answer;
    std::uint64_t context;  // of the caller (Loop::context): its record is the answer's cause
  };
  std::map<std::uint64_t, Waiting> waiting_;
  std::deque<Outgoing> outgoing_;
  std::vector<std::string> host_notes_;
  std::vector<Reply> refusals_;
  bool writing_ = false;
  std::shared_ptr<int> here_ = std::make_shared<int>(0);
  Listener events_;
};

}  // namespace ddptwin::sandbox
