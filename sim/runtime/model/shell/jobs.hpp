// What a shell knows of the processes that `&` has started, and of the signals it has traps for.
#pragma once

#include <map>
#include <optional>
#include <set>
#include <string_view>
#include <vector>

#include "runtime/model/program.hpp"

namespace ddptwin::model::shell {

struct Node;

class Jobs {
 public:
  // dash forgets then whom it has been told of.
  void add(ProcessId id, int pid, bool forgets_told);
  // A child has ended. False: it is none of these.
  bool ended(ProcessId id, int status);
  // True: none of them runs any more. bash forgets them then.
  bool all_ended(bool forgets);
  enum class State : std::uint8_t { none, running, ended };
  struct Seen {
    State state;
    int status;
  };
  Seen ask(int pid);
  std::vector<int> running() const;  // their numbers
  // Of the first that has ended and was not asked for, which is forgotten then.
  Seen next();

 private:
  struct Job {
    ProcessId id;
    int pid;
    std::optional<int> status{};
    bool told = false;
  };
  bool any_runs() const;

  std::vector<Job> jobs_{};  // in the order of their starts
};

class Traps {
 public:
  static constexpr int at_exit = 0;

  // Null: the signal is ignored.
  void set(int signal, const Node* action) { actions_[signal] = action; }
  void reset(int signal) { actions_.erase(signal); }
  // Something would be done; what is ignored is not.
  bool any() const;
  // The signal has come. Nothing: no trap, so its default action follows; false: it is ignored.
  std::optional<bool> come(int signal);
  // One has come since next() was last asked.
  bool called() const { return called_; }
  bool has_last() const { return actions_.contains(at_exit); }
  // The action of what has come and has not been seen to, however often it came, the lowest number
  // first; null: there is none such.
  const Node* next();
  // What is done at the end, which is done once; null: nothing.
  const Node* take_last();

 private:
  std::map<int, const Node*> actions_{};
  std::set<int> pending_{};
  bool called_ = false;
};

// 15 of "TERM" and "15", 0 of "EXIT"; nothing: there is no such signal. `long_names`: "SIGTERM" is
// one.
std::optional<int> signal_of(std::string_view name, bool long_names);

}  // namespace ddptwin::model::shell
