// The workloads themselves: their versions, their kinds, and what is theirs.
#include <algorithm>
#include <utility>

#include "core/concat.hpp"
#include "scenario/invariants/facts.hpp"

namespace ddptwin::scenario::invariants {
namespace {

constexpr Duration due_slack = std::chrono::seconds(30);  // a deadline and a TTL may fire so late

}  // namespace

bool JobFacts::live() const {
  return handled && !invalid && !gone && !last->metadata.deletionTimestamp && !traits.of_others;
}

int JobFacts::wanted(int index) const {
  const Workload::Group* spec = spec_of(index);
  return spec == nullptr ? 0 : spec->wanted;
}

int JobFacts::wanted() const {
  int sum = 0;
  for (int i = 0; i < type_count(); ++i) sum += wanted(i);
  return sum;
}

int JobFacts::find_type(std::string_view name) const {
  const auto lower = [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c + 32) : c; };
  for (std::size_t i = 0; i < types.size(); ++i)
    if (std::equal(name.begin(), name.end(), types[i].name.begin(), types[i].name.end(),
                   [&](char a, char b) { return lower(a) == lower(b); }))
      return static_cast<int>(i);
  return -1;
}

std::string JobFacts::type_text(int index) const {
  return type(index).name.empty() ? "replica" : type(index).name;
}

std::string JobFacts::replica_text(int index, int replica) const {
  return concat({type_text(index), " ", std::to_string(replica)});
}

void JobFacts::read(const ObjectPtr& now) {
  before = std::exchange(traits, reader->read(*now));
  last = now;
  for (TypeFacts& one : types) one.spec = nullptr;
  for (const Workload::Group& asked : traits.groups) {
    int at = find_type(asked.name);
    if (at < 0) {
      at = type_count();
      types.push_back({.name = std::string(asked.name)});
    }
    type(at).spec = &asked;
  }
}

void JobFacts::note_wanted() {
  for (int i = 0; i < type_count(); ++i) {
    TypeFacts& facts = type(i);
    const int now = wanted(i);
    facts.wanted_min = facts.wanted_min < 0 ? now : std::min(facts.wanted_min, now);
    facts.wanted_max = std::max(facts.wanted_max, now);
  }
  if (worlds.empty() || worlds.back() != traits.world) worlds.push_back(traits.world);
}

bool JobFacts::scales_down() const {
  for (const TypeFacts& facts : types) {
    const int now = facts.spec == nullptr ? 0 : facts.spec->wanted;
    if (now < 1 || facts.wanted_max <= now) continue;
    for (std::size_t i = static_cast<std::size_t>(now); i < facts.replicas.size(); ++i)
      if (!facts.replicas[i].pods.empty()) return true;
  }
  return false;
}

Facts::KindFacts& Facts::kind_of(const KindInfo& kind) {
  return *std::find_if(kinds_.begin(), kinds_.end(),
                       [&kind](const KindFacts& one) { return &one.reader->info() == &kind; });
}

// Most records of plans are of the job that the one before was of.
JobFacts* Facts::planned_job(KindFacts& kind) {
  if (kind.planned_job != nullptr) return kind.planned_job;
  const auto found = kind.jobs.find(kind.planned);
  if (found != kind.jobs.end()) kind.planned_job = found->second;
  return kind.planned_job;
}

JobFacts* Facts::job_of(const SharedText& uid) const {
  if (const auto found = jobs_.find(uid); found != jobs_.end()) return found->second.get();
  if (parts_.empty()) return nullptr;
  const auto part = parts_.find(uid);
  return part == parts_.end() ? nullptr : part->second;
}

JobFacts* Facts::owner_of(const ObjectMeta& metadata) const {
  const OwnerReference* owner = metadata.controller();
  JobFacts* job = owner == nullptr ? nullptr : job_of(owner->uid);
  return job == nullptr || job->reader->hands_on ? nullptr : job;
}

