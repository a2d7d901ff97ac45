#include "scenario/words/names.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "objects/kinds.hpp"

namespace ddptwin::scenario {
namespace {

// Whose records are about keys ("namespace/name") of which kind.
struct KeyRow {
  std::string_view actor, kind;
};
constexpr std::array<KeyRow, 3> key_rows{{{"endpoint-controller", "service"},
                                          {"endpoint-slice-controller", "service"},
                                          {"endpoint-slice-mirroring-controller", "endpoints"}}};

// Empty: its records are about something else.
std::string_view kind_of_keys(std::string_view actor) {
  for (const KeyRow& row : key_rows)
    if (row.actor == actor) return row.kind;
  return kind_of_controller(actor);
}

std::string name_of_key(const Record& record) {
  const std::string_view kind = kind_of_keys(record.actor);
  if (kind.empty() || record.subject.empty()) return std::string(record.subject);
  return key_name(kind, record.subject);
}

// "update pytorchjobs.kubeflow.org default/mnist": "update pytorchjob/mnist".
std::string name_of_call(std::string_view subject) {
  static const KindRegistry kinds;
  const std::size_t verb = subject.find(' '), key = subject.rfind(' ');
  if (verb == subject.npos || key <= verb) return std::string(subject);
  const std::string_view resource = subject.substr(verb + 1, key - verb - 1);
  for (const KindInfo* kind : kinds.all())
    if (kind->resource() == resource)
      return fmt::format("{} {}", subject.substr(0, verb),
                         key_name(kind->kind, subject.substr(key + 1)));
  return std::string(subject);
}

// What a fault acts on, by its port: a pod or its container, a node; else it has said it itself.
std::string name_of_target(const Record& record) {
  const std::string_view subject = record.subject;
  for (const auto& [name, value] : record.values) {
    if (name != "port" || subject == value) continue;
    if (value == "process" || value == "link") return pod_name(subject);
    if (value == "node" || value == "kubelet") return object_name("node", "", subject);
  }
  return std::string(subject);
}

// Of "default/a -> default/b" both.
std::string name_of_connection(std::string_view subject) {
  constexpr std::string_view arrow = " -> ";
  const std::size_t at = subject.find(arrow);
  if (at == subject.npos) return std::string(subject);
  return pod_name(subject.substr(0, at)) + std::string(arrow) +
         pod_name(subject.substr(at + arrow.size()));
}

}  // namespace

std::string short_name(const Object& object) { return object_name(object); }

std::string short_name(const ObjectReference& reference) {
  return object_name(reference.kind, reference.namespace_, reference.name);
}

std::string key_name(std::string_view kind, std::string_view key) {
  const std::size_t slash = key.find('/');
  if (slash == key.npos) return object_name(kind, "", key);
  return object_name(kind, key.substr(0, slash), key.substr(slash + 1));
}

std::string pod_name(std::string_view key) { return key_name("pod", key); }

std::string subject_name(const Record& record) {
  switch (record.kind) {
    case RecordKind::schedule:
    case RecordKind::container:
    case RecordKind::log:
      return pod_name(record.subject);
    case RecordKind::connection:
      return name_of_connection(record.subject);
    case RecordKind::rule:
    case RecordKind::note:
      return name_of_key(record);
    case RecordKind::api_refused:
      return name_of_call(record.subject);
    case RecordKind::fault:
      return name_of_target(record);
    default:
      return std::string(record.subject);
  }
}

}  // namespace ddptwin::scenario
