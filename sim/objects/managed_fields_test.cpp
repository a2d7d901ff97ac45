#include "objects/managed_fields.hpp"

#include <gtest/gtest.h>

#include <boost/json.hpp>

#include "objects/core_v1.hpp"

namespace ddptwin::managed_fields_test {
namespace {

namespace json = boost::json;

constexpr Time noon{std::chrono::hours(12)};
const FieldSet nothing_ignored{};

FieldWriter applier(std::string name) { return {std::move(name), true, "v1", {}}; }
FieldWriter updater(std::string name) { return {std::move(name), false, "v1", {}}; }

// An object of a type, and who owns what of it.
struct Applied {
  MergeType type = MergeType::of(Pod::info(), nullptr);
  Json live = json::object();
  FieldManagers managers{};

  Status apply(const std::string& name, const char* configuration, bool force = false) {
    const FieldWriter writer = applier(name);
    TRY(auto changed, apply_configuration({type, writer, noon, nothing_ignored}, live,
                                          json::parse(configuration), force, managers));
    if (changed) live = *std::move(changed);
    return {};
  }
  void update(const std::string& name, const char* whole) {
    const FieldWriter writer = updater(name);
    Json after = json::parse(whole);
    note_update({type, writer, noon, nothing_ignored}, live, after, managers);
    live = std::move(after);
  }
  Json owned_by(std::string_view name) const {
    for (const FieldManager& one : managers)
      if (one.writer.name == name) return one.fields.wire();
    return nullptr;
  }
  const Json& spec() const { return live.at("spec"); }
};

std::string refusal(const Status& status) { return status ? "" : status.error().message; }

TEST(ManagedFields, ItemsOfAListWithKeysHaveOwnersOfTheirOwn) {
  Applied a;
  ASSERT_TRUE(a.apply("m", R"({"spec":{"containers":[{"name":"a","image":"i"}]}})"));
  ASSERT_TRUE(a.apply("n", R"({"spec":{"containers":[{"name":"b","image":"i"}]}})"));
  EXPECT_EQ(a.spec(), json::parse(R"({"containers":[{"name":"a","image":"i"},
                                                    {"name":"b","image":"i"}]})"));
  EXPECT_EQ(a.owned_by("n"), json::parse(R"({"f:spec":{"f:containers":{"k:{\"name\":\"b\"}":
                            {".":{},"f:image":{},"f:name":{}}}}})"));
  ASSERT_TRUE(a.apply("m", R"({"metadata":{"labels":{"l":"1"}}})"));
  EXPECT_EQ(a.spec(), json::parse(R"({"containers":[{"name":"b","image":"i"}]})"));
}

TEST(ManagedFields, AKeyThatIsLeftOutIsItsDefault) {
  Applied a;
  ASSERT_TRUE(a.apply("m", R"({"spec":{"containers":[{"name":"a","ports":[
                                {"containerPort":80},{"containerPort":80,"protocol":"UDP"}]}]}})"));
  EXPECT_EQ(refusal(a.apply("n", R"({"spec":{"containers":[{"name":"a","ports":[
                        {"containerPort":80,"protocol":"TCP","name":"x"}]}]}})")),
            "");
  EXPECT_EQ(a.spec().at("containers").at(0).at("ports"),
            json::parse(R"([{"containerPort":80,"protocol":"TCP","name":"x"},
                            {"containerPort":80,"protocol":"UDP"}])"));
}

TEST(ManagedFields, WhatIsAtomicIsOneField) {
  Applied a;
  ASSERT_TRUE(a.apply("m", R"({"spec":{"tolerations":[{"key":"a"}],"nodeSelector":{"x":"1"}}})"));
  EXPECT_EQ(refusal(a.apply("n", R"({"spec":{"tolerations":[{"key":"b"}],
                                             "nodeSelector":{"y":"1"}}})")),
            "Apply failed with 2 conflicts: conflicts with \"m\":\n- .spec.nodeSelector\n"
            "- .spec.tolerations");
  ASSERT_TRUE(a.apply("n", R"({"spec":{"tolerations":[{"key":"b"}]}})", true));
  EXPECT_EQ(a.spec().at("tolerations"), json::parse(R"([{"key":"b"}])"));
  EXPECT_EQ(a.owned_by("m"), json::parse(R"({"f:spec":{"f:nodeSelector":{}}})"));
}

TEST(ManagedFields, ItemsOfASetHaveOwners) {
  Applied a;
  ASSERT_TRUE(a.apply("m", R"({"metadata":{"finalizers":["a","b"]}})"));
  ASSERT_TRUE(a.apply("n", R"({"metadata":{"finalizers":["b","c"]}})"));
  EXPECT_EQ(a.live.at("metadata").at("finalizers"), json::parse(R"(["a","b","c"])"));
  ASSERT_TRUE(a.apply("m", R"({"metadata":{"labels":{"l":"1"}}})"));
  EXPECT_EQ(a.live.at("metadata").at("finalizers"), json::parse(R"(["b","c"])"));
  EXPECT_EQ(a.owned_by("n"),
            json::parse(R"({"f:metadata":{"f:finalizers":{"v:\"b\"":{},"v:\"c\"":{}}}})"));
}

