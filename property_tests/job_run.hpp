// A whole cluster in virtual time with one PyTorchJob, to which things happen.
#pragma once

#include <rapidcheck.h>

#include <iosfwd>
#include <memory>
#include <string>
#include <vector>

#include "core/virtual_loop.hpp"
#include "generators.hpp"
#include "runtime/script_runtime.hpp"
#include "scenario/invariants/invariants.hpp"
#include "scenario/world/world.hpp"

namespace ddptwin::property {

// One thing that happens to the job, followed by some seconds of rest.
struct Event {
  enum class Kind : std::uint8_t {
    exit,        // the main container of the pod ends by itself
    node_fault,  // the pod's sandbox is lost
    remove_pod,
    scale,  // the number of workers is patched to `number`
    suspend,
    resume,
    kubelets_restart,
    operator_crash,  // it loses its memory, perhaps between two writes, and begins anew
    rest,
  };
  Kind kind = Kind::rest;
  std::string pod{};
  int number = 0;   // the exit code, or the number of workers
  int seconds = 0;  // of rest afterwards
};
// To a job of this shape: its pods are hit.
rc::Gen<Event> any_event(const JobShape& shape);
void showValue(const Event& event, std::ostream& out);

// What a run is made of; the same plan is the same run.
struct RunPlan {
  JobShape shape{};
  controller::pytorchjob::Profile profile{};
  std::uint64_t seed = 0;
  std::vector<Event> events{};
};
rc::Gen<RunPlan> run_plan();
void showValue(const RunPlan& plan, std::ostream& out);

class JobRun {
 public:
  explicit JobRun(const RunPlan& plan);

  // Makes the job; false where the API refuses it.
  bool create();
  void apply(const Event& event);
  void remove_job();
  void rest(Duration duration);

  std::vector<std::shared_ptr<const Pod>> pods() const;
  std::vector<ObjectPtr> services() const;  // of the job
  // What upstream keeps (scenario/invariants/invariants.hpp), judged after every record and at
  // rest; and ends that change when the job began to run.
  std::vector<std::string> violations() const;
  const std::vector<std::string>& lines() const { return lines_; }  // the trace

 private:
  void patch_job(const Json& patch);
  std::vector<ObjectPtr> owned(const KindInfo& kind) const;

  VirtualLoop loop_;
  ScriptRuntime runtime_;
  World world_;
  scenario::InvariantWatch watch_{scenario::kept_by_upstream()};
  std::vector<std::string> lines_{}, redated_{};
  std::shared_ptr<const PyTorchJob> job_;
};

}  // namespace ddptwin::property