JobFacts* Facts::maker_of(const Object& workload) const {
  const OwnerReference* owner = workload.metadata.controller();
  JobFacts* job = owner == nullptr ? nullptr : job_of(owner->uid);
  return job != nullptr && job->reader->hands_on ? job : nullptr;
}

JobFacts* Facts::whole_of(const JobFacts& job) const {
  return job.is_part ? owner_of(job.last->metadata) : nullptr;
}

JobFacts* Facts::looked_at(const SharedText& uid) const {
  for (const auto* table : {&jobs_, &part_jobs_})
    if (const auto found = table->find(uid); found != table->end()) return found->second.get();
  return nullptr;
}

void Facts::take_rule(const Record& record, Sight& sight) {
  for (KindFacts& kind : kinds_) {
    if (record.actor != kind.reader->controller) continue;
    if (kind.planned != record.subject) {
      kind.planned = record.subject;
      kind.planned_job = nullptr;
    }
    kind.planned_by = record.id;
    sight.job = planned_job(kind);
    if (sight.job == nullptr) return;
    sight.job->handled = true;
    sight.job->invalid = record.rule == kind.reader->gives_up;
    return;
  }
}

// Where several controllers call by one name, what is updated tells whose pass it was: one from a
// stale cache, whose pod is no news (no-new-pods).
void Facts::forgive_stale_pass(const Record& record) {
  const std::string_view call = record.subject, verb = "update ";
  if (!call.starts_with(verb)) return;
  const std::string_view resource = call.substr(verb.size());
  for (KindFacts& kind : kinds_) {
    if (record.actor != kind.reader->actor || !kind.reader->shares_actor) continue;
    const std::string_view plural = kind.reader->info().plural;
    if (!resource.starts_with(plural) || resource.size() == plural.size()) continue;
    if (resource[plural.size()] != '.' && resource[plural.size()] != ' ') continue;
    const auto found = kind.jobs.find(resource.substr(resource.rfind(' ') + 1));
    if (found != kind.jobs.end()) found->second->late_record = 0;
  }
}

void Facts::take_refused(const Record& record, Sight& sight) {
  KindFacts* asks = nullptr;  // the kind that the operator last looked at
  for (KindFacts& kind : kinds_)
    if (record.actor == kind.reader->actor && !kind.reader->shares_actor &&
        (asks == nullptr || kind.planned_by > asks->planned_by))
      asks = &kind;
  if (asks == nullptr) return forgive_stale_pass(record);
  // It looks whether what it would delete is there; that it is not is an answer.
  if (record.subject.starts_with("get ")) return;
  sight.job = planned_job(*asks);
  if (sight.job == nullptr) return;
  ++sight.job->refusals;
  if (record.subject.starts_with("create pods ") &&
      std::string_view(record.text).find(" is forbidden") != std::string_view::npos)
    sight.job->forbidden_pods.emplace(record.subject);
  changed(*sight.job, record.time, "kubelet");
}

// What a job owns may own pods in turn.
void Facts::take_part(const Record& record) {
  if (record.kind == RecordKind::object_deleted) {
    if (!parts_.empty()) parts_.erase(record.before->metadata.uid);
    return;
  }
  if (record.kind != RecordKind::object_added) return;
  if (JobFacts* job = owner_of(record.after->metadata)) parts_[record.after->metadata.uid] = job;
}

// What it owns beside the workload that has its pods, as a TrainJob its runtime's snapshot.
void Facts::take_thing(const Record& record) {
  const ObjectPtr& now = record.after ? record.after : record.before;
  JobFacts* job = maker_of(*now);
  if (job == nullptr) return;
  std::erase_if(job->things,
                [&now](const ObjectPtr& one) { return one->metadata.uid == now->metadata.uid; });
  if (record.after) job->things.push_back(record.after);
}

void Facts::note_made(JobFacts& job, JobFacts& by, const Record& record) {
  std::erase(by.made, &job);
  if (record.after) by.made.push_back(&job);
  by.made_succeeded = by.made_succeeded || job.traits.succeeded;
  by.made_failed = by.made_failed || job.traits.failed;
}

