// The history of a set's template: ControllerRevisions (spec/kubernetes.md §4, Revisions).
#pragma once

#include <vector>

#include "controller/controller.hpp"
#include "objects/apps_v1.hpp"

namespace ddptwin::controller::statefulset {

using RevisionPtr = std::shared_ptr<const ControllerRevision>;

// Which revisions a pass goes by, and the write that makes it so.
struct Revisions {
  RevisionPtr current{};  // never null: of the pods that are not to be updated yet
  RevisionPtr update{};   // never null: what the set says now
  std::int32_t collision_count = 0;
  std::optional<Step> step{};  // creates `update`, or gives an old one a higher number
};

// What a set says of its pods, as a revision keeps it.
RawJson revision_data(const StatefulSet& set);
// By their numbers, then their times and names.
void sort_by_number(std::vector<RevisionPtr>& revisions);
// `own` are the set's, sorted.
Revisions revisions_of(const StatefulSet& set, const std::vector<RevisionPtr>& own);
// The set as that revision says. Error: its data cannot be read.
Result<StatefulSet> as_of(const StatefulSet& set, const ControllerRevision& revision);
// Deletes what is more than revisionHistoryLimit of those that nothing uses; `live` are names.
std::vector<Step> trim_history(const StatefulSet& set, const std::vector<RevisionPtr>& own,
                               const std::vector<std::string_view>& live);

}  // namespace ddptwin::controller::statefulset
