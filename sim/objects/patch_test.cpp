#include "objects/patch.hpp"

#include <gtest/gtest.h>

#include <boost/json.hpp>

#include "objects/core_v1.hpp"

namespace ddptwin::patch_test {
namespace {

Json parsed(const char* text) { return boost::json::parse(text); }

struct Row {
  const char* document;
  const char* patch;
  const char* result;  // null: refused
};

TEST(JsonPatch, DoesWhatTheServerDoes) {
  const Row rows[] = {
      {R"({"a":1})", R"([{"op":"add","path":"/b","value":2},{"op":"test","path":"/a","value":1}])",
       R"({"a":1,"b":2})"},
      {R"({"a":1})", R"([{"op":"replace","path":"/b","value":2}])", R"({"a":1,"b":2})"},
      {R"({"a":[1,2]})", R"([{"op":"remove","path":"/a/-1"}])", R"({"a":[1]})"},
      {R"({"a":[1]})", R"([{"op":"add","path":"/a/-","value":2}])", R"({"a":[1,2]})"},
      {R"({"q":1})", R"([{"op":"replace","path":"data/q","value":2}])", R"({"q":2})"},
      {R"({"a/b":1})", R"([{"op":"move","from":"/a~1b","path":"/c"}])", R"({"c":1})"},
      {R"({"a":1})", R"([{"op":"test","path":"/a","value":2}])", nullptr},
      {R"({"a":1})", R"([{"op":"remove","path":"/b"}])", nullptr},
      {R"({"a":[1]})", R"([{"op":"add","path":"/a/5","value":2}])", nullptr},
      {R"({"a":1})", R"([{"op":"frob","path":"/a"}])", nullptr},
  };
  for (const Row& row : rows) {
    const auto result = apply_json_patch(parsed(row.document), parsed(row.patch));
    ASSERT_EQ(result.has_value(), row.result != nullptr) << row.patch;
    if (row.result != nullptr) {
      EXPECT_EQ(*result, parsed(row.result)) << row.patch;
    }
  }
}

TEST(MergePatch, NullRemovesAndListsAreReplaced) {
  const auto result = apply_merge_patch(parsed(R"({"a":{"b":1,"c":2},"l":[1,2]})"),
                                        parsed(R"({"a":{"b":null,"d":3},"l":[3]})"));
  ASSERT_TRUE(result.has_value());
  EXPECT_EQ(*result, parsed(R"({"a":{"c":2,"d":3},"l":[3]})"));
}

TEST(StrategicPatch, MergesListsByTheirKeys) {
  const Row rows[] = {
      {R"({"spec":{"containers":[{"name":"c","image":"i","tty":true}]}})",
       R"({"spec":{"containers":[{"name":"c","image":"j"}]}})",
       R"({"spec":{"containers":[{"name":"c","image":"j","tty":true}]}})"},
      {R"({"spec":{"containers":[{"name":"a"},{"name":"b"}]}})",
       R"({"spec":{"containers":[{"name":"a","$patch":"delete"}]}})",
       R"({"spec":{"containers":[{"name":"b"}]}})"},
      {R"({"spec":{"containers":[{"name":"a"},{"name":"b"}]}})",
       R"({"spec":{"containers":[{"$patch":"replace"},{"name":"c"}]}})",
       R"({"spec":{"containers":[{"name":"c"}]}})"},
      {R"({"metadata":{"finalizers":["a/a"]}})", R"({"metadata":{"finalizers":["b/b"]}})",
       R"({"metadata":{"finalizers":["b/b","a/a"]}})"},
      {R"({"metadata":{"finalizers":["a/a","b/b"]}})",
       R"({"metadata":{"$deleteFromPrimitiveList/finalizers":["a/a"]}})",
       R"({"metadata":{"finalizers":["b/b"]}})"},
      {R"({"spec":{"tolerations":[{"key":"a"}]}})", R"({"spec":{"tolerations":[{"key":"b"}]}})",
       R"({"spec":{"tolerations":[{"key":"b"}]}})"},
      {R"({"spec":{"containers":[{"name":"a"},{"name":"b"}]}})",
       R"({"spec":{"$setElementOrder/containers":[{"name":"b"},{"name":"a"}]}})",
       R"({"spec":{"containers":[{"name":"b"},{"name":"a"}]}})"},
      {R"({"spec":{"containers":[{"name":"a"}]}})", R"({"spec":{"containers":[{"image":"x"}]}})",
       nullptr},
  };
  for (const Row& row : rows) {
    const auto result = apply_strategic_patch(Pod::type(), parsed(row.document), parsed(row.patch));
    ASSERT_EQ(result.has_value(), row.result != nullptr) << row.patch;
    if (row.result != nullptr) {
      EXPECT_EQ(*result, parsed(row.result)) << row.patch;
    }
  }
}

}  // namespace
}  // namespace ddptwin::patch_test