TEST(ManagedFields, ConflictsAreToldByTheirManagersAndPaths) {
  Applied a;
  a.update("w", R"({"spec":{"containers":[{"name":"a","image":"i"}],"hostNetwork":true}})");
  ASSERT_TRUE(a.apply("m", R"({"spec":{"containers":[{"name":"a","image":"i"}]}})"));
  EXPECT_EQ(refusal(a.apply("n", R"({"spec":{"containers":[{"name":"a","image":"j"}],
                                             "hostNetwork":false}})")),
            "Apply failed with 3 conflicts: conflicts with \"m\":\n"
            "- .spec.containers[name=\"a\"].image\n"
            "conflicts with \"w\" using v1:\n- .spec.hostNetwork\n"
            "- .spec.containers[name=\"a\"].image");
  EXPECT_EQ(refusal(a.apply("n", R"({"spec":{"hostNetwork":false}})")),
            "Apply failed with 1 conflict: conflict with \"w\" using v1: .spec.hostNetwork");
}

// Only what changes: an update that sends the whole object takes no more than its change.
TEST(ManagedFields, AnUpdateOwnsWhatItChanged) {
  Applied a;
  ASSERT_TRUE(a.apply("m", R"({"metadata":{"labels":{"a":"1","b":"1"}}})"));
  a.update("w", R"({"metadata":{"labels":{"a":"2","b":"1","c":"1"}}})");
  EXPECT_EQ(a.owned_by("m"), json::parse(R"({"f:metadata":{"f:labels":{"f:b":{}}}})"));
  EXPECT_EQ(a.owned_by("w"), json::parse(R"({"f:metadata":{"f:labels":{"f:a":{},"f:c":{}}}})"));
  a.update("w", R"({"metadata":{"labels":{"c":"1"}}})");
  EXPECT_EQ(a.owned_by("m"), Json(nullptr));
  EXPECT_EQ(a.owned_by("w"), json::parse(R"({"f:metadata":{"f:labels":{"f:c":{}}}})"));
}

TEST(ManagedFields, WhatAnotherOwnsStays) {
  Applied a;
  ASSERT_TRUE(a.apply("m", R"({"spec":{"containers":[{"name":"a","image":"i"}]}})"));
  ASSERT_TRUE(a.apply("n", R"({"spec":{"containers":[{"name":"a","workingDir":"/"}]}})"));
  ASSERT_TRUE(a.apply("m", R"({"metadata":{"labels":{"l":"1"}}})"));
  EXPECT_EQ(a.spec(), json::parse(R"({"containers":[{"name":"a","workingDir":"/"}]})"));
}

// A field that hangs below an item goes with it where nobody owns it.
TEST(ManagedFields, AnItemTakesWhatNobodyOwnsAlong) {
  Applied a;
  ASSERT_TRUE(a.apply("m", R"({"spec":{"containers":[{"name":"a","image":"i"}]}})"));
  a.live.at("spec").at("containers").at(0).as_object()["imagePullPolicy"] = "Always";
  ASSERT_TRUE(a.apply("m", R"({"spec":{"containers":[{"name":"b","image":"i"}]}})"));
  EXPECT_EQ(a.spec(), json::parse(R"({"containers":[{"name":"b","image":"i"}]})"));
}

TEST(ManagedFields, AppliedItemsStandInTheirOrder) {
  Applied a;
  a.update("w", R"({"spec":{"containers":[{"name":"a"},{"name":"x"},{"name":"b"}]}})");
  ASSERT_TRUE(a.apply("m", R"({"spec":{"containers":[{"name":"b"},{"name":"c"},{"name":"a"}]}})"));
  std::string order;
  for (const Json& item : a.spec().at("containers").as_array())
    order += item.at("name").as_string().c_str();
  EXPECT_EQ(order, "xbca");
}

TEST(ManagedFields, TypesAreCheckedInUpstreamsWords) {
  const MergeType type = MergeType::of(Pod::info(), nullptr);
  const auto errors = [&](const char* text) { return type_errors(type, json::parse(text)); };
  using Texts = std::vector<std::string>;
  EXPECT_EQ(errors(R"({"spec":{"hostNetwork":"yes"}})"),
            Texts{".spec.hostNetwork: expected boolean, got &{yes}"});
  EXPECT_EQ(errors(R"({"spec":{"activeDeadlineSeconds":"1"}})"),
            Texts{".spec.activeDeadlineSeconds: expected numeric (int or float), got string"});
  EXPECT_EQ(errors(R"({"spec":{"nodeName":true}})"),
            Texts{".spec.nodeName: expected string, got &value.valueUnstructured{Value:true}"});
  EXPECT_EQ(errors(R"({"spec":{"containers":"x"}})"),
            Texts{".spec.containers: expected list, got &{x}"});
  EXPECT_EQ(errors(R"({"spec":{"containers":[{"name":"a","nope":1}]}})"),
            Texts{".spec.containers[name=\"a\"].nope: field not declared in schema"});
  EXPECT_EQ(errors(R"({"spec":{"containers":[{"name":"a"},{"name":"a"}]}})"),
            Texts{".spec.containers: duplicate entries for key [name=\"a\"]"});
  EXPECT_EQ(errors(R"({"spec":{"containers":[1]}})"),
            Texts{".spec.containers: element 0: associative list with keys may not have non-map "
                  "elements"});
}

