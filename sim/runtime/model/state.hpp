// What ModelRuntime remembers of pods, containers and processes. For its own source files only.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "core/line_cutter.hpp"
#include "runtime/images/image.hpp"
#include "runtime/log_size.hpp"
#include "runtime/model/files.hpp"
#include "runtime/model/network.hpp"
#include "runtime/model/program.hpp"
#include "runtime/model/resolver.hpp"
#include "runtime/model/workload.hpp"
#include "runtime/runtime.hpp"

namespace ddptwin::model {

struct ModelContainer;
class Kernel;

struct ModelPod {
  SandboxId id{};
  std::uint32_t number = 0;
  SandboxConfig config{};
  Lane lane{};
  std::string address{};
  bool stopping = false;
  std::vector<ModelContainer*> containers{};
  Timer timer{};  // of its making
};

// The newest of what a container printed.
class LogLines {
 public:
  // What the kubelet may ask for (80 lines, 2048 bytes; spec/kubernetes.md §2.3), and some more.
  static constexpr std::size_t lines_max = 160;
  void add(std::string line);
  // The last lines, each with its end; if more than `bytes`, the last characters of them.
  std::string tail(std::size_t lines, std::size_t bytes) const;

 private:
  std::vector<std::string> lines_;
};

struct PrintedLine {
  std::string text;
  bool standard_error = false;
};

struct ModelContainer {
  ContainerId id{};
  std::uint32_t number = 0;
  ModelPod* pod = nullptr;
  ContainerConfig config{};
  ContainerReport report{};
  model::Environment environment{};  // what each command in it begins with, an exec's too
  const Image* image = nullptr;
  const Workload* workload = nullptr;
  LogLines log{};
  LogSize log_size{};
  std::vector<PrintedLine> untold{};   // lines whose events are still to be sent
  LineCutter begun{};                  // of a line on stdout that has no end yet
  std::vector<ProcessId> processes{};  // pid - 1 is the index; 0 once it has ended
  int alive = 0;                       // of its processes
  // The loop's context that it acts in, whoever's message or clock has woken it: where it began or
  // was hit last, or that of a connection which failed since.
  std::uint64_t began = 0, broken = 0;
  std::uint64_t broken_by = 0;  // the context of that failure's cause
  std::uint64_t context() const { return broken != 0 ? broken : began; }
  std::uint64_t memory = 0;
  Timer start{};  // from start_container to the first process
  Timer grace{};
  std::vector<Done<void>> stops{};  // wait for its end
  bool removed = false;
};

// What its runtime tells of it.
RuntimeEvent event_of(const ModelContainer& container, RuntimeEvent::Kind kind);

PodUsage usage_of(const ModelPod& pod, const Files& files);
// What those that run on the node have on its disk, in bytes.
std::int64_t disk_use(const std::string& node, const std::vector<std::unique_ptr<ModelPod>>& pods,
                      const Files& files);

// A timer of a process. While the process is stopped `left` holds what remains.
struct Wait {
  TimerId id = 0;
  Time due{};
  bool works = false;  // and gets nowhere while the process is stopped: `left` is still to do
  Duration left{};
  Callback callback{};
  Timer timer{};
};

struct Process::State {
  Kernel* kernel = nullptr;
  ProcessId id = 0;
  int pid = 0;
  ModelContainer* container = nullptr;
  std::vector<std::string> argv{};
  Environment env{};
  std::unique_ptr<Program> program{};
  ProcessId parent = 0;
  bool new_session = false;
  bool alive = true;
  bool stopped = false;
  std::set<int> pending{};  // signals that wait for SIGCONT: each once, by number
  std::vector<Wait> waits{};
  TimerId last_wait = 0;
  std::vector<std::unique_ptr<Resolution>> lookups{};
  std::uint64_t memory = 0;
  Random random{0};
  Spawn::Stream output{}, error_output{};
  std::shared_ptr<Input> input{};
  std::string folder{};  // its working directory
};

}  // namespace ddptwin::model
