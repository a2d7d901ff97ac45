// Who owns which field of an object: the rules of server-side apply and of the writes beside it
// (spec/kubernetes.md section 1.7). Objects are JSON here, without their managedFields.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "core/result.hpp"
#include "objects/object.hpp"
#include "objects/structured_merge.hpp"

namespace ddptwin {

// Who writes. An applier is one whatever version it writes in.
struct FieldWriter {
  std::string name{};
  bool applies = false;
  std::string api_version{};
  std::string subresource{};
  bool same(const FieldWriter& other) const {
    return name == other.name && applies == other.applies && subresource == other.subresource &&
           (applies || api_version == other.api_version);
  }
};

struct FieldManager {
  FieldWriter writer{};
  OptionalTime time{};
  FieldSet fields{};  // never empty
};
using FieldManagers = std::vector<FieldManager>;

// Nothing where an entry is none that the server would write.
std::optional<FieldManagers> read_managers(std::span<const ManagedFieldsEntry> entries);
// In upstream's order: appliers first, then the older.
std::vector<ManagedFieldsEntry> entries_of(const FieldManagers& managers);
// Times do not count.
bool same_managers(std::span<const ManagedFieldsEntry> a, std::span<const ManagedFieldsEntry> b);
// The list asks to forget all managers: [{}].
bool resets_managers(std::span<const ManagedFieldsEntry> entries);

// What one write is about.
struct FieldWrite {
  const MergeType& type;
  const FieldWriter& writer;
  Time now{};
  const FieldSet& ignored;  // fields that this write cannot change
};

// After a create, update or patch: what it changed is the writer's alone.
void note_update(const FieldWrite& write, const Json& before, const Json& after,
                 FieldManagers& managers);

// The live object with the configuration applied, or nothing where that is the live object; the
// managers then are those after it. The error is that of a conflict.
Result<std::optional<Json>> apply_configuration(const FieldWrite& write, const Json& live,
                                                const Json& applied, bool force,
                                                FieldManagers& managers);

}  // namespace ddptwin
