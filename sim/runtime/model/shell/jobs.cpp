#include "runtime/model/shell/jobs.hpp"

#include <algorithm>
#include <array>
#include <csignal>

#include "core/numbers.hpp"

namespace ddptwin::model::shell {
namespace {

struct Signal {
  std::string_view name;
  int number;
};
constexpr std::array signals{
    Signal{"EXIT", Traps::at_exit}, Signal{"HUP", SIGHUP},   Signal{"INT", SIGINT},
    Signal{"QUIT", SIGQUIT},        Signal{"ABRT", SIGABRT}, Signal{"KILL", SIGKILL},
    Signal{"USR1", SIGUSR1},        Signal{"USR2", SIGUSR2}, Signal{"PIPE", SIGPIPE},
    Signal{"ALRM", SIGALRM},        Signal{"TERM", SIGTERM}, Signal{"CHLD", SIGCHLD},
    Signal{"CONT", SIGCONT},        Signal{"STOP", SIGSTOP}, Signal{"TSTP", SIGTSTP},
    Signal{"SEGV", SIGSEGV}};

}  // namespace

bool Jobs::ended(ProcessId id, int status) {
  const auto job =
      std::find_if(jobs_.begin(), jobs_.end(), [id](const Job& one) { return one.id == id; });
  if (job == jobs_.end()) return false;
  job->status = status;
  return true;
}

void Jobs::add(ProcessId id, int pid, bool forgets_told) {
  if (forgets_told) std::erase_if(jobs_, [](const Job& one) { return one.told; });
  jobs_.push_back({id, pid});
}

bool Jobs::any_runs() const {
  return std::any_of(jobs_.begin(), jobs_.end(), [](const Job& one) { return !one.status; });
}

bool Jobs::all_ended(bool forgets) {
  if (any_runs()) return false;
  for (Job& one : jobs_) one.told = true;
  if (forgets) jobs_.clear();
  return true;
}

Jobs::Seen Jobs::ask(int pid) {
  const auto job =
      std::find_if(jobs_.begin(), jobs_.end(), [pid](const Job& one) { return one.pid == pid; });
  if (job == jobs_.end()) return {State::none, 0};
  if (!job->status) return {State::running, 0};
  job->told = true;
  return {State::ended, *job->status};
}

std::vector<int> Jobs::running() const {
  std::vector<int> pids;
  for (const Job& one : jobs_)
    if (!one.status) pids.push_back(one.pid);
  return pids;
}

Jobs::Seen Jobs::next() {
  const auto job = std::find_if(jobs_.begin(), jobs_.end(),
                                [](const Job& one) { return one.status && !one.told; });
  if (job == jobs_.end()) return {any_runs() ? State::running : State::none, 0};
  const Seen seen{State::ended, *job->status};
  jobs_.erase(job);
  return seen;
}

bool Traps::any() const {
  return std::any_of(actions_.begin(), actions_.end(),
                     [](const auto& one) { return one.second != nullptr; });
}

std::optional<bool> Traps::come(int signal) {
  const auto found = actions_.find(signal);
  if (found == actions_.end()) return std::nullopt;
  if (found->second == nullptr) return false;
  pending_.insert(signal);
  called_ = true;
  return true;
}

const Node* Traps::next() {
  called_ = false;
  while (!pending_.empty()) {
    const auto found = actions_.find(*pending_.begin());
    pending_.erase(pending_.begin());
    if (found != actions_.end() && found->second != nullptr) return found->second;
  }
  return nullptr;
}

const Node* Traps::take_last() {
  const auto found = actions_.find(at_exit);
  if (found == actions_.end()) return nullptr;
  const Node* action = found->second;
  actions_.erase(found);
  return action;
}

std::optional<int> signal_of(std::string_view text, bool long_names) {
  std::string name(text);
  std::transform(name.begin(), name.end(), name.begin(), [](char c) {
    return c >= 'a' && c <= 'z' ? static_cast<char>(c - 'a' + 'A') : c;
  });
  if (long_names && name.starts_with("SIG")) name.erase(0, 3);
  if (const auto number = whole_number<int>(name))
    return *number >= 0 && *number < NSIG ? number : std::nullopt;
  const auto found = std::find_if(signals.begin(), signals.end(),
                                  [&name](const Signal& one) { return one.name == name; });
  return found == signals.end() ? std::nullopt : std::optional(found->number);
}

}  // namespace ddptwin::model::shell
