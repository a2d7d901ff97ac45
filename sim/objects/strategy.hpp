// What every kind's way into the store has in common: which fields a write may touch
// (spec/kubernetes.md sections 1.4 and 1.5). The kinds' own parts are KindInfo::strategy.
#pragma once

#include <string_view>

#include "objects/kinds.hpp"

namespace ddptwin {

// A top-level field ("spec", "status"), by the kind's table or in the JSON of a generic object.
void copy_field(Object& to, const Object& from, std::string_view field);
void clear_field(Object& object, std::string_view field);
// Everything but metadata and status.
void copy_spec(Object& to, const Object& from);
// Everything but metadata and status is equal.
bool same_spec(const Object& a, const Object& b);
// Metadata and status included; resourceVersion and managedFields do not count.
bool same_content(const Object& a, const Object& b);

// What the server fills in, whatever the client sent: kept from `old` on an update.
void keep_system_metadata(ObjectMeta& updated, const ObjectMeta& old);
// The generation after a write of the main resource; kinds without one keep theirs.
void advance_generation(Object& updated, const Object& old);
bool tracks_generation(const KindInfo& kind);
// One reference an owner; the warning for the client where there were more, else empty.
std::string merge_owner_references(ObjectMeta& metadata);

}  // namespace ddptwin
