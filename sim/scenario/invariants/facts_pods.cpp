// What the records of pods tell.
#include <algorithm>
#include <utility>

#include "core/numbers.hpp"
#include "objects/pod_phase.hpp"
#include "scenario/invariants/facts.hpp"
#include "scenario/invariants/invariants.hpp"

namespace ddptwin::scenario::invariants {

using namespace std::string_view_literals;
namespace {

std::int64_t number_of(const Container& container, std::string_view variable) {
  std::int64_t number = -1;
  for (const EnvVar& one : container.env) {
    if (one.name != variable) continue;  // the last of a name wins
    number = whole_number<std::int64_t>(one.value).value_or(-1);
  }
  return number;
}

std::int64_t restarts_in(const std::vector<ContainerStatus>& statuses) {
  std::int64_t sum = 0;
  for (const ContainerStatus& one : statuses) sum += one.restartCount;
  return sum;
}

// Its main container ended with a code that is not worth another try.
bool failed_for_good(const Pod& pod, const WorkloadReader& reader) {
  const std::string_view main = main_container(pod, reader);
  for (const ContainerStatus& one : pod.status.containerStatuses)
    if (one.name == main && one.state.terminated)
      return reader.retryable != nullptr ? !reader.retryable(one.state.terminated->exitCode)
                                         : one.state.terminated->exitCode < reader.first_retryable;
  return false;
}

// Its place in the group, whose parts follow one another; -1: it tells of none.
int place_of(const ObjectMeta& metadata, const JobFacts& job) {
  const int index = index_of(metadata, *job.reader);
  if (index < 0) return index;
  if (job.reader->part_label.empty()) {
    const int of = group_of(metadata, job);
    const Workload::Group* numbered = of < 0 ? nullptr : job.spec_of(of);
    return numbered == nullptr ? index : std::max(index - numbered->first, -1);
  }
  const Text* label = metadata.label(job.reader->part_label);
  const int part = label == nullptr ? -1 : go_integer<int>(*label).value_or(-1);
  const int group = group_of(metadata, job);
  const Workload::Group* spec = group < 0 ? nullptr : job.spec_of(group);
  if (part < 0 || spec == nullptr || index >= spec->per_part) return -1;
  return part * spec->per_part + index;
}

// The lowest whose pods have failed, are leaving or are gone: a pod takes the place of another.
int free_index(const JobFacts& job) {
  if (job.types.empty()) return -1;
  const auto is_held = [](const PodFacts* pod) {
    return !pod->terminating() && !pod->is("Failed");
  };
  const auto is_free = [&is_held](const ReplicaFacts& one) {
    return !one.succeeded && std::none_of(one.pods.begin(), one.pods.end(), is_held);
  };
  const auto& replicas = job.types.front().replicas;
  return static_cast<int>(std::find_if(replicas.begin(), replicas.end(), is_free) -
                          replicas.begin());
}

}  // namespace

int index_of(const ObjectMeta& metadata, const WorkloadReader& reader) {
  const Text* label = metadata.label(reader.index_label);
  return label == nullptr ? -1 : std::max(go_integer<int>(*label).value_or(-1), -1);
}

int group_of(const ObjectMeta& metadata, const JobFacts& job) {
  if (job.reader->group_label.empty()) return job.find_type("");
  const Text* label = metadata.label(job.reader->group_label);
  return label == nullptr ? -1 : job.find_type(*label);
}

PodFacts::ContainerFacts& PodFacts::container(std::string_view name) {
  for (ContainerFacts& one : containers)
    if (one.name == name) return one;
  containers.push_back({name, 0, false, 0});
  return containers.back();
}

ReplicaFacts& PodFacts::replica() const {
  return job->type(type).replicas[static_cast<std::size_t>(index)];
}

bool PodFacts::wanted() const { return job == nullptr || type < 0 || index < job->wanted(type); }

void Facts::take_pod(const Record& record, Sight& sight) {
  const ObjectPtr& told = record.after ? record.after : record.before;
  const SharedText& uid = told->metadata.uid;
  if (record.kind == RecordKind::object_added) {
    auto& entry = pods_[Fingerprint::of(uid)];
    entry = std::make_unique<PodFacts>();
    entry->last = as<Pod>(told);
    entry->created_at = record.time;
    add_pod(record, *entry);
    sight.pod = entry.get();
  } else {
    const auto* found = pods_.find(Fingerprint::of(uid));
    if (found == nullptr) return;
    sight.pod = found->get();
    if (record.kind == RecordKind::object_modified) change_pod(record, *sight.pod);
  }
  PodFacts& facts = *sight.pod;
  sight.job = facts.job;
  if (record.kind == RecordKind::object_deleted) {
    if (facts.deleted_by.empty()) take_away(facts, record);
    forget_pod(facts);
    facts.last = as<Pod>(told);
    const Fingerprint print = Fingerprint::of(uid);
    gone_pod_ = std::move(*pods_.find(print));
    pods_.erase(print);
  }
  if (facts.job == nullptr) return;
  changed(*facts.job, record.time, record.actor);
  if (facts.part != nullptr) changed(*facts.part, record.time, record.actor);
}

void Facts::add_pod(const Record& record, PodFacts& facts) {
  const Pod& pod = *facts.last;
  pods_by_key_[print_of_key(pod.metadata)] = &facts;
  facts.job = owner_of(pod.metadata);
  if (facts.job == nullptr) return;
  JobFacts& job = *facts.job;
  job.pods.push_back(&facts);
  if (!job.forbidden_pods.empty())
    job.forbidden_pods.erase("create pods " + key_of(facts.last->metadata));
  const SharedText& owner = pod.metadata.controller()->uid;
  if (const auto part = part_jobs_.find(owner); part != part_jobs_.end()) {
    facts.part = part->second.get();
    facts.part->pods.push_back(&facts);
  }
  int index = place_of(pod.metadata, job);
  if (index < 0 && job.reader->free_indexes) index = free_index(job);
  if (index < 0) return;
  facts.type = group_of(pod.metadata, job);
  facts.index = index;
  if (!pod.spec->containers.empty()) {
    facts.world_size = number_of(pod.spec->containers.front(), "WORLD_SIZE");
    facts.rank = number_of(pod.spec->containers.front(), "RANK");
  }
  if (facts.type < 0) return;
  auto& replicas = job.type(facts.type).replicas;
  if (replicas.size() <= static_cast<std::size_t>(facts.index))
    replicas.resize(static_cast<std::size_t>(facts.index) + 1);
  ReplicaFacts& replica = replicas[static_cast<std::size_t>(facts.index)];
  replica.pods.push_back(&facts);
  ++replica.created;
  // Another owner's pods begin anew: all of a JobSet that is restarted.
  if (std::exchange(replica.owner, owner) != owner) replica.succeeded = false;
  if (replica.last_failed) {
    ++job.replaced;
    restarted(job, record);
  }
  replica.last_failed = false;
  replica.after_failed = replica.gone_failed;
  if (replica.created > 1) ++job.attempts;
  note_stage(facts, record.time);
}

namespace {

int has_begun(const ContainerStatus& one) {
  return one.state.running || one.state.terminated || one.lastState->terminated ? 1 : 0;
}

// How far it has come: placed, each container begun, running, well ended.
int stage_of(const Pod& pod) {
  const PodStatus& status = pod.status;
  int stage = 1 + (pod.spec->nodeName.empty() ? 0 : 1);
  for (const ContainerStatus& one : status.initContainerStatuses)
    stage += one.state.terminated && one.state.terminated->exitCode == 0 ? 2 : has_begun(one);
  for (const ContainerStatus& one : status.containerStatuses) stage += has_begun(one);
  if (status.phase == "Running"sv) ++stage;
  if (status.phase == "Succeeded"sv) stage += 2;
  return stage;
}

}  // namespace

void Facts::note_stage(PodFacts& pod, Time now) {
  if (pod.type < 0) return;
  ReplicaFacts& replica = pod.replica();
  if (replica.way != pod.job->way) {
    replica.way = pod.job->way;
    replica.stage = replica.lines = 0;
  }
  const int stage = stage_of(*pod.last);
  if (stage <= replica.stage) return;
  replica.stage = stage;
  progressed(*pod.job, now, Advance::pod);
}

void Facts::restarted(JobFacts& job, const Record& record) {
  job.restart_record = record.id;
  const auto& limit = job.traits.backoff;
  if (limit && !job.budget_spent_at && job.replaced + job.restarts >= *limit)
    job.budget_spent_at = record.time;
}

void Facts::change_pod(const Record& record, PodFacts& facts) {
  const Pod& before = static_cast<const Pod&>(*record.before);
  facts.last = as<Pod>(record.after);
  const Pod& pod = *facts.last;
  if (pod.metadata.deletionTimestamp && !before.metadata.deletionTimestamp)
    take_away(facts, record);
  const bool over = is_terminal_phase(pod.status.phase);
  const bool ends = over && !is_terminal_phase(before.status.phase);
  if (pod.status.rest->podIP != before.status.rest->podIP) {
    leave_address(pod, before.status.rest->podIP, record.time);
    hold_address(pod, pod.status.rest->podIP, record.time);
  }
  if (ends) leave_address(pod, pod.status.rest->podIP, record.time);
  if (facts.job == nullptr) return;
  JobFacts& job = *facts.job;
  if (job.traits.endless && !facts.was_ready) {
    const PodCondition* ready = pod.status.condition("Ready");
    facts.was_ready = ready != nullptr && ready->status == "True";
  }
  if (ends && !facts.terminating() && facts.wanted()) stimulate(job, record.time);
  if (ends) note_disruption(facts, record.time);
  note_stage(facts, record.time);
  // What stays the same memory tells of no restart that has not been counted.
  const bool first = !std::exchange(facts.counted, true);
  const auto count = [first](const auto& list, const auto& list_before, std::int64_t& told) {
    if (first || !list.same_as(list_before)) told = restarts_in(list);
  };
  count(pod.status.initContainerStatuses, before.status.initContainerStatuses, facts.init_restarts);
  count(pod.status.containerStatuses, before.status.containerStatuses, facts.own_restarts);
  const std::int64_t restarts = facts.init_restarts + facts.own_restarts;
  if (restarts > facts.restarts) {
    (facts.follows_disruption(record.time) ? job.followed : job.restarts) +=
        restarts - facts.restarts;
    job.attempts += static_cast<int>(restarts - facts.restarts);
    facts.restarts = restarts;
    restarted(job, record);
  }
  if (job.restarts + job.followed > 0) {
    std::int64_t running = 0;
    for (const PodFacts* one : job.pods) running += one->is("Running") ? one->restarts : 0;
    job.running_restarts_max = std::max(job.running_restarts_max, running);
  }
  if (facts.type < 0) return;
  ReplicaFacts& replica = facts.replica();
  if (pod.status.phase == "Succeeded"sv) replica.succeeded = true;
  if (pod.status.phase == "Failed"sv) {
    const bool permanent = failed_for_good(pod, *job.reader);
    replica.failed = true;
    replica.permanent = replica.permanent || permanent;
    replica.own_permanent = replica.own_permanent || (permanent && !facts.disrupted &&
                                                      !facts.follows_disruption(record.time));
  }
  if (facts.terminating() &&
      (pod.status.phase == "Running"sv || before.status.phase == "Running"sv))
    replica.failed = true;
}

// Only who held it within the time that a name may still tell of it is remembered.
void Facts::hold_address(const Pod& pod, std::string_view ip, Time now) {
  if (ip.empty()) return;
  Holders& all = addresses_[Fingerprint::of(ip)];
  const auto is_past = [now](const Holder& one) {
    return one.until && *one.until + name_lifetime < now;
  };
  all.erase(std::remove_if(all.begin(), all.end(), is_past), all.end());
  all.push_back({pod.metadata.namespace_, pod.metadata.name, pod.metadata.uid, std::nullopt});
}

void Facts::leave_address(const Pod& pod, std::string_view ip, OptionalTime until) {
  Holders* all = ip.empty() ? nullptr : addresses_.find(Fingerprint::of(ip));
  if (all == nullptr) return;
  for (Holder& one : *all)
    if (one.uid == pod.metadata.uid && !one.until) one.until = until;
}

void Facts::take_away(PodFacts& facts, const Record& record) {
  facts.deleted_by = record.actor;
  facts.terminating_since = record.time;
  note_disruption(facts, record.time);
  if (facts.job == nullptr || facts.type < 0) return;
  if (record.actor != facts.job->reader->pods_by) return;
  if (facts.is("Failed") || facts.index >= facts.job->wanted(facts.type)) return;
  facts.job->taken_pod = facts.last->metadata.name;
  facts.job->taken_at = record.time;
}

void Facts::forget_pod(PodFacts& facts) {
  facts.gone = true;
  const ObjectMeta& meta = facts.last->metadata;
  const Fingerprint key = print_of_key(meta);
  if (PodFacts** named = pods_by_key_.find(key); named != nullptr && *named == &facts)
    pods_by_key_.erase(key);
  leave_address(*facts.last, facts.last->status.rest->podIP, meta.deletionTimestamp);
  if (facts.job == nullptr) return;
  JobFacts& job = *facts.job;
  if (JobFacts* part = facts.part) {
    std::erase(part->pods, &facts);
    // What is judged of this record still looks at it.
    if (part->gone && part->pods.empty()) forget_part(*part);
  }
  end_ranks(facts);
  turn_back(job);
  std::erase(job.pods, &facts);
  if (facts.type >= 0) {
    ReplicaFacts& replica = facts.replica();
    std::erase(replica.pods, &facts);
    replica.gone_failed = facts.is("Failed");
    replica.last_failed = facts.is("Failed") && facts.deleted_by == job.reader->pods_by &&
                          !facts.disrupted && !facts.follows_disruption(facts.terminating_since);
  }
  if (!job.gone || !job.pods.empty()) return;
  forget_job(job);
}

}  // namespace ddptwin::scenario::invariants
