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

Facts::Facts() {
  for (const WorkloadReader* reader : workload_readers()) {
    if (find_operator(reader->actor) == nullptr)
      operators_.push_back({.actor = reader->actor, .shared = reader->shares_actor});
    kinds_.push_back({.reader = reader});
  }
}

const Facts::Operator* Facts::find_operator(std::string_view actor) const {
  for (const Operator& one : operators_)
    if (one.actor == actor) return &one;
  return nullptr;
}

bool Facts::is_operator(std::string_view actor) const {
  const Operator* one = find_operator(actor);
  return one != nullptr && !one->shared;
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
      gangs_.take(record);
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
      gangs_.take(record);
      take_part(record);
      take_thing(record);
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
