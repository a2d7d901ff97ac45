#include "api/object_index.hpp"

#include <gtest/gtest.h>

#include <deque>

#include "objects/core_v1.hpp"

namespace ddptwin::api::object_index_test {
namespace {

ObjectPtr pod(std::string name, StringMap labels) {
  auto made = std::make_shared<Pod>();
  made->metadata.namespace_ = "default";
  made->metadata.name = std::move(name);
  made->metadata.labels = std::move(labels);
  return made;
}

ObjectPtr service(std::string name, StringMap selector) {
  auto made = std::make_shared<Service>();
  made->metadata.namespace_ = "default";
  made->metadata.name = std::move(name);
  made->spec.edit().selector = std::move(selector);
  return made;
}

std::vector<ObjectPtr> objects(const auto& places) {
  std::vector<ObjectPtr> found;
  for (const ObjectPtr* place : places) found.push_back(*place);
  return found;
}

std::string names(const std::vector<ObjectPtr>& objects) {
  std::string text;
  for (const ObjectPtr& object : objects) text += object->metadata.name;
  return text;
}

TEST(LabelIndex, finds_those_that_carry_all_values_by_name) {
  LabelIndex index({"app", "role"});
  std::deque<ObjectPtr> places;
  for (const char* name : {"b", "a"})
    index.put(places.emplace_back(pod(name, {{"app", "x"}, {"role", "r"}})));
  index.put(places.emplace_back(pod("c", {{"app", "x"}, {"role", "other"}})));
  index.put(places.emplace_back(pod("d", {{"app", "x"}})));
  EXPECT_EQ(names(objects(index.find("default", {{"app", "x"}, {"role", "r"}, {"more", "m"}}))),
            "ab");
  EXPECT_EQ(names(objects(index.find("elsewhere", {{"app", "x"}, {"role", "r"}}))), "");
  EXPECT_EQ(names(objects(index.find("default", {{"app", "x"}}))), "");
}

TEST(LabelIndex, forgets_what_is_dropped_and_keeps_the_last_of_a_name) {
  LabelIndex index({"app"});
  const ObjectPtr old = pod("a", {{"app", "x"}}), fresh = pod("a", {{"app", "x"}});
  index.put(old);
  index.put(fresh);
  EXPECT_EQ(objects(index.find("default", {{"app", "x"}})), std::vector{fresh});
  EXPECT_EQ(objects(index.find("default", "x")), std::vector{fresh});
  EXPECT_TRUE(index.find("elsewhere", "x").empty());
  index.drop(*fresh);
  EXPECT_TRUE(index.find("default", {{"app", "x"}}).empty());
}

TEST(LabelIndex, finds_what_has_come_to_a_place) {
  LabelIndex index({"app"});
  ObjectPtr place = pod("a", {{"app", "x"}});
  index.put(place);
  const ObjectPtr next = place = pod("a", {{"app", "x"}});
  EXPECT_EQ(objects(index.find("default", {{"app", "x"}})), std::vector{next});
}

TEST(SelectorIndex, finds_services_whose_whole_selector_the_labels_satisfy) {
  SelectorIndex index;
  std::deque<ObjectPtr> places;
  index.put(places.emplace_back(service("c", {{"app", "x"}, {"role", "r"}})));
  index.put(places.emplace_back(service("a", {{"app", "x"}})));
  index.put(places.emplace_back(service("b", {{"role", "r"}})));
  index.put(places.emplace_back(service("none", {})));
  EXPECT_EQ(names(objects(index.selecting("default", StringMap{{"app", "x"}, {"role", "r"}}))),
            "abc");
  EXPECT_EQ(names(objects(index.selecting("default", StringMap{{"app", "x"}}))), "a");
  EXPECT_EQ(names(objects(index.selecting("default", StringMap{{"app", "y"}}))), "");
  index.drop(*service("a", {{"app", "x"}}));
  EXPECT_EQ(names(objects(index.selecting("default", StringMap{{"app", "x"}}))), "");
}

TEST(SelectorIndex, what_was_asked_last_is_forgotten_when_something_changes) {
  SelectorIndex index;
  std::deque<ObjectPtr> places;
  const Cow<StringMap> labels(StringMap{{"app", "x"}});
  EXPECT_EQ(names(objects(index.selecting("default", labels))), "");
  index.put(places.emplace_back(service("b", {{"app", "x"}})));
  EXPECT_EQ(names(objects(index.selecting("default", labels))), "b");
  EXPECT_EQ(names(objects(index.selecting("elsewhere", labels))), "");
  index.put(places.emplace_back(service("a", {{"app", "x"}})));
  EXPECT_EQ(names(objects(index.selecting("default", labels))), "ab");
  index.drop(*service("b", {{"app", "x"}}));
  EXPECT_EQ(names(objects(index.selecting("default", labels))), "a");
}

}  // namespace
}  // namespace ddptwin::api::object_index_test
