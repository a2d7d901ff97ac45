// `atlctl agent` in real runs (runtime/model/programs/atl_agent.hpp).
#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <optional>

#include "atlctl.hpp"

namespace ddptwin::atl {
namespace {

using Clock = std::chrono::steady_clock;

constexpr int killed_code = 128 + SIGTERM;
constexpr Duration order_patience = std::chrono::seconds(2);

int shown(int status) { return WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status); }

sigset_t taken_signals() {
  sigset_t set;
  sigemptyset(&set);
  for (const int number : {SIGCHLD, SIGTERM, SIGINT}) sigaddset(&set, number);
  return set;
}

// In a child. Does not return.
[[noreturn]] void execute(const std::vector<std::string>& command) {
  const sigset_t taken = taken_signals();
  ::sigprocmask(SIG_UNBLOCK, &taken, nullptr);
  std::vector<char*> words;
  for (const std::string& word : command) words.push_back(const_cast<char*>(word.c_str()));
  words.push_back(nullptr);
  ::execvp(words.front(), words.data());
  constexpr int not_found_code = 127, not_runnable_code = 126;
  const int code = errno == ENOENT ? not_found_code : not_runnable_code;
  fmt::print(stderr, "atlctl: {}: {}\n", command.front(), std::strerror(errno));
  std::fflush(stderr);
  ::_exit(code);
}

std::vector<std::string> words_in(const std::string& text) {
  std::vector<std::string> words;
  for (std::size_t from = 0; from < text.size();) {
    const std::size_t end = text.find('\0', from);
    if (end == text.npos) break;
    words.push_back(text.substr(from, end - from));
    from = end + 1;
  }
  return words;
}

class Agent {
 public:
  explicit Agent(AgentArguments arguments) : arguments_(std::move(arguments)) {}

  int run() {
    const sigset_t taken = taken_signals();
    ::sigprocmask(SIG_BLOCK, &taken, nullptr);
    const Socket signals(::signalfd(-1, &taken, SFD_CLOEXEC | SFD_NONBLOCK));
    const Socket orders(listen_on(agent_port));
    run_command();
    for (;;) {
      pollfd all[]{{signals.fd(), POLLIN, 0}, {orders.fd(), POLLIN, 0}, {running_.fd(), POLLIN, 0}};
      ::poll(all, std::size(all), time_left());
      take_signals(signals.fd());
      reap();
      if (ended_) return *ended_;
      if (kill_at_ && Clock::now() >= *kill_at_) {
        signal_command(SIGKILL);
        kill_at_.reset();
      }
      take_probes();
      take_orders(orders.fd());
    }
  }

 private:
  void run_command() {
    if (command_ != 0) return;
    const pid_t child = ::fork();
    if (child == 0) {
      ::setpgid(0, 0);
      execute(arguments_.command);
    }
    if (child < 0) {
      fmt::print(stderr, "atlctl: {}\n", std::strerror(errno));
      std::exit(1);
    }
    ::setpgid(child, child);
    command_ = child;
    code_.reset();
    running_ = Socket(listen_on(arguments_.ready_port));
  }

  void signal_command(int number) const {
    if (command_ != 0) ::kill(-command_, number);
  }

  int time_left() const {
    if (!kill_at_) return -1;
    const auto left =
        std::chrono::duration_cast<std::chrono::milliseconds>(*kill_at_ - Clock::now()).count();
    return left < 0 ? 0 : static_cast<int>(left) + 1;
  }

  void take_signals(int fd) {
    signalfd_siginfo one{};
    while (::read(fd, &one, sizeof one) == sizeof one) {
      const auto number = static_cast<int>(one.ssi_signo);
      if (number == SIGCHLD) continue;
      ends_ = true;
      if (command_ == 0) ended_ = killed_code;
      signal_command(number);
    }
  }

