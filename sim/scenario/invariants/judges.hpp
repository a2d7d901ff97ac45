// Every judge by name; rows.cpp says when each is asked. A judge looks at the facts and the record
// and says what is wrong; it formats nothing unless something is. Two also keep something in the
// facts: no_new_pods the pod that it must hear more of, exit_code which kill has been reported.
#pragma once

#include "scenario/invariants.hpp"
#include "scenario/invariants/facts.hpp"

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

std::string name_of(const Object& object);  // "Pod/default/mnist-worker-0"
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
void terminal(const Sight& sight, Verdicts& verdicts);
void no_new_pods(const Sight& sight, Verdicts& verdicts);
void frozen(const Sight& sight, Verdicts& verdicts);
void one_end(const Sight& sight, Verdicts& verdicts);
void failed_for_a_reason(const Sight& sight, Verdicts& verdicts);
void restarting_for_a_reason(const Sight& sight, Verdicts& verdicts);
void succeeded_for_a_reason(const Sight& sight, Verdicts& verdicts);
void trained_to_the_end(const Sight& sight, Verdicts& verdicts);
void completion_time_set(const Sight& sight, Verdicts& verdicts);
void restarting_after_end(const Sight& sight, Verdicts& verdicts);

// status.cpp
void one_condition(const Sight& sight, Verdicts& verdicts);
void one_state(const Sight& sight, Verdicts& verdicts);
void monotone(const Sight& sight, Verdicts& verdicts);
void times(const Sight& sight, Verdicts& verdicts);
void completion_time(const Sight& sight, Verdicts& verdicts);
void start_time(const Sight& sight, Verdicts& verdicts);
void spec_untouched(const Sight& sight, Verdicts& verdicts);
void counters_are_true(const Sight& sight, Verdicts& verdicts);
void conditions_are_true(const Sight& sight, Verdicts& verdicts);
void permanent_failure_fails(const Sight& sight, Verdicts& verdicts);
void created_first(const Sight& sight, Verdicts& verdicts);
void running_is_true(const Sight& sight, Verdicts& verdicts);
void finished_counters(const Sight& sight, Verdicts& verdicts);

// replicas.cpp
void no_duplicates(const Sight& sight, Verdicts& verdicts);
void environment(const Sight& sight, Verdicts& verdicts);
void distinct_ranks(const Sight& sight, Verdicts& verdicts);
void world_agrees(const Sight& sight, Verdicts& verdicts);
void world_agrees_after_scaling(const Sight& sight, Verdicts& verdicts);
void creation_order(const Sight& sight, Verdicts& verdicts);
void count(const Sight& sight, Verdicts& verdicts);
void owned(const Sight& sight, Verdicts& verdicts);
void needless_deletion(const Sight& sight, Verdicts& verdicts);
void backoff_limit(const Sight& sight, Verdicts& verdicts);
void backoff_limit_in_place(const Sight& sight, Verdicts& verdicts);
void exit_code(const Sight& sight, Verdicts& verdicts);

// cleanup.cpp
void clean_up(const Sight& sight, Verdicts& verdicts);
void pods_kept(const Sight& sight, Verdicts& verdicts);
void finished_pods_stop(const Sight& sight, Verdicts& verdicts);
void suspended(const Sight& sight, Verdicts& verdicts);
void suspend_is_reached(const Sight& sight, Verdicts& verdicts);
void suspend_with_ttl(const Sight& sight, Verdicts& verdicts);
void services_have_pods(const Sight& sight, Verdicts& verdicts);
void endpoints(const Sight& sight, Verdicts& verdicts);
void endpoints_are_true(const Sight& sight, Verdicts& verdicts);
void names(const Sight& sight, Verdicts& verdicts);

// training.cpp
void rendezvous(const Sight& sight, Verdicts& verdicts);
void lockstep(const Sight& sight, Verdicts& verdicts);
void checkpoint(const Sight& sight, Verdicts& verdicts);
void parameters(const Sight& sight, Verdicts& verdicts);

// liveness.cpp
void progress(const Sight& sight, Verdicts& verdicts);
void deadline(const Sight& sight, Verdicts& verdicts);
void deadline_is_seen(const Sight& sight, Verdicts& verdicts);
void ttl(const Sight& sight, Verdicts& verdicts);
void ttl_after_all(const Sight& sight, Verdicts& verdicts);
void quiesce(const Sight& sight, Verdicts& verdicts);
void quiesce_at_zero(const Sight& sight, Verdicts& verdicts);
void no_refused_writes(const Sight& sight, Verdicts& verdicts);
void no_panic(const Sight& sight, Verdicts& verdicts);
void no_leak(const Sight& sight, Verdicts& verdicts);
void visible(const Sight& sight, Verdicts& verdicts);
void visible_without_types(const Sight& sight, Verdicts& verdicts);

}  // namespace ddptwin::scenario::invariants
