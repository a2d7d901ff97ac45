// A virtual cluster that trains, for the benchmarks: nodes, operator, scheduler, kubelets,
// invariants, and PyTorchJobs whose pods train for so many steps.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "core/virtual_loop.hpp"
#include "objects/pytorchjob.hpp"
#include "runtime/script_runtime.hpp"
#include "scenario/invariants/invariants.hpp"
#include "scenario/world/world.hpp"

namespace ddptwin::bench {

struct ClusterShape {
  int nodes = 1;
  std::uint64_t seed = 1;
  VirtualLoop::Order order = VirtualLoop::Order::fair;
  ControlPlaneFlags flags{};
};

struct JobShape {
  std::string name = "job";
  int workers = 3;  // beside one master
  int steps = 20;   // of a second each
  int gpus = 1;     // of each pod
};

// The object that its manifest is decoded to.
std::shared_ptr<const PyTorchJob> job_of(const JobShape& shape);

// Counts what happens to the jobs of one world.
class TrainingWorld {
 public:
  explicit TrainingWorld(const ClusterShape& shape);
  ~TrainingWorld();

  World& world() { return *world_; }
  VirtualLoop& loop() { return *loop_; }
  ScriptRuntime& runtime() { return *runtime_; }

  void create(std::shared_ptr<const PyTorchJob> job);
  // SIGKILL to the training process of that pod after so long.
  void kill_after(const std::string& pod, Duration delay);
  // The same, once it is Running.
  void kill_once_running(const std::string& pod, Duration delay) { doomed_[pod] = delay; }
  // Until so many jobs have Succeeded and no pod is left; false when nothing is left to do before,
  // or an invariant is violated.
  bool run_until_cleaned_up(int jobs);

  int succeeded() const { return succeeded_; }
  int pods() const { return pods_; }
  std::uint64_t pods_made() const { return pods_made_; }
  std::uint64_t writes() const { return writes_; }
  std::uint64_t restarts() const { return restarts_; }
  std::vector<std::string> violations() const;  // of invariants, a sentence each

 private:
  void on_record(const Record& record);

  scenario::InvariantWatch invariants_;
  std::unique_ptr<VirtualLoop> loop_;
  std::unique_ptr<ScriptRuntime> runtime_;
  std::unique_ptr<World> world_;
  std::map<std::string, Duration> doomed_{};
  std::vector<Timer> kills_{};
  int succeeded_ = 0;
  int pods_ = 0;
  std::uint64_t pods_made_ = 0;
  std::uint64_t writes_ = 0;
  std::uint64_t restarts_ = 0;
};

}  // namespace ddptwin::bench
