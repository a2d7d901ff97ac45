#include "objects/managed_fields.hpp"

#include <algorithm>
#include <array>
#include <boost/json.hpp>
#include <tuple>

#include "objects/validation.hpp"

namespace ddptwin {

using namespace std::string_view_literals;
namespace {

namespace json = boost::json;

// Entries of updates beyond so many become one of this name, the oldest first.
constexpr std::size_t updaters_max = 10;
constexpr std::string_view ancient = "ancient-changes";

// What the server keeps itself belongs to nobody. What lies below a place is not meant.
const FieldSet& unowned() {
  static const FieldSet set = [] {
    FieldSet made;
    for (const auto name : {"apiVersion"sv, "kind"sv, "metadata"sv})
      made.insert({PathElement::field(name)});
    for (const auto name :
         {"name"sv, "namespace"sv, "creationTimestamp"sv, "selfLink"sv, "uid"sv, "clusterName"sv,
          "generation"sv, "managedFields"sv, "resourceVersion"sv})
      made.insert({PathElement::field("metadata"), PathElement::field(name)});
    return made;
  }();
  return set;
}

std::string_view operation_of(const FieldWriter& writer) {
  return writer.applies ? "Apply"sv : "Update"sv;
}

FieldManager* find_manager(FieldManagers& managers, const FieldWriter& writer) {
  for (FieldManager& one : managers)
    if (one.writer.same(writer)) return &one;
  return nullptr;
}

void drop_empty(FieldManagers& managers) {
  std::erase_if(managers, [](const FieldManager& one) { return one.fields.empty(); });
}

std::string shown(const FieldWriter& writer) {
  std::string out = quoted(writer.name);
  if (!writer.subresource.empty()) out += " with subresource " + quoted(writer.subresource);
  return writer.applies ? out : out + " using " + writer.api_version;
}

struct Conflict {
  const FieldWriter* with;
  FieldSet fields;
};

Error conflict_error_of(std::vector<Conflict> conflicts) {
  std::sort(conflicts.begin(), conflicts.end(), [](const Conflict& a, const Conflict& b) {
    const auto key = [](const FieldWriter& w) {
      return std::tie(w.name, w.applies, w.api_version, w.subresource);
    };
    return key(*a.with) < key(*b.with);
  });
  auto details = std::make_shared<ErrorDetails>();
  std::string lines;
  for (const Conflict& one : conflicts) {
    const std::string with = shown(*one.with);
    lines += (lines.empty() ? "" : "\n") + ("conflicts with " + with + ":");
    for (const FieldPathTo& path : one.fields.paths()) {
      details->causes.push_back(
          {"FieldManagerConflict", "conflict with " + with, ddptwin::shown(path)});
      lines += "\n- " + details->causes.back().field;
    }
  }
  const auto& causes = details->causes;
  std::string message =
      causes.size() == 1
          ? "Apply failed with 1 conflict: " + causes.front().message + ": " + causes.front().field
          : "Apply failed with " + std::to_string(causes.size()) + " conflicts: " + lines;
  return {Reason::conflict, {}, std::move(message), std::move(details), 0, {}};
}

FieldChanges changes_of(const FieldWrite& write, const Json& before, const Json& after) {
  FieldChanges out = compare(write.type, before, after);
  for (FieldSet* set : {&out.added, &out.modified, &out.removed})
    *set = set->excluding(write.ignored);
  return out;
}

// Takes from each but the writer (null: from each) what has changed.
void take_from_others(FieldManagers& managers, const FieldWriter* writer,
                      const FieldChanges& changes) {
  const FieldSet gone = changes.added.united(changes.modified).united(changes.removed);
  for (FieldManager& one : managers)
    if (writer == nullptr || !one.writer.same(*writer)) one.fields = one.fields.without(gone);
  drop_empty(managers);
}

void cap_updaters(FieldManagers& managers) {
  std::vector<std::size_t> updaters;
  for (std::size_t i = 0; i < managers.size(); ++i)
    if (!managers[i].writer.applies) updaters.push_back(i);
  if (updaters.size() <= updaters_max) return;
  std::stable_sort(updaters.begin(), updaters.end(), [&](std::size_t a, std::size_t b) {
    return managers[a].time.value_or(Time()) < managers[b].time.value_or(Time());
  });
  updaters.resize(updaters.size() - updaters_max + 1);
  FieldManager old;
  for (const std::size_t i : updaters) {
    old.fields = old.fields.united(managers[i].fields);
    old.writer.api_version = managers[i].writer.api_version;
    old.time = managers[i].time;
    managers[i].fields = {};
  }
  old.writer.name = ancient;
  drop_empty(managers);
  managers.push_back(std::move(old));
}

// The merged object without what the applier owned before, names no more, and nobody else owns.
Json pruned(const FieldWrite& write, const Json& merged, const FieldSet& last,
            const FieldManagers& managers) {
  if (last.empty()) return merged;
  const MergeType& type = write.type;
  const FieldSet was = with_structures(type, last);
  const FieldSet all = with_structures(type, fields_of(type, merged));
  FieldSet owned;
  for (const FieldManager& one : managers) owned = owned.united(one.fields);
  const FieldSet left = with_structures(type, fields_of(type, without_fields(type, merged, was)));
  const Json with_owned =
      without_fields(type, merged, all.without(left.united(with_structures(type, owned))));
  // What only hung below an item that went was nobody's: it comes back unless it was the applier's.
  const FieldSet kept = with_structures(type, fields_of(type, with_owned));
  return without_fields(type, merged, all.without(kept).common(was));
}

}  // namespace

std::optional<FieldManagers> read_managers(std::span<const ManagedFieldsEntry> entries) {
  FieldManagers out;
  for (const ManagedFieldsEntry& entry : entries) {
    const bool applies = entry.operation == "Apply";
    if ((!applies && entry.operation != "Update") || entry.apiVersion.empty() ||
        entry.fieldsType != "FieldsV1")
      return std::nullopt;
    const Json* fields = entry.fieldsV1.get();
    FieldManager one{{entry.manager, applies, entry.apiVersion, entry.subresource}, entry.time, {}};
    if (fields != nullptr) one.fields = FieldSet::read(*fields);
    if (!one.fields.empty()) out.push_back(std::move(one));
  }
  return out;
}

std::vector<ManagedFieldsEntry> entries_of(const FieldManagers& managers) {
  std::vector<ManagedFieldsEntry> out;
  for (const FieldManager& one : managers)
    out.push_back({.manager = one.writer.name,
                   .operation = std::string(operation_of(one.writer)),
                   .apiVersion = one.writer.api_version,
                   .time = one.time,
                   .fieldsType = "FieldsV1",
                   .fieldsV1 = RawJson(one.fields.wire()),
                   .subresource = one.writer.subresource});
  std::sort(out.begin(), out.end(), [](const ManagedFieldsEntry& a, const ManagedFieldsEntry& b) {
    const auto key = [](const ManagedFieldsEntry& e) {
      return std::tuple(std::string_view(e.operation), e.time.value_or(Time()),
                        std::string_view(e.manager), std::string_view(e.apiVersion),
                        std::string_view(e.subresource));
    };
    return key(a) < key(b);
  });
  return out;
}

bool same_managers(std::span<const ManagedFieldsEntry> a, std::span<const ManagedFieldsEntry> b) {
  if (a.size() != b.size()) return false;
  return std::all_of(a.begin(), a.end(), [&](const ManagedFieldsEntry& x) {
    return std::any_of(b.begin(), b.end(), [&](const ManagedFieldsEntry& y) {
      return x.manager == y.manager && x.operation == y.operation && x.apiVersion == y.apiVersion &&
             x.subresource == y.subresource && x.fieldsV1 == y.fieldsV1;
    });
  });
}

bool resets_managers(std::span<const ManagedFieldsEntry> entries) {
  if (entries.size() != 1) return false;
  const ManagedFieldsEntry& one = entries.front();
  return one.manager.empty() && one.operation.empty() && one.apiVersion.empty() && !one.time &&
         one.fieldsType.empty() && one.fieldsV1.absent() && one.subresource.empty();
}

void note_update(const FieldWrite& write, const Json& before, const Json& after,
                 FieldManagers& managers) {
  const FieldChanges changes = changes_of(write, before, after);
  take_from_others(managers, nullptr, changes);
  FieldSet taken = changes.added.united(changes.modified).without(unowned());
  if (taken.empty()) return;
  if (FieldManager* known = find_manager(managers, write.writer)) {
    known->fields = known->fields.united(taken);
    known->time = write.now;
  } else {
    managers.push_back({write.writer, write.now, std::move(taken)});
  }
  cap_updaters(managers);
}

Result<std::optional<Json>> apply_configuration(const FieldWrite& write, const Json& live,
                                                const Json& applied, bool force,
                                                FieldManagers& managers) {
  FieldSet last;
  if (const FieldManager* known = find_manager(managers, write.writer)) last = known->fields;
  FieldManager mine{write.writer, {}, fields_of(write.type, applied).excluding(write.ignored)};
  if (const FieldManager* known = find_manager(managers, write.writer)) mine.time = known->time;
  std::erase_if(managers, [&](const FieldManager& one) { return one.writer.same(write.writer); });
  managers.push_back(mine);

  Json after = pruned(write, merge_applied(write.type, live, applied), last, managers);
  const FieldChanges changes = changes_of(write, live, after);
  const FieldSet written = changes.added.united(changes.modified);
  std::vector<Conflict> conflicts;
  for (const FieldManager& one : managers)
    if (!one.writer.same(write.writer))
      if (FieldSet both = one.fields.common(written); !both.empty())
        conflicts.push_back({&one.writer, std::move(both)});
  if (!force && !conflicts.empty()) return fail(conflict_error_of(std::move(conflicts)));

  take_from_others(managers, &write.writer, changes);
  const bool same = after == live;
  if (FieldManager* known = find_manager(managers, write.writer)) {
    known->fields = known->fields.without(unowned());
    if (!same) known->time = write.now;
  }
  drop_empty(managers);
  if (same) return std::nullopt;
  return std::optional(std::move(after));
}

}  // namespace ddptwin
