// What a TrainJob tells of itself: two conditions of its own, and what its JobSet says
// (spec/trainjob.md §7).
#pragma once

#include "controller/trainer/profile.hpp"
#include "objects/trainjob.hpp"

namespace ddptwin::controller::trainer {

inline constexpr std::string_view deadline_exceeded = "DeadlineExceeded";

// As metav1's SetStatusCondition: a new one comes last; the time moves with the status, to the
// condition's own or to `now`.
void set_condition(TrainJobStatus& status, JobSetCondition condition, Time now);

// Failed is worked out anew in each pass, but for a deadline's.
void forget_failure(TrainJobStatus& status, const Profile& profile);
void fail_with(TrainJobStatus& status, std::string_view reason, std::string message, Time now);
// From the specification alone.
void tell_suspension(TrainJobStatus& status, const TrainJob& job, Time now);
// Its end and the counters of its replicated jobs. A deadline's failure stays.
void take_over(TrainJobStatus& status, const JobSetStatus& from, const Profile& profile, Time now);
// When it has had its time; nothing where it has no limit, has ended or is suspended.
OptionalTime deadline_of(const TrainJob& job, const TrainJobStatus& status);

}  // namespace ddptwin::controller::trainer
