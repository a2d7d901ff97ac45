#include "runtime/model/programs/atlctl.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "runtime/model/network.hpp"
#include "runtime/model/programs/atl_check.hpp"
#include "runtime/model/programs/atl_debug.hpp"
#include "runtime/model/programs/nvidia_smi.hpp"
#include "runtime/model/resolver.hpp"

namespace ddptwin::model {
namespace {

using atl::CheckArguments;
using atl::Finding;

// Behind ready_port: by whom its worker has been seen.
class ReadyPort final : public Service {
 public:
  std::set<int> seen_by{};
};

class AtlCheck final : public Program {
 public:
  explicit AtlCheck(CheckArguments arguments)
      : arguments_(std::move(arguments)), peers_(arguments_.peers.size()) {}

  void start(Process& process) override {
    process_ = &process;
    listen(atl::check_port, nullptr);
    if (!process.alive()) return;
    for (int rank = 0; rank < count(); ++rank)
      if (rank != arguments_.rank) look_for(rank);
    if (arguments_.asks("gpu")) check_gpus();
    if (arguments_.asks("storage")) write_files();
    look();
  }

 private:
  struct Peer {
    std::string address{};  // empty: its name has none yet
    bool asked = false;     // an answer is awaited
    bool reached = false, ready = false;
    std::string fault{};
  };

  int count() const { return static_cast<int>(peers_.size()); }
  Peer& peer(int rank) { return peers_[static_cast<std::size_t>(rank)]; }

  void listen(std::uint16_t port, Service* service) {
    const auto bound = process_->network().listen(process_->ip(), port, process_->id(), service);
    if (bound) return;
    process_->print_error(fmt::format("atl-check: port {} is in use", port));
    process_->exit(1);
  }

  // ---- the items -------------------------------------------------------------------------------

  void check_gpus() {
    const int there = granted_gpus(*process_);
    if (there != arguments_.gpus) failed_.push_back(atl::gpu_finding(there, arguments_.gpus));
  }

  void write_files() {
    for (const std::string& mount : arguments_.mounts) {
      const std::string file = arguments_.file_on(mount, arguments_.rank);
      const Status written = process_->write_file(file, arguments_.task);
      const Result<std::string> read = process_->read_file(file);
      if (!written)
        failed_.push_back(atl::storage_finding(mount, written.error().message));
      else if (!read || *read != arguments_.task)
        failed_.push_back(atl::storage_finding(mount, "what was written is not read"));
      else
        unseen_.insert(mount);
    }
  }

  // Worker 0's file, as it is seen here.
  void read_files() {
    std::erase_if(unseen_, [this](const std::string& mount) {
      const auto read = process_->read_file(arguments_.file_on(mount, 0));
      return read && *read == arguments_.task;
    });
  }

  // By name, and then by a connection: to the first port, and to the second once all is done here.
  void look_for(int rank) {
    Peer& one = peer(rank);
    if (one.asked) return;
    one.asked = true;
    process_->lookup(arguments_.peers[static_cast<std::size_t>(rank)],
                     [this, rank](const Resolved& answer) {
                       if (answer.error != 0 || answer.addresses.empty())
                         return answered(rank, std::string(gai_text(answer.error)));
                       peer(rank).address = answer.addresses.front();
                       call(rank);
                     });
  }

  void call(int rank) {
    const bool second = peer(rank).reached;
    process_->connect(peer(rank).address, second ? atl::ready_port : atl::check_port,
                      atl::connect_patience, [this, rank, second](Connect outcome) {
                        if (outcome != Connect::accepted)
                          return answered(rank, std::generic_category().message(errno_of(outcome)));
                        if (second) {
                          be_seen_by(rank);
                          peer(rank).ready = true;
                        } else {
                          peer(rank).reached = true;
                        }
                        answered(rank, {});
                      });
  }

  void be_seen_by(int rank) {
    const Network::Listener* there =
        process_->network().listener(peer(rank).address, atl::ready_port);
    if (there == nullptr) return;
    if (auto* port = dynamic_cast<ReadyPort*>(there->service))
      port->seen_by.insert(arguments_.rank);
  }

  void answered(int rank, std::string fault) {
    peer(rank).asked = false;
    peer(rank).fault = std::move(fault);
  }

  // ---- how it goes on --------------------------------------------------------------------------

  bool all_of(bool Peer::*what) const {
    for (int rank = 0; rank < count(); ++rank)
      if (rank != arguments_.rank && !(peers_[static_cast<std::size_t>(rank)].*what)) return false;
    return true;
  }

  // The time runs once the names of all are known: before, some wait for a node.
  bool is_late() {
    bool known = true;
    for (int rank = 0; rank < count(); ++rank)
      known = known && (rank == arguments_.rank || !peer(rank).address.empty());
    if (known && !since_) since_ = process_->now();
    return since_ && process_->now() >= *since_ + arguments_.timeout;
  }

  void look() {
    if (!is_ready_) {
      if (atl::is_blocked(arguments_, failed_)) return leave(1);
      read_files();
      const bool late = is_late();
      if (late || (all_of(&Peer::reached) && unseen_.empty())) finish_items();
      if (!process_->alive()) return;
      if (atl::is_blocked(arguments_, failed_)) return leave(1);
    }
    if (is_ready_) {
      const bool met =
          all_of(&Peer::ready) && static_cast<int>(port_.seen_by.size()) >= count() - 1;
      const bool waits_no_more =
          arguments_.lets_pass() && is_late() &&
          process_->now() >= *since_ + arguments_.timeout + atl::barrier_patience;
      if (met || waits_no_more) return leave(0);
    }
    for (int rank = 0; rank < count(); ++rank)
      if (rank != arguments_.rank && !(is_ready_ ? peer(rank).ready : peer(rank).reached))
        look_for(rank);
    process_->after(atl::look_again, [this] { look(); });
  }

  // What is open by now has failed.
  void finish_items() {
    for (int rank = 0; rank < count() && arguments_.asks("network"); ++rank)
      if (rank != arguments_.rank && !peer(rank).reached)
        failed_.push_back(atl::peer_finding(rank, peer(rank).fault));
    for (const std::string& mount : unseen_)
      failed_.push_back(atl::storage_finding(mount, "the file of worker 0 is not there"));
    if (atl::is_blocked(arguments_, failed_)) return;
    // Of those who were not reached the barrier is asked for all the same.
    for (Peer& one : peers_) one.reached = true;
    is_ready_ = true;
    listen(atl::ready_port, &port_);
  }

  void leave(int code) {
    for (const Finding& one : failed_) process_->print(atl::told_as_line(one));
    if (code == 0) process_->print("atl-check: all workers start");
    process_->write_file("/dev/termination-log", atl::told_as_json(arguments_, failed_));
    process_->exit(code);
  }

  CheckArguments arguments_;
  Process* process_ = nullptr;
  std::vector<Peer> peers_;
  std::vector<Finding> failed_{};
  std::set<std::string> unseen_{};  // mounts where worker 0's file is not there yet
  std::optional<Time> since_{};
  bool is_ready_ = false;
  ReadyPort port_{};
};

}  // namespace

std::unique_ptr<Program> make_atlctl(const std::vector<std::string>& argv) {
  const std::string_view word = argv.size() > 1 ? argv[1] : std::string_view();
  if (word == "agent") return make_atl_agent(argv);
  if (word != "check") return make_atl_client(argv);
  auto arguments = atl::parse_check(argv);
  if (!arguments) return make_refusal(arguments.error().message);
  return std::make_unique<AtlCheck>(std::move(*arguments));
}

}  // namespace ddptwin::model
