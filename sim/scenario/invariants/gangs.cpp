// Pods that are placed together or not at all: what is known of them, and the judge.
#include "scenario/invariants/gangs.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "scenario/invariants/judges.hpp"

namespace ddptwin::scenario::invariants {
namespace {

std::string gang_key(std::string_view scheduler, std::string_view namespace_,
                     std::string_view group) {
  return fmt::format("{}/{}/{}", scheduler, namespace_, group);
}

}  // namespace

std::string Gangs::key_of_pod(const Pod& pod) {
  const SchedulerRow* row = find_scheduler(pod.spec->rest->schedulerName);
  if (row == nullptr || row->group == nullptr) return {};
  const std::string_view group = row->group_of(pod);
  return group.empty() ? std::string() : gang_key(row->name, pod.metadata.namespace_, group);
}

void Gangs::take(const Record& record) {
  const ObjectPtr& object = record.after ? record.after : record.before;
  if (object == nullptr) return;
  if (as<Pod>(*object) != nullptr)
    take_pod(record);
  else
    take_group(record);
}

void Gangs::take_pod(const Record& record) {
  const Pod& pod = *as<Pod>(record.after ? *record.after : *record.before);
  const std::string key = key_of_pod(pod);
  if (key.empty()) return;
  Gang& gang = gangs_[key];
  Member& member = gang.members[std::string(pod.metadata.uid.view())];
  if (!member.placed && !pod.spec->nodeName.empty()) {
    member.placed = record.time;
    // Who went before this one came is of no gang with it.
    std::erase_if(gang.members, [&](const auto& one) {
      return one.second.gone && *one.second.gone < record.time;
    });
  }
  if (record.after) return;
  member.gone = record.time;
  const bool all_gone = std::all_of(gang.members.begin(), gang.members.end(),
                                    [](const auto& one) { return one.second.gone.has_value(); });
  if (all_gone) gang.members.clear();
  if (gang.members.empty() && gang.least == 0) gangs_.erase(key);
}

void Gangs::take_group(const Record& record) {
  const Object& object = record.after ? *record.after : *record.before;
  for (const SchedulerRow& row : scheduler_rows()) {
    if (row.group == nullptr || &row.group() != &object.kind()) continue;
    const std::string key = gang_key(row.name, object.metadata.namespace_, object.metadata.name);
    if (record.after) {
      gangs_[key].least = row.least(*record.after);
    } else if (const auto found = gangs_.find(key); found != gangs_.end()) {
      found->second.least = 0;
      if (found->second.members.empty()) gangs_.erase(found);
    }
  }
}

std::optional<Gangs::Placed> Gangs::placed_with(const Pod& pod) const {
  const std::string key = key_of_pod(pod);
  const auto found = key.empty() ? gangs_.end() : gangs_.find(key);
  if (found == gangs_.end() || found->second.least == 0) return std::nullopt;
  const auto own = found->second.members.find(pod.metadata.uid.view());
  if (own == found->second.members.end() || !own->second.placed) return std::nullopt;
  Placed placed{.group = key.substr(key.find('/') + 1), .least = found->second.least};
  for (const auto& [uid, member] : found->second.members)
    if (member.placed && (!member.gone || *member.gone >= *own->second.placed)) ++placed.placed;
  return placed;
}

bool gang_together(const Sight& sight, Verdicts& verdicts) {
  if (!is_change(sight)) return false;
  const Pod* pod = as<Pod>(*sight.record->after);
  if (pod == nullptr || pod->status.phase != "Running" ||
      as<Pod>(*sight.record->before)->status.phase == "Running")
    return false;
  const auto together = sight.facts.gangs().placed_with(*pod);
  if (!together) return false;
  if (together->placed < together->least)
    verdicts.violated(
        name_of(*pod),
        fmt::format("{} runs, and {} of its PodGroup {}, which asks for {}, have a "
                    "node",
                    name_of(*pod), together->placed, together->group, together->least));
  return true;
}

}  // namespace ddptwin::scenario::invariants
