// The job's conditions (spec/pytorchjob.md §5.1, §5.2).
#pragma once

#include "objects/pytorchjob.hpp"

namespace ddptwin::controller::pytorchjob {

namespace condition {
inline constexpr std::string_view created = "Created";
inline constexpr std::string_view running = "Running";
inline constexpr std::string_view restarting = "Restarting";
inline constexpr std::string_view suspended = "Suspended";
inline constexpr std::string_view succeeded = "Succeeded";
inline constexpr std::string_view failed = "Failed";
}  // namespace condition

// Reasons of conditions and of the events that go with them.
namespace reason {
inline constexpr std::string_view created = "PyTorchJobCreated";
inline constexpr std::string_view running = "PyTorchJobRunning";
inline constexpr std::string_view restarting = "PyTorchJobRestarting";
inline constexpr std::string_view suspended = "PyTorchJobSuspended";
inline constexpr std::string_view resumed = "PyTorchJobResumed";
inline constexpr std::string_view succeeded = "PyTorchJobSucceeded";
inline constexpr std::string_view failed = "PyTorchJobFailed";
}  // namespace reason

struct NewCondition {
  std::string_view type;
  bool status = true;
  std::string_view reason;
  std::string message;
};

// That type, status and reason are already so.
bool is_so(const JobStatus& status, std::string_view type, bool value, std::string_view reason);
// Puts it at the end of the list, by the rules of §5.1. False: nothing changed, because the job has
// failed for good or because type, status and reason are already so.
bool set_condition(JobStatus& status, NewCondition next, Time now);

// Succeeded or Failed.
bool is_finished(const JobStatus& status);
// In memory, with the parts of a second that the wire does not keep.
bool same(const JobStatus& a, const JobStatus& b);

}  // namespace ddptwin::controller::pytorchjob
