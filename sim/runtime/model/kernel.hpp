// What all modelled processes of one runtime share: process table, signals, timers, files, network,
// process groups. For ModelRuntime's own source files only.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "runtime/model/node_use.hpp"
#include "runtime/model/starts.hpp"
#include "runtime/model/state.hpp"

namespace ddptwin::model {

class Trainings;

class Kernel {
 public:
  // What containers are told of their processes.
  struct Hooks {
    std::function<void(ModelContainer&, const ExitStatus&)> ended{};  // process 1 has
    std::function<void(ModelContainer&)> printed{};  // the first line since its lines were taken
    std::function<void(ProcessId, const ExitStatus&)> process_ended{};
    // In the context of the cause: from now on it acts in the one that is left.
    std::function<void(const ModelContainer&, const std::string& address, std::string_view how)>
        connection_broke{};
    // How many CPUs a node has. Null: as many as the model says of every node.
    std::function<int(const std::string& node)> cpus{};
    std::function<std::int64_t(const std::string& node)> on_disk{};  // of all pods there, in bytes
    // Its node is, since this one has taken more.
    std::function<void(const ModelContainer&, NodeResource)> node_is_short{};
  };

  Kernel(Loop& loop, Random random, Model model, Lookup lookup, bool step_lines, Hooks hooks);
  ~Kernel();
  Kernel(const Kernel&) = delete;

  struct Start {
    std::vector<std::string> argv{};
    Environment env{};
    std::unique_ptr<Program> program{};
    ProcessId parent = 0;
    bool new_session = false;
    Spawn::Stream output{}, error_output{};
    std::shared_ptr<Input> input{};
  };
  // A process that does nothing until begin().
  ProcessId make(ModelContainer& container, Start start);
  void begin(ProcessId id);

  // A signal, as from outside the container's namespace. False: there is no such process.
  bool signal(ProcessId id, int number);
  void end(ProcessId id, const ExitStatus& status);
  // A line of a process of that container, in its log.
  void log(ModelContainer& container, PrintedLine line);
  // Null: it has ended.
  Process* find(ProcessId id) const;
  // Somebody from outside has done something to the container.
  void hit(ModelContainer& container);
  // Something has been told of it, in the context there is.
  void told(const ModelContainer& container) { last_[container.number] = loop_.context(); }
  // See Process.
  void broke(const Process& process, const std::string& address, ProcessId peer,
             std::string_view how);

  Loop& loop() { return loop_; }
  const Model& model() const { return model_; }
  const Lookup& lookup() const { return lookup_; }
  Network& network() { return network_; }
  Files& files() { return files_; }
  NodeMemory& node_memory() { return node_memory_; }
  NodeWatch watch_node(const std::string& node, NodeResource resource, std::int64_t bytes) {
    return resource == NodeResource::memory ? node_memory_.watch(node, bytes)
                                            : node_disks_.watch(node, bytes);
  }
  // The container has written so much more to its node's disk.
  void wrote(const ModelContainer& container, std::int64_t bytes);
  Trainings& trainings() { return *trainings_; }
  Starts& starts() { return starts_; }
  const Random& random() const { return random_; }
  bool step_lines() const { return step_lines_; }
  const Hooks& hooks() const { return hooks_; }

  TimerId after(Process& process, Duration delay, Callback callback);
  TimerId work(Process& process, Duration time, Callback callback);
  void cancel(Process& process, TimerId timer);

 private:
  TimerId wait(Process& process, Duration time, bool works, Callback callback);
  void fire(ProcessId id, TimerId timer);
  void arm(Process& process, Wait& wait);
  void stop(Process& process);
  void resume(Process& process);

  Loop& loop_;
  Random random_;
  Model model_;
  Lookup lookup_;
  bool step_lines_;
  Hooks hooks_;
  Network network_;
  Files files_;
  NodeMemory node_memory_;
  NodeDisks node_disks_;
  std::unique_ptr<Trainings> trainings_;
  Starts starts_{};
  std::vector<std::unique_ptr<Process>> processes_;  // by id; null once forgotten
  // What stays of those that are forgotten: whose each process was, by its id, and the context of
  // the last that was told of each container, by its number.
  std::vector<std::uint32_t> container_of_;
  std::vector<std::uint64_t> last_;
};

}  // namespace ddptwin::model