void Facts::take_job(const Record& record, Sight& sight) {
  const ObjectPtr& now = record.after ? record.after : record.before;
  JobFacts* whole = owner_of(now->metadata);
  if (whole != nullptr) take_part(record);
  const bool is_part = whole != nullptr || part_jobs_.find(now->metadata.uid) != part_jobs_.end();
  JobFacts* by = is_part ? whole : maker_of(*now);
  auto& entry = (is_part ? part_jobs_ : jobs_)[now->metadata.uid];
  if (!entry) {
    entry = std::make_unique<JobFacts>();
    entry->uid = now->metadata.uid;
    entry->is_part = is_part;
    KindFacts& kind = kind_of(now->kind());
    entry->reader = kind.reader;
    entry->key = key_of(now->metadata);
    entry->stimulus_at = entry->pushed_at = entry->progress_at = entry->step_at = record.time;
    for (const std::string_view group : entry->reader->groups)
      entry->types.push_back({.name = std::string(group)});
    kind.jobs[entry->key] = entry.get();
    if (by != nullptr && !is_part) {  // it goes on where another one was
      entry->step_max = by->step_max;
      entry->checkpoint = by->checkpoint;
    }
    kind.planned_job = nullptr;
  }
  JobFacts& job = *entry;
  sight.job = &job;
  const bool is_new = !job.last;
  const bool respecified = is_new || job.last->metadata.generation != now->metadata.generation;
  job.read(now);
  if (by != nullptr) {
    note_made(job, *by, record);
    changed(*by, record.time, record.actor);
  }
  const Workload& traits = job.traits;
  const bool started = traits.started && traits.started != job.before.started;
  if (respecified) {
    job.invalid = false;  // until it is looked at again
    job.suspend_seen = job.suspend_seen || job.suspended();
    job.note_wanted();
  }
  // What a change of the spec makes overdue at once the operator still has to hear of.
  const auto fires = [&](Time due) {
    alarm(job, std::max(due, record.time) + due_slack, AlarmKind::due);
  };
  bool ended = false;
  if (!job.finished() && traits.finished()) {
    job.finished_at = record.time;
    job.finished_record = record.id;
    ended = true;
    if (!is_part) progressed(job, record.time, Advance::pod);
  }
  if ((ended || (respecified && job.finished())) && traits.ttl)
    fires(job.finished_at + std::chrono::seconds(*traits.ttl));
  if ((started || respecified) && traits.deadline && traits.started)
    fires(*traits.started + std::chrono::seconds(*traits.deadline));
  if (record.actor == job.reader->actor) {
    job.handled = true;
    job.refusals = 0;
  }
  changed(job, record.time, record.actor);
  if (respecified && !is_part)
    new_round(job, record.time, is_new ? Advance::applied : Advance::spec);
  if (record.kind != RecordKind::object_deleted) return;
  job.gone = true;
  KindFacts& kind = kind_of(now->kind());
  kind.planned_job = nullptr;
  const auto named = kind.jobs.find(job.key);
  if (named != kind.jobs.end() && named->second == &job) kind.jobs.erase(named);
  // Its pods may still look at it while they are collected.
  if (job.pods.empty()) is_part ? forget_part(job) : forget_job(job);
}

void Facts::forget_part(JobFacts& part) {
  auto entry = part_jobs_.extract(part.uid);
  gone_part_ = std::move(entry.mapped());
}

// It stays until the next one that goes, for the judges of its record.
void Facts::forget_job(JobFacts& job) {
  for (const auto& [name, service] : job.services)
    services_by_key_.erase(print_of_key(service.last->metadata));
  std::erase_if(parts_, [&job](const auto& part) { return part.second == &job; });
  auto entry = jobs_.extract(job.uid);
  gone_job_ = std::move(entry.mapped());
}

}  // namespace ddptwin::scenario::invariants
