#include "controller/jobset/names.hpp"

#include <fmt/format.h>

namespace ddptwin::controller::jobset {

std::string job_name(std::string_view set, std::string_view replicated_job, std::int64_t index) {
  return fmt::format("{}-{}-{}", set, replicated_job, index);
}

std::string subdomain_of(const JobSet& set) {
  const auto& network = set.spec->network;
  return network && !network->subdomain.empty() ? network->subdomain : set.metadata.name.str();
}

bool has_dns(const JobSetSpec& spec) {
  return spec.network && spec.network->enableDNSHostnames.value_or(false);
}

std::string coordinator_of(const JobSet& set) {
  const JobSetCoordinator& one = *set.spec->coordinator;
  return fmt::format("{}-{}-{}-{}.{}", set.metadata.name.view(), one.replicatedJob, one.jobIndex,
                     one.podIndex, subdomain_of(set));
}

std::string claim_name(const JobSet& set, std::string_view template_name) {
  return fmt::format("{}-{}", template_name, set.metadata.name.view());
}

const ReplicatedJob* replicated_job_named(const JobSetSpec& spec, std::string_view name) {
  for (const ReplicatedJob& one : spec.replicatedJobs)
    if (one.name == name) return &one;
  return nullptr;
}

}  // namespace ddptwin::controller::jobset
