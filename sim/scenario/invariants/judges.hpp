// Every judge that holds for all systems, by name, and what those of a system's own are made of;
// rows.cpp says when each is asked. A judge looks at the facts and the record and says what is
// wrong; it formats nothing unless something is. It returns whether there was anything to judge: a
// run tells of how many there was not. Two also keep something in the facts: no_new_pods the pod
// that it must hear more of, exit_code which kill has been reported.
#pragma once

#include "scenario/invariants/facts.hpp"
#include "scenario/invariants/invariants.hpp"

namespace ddptwin::scenario::invariants {

// Takes what is wrong, for one row.
class Verdicts {
 public:
  Verdicts(InvariantWatch& watch, const Sight& sight, const InvariantRow& row)
      : watch_(watch), sight_(sight), row_(row) {}
  void violated(std::string object, std::string text);

 private:
  InvariantWatch& watch_;
  const Sight& sight_;
  const InvariantRow& row_;
};

inline constexpr Duration leak_slack = std::chrono::seconds(30);  // beyond an object's grace period

std::string name_of(const Object& object);  // "pod/mnist-worker-0"
// The record is about an object's being changed; before and after then are of that kind.
inline bool is_change(const Sight& sight) {
  return sight.record != nullptr && sight.record->kind == RecordKind::object_modified;
}
// The operator asked for the deletion of the record's object by it.
bool deletion_asked(const Record& record, std::string_view actor);
// The record is about a replica that the operator made.
bool is_new_pod(const Sight& sight);
// A pod of policy ExitCode stands there, Failed with a code that is not worth another try.
bool has_failed_for_good(const JobFacts& job);
// The job got its end by this record.
bool now_succeeded(const Sight& sight);
bool now_failed(const Sight& sight);
// At rest, and nothing stands in the way of the operator's last word about it.
bool has_settled(const Sight& sight);
// A group of it has no pod to make.
bool wants_zero(const JobFacts& job);
// It has a completionTime, and is not suspended.
bool ends_plainly(const JobFacts& job);

// Judges that several rows share, each of some jobs.
bool judge_world(const Sight& sight, Verdicts& verdicts);
bool judge_suspend(const Sight& sight, Verdicts& verdicts);
bool judge_ttl(const Sight& sight, Verdicts& verdicts);
bool judge_writes(const Sight& sight, Verdicts& verdicts);
// `what` follows the job's name.
bool judge_visible(const Sight& sight, Verdicts& verdicts, std::string_view what);

// ends.cpp
bool terminal(const Sight& sight, Verdicts& verdicts);
bool no_new_pods(const Sight& sight, Verdicts& verdicts);
bool one_end(const Sight& sight, Verdicts& verdicts);
bool succeeded_for_a_reason(const Sight& sight, Verdicts& verdicts);
bool trained_to_the_end(const Sight& sight, Verdicts& verdicts);

// status.cpp
bool monotone(const Sight& sight, Verdicts& verdicts);
bool times(const Sight& sight, Verdicts& verdicts);
bool completion_time(const Sight& sight, Verdicts& verdicts);
bool start_time(const Sight& sight, Verdicts& verdicts);
bool spec_untouched(const Sight& sight, Verdicts& verdicts);

// replicas.cpp
bool no_duplicates(const Sight& sight, Verdicts& verdicts);
bool distinct_ranks(const Sight& sight, Verdicts& verdicts);
bool world_agrees(const Sight& sight, Verdicts& verdicts);
bool count(const Sight& sight, Verdicts& verdicts);
bool owned(const Sight& sight, Verdicts& verdicts);
bool exit_code(const Sight& sight, Verdicts& verdicts);

// gangs.cpp
bool gang_together(const Sight& sight, Verdicts& verdicts);

// cleanup.cpp
bool suspended(const Sight& sight, Verdicts& verdicts);
bool suspend_is_reached(const Sight& sight, Verdicts& verdicts);

// training.cpp
bool rendezvous(const Sight& sight, Verdicts& verdicts);
bool lockstep(const Sight& sight, Verdicts& verdicts);
bool checkpoint(const Sight& sight, Verdicts& verdicts);
bool parameters(const Sight& sight, Verdicts& verdicts);

// liveness.cpp
bool progress(const Sight& sight, Verdicts& verdicts);
bool deadline(const Sight& sight, Verdicts& verdicts);
bool deadline_is_seen(const Sight& sight, Verdicts& verdicts);
bool ttl(const Sight& sight, Verdicts& verdicts);
bool quiesce(const Sight& sight, Verdicts& verdicts);
bool no_refused_writes(const Sight& sight, Verdicts& verdicts);
bool no_panic(const Sight& sight, Verdicts& verdicts);
bool no_leak(const Sight& sight, Verdicts& verdicts);
bool visible(const Sight& sight, Verdicts& verdicts);

}  // namespace ddptwin::scenario::invariants
