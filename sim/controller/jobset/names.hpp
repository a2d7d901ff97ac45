// What a JobSet's things are called, and what they carry (spec/trainjob.md §4.3, §5.10).
#pragma once

#include <string>
#include <string_view>

#include "objects/jobset.hpp"

namespace ddptwin::controller::jobset {

// Labels, and annotations too, of each Job and pod template.
namespace keys {
inline constexpr std::string_view jobset_name = "jobset.sigs.k8s.io/jobset-name";
inline constexpr std::string_view jobset_uid = "jobset.sigs.k8s.io/jobset-uid";
inline constexpr std::string_view replicated_job = "jobset.sigs.k8s.io/replicatedjob-name";
inline constexpr std::string_view replicas = "jobset.sigs.k8s.io/replicatedjob-replicas";
inline constexpr std::string_view global_replicas = "jobset.sigs.k8s.io/global-replicas";
inline constexpr std::string_view job_index = "jobset.sigs.k8s.io/job-index";
inline constexpr std::string_view job_global_index = "jobset.sigs.k8s.io/job-global-index";
inline constexpr std::string_view job_key = "jobset.sigs.k8s.io/job-key";
inline constexpr std::string_view group_name = "jobset.sigs.k8s.io/group-name";
inline constexpr std::string_view group_replicas = "jobset.sigs.k8s.io/group-replicas";
inline constexpr std::string_view job_group_index = "jobset.sigs.k8s.io/job-group-index";
inline constexpr std::string_view restart_attempt = "jobset.sigs.k8s.io/restart-attempt";
inline constexpr std::string_view job_restart_attempt = "jobset.sigs.k8s.io/job-restart-attempt";
inline constexpr std::string_view coordinator = "jobset.sigs.k8s.io/coordinator";
// A label of pods alone.
inline constexpr std::string_view priority = "jobset.sigs.k8s.io/priority";
// Annotations alone.
inline constexpr std::string_view exclusive = "alpha.jobset.sigs.k8s.io/exclusive-topology";
inline constexpr std::string_view node_selector = "alpha.jobset.sigs.k8s.io/node-selector";
// A label and a taint of nodes that somebody has set aside for one Job.
inline constexpr std::string_view namespaced_job = "alpha.jobset.sigs.k8s.io/namespaced-job";
inline constexpr std::string_view no_schedule = "alpha.jobset.sigs.k8s.io/no-schedule";
}  // namespace keys

inline constexpr std::string_view controller_name = "jobset.sigs.k8s.io/jobset-controller";

std::string job_name(std::string_view set, std::string_view replicated_job, std::int64_t index);
// The headless Service's name, and the pods' subdomain.
std::string subdomain_of(const JobSet& set);
bool has_dns(const JobSetSpec& spec);
// Where its coordinator pod is reached. Precondition: it has one.
std::string coordinator_of(const JobSet& set);
std::string claim_name(const JobSet& set, std::string_view template_name);
// Null: there is none of that name.
const ReplicatedJob* replicated_job_named(const JobSetSpec& spec, std::string_view name);

}  // namespace ddptwin::controller::jobset
