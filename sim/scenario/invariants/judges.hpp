// Every judge by name; rows.cpp says when each is asked. A judge looks at the facts and the record
// and says what is wrong; it formats nothing unless something is. It returns whether there was
// anything to judge: a run tells of how many there was not. Two also keep something in the
// facts: no_new_pods the pod that it must hear more of, exit_code which kill has been reported.
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

std::string name_of(const Object& object);  // "pod/mnist-worker-0"
// The record is about an object's being changed; before and after then are of that kind.
inline bool is_change(const Sight& sight) {
  return sight.record != nullptr && sight.record->kind == RecordKind::object_modified;
}
// The operator asked for the deletion of the record's object by it.
bool deletion_asked(const Record& record, std::string_view actor);
// backoffLimit or activeDeadlineSeconds may fail the job by now (spec/pytorchjob.md §4.6).
bool limit_reached(const JobFacts& job, Time now);
// A pod of policy ExitCode stands there, Failed with a code that is not worth another try.
bool has_failed_for_good(const JobFacts& job);
// The job's status got this condition by this record.
bool became(const Sight& sight, std::string_view condition);

// ends.cpp
bool terminal(const Sight& sight, Verdicts& verdicts);
bool no_new_pods(const Sight& sight, Verdicts& verdicts);
bool frozen(const Sight& sight, Verdicts& verdicts);
bool one_end(const Sight& sight, Verdicts& verdicts);
bool failed_for_a_reason(const Sight& sight, Verdicts& verdicts);
bool restarting_for_a_reason(const Sight& sight, Verdicts& verdicts);
bool succeeded_for_a_reason(const Sight& sight, Verdicts& verdicts);
bool trained_to_the_end(const Sight& sight, Verdicts& verdicts);
bool completion_time_set(const Sight& sight, Verdicts& verdicts);
bool restarting_after_end(const Sight& sight, Verdicts& verdicts);

// status.cpp
bool one_condition(const Sight& sight, Verdicts& verdicts);
bool one_state(const Sight& sight, Verdicts& verdicts);
bool monotone(const Sight& sight, Verdicts& verdicts);
bool times(const Sight& sight, Verdicts& verdicts);
bool completion_time(const Sight& sight, Verdicts& verdicts);
bool start_time(const Sight& sight, Verdicts& verdicts);
bool spec_untouched(const Sight& sight, Verdicts& verdicts);
bool counters_are_true(const Sight& sight, Verdicts& verdicts);
bool conditions_are_true(const Sight& sight, Verdicts& verdicts);
bool permanent_failure_fails(const Sight& sight, Verdicts& verdicts);
bool created_first(const Sight& sight, Verdicts& verdicts);
bool running_is_true(const Sight& sight, Verdicts& verdicts);
bool finished_counters(const Sight& sight, Verdicts& verdicts);

// replicas.cpp
bool no_duplicates(const Sight& sight, Verdicts& verdicts);
bool environment(const Sight& sight, Verdicts& verdicts);
bool distinct_ranks(const Sight& sight, Verdicts& verdicts);
bool world_agrees(const Sight& sight, Verdicts& verdicts);
bool world_agrees_after_scaling(const Sight& sight, Verdicts& verdicts);
bool creation_order(const Sight& sight, Verdicts& verdicts);
bool count(const Sight& sight, Verdicts& verdicts);
bool type_removed(const Sight& sight, Verdicts& verdicts);
bool owned(const Sight& sight, Verdicts& verdicts);
bool needless_deletion(const Sight& sight, Verdicts& verdicts);
bool backoff_limit(const Sight& sight, Verdicts& verdicts);
bool disruptions(const Sight& sight, Verdicts& verdicts);
bool backoff_limit_in_place(const Sight& sight, Verdicts& verdicts);
bool exit_code(const Sight& sight, Verdicts& verdicts);

// cleanup.cpp
bool clean_up(const Sight& sight, Verdicts& verdicts);
bool pods_kept(const Sight& sight, Verdicts& verdicts);
bool finished_pods_stop(const Sight& sight, Verdicts& verdicts);
bool suspended(const Sight& sight, Verdicts& verdicts);
bool suspend_is_reached(const Sight& sight, Verdicts& verdicts);
bool suspend_with_ttl(const Sight& sight, Verdicts& verdicts);
bool services_have_pods(const Sight& sight, Verdicts& verdicts);
bool endpoints(const Sight& sight, Verdicts& verdicts);
bool endpoints_are_true(const Sight& sight, Verdicts& verdicts);
bool names(const Sight& sight, Verdicts& verdicts);

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
bool ttl_after_all(const Sight& sight, Verdicts& verdicts);
bool quiesce(const Sight& sight, Verdicts& verdicts);
bool quiesce_at_zero(const Sight& sight, Verdicts& verdicts);
bool no_refused_writes(const Sight& sight, Verdicts& verdicts);
bool no_panic(const Sight& sight, Verdicts& verdicts);
bool no_leak(const Sight& sight, Verdicts& verdicts);
bool visible(const Sight& sight, Verdicts& verdicts);
bool visible_without_types(const Sight& sight, Verdicts& verdicts);

}  // namespace ddptwin::scenario::invariants
