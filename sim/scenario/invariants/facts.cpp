#include "scenario/invariants/facts.hpp"

#include <algorithm>
#include <csignal>
#include <utility>

#include "core/concat.hpp"
#include "core/numbers.hpp"
#include "objects/discovery_v1.hpp"
#include "scenario/invariants/invariants.hpp"

namespace ddptwin::scenario::invariants {

using namespace std::string_view_literals;
namespace {

constexpr Duration due_slack = std::chrono::seconds(30);  // a deadline and a TTL may fire so late

struct KindRow {
  const KindInfo* kind;
  Topic topic;
};
const std::vector<KindRow>& kind_rows() {
  static const std::vector<KindRow> all = [] {
    std::vector<KindRow> rows{{&Pod::info(), Topic::pod}};
    for (const WorkloadReader* reader : workload_readers())
      rows.push_back({&reader->info(), Topic::job});
    rows.insert(rows.end(),
                {{&EndpointSlice::info(), Topic::slice}, {&Service::info(), Topic::service}});
    return rows;
  }();
  return all;
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

std::string_view main_container(const Pod& pod, const WorkloadReader& reader) {
  const auto& containers = *pod.spec->containers;
  const bool first =
      reader.main_container.empty() || pod.spec->container(reader.main_container) == nullptr;
  return first && !containers.empty() ? std::string_view(containers.front().name)
                                      : reader.main_container;
}

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

Facts::Facts() {
  for (const WorkloadReader* reader : workload_readers()) {
    const Operator* known = find_operator(reader->actor);
    const auto at =
        known != nullptr ? static_cast<std::size_t>(known - operators_.data()) : operators_.size();
    if (known == nullptr) operators_.push_back({.actor = reader->actor});
    kinds_.push_back({.reader = reader, .of_operator = at});
  }
}

const Facts::Operator* Facts::find_operator(std::string_view actor) const {
  for (const Operator& one : operators_)
    if (one.actor == actor) return &one;
  return nullptr;
}

bool Facts::is_operator(std::string_view actor) const { return find_operator(actor) != nullptr; }

Facts::KindFacts& Facts::kind_of(const WorkloadReader& reader) {
  return *std::find_if(kinds_.begin(), kinds_.end(),
                       [&reader](const KindFacts& one) { return one.reader == &reader; });
}

// Most records of plans are of the job that the one before was of.
JobFacts* Facts::planned_job(KindFacts& kind) {
  if (kind.planned_job != nullptr) return kind.planned_job;
  const auto found = kind.jobs.find(kind.planned);
  if (found != kind.jobs.end()) kind.planned_job = found->second;
  return kind.planned_job;
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

JobFacts* Facts::job_of(const SharedText& uid) const {
  if (const auto found = jobs_.find(uid); found != jobs_.end()) return found->second.get();
  if (parts_.empty()) return nullptr;
  const auto part = parts_.find(uid);
  return part == parts_.end() ? nullptr : part->second;
}

JobFacts* Facts::owner_of(const ObjectMeta& metadata) const {
  const OwnerReference* owner = metadata.controller();
  return owner == nullptr ? nullptr : job_of(owner->uid);
}

Sight Facts::take(const Record& record, Topic topic) {
  Sight sight{*this};
  sight.record = &record;
  sight.now = record.time;
  note_call(record, topic);
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
    case Topic::warning:
      take_warning(record, sight);
      break;
    case Topic::refused:
      take_refused(record, sight);
      break;
    case Topic::rule:
      take_rule(record, sight);
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
      take_part(record);
      break;
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

void Facts::take_warning(const Record& record, Sight& sight) {
  const auto& event = static_cast<const Event&>(record.after ? *record.after : *record.before);
  const ObjectReference& about = event.involvedObject;
  const auto* pod = pods_.find(Fingerprint::of(about.uid));
  JobFacts* job = job_of(about.uid);
  if (job == nullptr && pod != nullptr) job = (*pod)->job;
  if (job != nullptr) job->warned = record.id;
  sight.job = job;
  if (record.after == nullptr) return;
  const auto kept = as<Event>(record.after);
  // Which volumes are missing is no news where an earlier one has told why.
  const bool sums_up =
      std::string_view(kept->message).starts_with("Unable to attach or mount volumes");
  if (pod != nullptr && sums_up && (*pod)->warning != nullptr) return;
  if (pod != nullptr)
    (*pod)->warning = kept;
  else if (job != nullptr)
    job->warning = kept;
  note_event(event);
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

// ---- jobs --------------------------------------------------------------------------------------

namespace {

const WorkloadReader& reader_of(const KindInfo& kind) {
  const auto readers = workload_readers();
  return **std::find_if(readers.begin(), readers.end(),
                        [&kind](const WorkloadReader* reader) { return &reader->info() == &kind; });
}

}  // namespace

// What a job owns may own pods in turn.
void Facts::take_part(const Record& record) {
  if (record.kind == RecordKind::object_deleted) {
    if (!parts_.empty()) parts_.erase(record.before->metadata.uid);
    return;
  }
  if (record.kind != RecordKind::object_added) return;
  if (JobFacts* job = owner_of(record.after->metadata)) parts_[record.after->metadata.uid] = job;
}

void Facts::take_job(const Record& record, Sight& sight) {
  const ObjectPtr& now = record.after ? record.after : record.before;
  if (JobFacts* whole = owner_of(now->metadata)) {
    take_part(record);
    return changed(*whole, record.time, record.actor);
  }
  auto& entry = jobs_[now->metadata.uid];
  if (!entry) {
    entry = std::make_unique<JobFacts>();
    entry->uid = now->metadata.uid;
    entry->reader = &reader_of(now->kind());
    entry->key = key_of(now->metadata);
    entry->stimulus_at = entry->pushed_at = entry->progress_at = entry->step_at = record.time;
    for (const std::string_view group : entry->reader->groups)
      entry->types.push_back({.name = std::string(group)});
    KindFacts& kind = kind_of(*entry->reader);
    kind.jobs[entry->key] = entry.get();
    kind.planned_job = nullptr;
  }
  JobFacts& job = *entry;
  sight.job = &job;
  const bool is_new = !job.last;
  const bool respecified = is_new || job.last->metadata.generation != now->metadata.generation;
  job.read(now);
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
    progressed(job, record.time, Advance::pod);
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
  if (respecified) new_round(job, record.time, is_new ? Advance::applied : Advance::spec);
  if (record.kind != RecordKind::object_deleted) return;
  job.gone = true;
  KindFacts& kind = kind_of(*job.reader);
  kind.planned_job = nullptr;
  const auto named = kind.jobs.find(job.key);
  if (named != kind.jobs.end() && named->second == &job) kind.jobs.erase(named);
  // Its pods may still look at it while they are collected.
  if (job.pods.empty()) forget_job(job);
}

void Facts::note_call(const Record& record, Topic topic) {
  if (topic > Topic::object && topic != Topic::refused) return;
  for (Operator& one : operators_)
    if (record.actor == one.actor) one.calls[one.call_count++ % busy_writes] = record.time;
}

bool Facts::Operator::busy(Time now) const {
  return call_count >= busy_writes && now - calls[call_count % busy_writes] <= rest_time;
}

bool Facts::operator_busy(const JobFacts& job, Time now) const {
  const Operator* one = find_operator(job.reader->actor);
  return one != nullptr && one->busy(now);
}

// It stays until the next one that goes, for the judges of its record.
void Facts::forget_job(JobFacts& job) {
  for (const auto& [name, service] : job.services)
    services_by_key_.erase(print_of_key(service.last->metadata));
  std::erase_if(parts_, [&job](const auto& part) { return part.second == &job; });
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
  KindFacts* asks = nullptr;  // the kind that the operator last looked at
  for (KindFacts& kind : kinds_)
    if (record.actor == kind.reader->actor &&
        (asks == nullptr || kind.planned_by > asks->planned_by))
      asks = &kind;
  if (asks == nullptr) return;
  // It looks whether what it would delete is there; that it is not is an answer.
  if (record.subject.starts_with("get ")) return;
  sight.job = planned_job(*asks);
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