  void reap() {
    int status = 0;
    for (pid_t child = 0; (child = ::waitpid(-1, &status, WNOHANG)) > 0;) {
      if (child != command_) continue;
      command_ = 0;
      code_ = shown(status);
      kill_at_.reset();
      if (!stops_ || ends_) {
        ended_ = code_;
        return;
      }
      stops_ = false;
      running_ = Socket(-1);
      for (Socket& one : waiting_) answer(one);
      waiting_.clear();
    }
  }

  // Who asks whether the port is open is heard, and no more.
  void take_probes() {
    while (running_.fd() >= 0) {
      const Socket caller(::accept4(running_.fd(), nullptr, nullptr, SOCK_CLOEXEC));
      if (caller.fd() < 0) return;
    }
  }

  void take_orders(int listener) {
    for (;;) {
      Socket caller(::accept4(listener, nullptr, nullptr, SOCK_CLOEXEC));
      if (caller.fd() < 0) return;
      const auto words = words_in(read_all(caller.fd(), order_patience));
      std::vector<std::string> argv{"atlctl"};
      argv.insert(argv.end(), words.begin(), words.end());
      if (const auto order = parse_order(argv)) carry_out(*order, std::move(caller));
    }
  }

  void carry_out(const Order& order, Socket caller) {
    if (order.kind == Order::Kind::exec) return run_for(order.command, caller);
    if (order.kind == Order::Kind::stop_task) return stop_task(std::move(caller));
    if (order.kind == Order::Kind::run) run_command();
    if (order.kind != Order::Kind::stop || command_ == 0) return answer(caller);
    if (!stops_) {
      stops_ = true;
      kill_at_ = Clock::now() + arguments_.grace;
      signal_command(SIGTERM);
    }
    waiting_.push_back(std::move(caller));
  }

  void answer(const Socket& caller) const {
    send_all(caller.fd(), fmt::format("{}{}{}", end_of_output, command_ != 0 ? 1 : 0,
                                      code_ ? std::to_string(*code_) : ""));
  }

  // A child that waits for the command, so that the agent need not.
  void run_for(const std::vector<std::string>& command, const Socket& caller) {
    if (::fork() != 0) return;
    // What others wait for is the agent's to close.
    running_ = Socket(-1);
    waiting_.clear();
    int ends[2];
    if (::pipe2(ends, O_CLOEXEC) != 0) ::_exit(1);
    const pid_t child = ::fork();
    if (child == 0) {
      ::dup2(ends[1], STDOUT_FILENO);
      ::dup2(ends[1], STDERR_FILENO);
      execute(command);
    }
    ::close(ends[1]);
    const std::string output = read_all(ends[0], Duration::zero());
    int status = 0;
    ::waitpid(child, &status, 0);
    send_all(caller.fd(), fmt::format("{}{}1{}", output, end_of_output, shown(status)));
    ::_exit(0);
  }

  // The platform's answer to the termination message is the end of the pods. Who has asked is
  // answered first: its terminal ends with this worker.
  void stop_task(Socket caller) {
    answer(caller);
    { const Socket closed = std::move(caller); }
    constexpr auto time = std::chrono::duration_cast<std::chrono::milliseconds>(time_to_tell);
    ::poll(nullptr, 0, static_cast<int>(time.count()));
    std::ofstream("/dev/termination-log") << arguments_.stop_text;
    ended_ = killed_code;
    signal_command(SIGTERM);
    std::exit(killed_code);
  }

  AgentArguments arguments_;
  pid_t command_ = 0;
  std::optional<int> code_{};   // of the command, once it has been stopped
  std::optional<int> ended_{};  // the agent's own
  bool stops_ = false, ends_ = false;
  std::optional<Clock::time_point> kill_at_{};
  Socket running_{-1};
  std::vector<Socket> waiting_{};  // for the command's end
};

}  // namespace

int run_agent(AgentArguments arguments) { return Agent(std::move(arguments)).run(); }

}  // namespace ddptwin::atl
