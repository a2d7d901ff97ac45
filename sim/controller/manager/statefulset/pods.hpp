// One pod of a set: what it looks like, what of it is the set's to keep, how it fares
// (spec/kubernetes.md §4).
#pragma once

#include <memory>

#include "controller/manager/statefulset/names.hpp"

namespace ddptwin::controller::statefulset {

// As the set's template, its claims and the ordinal say, of that revision.
std::shared_ptr<Pod> new_pod(const StatefulSet& set, std::int64_t ordinal,
                             std::string_view revision);

// Name, namespace and the labels that say them.
bool identity_matches(const StatefulSet& set, const Pod& pod);
// Each claim template has its volume.
bool storage_matches(const StatefulSet& set, const Pod& pod);
// Makes both so.
void restore_identity(const StatefulSet& set, Pod& pod);
void restore_storage(const StatefulSet& set, Pod& pod);

std::string_view revision_of(const Pod& pod);
bool is_finished(const Pod& pod);
bool is_terminating(const Pod& pod);
bool is_ready(const Pod& pod);  // running, too
// Ready for so long; upstream asks for more than minReadySeconds.
bool is_available(const Pod& pod, std::int32_t min_ready_seconds, Time now);
// Nothing: it is not ready, or available by now.
std::optional<Time> available_at(const Pod& pod, std::int32_t min_ready_seconds, Time now);
bool is_healthy(const Pod& pod);  // ready and not terminating

}  // namespace ddptwin::controller::statefulset
