// A workload in a cluster of two nodes, in virtual time, to which anything happens: what the
// property tests of all controllers of workloads share. A kind brings a row, which says what its
// user may change of it, and a run of its own, which says what must hold.
#pragma once

#include <iosfwd>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/virtual_loop.hpp"
#include "property.hpp"
#include "runtime/script_runtime.hpp"
#include "scenario/world/world.hpp"

namespace ddptwin::property {

// Something that its user changes; `number` is one of the row's.
struct UserEdit {
  const char* name;
  Json (*body)(const Object& now, int number);  // a merge patch
};

struct WorkloadRow {
  const KindInfo& (*kind)();
  const char* controller;                  // that may crash
  std::span<const UserEdit* const> edits;  // one named twice comes twice as often
  int pods_max;                            // that a drawn shape has
  std::span<const int> numbers;            // exit codes, replicas, seconds
  const System* system = nullptr;          // that has the kind; null: Kubernetes
};

// One thing that happens, followed by some seconds of rest.
struct Happening {
  enum class Kind : std::uint8_t {
    exit,      // a pod's container, with code `number`
    remove,    // a pod, with `number` seconds of grace more than one
    lose,      // its sandbox
    edit,      // of the workload, by its user
    crash,     // of the controller, which comes back after `number` seconds
    kubelets,  // begin anew
    rest,
  };
  struct Doing {
    Kind kind = Kind::rest;
    const UserEdit* edit = nullptr;
  };
  Doing doing{};
  int pod = 0;  // of those that have not ended
  int number = 0;
  int seconds = 0;  // afterwards
};
void showValue(const Happening& one, std::ostream& out);

// Of those kinds; `edit` stands for all edits of the row.
rc::Gen<std::vector<Happening>> any_happenings(const WorkloadRow& row,
                                               const std::vector<Happening::Kind>& kinds, int size);

class WorkloadRun {
 public:
  // `object`: in the namespace default. Its pods' containers are called "c".
  WorkloadRun(std::uint64_t seed, const WorkloadRow& row, ObjectPtr object);
  virtual ~WorkloadRun() = default;

  // Safe at every moment, and in the end as it should be.
  void live_through(const std::vector<Happening>& events);

 protected:
  // Nothing happens any more until all has come of it that can.
  virtual void come_to_rest() = 0;
  virtual void require_settled() = 0;
  // The pod, as it is now or was last, of a record about one.
  virtual void on_pod(const Record& record, const Pod& pod) = 0;
  virtual void on_workload(const Record&) {}

  void rest(Duration duration) { loop_.run_until(loop_.now() + duration); }
  ObjectPtr object() const;
  template <class T>
  std::shared_ptr<const T> object_as() const {
    return std::static_pointer_cast<const T>(object());
  }
  std::vector<std::shared_ptr<const Pod>> pods() const;  // in the order of their names
  void patch(const Json& body);
  void end_pod(const Pod& pod, int code);
  void violate(std::string text) { violations_.push_back(std::move(text)); }

  Time now() const { return loop_.now(); }
  World& world() { return world_; }
  const World& world() const { return world_; }
  const ScriptRuntime& runtime() const { return runtime_; }
  bool crashed() const { return crashed_; }  // the controller has, once

 private:
  void apply(const Happening& one);
  void require_safe() const;
  std::shared_ptr<const Pod> pod_at(int index) const;

  const WorkloadRow& row_;
  std::string name_;
  VirtualLoop loop_;
  ScriptRuntime runtime_;
  World world_;
  bool crashed_ = false;
  std::vector<std::string> violations_{};
};

}  // namespace ddptwin::property
