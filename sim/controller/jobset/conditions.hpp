// The conditions of a JobSet, and in what words each is told (spec/trainjob.md §5.11).
#pragma once

#include <string>
#include <string_view>

#include "objects/jobset.hpp"

namespace ddptwin::controller::jobset {

// A condition as one rule writes it. Literals; the message may name a Job.
struct ConditionRow {
  std::string_view type;
  bool holds;
  std::string_view event;  // Normal, Warning
  std::string_view reason;
  std::string_view message;
};
namespace condition {
inline constexpr ConditionRow completed{"Completed", true, "Normal", "AllJobsCompleted",
                                        "jobset completed successfully"};
inline constexpr ConditionRow failed_jobs{"Failed", true, "Warning", "FailedJobs",
                                          "jobset failed due to one or more job failures"};
inline constexpr ConditionRow reached_max_restarts{
    "Failed", true, "Warning", "ReachedMaxRestarts",
    "jobset failed due to reaching max number of restarts"};
inline constexpr ConditionRow failed_by_rule{"Failed", true, "Warning",
                                             "FailJobSetFailurePolicyAction",
                                             "applying FailJobSet failure policy action"};
inline constexpr ConditionRow suspended{"Suspended", true, "Normal", "SuspendedJobs",
                                        "jobset is suspended"};
inline constexpr ConditionRow resumed{"Suspended", false, "Normal", "ResumeJobs",
                                      "jobset is resumed"};
inline constexpr ConditionRow ready{"RestartingJobSet", false, "Normal", "JobsReady",
                                    "all jobs are ready"};
inline constexpr ConditionRow ended_failed{"RestartingJobSet", false, "Normal", "JobSetFailed",
                                           "jobset failed"};
inline constexpr ConditionRow ended_completed{"RestartingJobSet", false, "Normal",
                                              "JobSetCompleted", "jobset completed successfully"};
inline constexpr ConditionRow ended_suspended{"RestartingJobSet", false, "Normal",
                                              "JobSetSuspended", "jobset is suspended"};
inline constexpr ConditionRow in_order{"StartupPolicyInProgress", true, "Normal",
                                       "InOrderStartupPolicyInProgress",
                                       "in order startup policy is in progress"};
inline constexpr ConditionRow order_done{"StartupPolicyCompleted", true, "Normal",
                                         "InOrderStartupPolicyCompleted",
                                         "in order startup policy has completed"};
}  // namespace condition

// Writes it, and says whether that changed anything. One that does not hold is not added; the time
// moves with the status only; the two of the startup policy exclude each other.
bool set_condition(JobSetStatus& status, JobSetCondition condition, Time now);

}  // namespace ddptwin::controller::jobset
