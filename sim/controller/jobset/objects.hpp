// The objects of a JobSet as it asks for them (spec/trainjob.md §5.6, §5.7, §5.10).
#pragma once

#include <memory>

#include "controller/jobset/profile.hpp"
#include "objects/jobset.hpp"

namespace ddptwin::controller::jobset {

std::shared_ptr<Job> job_of(const JobSet& set, const ReplicatedJob& of, std::int32_t index,
                            const Profile& profile);
std::shared_ptr<Service> service_of(const JobSet& set);
std::shared_ptr<PersistentVolumeClaim> claim_of(const JobSet& set, const JobSetClaimPolicy& policy,
                                                const ClaimTemplate& one);

// How often each Job of the group was made anew by itself; zeros where the status is silent.
std::vector<std::int32_t> job_restarts_of(const JobSet& set, std::string_view replicated_job);

}  // namespace ddptwin::controller::jobset
