// AIStudio's task with framework PyTorch DDP: aistudio.twin/v1 DDPTask (spec/aistudio.md §2). The
// platform has a web form and no published API: all names here are PROPOSED.
#pragma once

#include "objects/core_v1.hpp"

namespace ddptwin {

struct DDPTaskWorker {
  std::optional<std::int32_t> gpus{};
  std::optional<Quantity> cpu{}, memory{};
  static const Type& type();
};

struct DDPTaskVariable {
  std::string name{};
  std::string value{};
  static const Type& type();
};

// Shared storage: the same folder in all workers, and in all tasks that name it.
struct DDPTaskMount {
  std::string name{};
  std::string path{};
  bool readOnly = false;
  static const Type& type();
};

struct DDPTaskSelfCheck {
  std::optional<bool> enabled{};
  std::optional<std::vector<std::string>> items{};  // network, gpu, storage
  std::string onFailure{};                          // Block, Report
  std::optional<std::int32_t> timeoutSeconds{};
  static const Type& type();
};

struct DDPTaskFaultTolerance {
  bool enabled = false;
  std::optional<std::int32_t> maxRetries{};
  static const Type& type();
};

struct DDPTaskSpec {
  std::string framework{};
  std::optional<std::int32_t> workers{};
  DDPTaskWorker workerSpec{};
  std::string image{};
  std::string entrypoint{};
  std::vector<DDPTaskVariable> env{};
  std::vector<DDPTaskMount> mounts{};
  DDPTaskSelfCheck selfCheck{};
  DDPTaskFaultTolerance faultTolerance{};
  // atlctl's agent is the first process of each worker, so that its entry command can be stopped
  // and run again in place. Without it that process is the entry command's bash itself.
  bool debug = false;
  bool stop = false;  // the console's stop button: the one field that may change
  static const Type& type();
};

struct DDPTaskWorkerStatus {
  std::string name{};
  std::int32_t rank = 0;
  std::string phase{};  // its pod's, or Lost
  std::optional<std::int32_t> exitCode{};
  std::string node{};
  std::string uid{};  // the twin's own: of the pod that this is about
  static const Type& type();
  bool operator==(const DDPTaskWorkerStatus&) const = default;
};

struct DDPTaskFinding {
  std::string item{};
  std::int32_t worker = 0;
  std::optional<std::int32_t> peer{};
  bool ok = false;
  std::string message{};
  static const Type& type();
  bool operator==(const DDPTaskFinding&) const = default;
};

struct DDPTaskCheckStatus {
  std::string state{};  // Pending, Checking, Passed, Reported, Failed, Disabled
  OptionalTime startTime{};
  std::vector<DDPTaskFinding> results{};
  static const Type& type();
  bool operator==(const DDPTaskCheckStatus&) const = default;
};

struct DDPTaskStatus {
  // Queued, Creating, SelfChecking, Running, Debugging, Succeeded, Failed, Stopped
  std::string phase{};
  std::string reason{};
  std::string message{};
  std::int32_t attempt = 0;
  std::vector<DDPTaskWorkerStatus> workers{};
  DDPTaskCheckStatus selfCheck{};
  OptionalTime startTime{}, finishTime{};
  std::vector<std::string> excludedNodes{};  // the twin's own: where GPUs or the node were lost
  static const Type& type();
  bool operator==(const DDPTaskStatus&) const = default;
};

struct DDPTask final : ObjectOf<DDPTask> {
  Verbatim<DDPTaskSpec> spec{};
  std::optional<DDPTaskStatus> status{};
  Extra extra{};
  static const KindInfo& info();
  static const Type& type();
};

// The schema, with what holds where a task is silent.
RawJson ddptask_schema();
inline constexpr std::int32_t ddptask_check_timeout = 300;       // PROPOSED, seconds
inline constexpr std::int32_t ddptask_max_retries = 0;           // PROPOSED (G6)
inline constexpr std::string_view ddptask_on_failure = "Block";  // PROPOSED (G2)
inline constexpr std::string_view ddptask_framework = "PytorchDDP";

}  // namespace ddptwin
