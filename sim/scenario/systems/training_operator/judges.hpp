// The training operator's own judges; rows.cpp says when each is asked. What they know of its jobs
// they read from the objects, as scenario/invariants/judges.hpp says, and from no controller.
#pragma once

#include "objects/pytorchjob.hpp"
#include "scenario/invariants/judges.hpp"
#include "scenario/systems/actors.hpp"

namespace ddptwin::scenario::invariants::pytorchjob {

inline constexpr int master = 0, worker = 1;  // in JobFacts::types

const JobStatus* status_of(const Object& job);  // null: none yet
bool is_true(const Object& job, std::string_view condition);
bool deadline_reached(const JobFacts& job, Time now);
// backoffLimit or activeDeadlineSeconds may fail the job by now (spec/pytorchjob.md §4.6).
bool limit_reached(const JobFacts& job, Time now);

// ends.cpp
bool frozen(const Sight& sight, Verdicts& verdicts);
bool failed_for_a_reason(const Sight& sight, Verdicts& verdicts);
bool restarting_for_a_reason(const Sight& sight, Verdicts& verdicts);
bool completion_time_set(const Sight& sight, Verdicts& verdicts);
bool restarting_after_end(const Sight& sight, Verdicts& verdicts);

// status.cpp
bool one_condition(const Sight& sight, Verdicts& verdicts);
bool one_state(const Sight& sight, Verdicts& verdicts);
bool counters_are_true(const Sight& sight, Verdicts& verdicts);
bool conditions_are_true(const Sight& sight, Verdicts& verdicts);
bool permanent_failure_fails(const Sight& sight, Verdicts& verdicts);
bool created_first(const Sight& sight, Verdicts& verdicts);
bool running_is_true(const Sight& sight, Verdicts& verdicts);
bool finished_counters(const Sight& sight, Verdicts& verdicts);

// replicas.cpp
bool environment(const Sight& sight, Verdicts& verdicts);
bool world_agrees_after_scaling(const Sight& sight, Verdicts& verdicts);
bool creation_order(const Sight& sight, Verdicts& verdicts);
bool type_removed(const Sight& sight, Verdicts& verdicts);
bool owned_services(const Sight& sight, Verdicts& verdicts);
bool needless_deletion(const Sight& sight, Verdicts& verdicts);
bool backoff_limit(const Sight& sight, Verdicts& verdicts);
bool disruptions(const Sight& sight, Verdicts& verdicts);
bool backoff_limit_in_place(const Sight& sight, Verdicts& verdicts);

// cleanup.cpp
bool clean_up(const Sight& sight, Verdicts& verdicts);
bool pods_kept(const Sight& sight, Verdicts& verdicts);
bool finished_pods_stop(const Sight& sight, Verdicts& verdicts);
bool suspend_with_ttl(const Sight& sight, Verdicts& verdicts);
bool services_have_pods(const Sight& sight, Verdicts& verdicts);
bool endpoints(const Sight& sight, Verdicts& verdicts);
bool endpoints_are_true(const Sight& sight, Verdicts& verdicts);
bool names(const Sight& sight, Verdicts& verdicts);
bool ttl_after_all(const Sight& sight, Verdicts& verdicts);
bool quiesce_at_zero(const Sight& sight, Verdicts& verdicts);
bool visible_without_types(const Sight& sight, Verdicts& verdicts);

}  // namespace ddptwin::scenario::invariants::pytorchjob
