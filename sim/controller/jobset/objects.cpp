#include "controller/jobset/objects.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <boost/uuid/detail/sha1.hpp>

#include "controller/jobset/names.hpp"
#include "controller/toolkit/ownership.hpp"

namespace ddptwin::controller::jobset {
namespace {

std::string sha1_hex(std::string_view text) {
  boost::uuids::detail::sha1 sum;
  sum.process_bytes(text.data(), text.size());
  boost::uuids::detail::sha1::digest_type words;
  sum.get_digest(words);
  std::string hex;
  for (const unsigned int word : words) hex += fmt::format("{:08x}", word);
  return hex;
}

// Where a Job stands among all, or among those of a group (empty: all).
struct Standing {
  std::int64_t before = 0;  // Jobs of replicated jobs above its own
  std::int64_t all = 0;
};
Standing standing_of(const JobSetSpec& spec, const ReplicatedJob& of, std::string_view group) {
  Standing found;
  for (const ReplicatedJob& one : spec.replicatedJobs) {
    if (!group.empty() && one.groupName != group) continue;
    if (one.name == of.name) found.before = found.all;
    found.all += one.replicas;
  }
  return found;
}

StringMap marks_of(const JobSet& set, const ReplicatedJob& of, std::int32_t index,
                   const Profile& profile) {
  const std::string name = job_name(set.metadata.name.view(), of.name, index);
  const Standing among_all = standing_of(*set.spec, of, {});
  StringMap marks;
  const auto mark = [&marks](std::string_view key, const auto& value) {
    marks.insert_or_assign(Text(key), Text(fmt::format("{}", value)));
  };
  mark(keys::jobset_name, set.metadata.name.view());
  mark(keys::replicated_job, of.name);
  mark(keys::restart_attempt, set.status ? set.status->restarts : 0);
  if (profile.restart_job) {
    const auto restarts = job_restarts_of(set, of.name);
    const auto at = static_cast<std::size_t>(index);
    mark(keys::job_restart_attempt, at < restarts.size() ? restarts[at] : 0);
  }
  mark(keys::replicas, of.replicas);
  mark(keys::global_replicas, among_all.all);
  mark(keys::job_index, index);
  mark(keys::job_key, sha1_hex(fmt::format("{}/{}", set.metadata.namespace_.view(), name)));
  mark(keys::job_global_index, among_all.before + index);
  if (profile.groups) {
    const Standing in_group = standing_of(*set.spec, of, of.groupName);
    mark(keys::jobset_uid, set.metadata.uid.view());
    mark(keys::group_name, of.groupName);
    mark(keys::group_replicas, in_group.all);
    mark(keys::job_group_index, in_group.before + index);
  }
  if (set.spec->coordinator) mark(keys::coordinator, coordinator_of(set));
  return marks;
}

// Exclusive placement, of the whole set or of the replicated job's template, which wins.
void copy_placement(const StringMap& from, StringMap& to) {
  const auto topology = from.find(keys::exclusive);
  if (topology == from.end()) return;
  to.insert_or_assign(topology->first, topology->second);
  if (const auto by_nodes = from.find(keys::node_selector); by_nodes != from.end())
    to.insert_or_assign(by_nodes->first, by_nodes->second);
}

void mark_with(ObjectMeta& metadata, const StringMap& marks, const StringMap& placement) {
  for (const auto& [key, value] : marks) {
    metadata.labels.edit().insert_or_assign(key, value);
    metadata.annotations.edit().insert_or_assign(key, value);
  }
  for (const auto& [key, value] : placement)
    metadata.annotations.edit().insert_or_assign(key, value);
}

// The nodes were labelled and tainted for this Job before.
void select_nodes(const Job& job, PodSpec& pod) {
  pod.nodeSelector.edit().insert_or_assign(
      Text(keys::namespaced_job),
      Text(fmt::format("{}_{}", job.metadata.namespace_.view(), job.metadata.name.view())));
  Toleration taint;
  taint.key = keys::no_schedule;
  taint.operator_ = "Exists";
  taint.effect = "NoSchedule";
  pod.tolerations.edit().push_back(std::move(taint));
}

bool mounts(const std::vector<Container>& containers, std::string_view volume) {
  return std::any_of(containers.begin(), containers.end(), [volume](const Container& one) {
    return std::any_of(one.volumeMounts.begin(), one.volumeMounts.end(),
                       [volume](const VolumeMount& mount) { return mount.name == volume; });
  });
}

void add_claimed_volumes(const JobSet& set, PodSpec& pod) {
  for (const JobSetClaimPolicy& policy : set.spec->volumeClaimPolicies)
    for (const ClaimTemplate& one : policy.templates) {
      const std::string name = one.metadata.name.str();
      if (!mounts(pod.containers, name) && !mounts(pod.initContainers, name)) continue;
      Volume& volume = pod.volumes.edit().emplace_back();
      volume.name = name;
      volume.persistentVolumeClaim.edit().claimName = claim_name(set, name);
    }
}

}  // namespace

std::vector<std::int32_t> job_restarts_of(const JobSet& set, std::string_view replicated_job) {
  if (set.status)
    for (const ReplicatedJobStatus& one : set.status->replicatedJobsStatus)
      if (one.name == replicated_job && !one.jobRestarts.empty()) return one.jobRestarts;
  const ReplicatedJob* of = replicated_job_named(*set.spec, replicated_job);
  const std::int32_t jobs = of != nullptr ? std::max(of->replicas, 0) : 0;
  return std::vector<std::int32_t>(static_cast<std::size_t>(jobs), 0);
}

std::shared_ptr<Job> job_of(const JobSet& set, const ReplicatedJob& of, std::int32_t index,
                            const Profile& profile) {
  auto job = std::make_shared<Job>();
  job->metadata.name = job_name(set.metadata.name.view(), of.name, index);
  job->metadata.namespace_ = set.metadata.namespace_;
  job->metadata.labels = of.template_.metadata.labels;
  job->metadata.annotations = of.template_.metadata.annotations;
  job->metadata.ownerReferences = std::vector{controller_reference(set)};
  job->spec = of.template_.spec;
  JobSpec& spec = job->spec.edit();
  const StringMap marks = marks_of(set, of, index, profile);
  StringMap placement;
  copy_placement(set.metadata.annotations, placement);
  copy_placement(of.template_.metadata.annotations, placement);
  mark_with(job->metadata, marks, placement);
  mark_with(spec.template_.metadata, marks, placement);
  PodSpec& pod = spec.template_.spec.edit();
  if (has_dns(*set.spec)) pod.rest.edit().subdomain = subdomain_of(set);
  const StringMap& told = job->metadata.annotations;
  if (told.contains(keys::exclusive) && told.contains(keys::node_selector)) select_nodes(*job, pod);
  spec.suspend = set.spec->is_suspended();
  add_claimed_volumes(set, pod);
  return job;
}

std::shared_ptr<Service> service_of(const JobSet& set) {
  auto service = std::make_shared<Service>();
  service->metadata.name = subdomain_of(set);
  service->metadata.namespace_ = set.metadata.namespace_;
  service->metadata.ownerReferences = std::vector{controller_reference(set)};
  ServiceSpec& spec = service->spec.edit();
  spec.clusterIP = "None";
  spec.selector = StringMap{{Text(keys::jobset_name), set.metadata.name}};
  spec.publishNotReadyAddresses = set.spec->network->publishNotReadyAddresses.value_or(true);
  return service;
}

std::shared_ptr<PersistentVolumeClaim> claim_of(const JobSet& set, const JobSetClaimPolicy& policy,
                                                const ClaimTemplate& one) {
  auto claim = std::make_shared<PersistentVolumeClaim>();
  claim->metadata.name = claim_name(set, one.metadata.name.view());
  claim->metadata.namespace_ = set.metadata.namespace_;
  claim->metadata.labels = one.metadata.labels;
  claim->metadata.labels.edit().insert_or_assign(Text(keys::jobset_name), set.metadata.name);
  claim->metadata.annotations = one.metadata.annotations;
  claim->spec = one.spec;
  if (policy.retentionPolicy && policy.retentionPolicy->whenDeleted == "Delete")
    claim->metadata.ownerReferences = std::vector{controller_reference(set)};
  return claim;
}

}  // namespace ddptwin::controller::jobset
