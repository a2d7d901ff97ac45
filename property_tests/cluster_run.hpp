// A whole cluster in virtual time with any number of PyTorchJobs, seen as a user with kubectl and a
// stop watch sees it.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "core/virtual_loop.hpp"
#include "generators.hpp"
#include "runtime/script_runtime.hpp"
#include "scenario/faults/injector.hpp"
#include "scenario/invariants/invariants.hpp"
#include "scenario/world/world.hpp"

namespace ddptwin::property {

// Which job; by default the one that job_of() makes.
struct JobName {
  std::string namespace_ = "default";
  std::string name = "j";
  auto operator<=>(const JobName&) const = default;
};

class ClusterRun {
 public:
  using PodPtr = std::shared_ptr<const Pod>;
  using ServicePtr = std::shared_ptr<const Service>;

  // With an empty plan nothing stands between a component and what it talks to but the witness, if
  // there is one, which outlives the run. Faults begin with the run.
  ClusterRun(std::uint64_t seed, const controller::pytorchjob::Profile& profile,
             const scenario::FaultPlan& plan = {}, WorldFaults* witness = nullptr);

  using Edit = std::function<void(PyTorchJob&)>;
  // False where the API refuses it. Init containers of its workers find their master in a second.
  bool create(const JobShape& shape, const JobName& name = {}, const Edit& edit = {});
  // The script of a container of that pod (script_runtime.hpp).
  void script(const std::string& pod, const std::string& key, const std::string& text,
              const std::string& namespace_ = "default");
  void rest(Duration duration) { loop_.run_until(loop_.now() + duration); }
  Time now() const { return loop_.now(); }
  World& world() { return world_; }

  // The main container of that pod ends by itself.
  void exit(const std::string& pod, int code, const std::string& namespace_ = "default");
  // Refusals are answers: whoever wants one looks at what is there afterwards.
  void patch_job(const Json& patch, const JobName& name = {});
  void patch_object(const Object& object, const Json& patch);
  void remove(const Object& object, const api::DeleteOptions& options = {});
  void evict(const Pod& pod);
  void lose_sandbox(const Pod& pod);
  // Faults end, and none begins any more.
  void heal();

  std::shared_ptr<const PyTorchJob> job(const JobName& name = {}) const;
  // Of that job, by its name label, whoever owns them.
  std::map<std::string, PodPtr> pods(const JobName& name = {}) const;
  std::map<std::string, ServicePtr> services(const JobName& name = {}) const;
  // Condition types that are True, and those that are False.
  std::set<std::string> conditions(bool status, const JobName& name = {}) const;
  // Of the first job: whether a condition of that type has ever been stored as True.
  bool ever(const std::string& condition) const { return ever_.contains(condition); }
  // A answers of the cluster's DNS, or nothing where the name does not exist.
  std::set<std::string> resolve(const std::string& service, const std::string& namespace_);

  // What upstream keeps, judged after every record, and what has come to rest by now.
  std::string first_violation();

  // When the job's object went, if it has.
  std::optional<Time> job_gone_at() const { return job_gone_at_; }
  // How often the training operator asked for that object to be made, refused or not: "pods",
  // "default/j-worker-0".
  int creations(const std::string& plural, const std::string& key) const;

 private:
  template <class T>
  std::map<std::string, std::shared_ptr<const T>> of_job(const JobName& name) const;
  void on_record(const Record& record);

  VirtualLoop loop_;
  ScriptRuntime runtime_;
  std::unique_ptr<scenario::FaultInjector> faults_;
  scenario::InvariantWatch watch_;
  World world_;
  std::optional<Time> job_gone_at_{};
  std::set<std::string> ever_{};
  std::map<std::string, int> creations_{};  // "pods default/j-worker-0"
};

std::string variable(const Pod& pod, std::string_view name);

}  // namespace ddptwin::property
