// The workers of one agent: started together, watched, ended together. Source:
// spec/ddp-semantics.md §4.2, §4.3, §9.5; upstream's elastic/multiprocessing/api.py.
#pragma once

#include <optional>
#include <vector>

#include "runtime/model/torchrun/ranks.hpp"

namespace ddptwin::torchrun {

struct Worker {
  model::ProcessId process = 0;
  int pid = 0;
  int local_rank = 0;
  int rank = 0;
  std::optional<model::ExitStatus> ended{};
  Time ended_at{};

  bool failed() const { return ended && *ended != model::ExitStatus{}; }
  // As Python's subprocess says it: -9 for SIGKILL.
  int return_code() const { return ended->signal != 0 ? -ended->signal : ended->code; }
};

// The environment of one worker: the agent's own, and what torchrun sets (§4.2, §9.5).
struct WorkerPlace {
  int local_rank = 0;
  World world{};
  GroupRanks ranks{};
  Endpoint master{};
  bool uses_agent_store = false;
  int restart_count = 0;
  std::string log_dir{};  // of the run: "/tmp/torchelastic_x/none_y"
};
model::Environment worker_environment(const Agent& agent, const WorkerPlace& place);

class WorkerGroup {
 public:
  explicit WorkerGroup(const Agent& agent) : agent_(agent) {}

  // As many as the options say; the error is what Python raises when the command cannot be run.
  Status start(WorkerPlace place);
  void exited(model::ProcessId process, const model::ExitStatus& status);

  const std::vector<Worker>& workers() const { return workers_; }
  bool any_running() const;
  bool any_failed() const;

  // Sends the signal to those that run, SIGKILL after the shutdown timeout; done when none runs. A
  // later call takes the place of one that still waits.
  void stop(int signal, Callback done);

 private:
  void finish_stop();
  void force();

  Agent agent_;
  std::vector<Worker> workers_{};
  int stop_signal_ = 0;
  model::TimerId force_ = 0;
  Callback stopped_{};
};

}  // namespace ddptwin::torchrun
