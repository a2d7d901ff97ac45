#include "cause_judge.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>

#include "objects/discovery_v1.hpp"
#include "objects/kinds.hpp"

namespace ddptwin::property {
namespace {

constexpr std::string_view pod_prefix = "Pod/";

std::string name_of(std::string_view kind, std::string_view namespace_, std::string_view name) {
  return fmt::format("{}/{}/{}", kind, namespace_, name);
}

std::string service_of(const Object& object) {
  const StringMap& labels = *object.metadata.labels;
  const auto service = labels.find("kubernetes.io/service-name");
  return service != labels.end() ? std::string(service->second) : object.metadata.name.str();
}

// "namespace/pod" of "namespace/pod/container".
std::string pod_of(std::string_view subject) {
  const std::size_t first = subject.find('/');
  if (first == subject.npos) return std::string(subject);
  return std::string(subject.substr(0, subject.find('/', first + 1)));
}

// What a controller's or a server's record is about without its kind: the last word of its subject.
std::string last_word(std::string_view subject) {
  const std::size_t space = subject.rfind(' ');
  return std::string(space == subject.npos ? subject : subject.substr(space + 1));
}

}  // namespace

std::set<std::string> CauseJudge::names_of(const Record& record) const {
  if (const Object* object = record.after ? record.after.get() : record.before.get()) {
    if (const Event* event = as<Event>(*object)) {
      const ObjectReference& about = event->involvedObject;
      return {name_of(about.kind, about.namespace_, about.name)};
    }
    const ObjectMeta& meta = object->metadata;
    const std::string& kind = object->kind().kind;
    if (kind == "EndpointSlice" || kind == "Endpoints")
      return {name_of("Service", meta.namespace_, service_of(*object))};
    return {name_of(kind, meta.namespace_, meta.name)};
  }
  const std::string_view subject = record.subject;
  switch (record.kind) {
    case RecordKind::container:
    case RecordKind::log:
      return {std::string(pod_prefix) + pod_of(subject)};
    case RecordKind::schedule: {
      std::set<std::string> names{std::string(pod_prefix) + std::string(subject)};
      constexpr std::string_view preempts = "preempts ";
      if (record.text.starts_with(preempts)) {
        const std::string_view rest = std::string_view(record.text).substr(preempts.size());
        names.insert(std::string(pod_prefix) + std::string(rest.substr(0, rest.find(' '))));
      }
      return names;
    }
    case RecordKind::connection: {
      constexpr std::string_view arrow = " -> ";
      const std::size_t at = subject.find(arrow);
      return {std::string(pod_prefix) + std::string(subject.substr(0, at)),
              std::string(pod_prefix) + std::string(subject.substr(at + arrow.size()))};
    }
    default:
      return {last_word(subject)};
  }
}

void CauseJudge::on_record(const Record& record) {
  if (first_ == 0) first_ = record.id;
  Told told{record.kind, names_of(record), false,
            fmt::format("{} {} {} {}", record.id, to_string(record.kind),
                        std::string_view(record.subject), std::string_view(record.text))};
  for (const auto& object : {record.before, record.after}) {
    const Pod* pod = object != nullptr ? as<Pod>(*object) : nullptr;
    if (pod == nullptr) continue;
    const ObjectMeta& meta = pod->metadata;
    std::set<std::string>& related = relations_[name_of("Pod", meta.namespace_, meta.name)];
    for (const OwnerReference& owner : *meta.ownerReferences) {
      related.insert(name_of(owner.kind, meta.namespace_, owner.name));
      related.insert(fmt::format("{}/{}", meta.namespace_, owner.name));
    }
    if (!pod->spec->nodeName.empty()) {
      related.insert(name_of("Node", "", pod->spec->nodeName));
      told.of_placed_pod = true;
    }
  }
  if (record.after || record.before)
    told.words =
        fmt::format("{} {} {}", record.id, to_string(record.kind), fmt::join(told.names, " "));
  judge(record, told);
  if (told_.size() <= record.id) told_.resize(record.id + 1);
  told_[record.id] = std::move(told);
}

void CauseJudge::judge(const Record& record, const Told& told) {
  if (record.cause == 0 || !wrong_.empty()) return;
  ++judged_;
  if (record.cause < first_) return;  // what a cluster begins with: nobody could hear of it
  if (told_[record.cause].words.empty()) {
    wrong_ = fmt::format("{}: its cause {} is not there", told.words, record.cause);
    return;
  }
  // Steps, faults and verdicts name pods and are about more.
  if (told.kind == RecordKind::fault || told.kind == RecordKind::step) return;
  // Of a record about two pods one is enough.
  bool is_about_pod = false;
  for (const std::string& name : told.names) {
    if (!name.starts_with(pod_prefix)) continue;
    if (is_related(name, told, told_[record.cause])) return;
    is_about_pod = true;
  }
  if (is_about_pod)
    wrong_ = fmt::format("{}\nhas as its cause\n{}", told.words, told_[record.cause].words);
}

bool CauseJudge::is_related(const std::string& pod, const Told& told, const Told& cause) const {
  if (cause.kind == RecordKind::fault || cause.kind == RecordKind::step) return true;
  if (cause.names.contains(pod) || cause.names.contains(pod.substr(pod_prefix.size()))) return true;
  // A pod that waits for a place is tried again when another one leaves or changes.
  if (told.kind == RecordKind::schedule &&
      (cause.of_placed_pod || cause.kind == RecordKind::object_deleted))
    return true;
  const auto known = relations_.find(pod);
  const std::string namespace_ =
      pod.substr(pod_prefix.size(), pod.find('/', pod_prefix.size()) - pod_prefix.size());
  return std::any_of(cause.names.begin(), cause.names.end(), [&](const std::string& name) {
    if (known != relations_.end() && known->second.contains(name)) return true;
    if (name == name_of("Namespace", "", namespace_)) return true;
    constexpr std::array<std::string_view, 4> used{"Service", "ConfigMap", "Secret",
                                                   "PersistentVolumeClaim"};
    if (std::any_of(used.begin(), used.end(), [&](std::string_view kind) {
          return name.starts_with(fmt::format("{}/{}/", kind, namespace_));
        }))
      return true;
    if (name.starts_with("PersistentVolume/") || name.starts_with("StorageClass/")) return true;
    // No place is a pod's before it has one.
    return name.starts_with("Node/") && told.kind == RecordKind::schedule;
  });
}

}  // namespace ddptwin::property
