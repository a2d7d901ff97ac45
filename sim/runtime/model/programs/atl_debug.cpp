#include "runtime/model/programs/atl_debug.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <csignal>
#include <map>

#include "runtime/model/kernel.hpp"
#include "runtime/model/network.hpp"
#include "runtime/model/programs/atl_agent.hpp"
#include "runtime/model/programs/atl_check.hpp"
#include "runtime/model/resolver.hpp"
#include "runtime/model/state.hpp"

namespace ddptwin::model {
namespace {

using atl::AgentArguments;
using atl::Answer;
using atl::Order;

constexpr int killed_code = 128 + SIGTERM;

// Behind agent_port: what others may ask of the agent. Its end takes the port with it.
class Agent final : public Program, public Service {
 public:
  explicit Agent(AgentArguments arguments) : arguments_(std::move(arguments)) {}

  void start(Process& process) override {
    process_ = &process;
    if (!process.network().listen(process.ip(), atl::agent_port, process.id(), this)) {
      process.print_error(fmt::format("atlctl: port {} is in use", atl::agent_port));
      return process.exit(1);
    }
    run_command();
  }

  // What it is told it tells the command, and ends with it.
  bool signal(Process& process, int number) override {
    if (number != SIGTERM && number != SIGINT) return false;
    ends_ = true;
    if (is_running())
      signal_command(number);
    else
      process.exit(killed_code);
    return true;
  }

  void child_exited(Process& process, ProcessId child, const ExitStatus& status) override {
    if (child != command_) {
      if (const auto at = executed_.find(child); at != executed_.end()) at->second = status.shown();
      return;
    }
    command_ = 0;
    code_ = status.shown();
    if (!stops_ || ends_) return process.exit(status.shown());
    stops_ = false;
    process.network().unlisten(process.ip(), arguments_.ready_port);
  }

  // ---- what is asked ---------------------------------------------------------------------------

  bool is_running() const { return command_ != 0; }
  std::optional<int> code() const { return code_; }

  void stop_command() {
    if (!is_running() || stops_) return;
    stops_ = true;
    signal_command(SIGTERM);
    process_->after(arguments_.grace, [this, command = command_] {
      if (command_ == command) signal_command(SIGKILL);
    });
  }

  bool run_command() {
    if (is_running()) return false;
    const auto child = spawn(arguments_.command, {}, true);
    if (!child) {
      constexpr int not_found_code = 127;
      process_->print_error(fmt::format("atlctl: {}", child.error().message));
      process_->exit(not_found_code);
      return false;
    }
    command_ = *child;
    code_.reset();
    (void)process_->network().listen(process_->ip(), arguments_.ready_port, process_->id(),
                                     nullptr);
    return true;
  }

  // What it prints is in `text`. 0: it cannot be run.
  ProcessId execute(const std::vector<std::string>& command,
                    const std::shared_ptr<std::string>& text) {
    const auto child = spawn(command, text, false);
    if (!child) {
      *text += child.error().message;
      return 0;
    }
    executed_[*child] = std::nullopt;
    return *child;
  }
  // Nothing while it runs.
  std::optional<int> code_of(ProcessId executed) const {
    const auto at = executed_.find(executed);
    return at == executed_.end() ? std::optional(1) : at->second;
  }

  // The platform's answer to the termination message is the end of the pods. Who has asked is
  // answered first: its terminal ends with this worker.
  void stop_task() {
    process_->after(atl::time_to_tell, [this] {
      process_->write_file("/dev/termination-log", arguments_.stop_text);
      process_->exit(killed_code);
    });
  }

 private:
  Result<ProcessId> spawn(const std::vector<std::string>& argv,
                          const std::shared_ptr<std::string>& text, bool own_session) {
    Spawn spawn;
    spawn.argv = argv;
    spawn.env = process_->environment();
    spawn.new_session = own_session;
    if (text != nullptr) {
      const auto sink = std::make_shared<const Sink>(Sink{Sink::To::text, false, text, {}});
      spawn.output = {"", true, sink};
      spawn.error_output = {"", true, sink};
    }
    return process_->spawn(std::move(spawn));
  }

  void signal_command(int number) {
    if (Process* command = process_->state().kernel->find(command_)) command->signal_group(number);
  }

  AgentArguments arguments_;
  Process* process_ = nullptr;
  ProcessId command_ = 0;
  std::optional<int> code_{};  // of the command, once it has been stopped
  bool stops_ = false, ends_ = false;
  std::map<ProcessId, std::optional<int>> executed_{};
};

// Asks every agent, and waits for what it is to tell.
class Client final : public Program {
 public:
  Client(Order order) : order_(std::move(order)) {}

  void start(Process& process) override {
    process_ = &process;
    auto workers = atl::workers_by(process.env("MASTER_ADDR"), process.env("WORLD_SIZE"));
    if (!workers) return refuse(workers.error().message);
    workers_ = std::move(*workers);
    asked_.resize(workers_.size());
    answers_.resize(workers_.size());
    for (std::size_t rank = 0; rank < workers_.size(); ++rank)
      if (is_wanted(rank)) ask(rank);
    look();
  }

