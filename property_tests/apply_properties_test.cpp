// The laws of server-side apply (spec/kubernetes.md §1.7), over pods of few labels, containers and
// a list that is one value: several managers apply, and one updates.
#include <algorithm>
#include <boost/json.hpp>

#include "objects/core_v1.hpp"
#include "objects/managed_fields.hpp"
#include "property.hpp"

namespace ddptwin::property::apply_properties_test {
namespace {

namespace json = boost::json;

template <class Draw>
auto drawn(Draw draw) {
  return gen::resize(rc::kNominalSize, gen::exec(draw));
}

Json value() { return *gen::element<Json>(Json("1"), Json("2")); }

json::object some_of(std::initializer_list<const char*> names) {
  json::object out;
  for (const char* name : names)
    if (*gen::arbitrary<bool>()) out[name] = value();
  return out;
}

// What one manager may want: of the object, whole or in part.
Json configuration() {
  json::object metadata, spec;
  if (json::object labels = some_of({"a", "b"}); !labels.empty()) metadata["labels"] = labels;
  if (*gen::arbitrary<bool>()) metadata["finalizers"] = json::array{value()};
  json::array containers;
  for (const char* name : {"x", "y"}) {
    if (*gen::arbitrary<bool>()) continue;
    json::object container = some_of({"image", "workingDir"});
    container["name"] = name;
    if (*gen::arbitrary<bool>())
      container["ports"] = json::array{{{"containerPort", *gen::element(80, 443)}}};
    containers.push_back(std::move(container));
  }
  if (*gen::arbitrary<bool>()) std::reverse(containers.begin(), containers.end());
  if (!containers.empty()) spec["containers"] = std::move(containers);
  if (*gen::arbitrary<bool>()) spec["tolerations"] = json::array{{{"key", value()}}};
  json::object out;
  if (!metadata.empty()) out["metadata"] = std::move(metadata);
  if (!spec.empty()) out["spec"] = std::move(spec);
  return out;
}

struct Cluster {
  MergeType type = MergeType::of(Pod::info(), nullptr);
  FieldSet ignored{};
  Json live = json::object{{"kind", "Pod"}};
  FieldManagers managers{};

  bool apply(const std::string& manager, const Json& wanted, bool force) {
    const FieldWriter writer{manager, true, "v1", {}};
    FieldManagers after = managers;
    auto changed = apply_configuration({type, writer, Time(), ignored}, live, wanted, force, after);
    if (!changed) return false;
    if (*changed) live = **std::move(changed);
    managers = std::move(after);
    return true;
  }
  void update(const std::string& manager, Json after) {
    const FieldWriter writer{manager, false, "v1", {}};
    note_update({type, writer, Time(), ignored}, live, after, managers);
    live = std::move(after);
  }
  FieldSet owned() const {
    FieldSet out;
    for (const FieldManager& one : managers) out = out.united(one.fields);
    return out;
  }
  // An item of a list goes with its last applier, whoever has updated a field of it.
  FieldSet applied_by_others_than(const std::string& manager) const {
    FieldSet out;
    for (const FieldManager& one : managers)
      if (one.writer.applies && one.writer.name != manager) out = out.united(one.fields);
    return out;
  }
};

Cluster history() {
  Cluster c;
  for (int n = *gen::inRange(0, 5); n > 0; --n) {
    const std::string who = *gen::element<std::string>("m", "n", "o");
    if (*gen::inRange(0, 4) == 0)
      c.update("w", merge_applied(c.type, c.live, configuration()));
    else
      (void)c.apply(who, configuration(), *gen::arbitrary<bool>());
  }
  return c;
}

// What the other holds at these places, it holds too.
bool agree(const Cluster& a, const Cluster& b, const FieldSet& at) {
  const FieldChanges changes = compare(a.type, a.live, b.live);
  return changes.modified.united(changes.removed).common(at).empty();
}

TEST(ApplyProperties, AppliedTwiceIsAppliedOnce) {
  holds([] {
    Cluster c = *drawn(history);
    const Json wanted = *drawn(configuration);
    if (!c.apply("m", wanted, *gen::arbitrary<bool>())) return;
    const Cluster once = c;
    RC_ASSERT(c.apply("m", wanted, false));
    RC_ASSERT(c.live == once.live);
    RC_ASSERT(same_managers(entries_of(c.managers), entries_of(once.managers)));
  });
}

TEST(ApplyProperties, WhatIsAppliedHolds) {
  holds([] {
    Cluster c = *drawn(history);
    const Json wanted = *drawn(configuration);
    if (!c.apply("m", wanted, *gen::arbitrary<bool>())) return;
    RC_ASSERT(merge_applied(c.type, c.live, wanted) == c.live);
  });
}

TEST(ApplyProperties, WhatOneAppliesNeverChangesWhatAnotherApplied) {
  holds([] {
    const Cluster before = *drawn(history);
    Cluster after = before;
    if (!after.apply("m", *drawn(configuration), false)) return;
    const FieldSet others = before.applied_by_others_than("m");
    RC_ASSERT(agree(before, after, others));
    RC_ASSERT(others.without(after.applied_by_others_than("m")).empty());
  });
}

TEST(ApplyProperties, ByForceNothingOfAnotherIsRemoved) {
  holds([] {
    const Cluster before = *drawn(history);
    Cluster after = before;
    RC_ASSERT(after.apply("m", *drawn(configuration), true));
    const FieldChanges changes = compare(before.type, before.live, after.live);
    RC_ASSERT(changes.removed.common(before.applied_by_others_than("m")).empty());
  });
}

TEST(ApplyProperties, AManagerOwnsOnlyWhatIsThere) {
  holds([] {
    const Cluster c = *drawn(history);
    // All that an object without anything would have to get.
    const FieldSet there = compare(c.type, json::object(), c.live).added;
    RC_ASSERT(c.owned().without(there).empty());
  });
}

TEST(ApplyProperties, WhoAppliesNothingAnyMoreLeavesOnlyWhatOthersOwn) {
  holds([] {
    Cluster c;
    const Json first = *drawn(configuration), second = *drawn(configuration);
    RC_ASSERT(c.apply("m", first, false));
    if (!c.apply("n", second, false)) return;
    RC_ASSERT(c.apply("m", json::object(), false));
    Cluster alone;
    RC_ASSERT(alone.apply("n", second, false));
    RC_ASSERT(agree(alone, c, fields_of(c.type, second)));
    RC_ASSERT(fields_of(c.type, c.live).without(fields_of(c.type, alone.live)).empty());
  });
}

}  // namespace
}  // namespace ddptwin::property::apply_properties_test
