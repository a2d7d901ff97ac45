// Hand-written records for the tests of the invariants: one job "j" and what happens to it.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "core/virtual_start.hpp"
#include "objects/discovery_v1.hpp"
#include "objects/pytorchjob.hpp"
#include "scenario/invariants/invariants.hpp"
#include "scenario/systems/actors.hpp"

namespace ddptwin::scenario::invariants {

class Tape {
 public:
  Tape();  // watches everything, what is strict too
  explicit Tape(const InvariantPolicy& policy) : watch_(policy) {}

  // The job, which the operator has looked at.
  using EditJob = std::function<void(PyTorchJob&)>;
  void job(int masters, int workers, const EditJob& edit = {});
  void change(std::string_view actor, const EditJob& edit);
  void remove_job();
  // The operator's write of a status.
  void status(const std::function<void(JobStatus&)>& edit);
  void condition(const std::string& type, const std::string& status = "True");
  void finish(const std::string& type);  // with a completionTime
  void counts(const std::string& type, int active, int succeeded, int failed);

  // Pods of the job by "master-0" and "worker-1"; the operator makes them.
  using EditPod = std::function<void(Pod&)>;
  void pod(const std::string& name, const EditPod& edit = {});
  void edit_pod(const std::string& name, const EditPod& edit, std::string_view actor = "kubelet");
  void phase(const std::string& name, const std::string& phase);
  void exit(const std::string& name, int code);  // Failed or Succeeded with it
  void run(const std::string& name, const std::string& ip = "");
  void terminate(const std::string& name, std::string_view actor);
  void remove(const std::string& name, std::string_view actor);
  // Any object, in the state that somebody stores; and as it was stored last, or null.
  void store(ObjectPtr object, std::string_view actor);
  ObjectPtr stored(const std::string& kind_and_name) const;
  // Something that the job owns; a pod() may be made the pod of it.
  void part(const std::string& name);
  void give_to(const std::string& part, Pod& pod) const;
  void service(const std::string& name);
  // The operator deletes it; a foreign one was of a job that is no longer there.
  void remove_service(const std::string& name, bool foreign);
  // The endpoints of a Service, in its slice of that name; without an address there are none.
  void slice(const std::string& service, const std::string& pod, const std::string& ip,
             const std::string& name = "abcde");
  void remove_slice(const std::string& service, const std::string& name);

  void say(const std::string& pod, const std::string& line);
  using Values = std::vector<std::pair<std::string_view, std::string>>;
  void write(RecordKind kind, std::string_view actor, const std::string& subject,
             const std::string& text, Values values = {});
  // The operator's plan for the job took that rule; or another controller's for its own.
  void rule(std::string_view name, std::string_view controller = "pytorchjob-controller",
            const std::string& key = "default/j");
  void kill(const std::string& pod);  // with SIGKILL, by a step
  void signal(const std::string& pod, int number);
  // About that pod.
  void event(const std::string& pod, const std::string& type, const std::string& reason,
             const std::string& message, const std::string& related = "");
  // Another job, which is not at its end, does a step.
  void other_job_moves();
  void miss(const std::string& pod);  // the container that this was meant for was gone
  void wait(Duration duration) { now_ = now_ + duration; }
  void come_to_rest();
  // The operator writes for others, as often as its throttle lets it.
  void operator_busy_for(Duration duration);

  const InvariantWatch& watch() const { return watch_; }

 private:
  void put(ObjectPtr before, ObjectPtr after, std::string_view actor);
  Record next(RecordKind kind, std::string_view actor, TextRef subject);

  InvariantWatch watch_;
  Time now_ = virtual_start;
  std::uint64_t id_ = 0;
  int uids_ = 0;
  std::map<std::string, ObjectPtr> objects_{};  // by kind and name
};

// What breaks an invariant, and what comes near and keeps it.
struct Case {
  std::string_view invariant;
  void (*breaks)(Tape&);
  void (*keeps)(Tape&);
};
namespace ends_test {
std::vector<Case> cases();
}
namespace status_test {
std::vector<Case> cases();
}
namespace replicas_test {
std::vector<Case> cases();
}
namespace gangs_test {
std::vector<Case> cases();
}
namespace cleanup_test {
std::vector<Case> cases();
}
namespace training_test {
std::vector<Case> cases();
}
namespace job_rows_test {
std::vector<Case> cases();
}
namespace jobset_rows_test {
std::vector<Case> cases();
}
namespace trainjob_rows_test {
std::vector<Case> cases();
}
namespace t9k_rows_test {
std::vector<Case> cases();
}
namespace aistudio_rows_test {
std::vector<Case> cases();
}
namespace statefulset_rows_test {
std::vector<Case> cases();
}
namespace liveness_test {
std::vector<Case> cases();
}

}  // namespace ddptwin::scenario::invariants
