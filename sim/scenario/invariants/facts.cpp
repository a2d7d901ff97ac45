#include "scenario/invariants/facts.hpp"

#include <algorithm>
#include <array>
#include <csignal>
#include <utility>

#include "controller/training_operator/environment.hpp"
#include "controller/training_operator/names.hpp"
#include "controller/training_operator/rules.hpp"
#include "core/concat.hpp"
#include "core/numbers.hpp"
#include "objects/discovery_v1.hpp"
#include "scenario/invariants/invariants.hpp"
#include "scenario/invariants/standstill.hpp"

namespace ddptwin::scenario::invariants {

using namespace std::string_view_literals;
namespace {

namespace pj = controller::pytorchjob;

// Of the cluster itself: what they do answers something, and is no stimulus.
constexpr std::array<std::string_view, 7> components{operator_actor,   controller_actor, "kubelet",
                                                     "kube-scheduler", manager_actor,    "coredns",
                                                     "container"};
bool is_component(std::string_view actor) {
  return std::find(components.begin(), components.end(), actor) != components.end();
}

constexpr Duration due_slack = std::chrono::seconds(30);  // a deadline and a TTL may fire so late

struct KindRow {
  const KindInfo* kind;
  Topic topic;
};
const std::array<KindRow, 4>& kind_rows() {
  static const std::array<KindRow, 4> rows{{{&Pod::info(), Topic::pod},
                                            {&PyTorchJob::info(), Topic::job},
                                            {&EndpointSlice::info(), Topic::slice},
                                            {&Service::info(), Topic::service}}};
  return rows;
}

Topic topic_of_object(const Object& object) {
  const KindInfo* kind = &object.kind();
  if (kind == &info_of<Event>())
    return static_cast<const Event&>(object).type_ == "Warning"sv ? Topic::warning : Topic::other;
  for (const KindRow& row : kind_rows())
    if (row.kind == kind) return row.topic;
  return Topic::object;
}

// Of the further facts of a record; empty where it has none of that name.
std::string_view value_of(const Record& record, std::string_view key) {
  for (const auto& [name, value] : record.values)
    if (name == key) return value;
  return {};
}

}  // namespace

Topic topic_of(const Record& record) {
  switch (record.kind) {
    case RecordKind::object_added:
    case RecordKind::object_modified:
    case RecordKind::object_deleted:
      return topic_of_object(record.after ? *record.after : *record.before);
    case RecordKind::api_refused:
      return Topic::refused;
    case RecordKind::rule:
      return Topic::rule;
    case RecordKind::container:
      return Topic::container;
    case RecordKind::log:
      return Topic::log;
    case RecordKind::dns:
      return Topic::dns;
    case RecordKind::fault:
      return Topic::fault;
    default:
      return Topic::other;
  }
}

Fingerprint print_of_key(const ObjectMeta& meta) {
  const std::string_view slash = meta.namespace_.empty() ? "" : "/";
  return Fingerprint::of(ShortText({meta.namespace_, slash, meta.name}).view());
}

std::string_view type_name(int type) { return type == 0 ? pj::master_type : pj::worker_type; }

bool JobFacts::live() const {
  return handled && !invalid && !gone && !last->metadata.deletionTimestamp && !is_of_others();
}

bool JobFacts::is_of_others() const {
  return last->spec->runPolicy.managedBy.value_or("kubeflow.org/training-operator") !=
         "kubeflow.org/training-operator";
}

int JobFacts::wanted(int type) const {
  const ReplicaSpec* spec = spec_of(type);
  return spec == nullptr ? 0 : spec->replicas.value_or(1);
}

bool JobFacts::scales_down() const {
  for (int type = 0; type < 2; ++type) {
    const TypeFacts& facts = types[static_cast<std::size_t>(type)];
    const int now = wanted(type);
    if (now < 1 || facts.wanted_max <= now) continue;
    for (std::size_t i = static_cast<std::size_t>(now); i < facts.replicas.size(); ++i)
      if (!facts.replicas[i].pods.empty()) return true;
  }
  return false;
}

JobFacts* Facts::job(std::string_view key) const {
  const auto found = jobs_by_key_.find(key);
  return found == jobs_by_key_.end() ? nullptr : found->second;
}

// Most records of plans are of the job that the one before was of.
JobFacts* Facts::planned_job() {
  if (planned_job_ == nullptr) planned_job_ = job(planned_);
  return planned_job_;
}

PodFacts* Facts::pod(std::string_view key) const {
  PodFacts* const* found = pods_by_key_.find(Fingerprint::of(key));
  return found == nullptr ? nullptr : *found;
}

JobFacts* Facts::job_of_service(std::string_view key) const {
  const OfJob* found = services_by_key_.find(Fingerprint::of(key));
  return found == nullptr ? nullptr : found->job;
}

const Facts::Holders* Facts::holders(std::string_view ip) const {
  return addresses_.find(Fingerprint::of(ip));
}

std::string Facts::Holder::pod() const {
  return concat({namespace_, namespace_.empty() ? "" : "/", name});
}

JobFacts* Facts::owner_of(const ObjectMeta& metadata) const {
  const OwnerReference* owner = metadata.controller();
  if (owner == nullptr || owner->kind != "PyTorchJob"sv) return nullptr;
  const auto found = jobs_.find(owner->uid);
  return found == jobs_.end() ? nullptr : found->second.get();
}

Sight Facts::take(const Record& record, Topic topic) {
  Sight sight{*this};
  sight.record = &record;
  sight.now = record.time;
  if (record.actor == operator_actor) note_call(record, topic);
  switch (topic) {
    case Topic::job:
      take_job(record, sight);
      break;
    case Topic::pod:
      take_pod(record, sight);
      break;
    case Topic::service:
      take_service(record, sight);
      break;
    case Topic::warning: {
      const auto& event = static_cast<const Event&>(record.after ? *record.after : *record.before);
      const ObjectReference& about = event.involvedObject;
      const auto found = jobs_.find(about.uid);
      const auto* pod = pods_.find(Fingerprint::of(about.uid));
      JobFacts* job = found != jobs_.end() ? found->second.get()
                      : pod != nullptr     ? (*pod)->job
                                           : nullptr;
      if (job != nullptr) job->warned = record.id;
      sight.job = job;
      if (record.after == nullptr) break;
      const auto kept = as<Event>(record.after);
      // Which volumes are missing is no news where an earlier one has told why.
      const bool sums_up =
          std::string_view(kept->message).starts_with("Unable to attach or mount volumes");
      if (pod != nullptr && sums_up && (*pod)->warning != nullptr) break;
      if (pod != nullptr)
        (*pod)->warning = kept;
      else if (job != nullptr)
        job->warning = kept;
      note_event(event);
      break;
    }
    case Topic::refused:
      take_refused(record, sight);
      break;
    case Topic::rule:
      if (record.actor == controller_actor) {
        if (planned_ != record.subject) {
          planned_ = record.subject;
          planned_job_ = nullptr;
        }
        sight.job = planned_job();
        if (sight.job != nullptr) {
          sight.job->handled = true;
          sight.job->invalid = record.rule == pj::rules::invalid_job.name;
        }
      }
      break;
    case Topic::container:
    case Topic::log:
      take_log(record, sight);
      break;
    case Topic::fault:
      take_fault(record, sight);
      break;
    case Topic::slice:
      take_slice(record, sight);
      break;
    case Topic::object:
    case Topic::dns:
      break;
    case Topic::other:
      if (record.kind == RecordKind::object_added || record.kind == RecordKind::object_modified)
        note_event(static_cast<const Event&>(*record.after));
      if (record.kind == RecordKind::note && record.text.starts_with("panic: ")) panicked_ = true;
      break;
  }
  return sight;
}

// ---- jobs --------------------------------------------------------------------------------------

void Facts::take_job(const Record& record, Sight& sight) {
  const auto now = as<PyTorchJob>(record.after ? record.after : record.before);
  auto& entry = jobs_[now->metadata.uid];
  if (!entry) {
    entry = std::make_unique<JobFacts>();
    entry->uid = now->metadata.uid;
    entry->key = key_of(now->metadata);
    entry->stimulus_at = entry->pushed_at = entry->progress_at = entry->step_at = record.time;
    jobs_by_key_[entry->key] = entry.get();
    planned_job_ = nullptr;
  }
  JobFacts& job = *entry;
  sight.job = &job;
  const bool is_new = !job.last;
  const auto start = [](const PyTorchJob& one) {
    return one.status ? one.status->startTime : std::nullopt;
  };
  const bool started = start(*now) && (!job.last || start(*job.last) != start(*now));
  const bool respecified = !job.last || job.last->metadata.generation != now->metadata.generation;
  job.last = now;
  for (int type = 0; type < 2; ++type)
    job.types[static_cast<std::size_t>(type)].spec = pj::replica_spec(*now, type_name(type));
  if (respecified) {
    job.invalid = false;  // until it is looked at again
    job.suspend_seen = job.suspend_seen || job.suspended();
    for (int type = 0; type < 2; ++type) {
      TypeFacts& facts = job.types[static_cast<std::size_t>(type)];
      const int wanted = job.wanted(type);
      facts.wanted_min = facts.wanted_min < 0 ? wanted : std::min(facts.wanted_min, wanted);
      facts.wanted_max = std::max(facts.wanted_max, wanted);
    }
    const bool counts = pj::processes_per_node(*now->spec) > 0;
    const std::int64_t world = counts ? pj::world_size(*now) : pj::total_replicas(*now);
    if (job.worlds.empty() || job.worlds.back() != world) job.worlds.push_back(world);
  }
  const auto& status = now->status;
  // What a change of the spec makes overdue at once the operator still has to hear of.
  const auto fires = [&](Time due) {
    alarm(job, std::max(due, record.time) + due_slack, AlarmKind::due);
  };
  bool ended = false;
  if (!job.finished() && status && (status->is_true("Succeeded") || status->is_true("Failed"))) {
    job.finished_at = record.time;
    job.finished_record = record.id;
    ended = true;
    progressed(job, record.time, Advance::pod);
  }
  const auto& ttl = now->spec->runPolicy.ttlSecondsAfterFinished;
  if ((ended || (respecified && job.finished())) && ttl)
    fires(job.finished_at + std::chrono::seconds(*ttl));
  const auto& deadline = now->spec->runPolicy.activeDeadlineSeconds;
  if ((started || respecified) && deadline && start(*now))
    fires(*start(*now) + std::chrono::seconds(*deadline));
  if (record.actor == operator_actor) {
    job.handled = true;
    job.refusals = 0;
  }
  changed(job, record.time, record.actor);
  if (respecified) new_round(job, record.time, is_new ? Advance::applied : Advance::spec);
  if (record.kind != RecordKind::object_deleted) return;
  job.gone = true;
  planned_job_ = nullptr;
  const auto named = jobs_by_key_.find(job.key);
  if (named != jobs_by_key_.end() && named->second == &job) jobs_by_key_.erase(named);
  // Its pods may still look at it while they are collected.
  if (job.pods.empty()) forget_job(job);
}

void Facts::changed(JobFacts& job, Time now, std::string_view actor) {
  job.changed_at = now;
  if (actor == operator_actor)
    job.writes = job.scales_down() ? 0 : job.writes + 1;
  else if (!is_component(actor)) {
    stimulate(job, now);
    job.pushed_at = now;
  }
  if (job.queued_rest) return;
  job.queued_rest = true;
  alarm(job, now + rest_of(job), AlarmKind::rest);
}

void Facts::progressed(JobFacts& job, Time now, Advance how) {
  job.progress_at = now;
  job.progress = how;
  job.attempts = 0;
  if (moved_.uid != job.uid) {
    moved_before_ = std::exchange(moved_, {job.uid, now});
  } else {
    moved_.at = now;
  }
  if (job.queued_progress) return;
  job.queued_progress = true;
  alarm(job, now + bound_of_progress(), AlarmKind::progress);
}

// It came further than ever, or has to come somewhere else: what went before is of no matter.
void Facts::new_round(JobFacts& job, Time now, Advance how) {
  job.returns = false;
  job.repeated_max = 0;
  if (how == Advance::spec) ++job.way;
  progressed(job, now, how);
}

// A process has ended: what it takes to be there again counts once.
void Facts::turn_back(JobFacts& job) {
  if (job.returns) return;
  job.returns = true;
  ++job.way;
}

Facts::Others Facts::others(const JobFacts& job) const {
  const Moved& moved = moved_.uid == job.uid ? moved_before_ : moved_;
  const auto found = jobs_.find(moved.uid);
  return {moved.at, found != jobs_.end() && !found->second->gone && !found->second->finished()};
}

std::optional<Time> Facts::standstill_at() const {
  std::optional<Time> last;
  // Whichever is asked first: the latest is one.
  for (const auto& [uid, job] : jobs_)
    if (can_stand_still(*job, *this))
      last = std::max(last, std::optional(stands_still_at(*job, *this)));
  return last;
}

Duration Facts::bound_of_progress() const { return progress_within_.value_or(progress_within); }

void Facts::stimulate(JobFacts& job, Time now) {
  job.stimulus_at = now;
  job.writes = 0;
}

bool Facts::recovers(Time now) const {
  return disturbed_ || (was_disturbed_ && now < healed_at_ + rest_time_after_faults);
}

Duration Facts::rest_of(const JobFacts& job) const {
  return was_disturbed_ || job.blocked() ? rest_time_after_faults : rest_time;
}

void Facts::alarm(JobFacts& job, Time at, AlarmKind kind) {
  alarms_.push({at, ++alarm_count_, job.uid, kind});
}

void Facts::note_call(const Record& record, Topic topic) {
  if (topic > Topic::object && topic != Topic::refused) return;
  calls_[call_count_++ % busy_writes] = record.time;
}

bool Facts::operator_busy(Time now) const {
  return call_count_ >= busy_writes && now - calls_[call_count_ % busy_writes] <= rest_time;
}

std::optional<Time> Facts::next_alarm() const {
  return alarms_.empty() ? std::nullopt : std::optional(alarms_.top().at);
}

std::optional<Facts::Due> Facts::next_due(Time now) {
  while (is_due(now)) {
    const Alarm due = alarms_.top();
    alarms_.pop();
    const auto found = jobs_.find(due.uid);
    if (found == jobs_.end()) continue;
    JobFacts& job = *found->second;
    if (operator_busy(due.at)) {
      alarm(job, due.at + rest_time, due.kind);
      continue;
    }
    if (due.kind == AlarmKind::rest) {
      const Time quiet = std::max(job.changed_at, healed_at_) + rest_of(job);
      if (disturbed_ || quiet > due.at) {
        alarm(job, std::max(quiet, due.at + rest_time), AlarmKind::rest);
        continue;
      }
      job.queued_rest = false;
      return Due{&job, due.at, true};
    }
    if (due.kind == AlarmKind::progress) {
      job.queued_progress = !job.finished() && !job.gone;
      if (!job.queued_progress) continue;
      // It is looked at again in any case: who it waits for may change meanwhile.
      const Time late = stands_still_at(job, *this), next = due.at + bound_of_progress();
      const bool is_late = !disturbed_ && late <= due.at;
      alarm(job, is_late || disturbed_ ? next : std::min(late, next), AlarmKind::progress);
      if (!is_late) continue;
    }
    return Due{&job, due.at, false};
  }
  return std::nullopt;
}

// It stays until the next one that goes, for the judges of its record.
void Facts::forget_job(JobFacts& job) {
  for (const auto& [name, service] : job.services)
    services_by_key_.erase(print_of_key(service.last->metadata));
  auto entry = jobs_.extract(job.uid);
  gone_job_ = std::move(entry.mapped());
}

// ---- the rest ----------------------------------------------------------------------------------

void Facts::take_service(const Record& record, Sight& sight) {
  const auto service = as<Service>(record.after ? record.after : record.before);
  sight.job = owner_of(service->metadata);
  if (sight.job == nullptr) return;
  JobFacts& job = *sight.job;
  const Fingerprint key = print_of_key(service->metadata);
  if (record.kind == RecordKind::object_deleted) {
    job.services.erase(service->metadata.name);
    services_by_key_.erase(key);
  } else {
    ServiceFacts& facts = job.services[service->metadata.name];
    facts.last = service;
    services_by_key_[key] = {&job, &facts};
    const Text* type = service->metadata.label(pj::label::replica_type);
    const auto index = pj::replica_index(service->metadata);
    if (type != nullptr && index && *index >= 0) {
      auto& replicas = job.types[*type == "master" ? 0 : 1].replicas;
      if (replicas.size() > static_cast<std::size_t>(*index))
        replicas[static_cast<std::size_t>(*index)].service_created = true;
    }
  }
  changed(job, record.time, record.actor);
}

void Facts::take_slice(const Record& record, Sight& sight) {
  slices_ = true;
  const auto slice = as<EndpointSlice>(record.after ? record.after : record.before);
  const Text* service = slice->metadata.label("kubernetes.io/service-name");
  if (service == nullptr) return;
  const ShortText key({slice->metadata.namespace_, "/", *service});
  const OfJob* of = services_by_key_.find(Fingerprint::of(key.view()));
  if (of == nullptr) return;
  sight.job = of->job;
  // A controller that is slow to see its own may make several.
  auto& slices = of->service->slices;
  const auto is_it = [&slice](const auto& one) {
    return one->metadata.name == slice->metadata.name;
  };
  slices.erase(std::remove_if(slices.begin(), slices.end(), is_it), slices.end());
  if (record.kind != RecordKind::object_deleted) slices.push_back(slice);
}

void Facts::take_refused(const Record& record, Sight& sight) {
  if (record.actor != operator_actor) return;
  // It looks whether what it would delete is there; that it is not is an answer.
  if (record.subject.starts_with("get ")) return;
  sight.job = planned_job();
  if (sight.job == nullptr) return;
  ++sight.job->refusals;
  changed(*sight.job, record.time, "kubelet");
}

void Facts::take_fault(const Record& record, Sight& sight) {
  if (record.text == "healed"sv) {
    disturbed_ = false;
    healed_at_ = record.time;
    return;
  }
  // A step's kill, and a plan's: what happens to a process is over at once.
  const bool kill = value_of(record, "signal") == "9", missed = value_of(record, "missed") == "9";
  if (value_of(record, "port") != "process") disturbed_ = was_disturbed_ = true;
  const std::size_t slash = record.subject.rfind('/');
  const std::string_view subject = record.subject;
  PodFacts* hit = pod(subject);
  if (hit == nullptr && slash != record.subject.npos) hit = pod(subject.substr(0, slash));
  if (hit == nullptr) return;
  sight.pod = hit;
  sight.job = hit->job;
  if (hit->job != nullptr) {
    stimulate(*hit->job, record.time);
    hit->job->pushed_at = record.time;
  }
  if (slash == record.subject.npos) return;
  note_signal(*hit, subject.substr(slash + 1), record);
  if (!kill && !missed) return;
  // A process that has ended already is not killed, whatever its pod's status says by then.
  const std::string_view name = subject.substr(slash + 1);
  PodFacts::ContainerFacts& container = hit->container(name);
  if (!container.running) return;
  container.starts = std::max(container.starts, starts_told(hit->last->status, name));
  // What missed takes back what it was thought to have hit, and no earlier one.
  container.killed_start = missed ? 0 : container.starts;
  if (missed) return;
  hit->killed = true;
}

// Who is stopped can do nothing, and looks as if it ran.
void Facts::note_signal(PodFacts& pod, std::string_view container, const Record& record) {
  const auto number = [&record](std::string_view key) {
    return whole_number<int>(value_of(record, key)).value_or(0);
  };
  const int sent = number("signal"), missed = number("missed");
  const auto stops = [](int signal) { return signal == SIGSTOP || signal == SIGTSTP; };
  PodFacts::ContainerFacts& facts = pod.container(container);
  if (stops(sent)) {
    facts.stopped_by = sent;
    facts.stopped_at = record.time;
  } else if (sent == SIGCONT || stops(missed)) {
    facts.stopped_by = 0;
  }
}

}  // namespace ddptwin::scenario::invariants