 private:
  struct Asked {
    bool answered = true;
    std::string address{};
    bool orders = false;  // it has been reached, and its answer is awaited
    ProcessId executed = 0;
    std::shared_ptr<std::string> text{};
  };

  void refuse(const std::string& why) {
    process_->print_error(why);
    process_->exit(2);
  }

  // To stop the task its own worker's agent is enough.
  bool is_wanted(std::size_t rank) const {
    if (order_.kind == Order::Kind::stop_task) return workers_[rank] == process_->hostname();
    return atl::is_asked(order_, static_cast<int>(rank));
  }

  Agent* agent_at(const std::string& address) const {
    const Network::Listener* there = process_->network().listener(address, atl::agent_port);
    return there == nullptr ? nullptr : dynamic_cast<Agent*>(there->service);
  }

  void ask(std::size_t rank) {
    asked_[rank].answered = false;
    process_->lookup(workers_[rank], [this, rank](const Resolved& found) {
      if (found.error != 0 || found.addresses.empty()) return answered(rank);
      asked_[rank].address = found.addresses.front();
      process_->connect(asked_[rank].address, atl::agent_port, atl::connect_patience,
                        [this, rank](Connect outcome) {
                          if (outcome != Connect::accepted) return answered(rank);
                          give_order(rank);
                        });
    });
  }

  void give_order(std::size_t rank) {
    Asked& asked = asked_[rank];
    Agent* agent = agent_at(asked.address);
    if (agent == nullptr) return answered(rank);
    answers_[rank].reached = true;
    asked.orders = true;
    if (order_.kind == Order::Kind::stop) agent->stop_command();
    if (order_.kind == Order::Kind::run) agent->run_command();
    if (order_.kind == Order::Kind::stop_task) agent->stop_task();
    if (order_.kind != Order::Kind::exec) return;
    asked.text = std::make_shared<std::string>();
    asked.executed = agent->execute(order_.command, asked.text);
  }

  void answered(std::size_t rank) {
    asked_[rank].answered = true;
    asked_[rank].orders = false;
  }

  // What has become of the order there by now.
  void look_at(std::size_t rank) {
    Answer& answer = answers_[rank];
    const Agent* agent = agent_at(asked_[rank].address);
    if (agent == nullptr) {  // it ended meanwhile
      answer.reached = false;
      return answered(rank);
    }
    answer.running = agent->is_running();
    answer.code = agent->code();
    if (order_.kind == Order::Kind::stop && answer.running) return;
    if (order_.kind == Order::Kind::exec && !look_at_executed(rank, *agent)) return;
    answered(rank);
  }

  bool look_at_executed(std::size_t rank, const Agent& agent) {
    constexpr int not_found_code = 127;
    const Asked& asked = asked_[rank];
    Answer& answer = answers_[rank];
    answer.code =
        asked.executed == 0 ? std::optional(not_found_code) : agent.code_of(asked.executed);
    if (!answer.code) return false;
    const std::string& text = *asked.text;
    for (std::size_t from = 0; from < text.size();) {
      const std::size_t end = std::min(text.find('\n', from), text.size());
      answer.lines.push_back(text.substr(from, end - from));
      from = end + 1;
    }
    return true;
  }

  void look() {
    for (std::size_t rank = 0; rank < workers_.size(); ++rank)
      if (asked_[rank].orders) look_at(rank);
    if (!std::all_of(asked_.begin(), asked_.end(), [](const Asked& one) { return one.answered; })) {
      constexpr Duration between = std::chrono::milliseconds(100);
      process_->after(between, [this] { look(); });
      return;
    }
    const atl::Told told = atl::told_of(order_, workers_, answers_);
    for (const std::string& line : told.lines) process_->print(line);
    process_->exit(told.exit_code);
  }

  Order order_;
  Process* process_ = nullptr;
  std::vector<std::string> workers_{};
  std::vector<Asked> asked_{};
  std::vector<Answer> answers_{};
};

// Says why, and ends.
class Refuser final : public Program {
 public:
  explicit Refuser(std::string text) : text_(std::move(text)) {}
  void start(Process& process) override {
    process.print_error(text_);
    process.exit(2);
  }

 private:
  std::string text_;
};

}  // namespace

std::unique_ptr<Program> make_refusal(std::string text) {
  return std::make_unique<Refuser>(std::move(text));
}

std::unique_ptr<Program> make_atl_agent(const std::vector<std::string>& argv) {
  auto arguments = atl::parse_agent(argv);
  if (!arguments) return make_refusal(arguments.error().message);
  return std::make_unique<Agent>(std::move(*arguments));
}

std::unique_ptr<Program> make_atl_client(const std::vector<std::string>& argv) {
  auto order = atl::parse_order(argv);
  if (!order) return make_refusal(order.error().message);
  return std::make_unique<Client>(std::move(*order));
}

}  // namespace ddptwin::model