TEST(ManagedFields, TheSchemaOfACustomKindSaysHowItsListsMerge) {
  const auto schema = Schema::compile(json::parse(R"({"type":"object","properties":{
      "spec":{"type":"object","properties":{
        "jobs":{"type":"array","x-kubernetes-list-type":"map","x-kubernetes-list-map-keys":["name"],
                "items":{"type":"object","properties":{"name":{"type":"string"},
                                                       "n":{"type":"integer"}}}},
        "tags":{"type":"array","x-kubernetes-list-type":"set","items":{"type":"string"}},
        "args":{"type":"array","items":{"type":"string"}},
        "one":{"type":"object","x-kubernetes-map-type":"atomic",
               "additionalProperties":{"type":"string"}},
        "any":{"type":"object","x-kubernetes-preserve-unknown-fields":true}}}}})"));
  ASSERT_TRUE(schema.has_value());
  KindInfo kind;
  kind.custom = true;
  const MergeType type = MergeType::of(kind, &*schema);
  const Json value = json::parse(R"({"spec":{"jobs":[{"name":"a","n":1}],"tags":["x"],
                                     "args":["y"],"one":{"k":"v"},"any":{"l":[1],"m":{"n":2}}}})");
  EXPECT_EQ(type_errors(type, value), std::vector<std::string>());
  EXPECT_EQ(fields_of(type, value).wire(),
            json::parse(R"({"f:spec":{"f:any":{"f:l":{},"f:m":{".":{},"f:n":{}}},"f:args":{},
                "f:jobs":{"k:{\"name\":\"a\"}":{".":{},"f:n":{},"f:name":{}}},"f:one":{},
                "f:tags":{"v:\"x\"":{}}}})"));
}

TEST(ManagedFields, FieldSetsAreReadAsTheyAreWritten) {
  const Json wire = json::parse(R"({"f:a":{},"f:b":{".":{},"f:c":{}},
                                    "f:l":{"k:{\"p\":80}":{".":{}},"v:\"x\"":{},"i:0":{}}})");
  const FieldSet set = FieldSet::read(wire);
  std::string paths;
  for (const FieldPathTo& path : set.paths()) paths += shown(path) + " ";
  EXPECT_EQ(paths, ".a .b .b.c .l[p=80] .l[=\"x\"] .l[0] ");
  EXPECT_EQ(FieldSet::read(set.wire()), set);
  EXPECT_TRUE(set.without(set).empty());
  EXPECT_EQ(set.common(set), set);
}

TEST(ManagedFields, NumbersInKeysAreOrderedByTheirSize) {
  const auto key = [](const char* text) { return PathElement{PathElement::Kind::key, text}; };
  EXPECT_LT(key(R"({"port":80})"), key(R"({"port":443})"));
  EXPECT_LT(key(R"({"name":"443"})"), key(R"({"name":"80"})"));
  EXPECT_LT(PathElement::field("z"), key(R"({"a":1})"));
}

TEST(ManagedFields, OldUpdatersBecomeOne) {
  Applied a;
  std::string labels;
  for (int i = 0; i < 14; ++i) {
    labels += (labels.empty() ? "" : ",") + ("\"l" + std::to_string(i) + "\":\"1\"");
    a.update("w" + std::to_string(i), (R"({"metadata":{"labels":{)" + labels + "}}}").c_str());
  }
  EXPECT_EQ(a.managers.size(), 10u);
  EXPECT_NE(a.owned_by("ancient-changes"), Json(nullptr));
}

TEST(ManagedFields, EntriesKeepWhatTheyAreReadFrom) {
  Applied a;
  a.update("w", R"({"metadata":{"labels":{"a":"1"}}})");
  ASSERT_TRUE(a.apply("m", R"({"metadata":{"labels":{"b":"1"}}})"));
  const auto entries = entries_of(a.managers);
  ASSERT_EQ(entries.size(), 2u);
  EXPECT_EQ(entries[0].operation, "Apply");
  EXPECT_TRUE(same_managers(entries, entries_of(*read_managers(entries))));
  std::vector<ManagedFieldsEntry> broken = entries;
  broken[0].operation = "Guess";
  EXPECT_FALSE(read_managers(broken).has_value());
}

}  // namespace
}  // namespace ddptwin::managed_fields_test
