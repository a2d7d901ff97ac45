#include "runtime/process/supervisor_client.hpp"

#include <fcntl.h>
#include <poll.h>
#include <spawn.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <boost/asio/io_context.hpp>
#include <boost/asio/post.hpp>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <sstream>
#include <utility>

namespace ddptwin::sandbox {
namespace {

tl::unexpected<Error> system_failure(const std::string& step) {
  return fail(Reason::io, step + ": " + std::strerror(errno));
}

struct SpawnActions {
  SpawnActions() { ::posix_spawn_file_actions_init(&actions); }
  ~SpawnActions() { ::posix_spawn_file_actions_destroy(&actions); }
  posix_spawn_file_actions_t actions;
};

// The child has the socket as 3, an empty standard input and output, and our standard error.
Result<pid_t> spawn(const std::string& program, int socket) {
  constexpr int passed = 3;
  SpawnActions spawn_actions;
  auto* actions = &spawn_actions.actions;
  ::posix_spawn_file_actions_adddup2(actions, socket, passed);
  ::posix_spawn_file_actions_addopen(actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
  ::posix_spawn_file_actions_addopen(actions, STDOUT_FILENO, "/dev/null", O_WRONLY, 0);
  const std::string fd = std::to_string(passed);
  const std::string parent = std::to_string(::getpid());
  const char* argv[] = {program.c_str(), fd.c_str(), parent.c_str(), nullptr};
  const char* env[] = {nullptr};
  pid_t pid = 0;
  const int error = ::posix_spawn(&pid, program.c_str(), actions, nullptr, const_cast<char**>(argv),
                                  const_cast<char**>(env));
  if (error == 0) return pid;
  errno = error;
  return system_failure("start " + program);
}

Reply refusal(std::uint64_t id, std::string why) {
  Reply reply;
  reply.id = id;
  reply.outcome = Outcome::refused;
  reply.message = std::move(why);
  return reply;
}

void close_all(const std::vector<int>& fds) {
  for (const int fd : fds) ::close(fd);
}

Result<std::vector<int>> copies_of(const std::vector<int>& fds) {
  std::vector<int> copies;
  for (const int fd : fds) {
    copies.push_back(::fcntl(fd, F_DUPFD_CLOEXEC, 0));
    if (copies.back() >= 0) continue;
    const auto error = system_failure("copy a descriptor");
    copies.pop_back();
    close_all(copies);
    return error;
  }
  return copies;
}

// Errors of sending after which nothing can be sent any more.
bool is_end_of_link(int error) {
  return error == EPIPE || error == ECONNRESET || error == ENOTCONN || error == EBADF;
}

// Of a start that failed; ProcessRuntime words the refusals of what pods ask.
Error start_error_of(const Reply& reply) {
  const Reason reason =
      reply.outcome == Outcome::unsupported ? Reason::unsupported_machine : Reason::io;
  return Error{reason, "", reply.message, nullptr, 0};
}

}  // namespace

Result<std::unique_ptr<SupervisorClient>> SupervisorClient::start(RealLoop& loop,
                                                                  const std::string& program,
                                                                  const Configure& configure) {
  int ends[2];
  if (::socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) != 0) {
    return system_failure("socketpair");
  }
  const Result<pid_t> guard = spawn(program, ends[1]);
  ::close(ends[1]);
  if (!guard) {
    ::close(ends[0]);
    return fail(guard.error());
  }
  ::fcntl(ends[0], F_SETFL, O_NONBLOCK);
  std::unique_ptr<SupervisorClient> client(new SupervisorClient(loop, ends[0], *guard));
  TRY(const Reply configured, client->call_and_wait(Operation::configure, encode(configure)));
  std::istringstream notes(configured.message);
  for (std::string note; std::getline(notes, note);) client->host_notes_.push_back(note);
  client->wait_to_read();
  return client;
}

SupervisorClient::SupervisorClient(RealLoop& loop, int socket, pid_t guard)
    : loop_(loop), socket_(loop.io(), socket), guard_(guard) {}

SupervisorClient::~SupervisorClient() {
  for (const Outgoing& out : outgoing_) close_all(out.fds);
  if (socket_.is_open()) socket_.close();
  // The supervisor sees the end of the socket and the guard waits for the supervisor, which waits
  // for all that lives in its PID namespace. Should that ever hang, killing the guard ends it.
  const int guard = static_cast<int>(::syscall(SYS_pidfd_open, guard_, 0));
  constexpr int patience_ms = 5000;
  pollfd ended{guard, POLLIN, 0};
  ::poll(&ended, 1, patience_ms);
  ::close(guard);
  ::kill(guard_, SIGKILL);
  while (::waitpid(guard_, nullptr, 0) < 0 && errno == EINTR) {
  }
}

std::uint64_t SupervisorClient::send(Operation operation, std::string body,
                                     const std::vector<int>& fds, Answer answer) {
  const std::uint64_t id = ++last_id_;
  waiting_.emplace(id, Waiting{std::move(answer), loop_.context()});
  if (!alive()) {
    refuse(id, std::string(died));
    return id;
  }
  Result<std::vector<int>> copies = copies_of(fds);
  if (!copies) {
    refuse(id, copies.error().text());
    return id;
  }
  outgoing_.push_back({id, encode(Request{id, operation, std::move(body)}), std::move(*copies)});
  if (!writing_) flush();
  return id;
}

void SupervisorClient::flush() {
  while (!outgoing_.empty()) {
    const Outgoing& out = outgoing_.front();
    if (!send_message(socket_.native_handle(), out.body, out.fds)) {
      if (errno == EAGAIN || errno == EWOULDBLOCK) return wait_to_write();
      if (is_end_of_link(errno)) return post(&SupervisorClient::lost);
      // Only this request cannot be sent: too many open files, no memory, too long.
      refuse(out.id, system_failure("send a request").value().text());
    }
    close_all(out.fds);
    outgoing_.pop_front();
  }
}

void SupervisorClient::post(void (SupervisorClient::*step)()) {
  boost::asio::post(loop_.io(), [this, step, here = std::weak_ptr<int>(here_)] {
    if (here.expired()) return;
    loop_.enter([this, step] { (this->*step)(); });
  });
}

void SupervisorClient::refuse(std::uint64_t id, std::string why) {
  refusals_.push_back(refusal(id, std::move(why)));
  post(&SupervisorClient::tell_refusals);
}

void SupervisorClient::tell_refusals() {
  for (const Reply& reply : std::exchange(refusals_, {})) dispatch(reply);
}

void SupervisorClient::wait_to_write() {
  writing_ = true;
  socket_.async_wait(boost::asio::posix::stream_descriptor::wait_write,
                     [this](boost::system::error_code error) {
                       if (error) return;
                       writing_ = false;
                       flush();
                     });
}

void SupervisorClient::wait_to_read() {
  socket_.async_wait(boost::asio::posix::stream_descriptor::wait_read,
                     [this](boost::system::error_code error) {
                       if (error) return;
                       loop_.enter([this] { read_ready(); });
                     });
}

void SupervisorClient::read_ready() {
  // Bounded, so that a flood of events leaves the loop time for all else.
  constexpr int messages_max = 64;
  for (int i = 0; i < messages_max; ++i) {
    std::optional<Message> message = receive_message(socket_.native_handle());
    if (!message && (errno == EAGAIN || errno == EWOULDBLOCK)) break;
    if (!message || message->end) return lost();
    std::optional<Reply> reply = decode<Reply>(message->body);
    if (reply) {
      reply->sockets = message->fds;
      dispatch(*reply);
    }
    close_all(message->fds);
    if (!reply) return lost();
  }
  wait_to_read();
}

void SupervisorClient::dispatch(const Reply& reply) {
  const std::uint64_t outer = loop_.context();
  if (reply.id == 0) {
    loop_.set_context(0);
    if (events_) events_(reply);
  } else if (const auto found = waiting_.find(reply.id); found != waiting_.end()) {
    Waiting waiting = std::move(found->second);
    waiting_.erase(found);
    loop_.set_context(waiting.context);
    waiting.answer(reply);
  }
  loop_.set_context(outer);
}

void SupervisorClient::lost() {
  if (!alive()) return;
  socket_.close();
  Reply gone;  // first, so that what follows is understood
  gone.kind = Reply::Kind::supervisor_died;
  dispatch(gone);
  while (!waiting_.empty()) dispatch(refusal(waiting_.begin()->first, std::string(died)));
}

Result<Reply> SupervisorClient::call_and_wait(Operation operation, const std::string& body) {
  std::optional<Reply> answer;
  const std::uint64_t id = send(operation, body, {}, [&](const Reply& reply) { answer = reply; });
  Result<Reply> reply = wait_for(id, answer);
  waiting_.erase(id);  // where no answer came, none may find `answer` gone
  return reply;
}

Result<Reply> SupervisorClient::wait_for(std::uint64_t id, const std::optional<Reply>& answer) {
  for (;;) {
    tell_refusals();
    if (answer) return fail(start_error_of(*answer));
    const short events = outgoing_.empty() ? POLLIN : POLLIN | POLLOUT;
    pollfd ready{socket_.native_handle(), events, 0};
    ::poll(&ready, 1, -1);
    if (!outgoing_.empty() && !writing_) flush();
    std::optional<Message> message = receive_message(socket_.native_handle());
    if (!message && (errno == EAGAIN || errno == EWOULDBLOCK)) continue;
    if (!message || message->end) return fail(Reason::io, std::string(died));
    std::optional<Reply> reply = decode<Reply>(message->body);
    if (!reply) return fail(Reason::io, "the sandbox supervisor speaks another language");
    // A failure to start has no request to answer.
    if (reply->id == 0 && reply->outcome != Outcome::ok) return fail(start_error_of(*reply));
    dispatch(*reply);
    if (!answer) continue;
    if (reply->id == id && reply->outcome == Outcome::ok) {
      reply->sockets = std::move(message->fds);
      return std::move(*reply);
    }
    return fail(start_error_of(*answer));
  }
}

}  // namespace ddptwin::sandbox
