#include "scenario/language/narrator.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "core/concat.hpp"
#include "core/printable.hpp"
#include "objects/kinds.hpp"
#include "objects/node_state.hpp"
#include "objects/volumes.hpp"
#include "scenario/language/claims.hpp"
#include "scenario/systems/workloads.hpp"

namespace ddptwin::scenario {
namespace {

// Kinds whose coming and going is told.
bool is_told(const Object& object) {
  constexpr std::array<std::string_view, 2> untold{"Event", "EndpointSlice"};
  constexpr std::array<std::string_view, 2> cluster{"Namespace", "Endpoints"};
  const std::string_view kind = object.kind().kind;
  return std::find(untold.begin(), untold.end(), kind) == untold.end() &&
         std::find(cluster.begin(), cluster.end(), kind) == cluster.end();
}

void add(std::string& text, std::string_view part) {
  text.append(text.empty() ? "" : "; ").append(part);
}

const ContainerStatus* status_before(const Pod& before, const ContainerStatus& now) {
  for (const ContainerStatus* status : statuses_of(before, now.name)) return status;
  return nullptr;
}

void tell_container(const ContainerStatus& now, const ContainerStatus* was, std::string& text) {
  const auto reason_of = [](const ContainerState& state) {
    return state.waiting ? state.waiting->reason : Text();
  };
  const Text reason = reason_of(now.state);
  const bool dull = reason.empty() || reason == "ContainerCreating" || reason == "PodInitializing";
  if (!dull && (was == nullptr || reason_of(was->state) != reason)) {
    const Text& message = now.state.waiting->message;
    add(text,
        fmt::format("{} waits: {}{}{}", now.name, reason, message.empty() ? "" : ": ", message));
  }
  if (was != nullptr && now.restartCount > was->restartCount)
    add(text, fmt::format("{} restarted ({})", now.name, now.restartCount));
  if (now.state.terminated && (was == nullptr || !was->state.terminated))
    add(text, fmt::format("{} ended: {}, exit {}", now.name, now.state.terminated->reason,
                          now.state.terminated->exitCode));
  if (now.state.running && (was == nullptr || !was->state.running))
    add(text, fmt::format("{} started", now.name));
}

std::string tell_pod(const Pod& before, const Pod& now) {
  std::string text;
  if (before.spec->nodeName.empty() && !now.spec->nodeName.empty())
    add(text, "placed on " + now.spec->nodeName);
  if (before.status.phase != now.status.phase) add(text, now.status.phase);
  for (const ContainerStatus* status : statuses_of(now, ""))
    tell_container(*status, status_before(before, *status), text);
  if (const auto* disrupted = now.status.condition("DisruptionTarget");
      disrupted != nullptr && disrupted->status == "True") {
    const auto* was = before.status.condition("DisruptionTarget");
    if (was == nullptr || was->status != "True" || was->reason != disrupted->reason)
      add(text, concat({"disrupted: ", disrupted->reason, ": ", disrupted->message}));
  }
  if (!before.metadata.deletionTimestamp && now.metadata.deletionTimestamp) add(text, "is to end");
  if (const auto* placed = now.status.condition("PodScheduled");
      placed != nullptr && placed->status == "False") {
    const auto* was = before.status.condition("PodScheduled");
    if (was == nullptr || was->message != placed->message)
      add(text, "not placed: " + placed->message);
  }
  return text;
}

bool is_new(const std::vector<Taint>& before, const Taint& taint) {
  return std::none_of(before.begin(), before.end(), [&](const Taint& known) {
    return known.key == taint.key && known.effect == taint.effect && known.value == taint.value;
  });
}

std::string taint_text(const Taint& taint) {
  return concat({taint.key, taint.value.empty() ? "" : "=", taint.value, ":", taint.effect});
}

// What takes pods away from it, or keeps them off.
std::string tell_node(const Node& before, const Node& now) {
  std::string text;
  if (before.spec.unschedulable != now.spec.unschedulable)
    add(text, now.spec.unschedulable ? "cordoned" : "uncordoned");
  for (const Taint& taint : now.spec.taints)
    if (is_new(before.spec.taints, taint)) add(text, "tainted " + taint_text(taint));
  for (const Taint& taint : before.spec.taints)
    if (is_new(now.spec.taints, taint)) add(text, "no longer tainted " + taint_text(taint));
  if (is_ready(before) != is_ready(now)) add(text, is_ready(now) ? "Ready" : "not Ready");
  return text;
}

std::string tell_job(const JobKind& job, const Object& before, const Object& now) {
  std::string text;
  const std::vector<ToldCondition> held = held_conditions(job, before);
  for (const ToldCondition& condition : held_conditions(job, now)) {
    const auto is_it = [&](const ToldCondition& one) { return one.type == condition.type; };
    if (std::any_of(held.begin(), held.end(), is_it)) continue;
    add(text, fmt::format("{}: {}", condition.type, condition.message));
  }
  if (!before.metadata.deletionTimestamp && now.metadata.deletionTimestamp) add(text, "is to end");
  return text;
}

std::string tell_standing(const Object& before, const Object& now) {
  std::string text = end_text(now);
  if (text == end_text(before)) text.clear();
  if (!before.metadata.deletionTimestamp && now.metadata.deletionTimestamp) add(text, "is to end");
  return text;
}

// Where it ends up; that it waits is what it begins with.
std::string tell_claim(const PersistentVolumeClaim& before, const PersistentVolumeClaim& now) {
  std::string text;
  if (before.status.phase != now.status.phase) {
    add(text, now.status.phase);
    if (now.status.phase == "Bound") text += " to volume " + now.spec.volumeName;
  }
  if (!before.metadata.deletionTimestamp && now.metadata.deletionTimestamp) add(text, "is to end");
  return text;
}

std::optional<Told> tell_change(const Record& record) {
  std::string text;
  if (const auto* claim = as<PersistentVolumeClaim>(*record.after))
    text = tell_claim(*as<PersistentVolumeClaim>(*record.before), *claim);
  if (const Pod* pod = as<Pod>(*record.after)) text = tell_pod(*as<Pod>(*record.before), *pod);
  if (const JobKind* job = job_kind(record.after->kind()))
    text = tell_job(*job, *record.before, *record.after);
  if (standing_kind(record.after->kind()) != nullptr)
    text = tell_standing(*record.before, *record.after);
  if (const Node* node = as<Node>(*record.after))
    text = tell_node(*as<Node>(*record.before), *node);
  if (text.empty()) return std::nullopt;
  return Told{short_name(*record.after), std::move(text)};
}

std::optional<Told> tell_added(const Record& record) {
  if (const Event* event = as<Event>(*record.after)) {
    if (event->type_ != "Warning") return std::nullopt;
    return Told{short_name(event->involvedObject),
                fmt::format("warning {}: {}", event->reason, event->message)};
  }
  if (!is_told(*record.after)) return std::nullopt;
  return Told{short_name(*record.after), "created"};
}

// What the author of the call comes to by itself, anew or not, is a detail.
std::optional<Told> tell_refusal(const Record& record) {
  constexpr std::array dull{Reason::conflict, Reason::not_found, Reason::already_exists};
  const auto is_dull = [&](std::string_view told) {
    return std::any_of(dull.begin(), dull.end(),
                       [&](Reason reason) { return to_string(reason) == told; });
  };
  for (const auto& [name, value] : record.values)
    if (name == "reason" && is_dull(value)) return std::nullopt;
  return Told{std::string(record.actor),
              concat({"is refused to ", subject_name(record), ": ", record.text})};
}

// Of the many records of these kinds, those that others suffer from.
std::optional<Told> tell_if(bool matters, const Record& record) {
  if (!matters) return std::nullopt;
  return Told{subject_name(record), std::string(record.text)};
}

}  // namespace

std::string elapsed(Duration time) { return fmt::format("{:.3f}s", seconds_of(time)); }

std::string lasted(Duration time) {
  constexpr Duration long_time = std::chrono::minutes(10);
  if (time < long_time) return elapsed(time);
  return format_go_duration(std::chrono::round<std::chrono::milliseconds>(time));
}

namespace {

std::optional<Told> meaning_of(const Record& record) {
  switch (record.kind) {
    case RecordKind::object_added:
      return tell_added(record);
    case RecordKind::object_modified:
      return tell_change(record);
    case RecordKind::object_deleted:
      if (!is_told(*record.before)) return std::nullopt;
      return Told{short_name(*record.before), "gone"};
    case RecordKind::step:
      if (record.text == "done") return std::nullopt;
      return Told{std::string(record.subject), std::string(record.text)};
    case RecordKind::fault:
    case RecordKind::connection:
    case RecordKind::image:
      return Told{subject_name(record), std::string(record.text)};
    case RecordKind::expectation:
      return Told{"expected", concat({record.subject, ": ", record.text})};
    case RecordKind::invariant:
      return Told{concat({"invariant ", record.subject}), concat({"violated: ", record.text})};
    case RecordKind::api_refused:
      return tell_refusal(record);
    case RecordKind::schedule:
      return tell_if(record.text.starts_with("preempts "), record);
    case RecordKind::container:
      return tell_if(record.text.starts_with("failed its "), record);
    case RecordKind::rule:
    case RecordKind::log:
    case RecordKind::dns:
    case RecordKind::note:
      return std::nullopt;
  }
  return std::nullopt;
}

}  // namespace

std::optional<Told> tell(const Record& record) {
  auto told = meaning_of(record);
  if (told) *told = {printable(told->subject), printable(told->text)};
  return told;
}

}  // namespace ddptwin::scenario
