// Interpreters that import torch, which keeps a CPU busy all the time: those of one node share its
// CPUs. Source: spec/ddp-semantics.md §1.2, §8.1 ("x max(1, starting/cores)").
#pragma once

#include <map>
#include <string>
#include <vector>

#include "runtime/model/program.hpp"

namespace ddptwin::model {

class Starts {
 public:
  // `done` is called once the process has had that much time of a CPU, none of it after its end.
  void begin(Process& process, Duration work, Callback done);
  // To be called when a process has ended, whether it was starting or not.
  void ended(const Process& process);

 private:
  struct One {
    Process* process = nullptr;
    Duration left{};  // of a whole CPU, at `since`
    Time since{};
    TimerId timer = 0;
    Callback done{};
  };
  using Node = std::vector<One>;

  // What has been done is taken off, at the rate of so many at once.
  static void settle(Node& node);
  void arm(Node& node, const std::string& name);
  void finish(const std::string& name, ProcessId id);

  std::map<std::string, Node, std::less<>> nodes_{};  // by name, in the order of their coming
};

}  // namespace ddptwin::model
