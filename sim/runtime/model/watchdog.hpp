// What ProcessGroupNCCL's watchdog does with a rank whose collective has failed: it says so, has
// the others dump, sleeps, and takes the process down. Until then the rank stands in its
// collective. Source: spec/gpu.md §5; PyTorch's ProcessGroupNCCL.cpp, Watchdog::runLoop.
#pragma once

#include "runtime/model/nccl_messages.hpp"
#include "runtime/model/program.hpp"

namespace ddptwin::model {

class Watchdog {
 public:
  explicit Watchdog(Process& process) : process_(process), nccl_(*process.model().torch->nccl) {}

  // Nothing: it stands, whatever becomes of it. An error: its own caller raises it. `dumps` is
  // called when the other ranks are asked to dump.
  std::optional<Error> failed(const FailedWork& work, Callback dumps);

 private:
  void take_down();
  bool is_set(std::string_view variable) const;
  bool handles_errors() const;
  Duration dump_time() const;

  Process& process_;
  const NcclProfile& nccl_;
  FailedWork work_{};
  Callback dumps_{};
};

}  // namespace ddptwin::model
