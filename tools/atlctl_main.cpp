// atlctl in the pods of AIStudio's workers, in real runs: `atlctl check ...` looks at the network
// by connections, at the devices that the pod was given, and at storage by files (spec/aistudio.md
// §4). What it says and how all start together: runtime/model/programs/atl_check.hpp, which its
// model shares. `atlctl agent` and what is asked of it: atlctl_agent.cpp, atlctl_client.cpp.
#include <arpa/inet.h>
#include <fmt/format.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <iterator>
#include <set>
#include <string>
#include <vector>

#include "atlctl.hpp"
#include "runtime/model/programs/atl_check.hpp"
#include "runtime/visible_devices.hpp"

namespace ddptwin::atl {
namespace {

using Clock = std::chrono::steady_clock;

// One connection, over which the rank is told. Empty: it was made; else why not.
std::string call(const in_addr& ip, std::uint16_t port, int rank) {
  const Connection made = connect_to(ip, port, connect_patience);
  if (!made.fault.empty()) return made.fault;
  const std::string told = fmt::format("{}\n", rank);
  if (::send(made.socket.fd(), told.data(), told.size(), MSG_NOSIGNAL) < 0)
    return std::strerror(errno);
  return {};
}

std::string text_of(const std::string& path) {
  std::ifstream in(path);
  return std::string(std::istreambuf_iterator<char>(in), {});
}

// As the platform gave them to the pod.
int devices_given() {
  const char* told = std::getenv(visible_devices_variable.data());
  return static_cast<int>(visible_devices(told == nullptr ? "" : told).size());
}

void pause() {
  constexpr auto time = std::chrono::duration_cast<std::chrono::milliseconds>(look_again);
  ::poll(nullptr, 0, static_cast<int>(time.count()));
}

class Check {
 public:
  explicit Check(CheckArguments arguments)
      : arguments_(std::move(arguments)), peers_(arguments_.peers.size()) {}

  int run() {
    const Socket first(listen_on(check_port));
    if (arguments_.asks("gpu")) check_gpus();
    if (arguments_.asks("storage")) write_files();
    for (; !is_blocked(arguments_, failed_); pause()) {
      look_for_all(false);
      read_files();
      if (is_late() || (all_reached() && unseen_.empty())) break;
    }
    finish_items();
    if (is_blocked(arguments_, failed_)) return leave(1);
    const Socket second(listen_on(ready_port));
    for (;; pause()) {
      look_for_all(true);
      take_calls(second.fd());
      if (all_ready() && static_cast<int>(seen_by_.size()) >= count() - 1) break;
      if (arguments_.lets_pass() && is_late() &&
          Clock::now() >= *since_ + arguments_.timeout + barrier_patience)
        break;
    }
    return leave(0);
  }

 private:
  struct Peer {
    bool known = false, reached = false, ready = false;
    std::string fault{};
  };

  int count() const { return static_cast<int>(peers_.size()); }
  Peer& peer(int rank) { return peers_[static_cast<std::size_t>(rank)]; }
  bool is_own(int rank) const { return rank == arguments_.rank; }

  void check_gpus() {
    const int there = devices_given();
    if (there != arguments_.gpus) failed_.push_back(gpu_finding(there, arguments_.gpus));
  }

  void write_files() {
    for (const std::string& mount : arguments_.mounts) {
      const std::string file = arguments_.file_on(mount, arguments_.rank);
      std::ofstream out(file);
      out << arguments_.task;
      out.close();
      if (!out)
        failed_.push_back(storage_finding(mount, std::strerror(errno)));
      else if (text_of(file) != arguments_.task)
        failed_.push_back(storage_finding(mount, "what was written is not read"));
      else
        unseen_.insert(mount);
    }
  }

  void read_files() {
    std::erase_if(unseen_, [this](const std::string& mount) {
      return text_of(arguments_.file_on(mount, 0)) == arguments_.task;
    });
  }

  void look_for_all(bool second) {
    for (int rank = 0; rank < count(); ++rank)
      if (!is_own(rank) && !(second ? peer(rank).ready : peer(rank).reached))
        look_for(rank, second);
  }

  void look_for(int rank, bool second) {
    Peer& one = peer(rank);
    const Address address = look_up(arguments_.peers[static_cast<std::size_t>(rank)]);
    one.fault = address.fault;
    if (!address.fault.empty()) return;
    one.known = true;
    one.fault = call(address.ip, second ? ready_port : check_port, arguments_.rank);
    if (one.fault.empty()) (second ? one.ready : one.reached) = true;
  }

  void take_calls(int listener) {
    for (;;) {
      const Socket caller(::accept4(listener, nullptr, nullptr, SOCK_CLOEXEC));
      if (caller.fd() < 0) return;
      timeval patience{1, 0};
      ::setsockopt(caller.fd(), SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience);
      char text[16] = {};
      if (::recv(caller.fd(), text, sizeof text - 1, 0) > 0)
        seen_by_.insert(static_cast<int>(std::strtol(text, nullptr, 10)));
    }
  }

  bool all_of(bool Peer::*what) {
    for (int rank = 0; rank < count(); ++rank)
      if (!is_own(rank) && !(peer(rank).*what)) return false;
    return true;
  }
  bool all_reached() { return all_of(&Peer::reached); }
  bool all_ready() { return all_of(&Peer::ready); }

  // The time runs once the names of all are known: before, some wait for a node.
  bool is_late() {
    if (all_of(&Peer::known) && !since_) since_ = Clock::now();
    return since_ && Clock::now() >= *since_ + arguments_.timeout;
  }

  void finish_items() {
    for (int rank = 0; rank < count() && arguments_.asks("network") && since_; ++rank)
      if (!is_own(rank) && !peer(rank).reached)
        failed_.push_back(peer_finding(rank, peer(rank).fault));
    if (is_blocked(arguments_, failed_)) return;
    for (const std::string& mount : unseen_)
      failed_.push_back(storage_finding(mount, "the file of worker 0 is not there"));
  }

  int leave(int code) {
    for (const Finding& one : failed_) fmt::print("{}\n", told_as_line(one));
    if (code == 0) fmt::print("atl-check: all workers start\n");
    std::fflush(stdout);
    std::ofstream("/dev/termination-log") << told_as_json(arguments_, failed_);
    return code;
  }

  CheckArguments arguments_;
  std::vector<Peer> peers_;
  std::vector<Finding> failed_{};
  std::set<std::string> unseen_{};  // mounts where worker 0's file is not there yet
  std::set<int> seen_by_{};
  std::optional<Clock::time_point> since_{};
};

}  // namespace
}  // namespace ddptwin::atl

int main(int argc, char** argv) {
  const std::vector<std::string> words(argv, argv + argc);
  const std::string word = words.size() > 1 ? words[1] : "";
  const auto refuse = [](const ddptwin::Error& error) {
    fmt::print(stderr, "{}\n", error.message);
    return 2;
  };
  if (word == "agent") {
    auto arguments = ddptwin::atl::parse_agent(words);
    return arguments ? ddptwin::atl::run_agent(std::move(*arguments)) : refuse(arguments.error());
  }
  if (word != "check") {
    const auto order = ddptwin::atl::parse_order(words);
    return order ? ddptwin::atl::run_client(*order) : refuse(order.error());
  }
  // Process 1 of a container has no default actions.
  for (const int number : {SIGTERM, SIGINT}) std::signal(number, [](int) { std::_Exit(143); });
  const auto arguments = ddptwin::atl::parse_check(words);
  if (!arguments) return refuse(arguments.error());
  return ddptwin::atl::Check(*arguments).run();
}
