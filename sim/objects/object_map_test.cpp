#include "objects/object_map.hpp"

#include <gtest/gtest.h>

#include <map>

#include "core/random.hpp"
#include "objects/core_v1.hpp"

namespace ddptwin::object_map_test {
namespace {

ObjectPtr config_map(std::string namespace_, std::string name) {
  auto made = std::make_shared<ConfigMap>();
  made->metadata.namespace_ = std::move(namespace_);
  made->metadata.name = std::move(name);
  return made;
}

std::vector<std::string> keys(const ObjectMap& map) {
  std::vector<std::string> found;
  for (const auto& [key, object] : map) {
    EXPECT_EQ(key, key_of(object->metadata));
    found.push_back(key);
  }
  return found;
}

TEST(ObjectMap, walks_in_the_order_of_the_keys_where_a_dash_comes_before_the_slash) {
  ObjectMap map;
  for (const char* space : {"b", "a", "a-b", "a.b", "ab"}) map.put(config_map(space, "x"));
  map.put(config_map("a", "w"));
  EXPECT_EQ(keys(map), (std::vector<std::string>{"a-b/x", "a.b/x", "a/w", "a/x", "ab/x", "b/x"}));
}

TEST(ObjectMap, tells_what_was_there) {
  ObjectMap map;
  const ObjectPtr first = config_map("a", "x"), second = config_map("a", "x");
  EXPECT_EQ(map.put(first), nullptr);
  EXPECT_EQ(map.put(second), first);
  EXPECT_EQ(map.find("a/x"), second);
  EXPECT_EQ(map.take("a", "x"), second);
  EXPECT_EQ(map.take("a", "x"), nullptr);
  EXPECT_EQ(map.find("a", "x"), nullptr);
  EXPECT_TRUE(map.empty());
}

// The slot of one map is a guess in another.
TEST(ObjectMap, finds_by_name_what_another_map_keeps_elsewhere) {
  ObjectMap first, second;
  const ObjectPtr x = config_map("a", "x"), y = config_map("a", "y"), z = config_map("a", "z");
  for (const ObjectPtr& object : {x, y, z}) first.put(object);
  EXPECT_EQ(second.find(*x), nullptr);
  for (const ObjectPtr& object : {z, x}) second.put(object);
  EXPECT_EQ(second.find(*x), x);
  EXPECT_EQ(second.find(*y), nullptr);
  EXPECT_EQ(second.find(*z), z);
  EXPECT_EQ(second.put(y), nullptr);
  EXPECT_EQ(second.size(), 3U);
  // Another takes the place of one that went.
  EXPECT_EQ(first.take(*x), x);
  const ObjectPtr w = config_map("a", "w");
  first.put(w);
  EXPECT_EQ(first.find(*x), nullptr);
  EXPECT_EQ(first.find(*w), w);
  EXPECT_EQ(first.put(x), nullptr);
  EXPECT_EQ(first.find(*x), x);
  EXPECT_EQ(first.size(), 4U);
}

TEST(ObjectMap, a_name_without_namespace_is_no_name_in_one) {
  ObjectMap map;
  map.put(config_map("", "x"));
  EXPECT_EQ(map.find("a", "x"), nullptr);
  EXPECT_NE(map.find("x"), nullptr);
}

TEST(ObjectMap, leaves_out_of_a_walk_what_goes_during_it) {
  ObjectMap map;
  for (const char* name : {"x", "y", "z"}) map.put(config_map("a", name));
  std::string seen;
  for (const auto& [key, object] : map) {
    seen += object->metadata.name;
    map.take("a", "y");
  }
  EXPECT_EQ(seen, "xz");
}

// Against a std::map of the keys, through enough comings and goings to use every slot again.
TEST(ObjectMap, is_a_map_by_key) {
  Random random(4);
  ObjectMap map;
  std::map<std::string, ObjectPtr> naive;
  for (int i = 0; i < 20'000; ++i) {
    const std::string space = "n" + std::to_string(random.below(5));
    const std::string name = "o" + std::to_string(random.below(700));
    const std::string key = space + "/" + name;
    if (random.chance(0.55)) {
      const ObjectPtr object = config_map(space, name);
      EXPECT_EQ(map.put(object), std::exchange(naive[key], object));
    } else {
      const auto found = naive.find(key);
      EXPECT_EQ(map.take(space, name), found == naive.end() ? nullptr : found->second);
      if (found != naive.end()) naive.erase(found);
    }
    ASSERT_EQ(map.size(), naive.size());
    if (i % 500 != 0) continue;
    std::vector<std::string> wanted, of_space;
    for (const auto& [one, object] : naive) {
      wanted.push_back(one);
      if (one.starts_with(space + "/")) of_space.push_back(one);
    }
    ASSERT_EQ(keys(map), wanted);
    std::vector<std::string> listed;
    for (const ObjectPtr& object : map.of_namespace(space))
      listed.push_back(key_of(object->metadata));
    ASSERT_EQ(listed, of_space);
  }
}

}  // namespace
}  // namespace ddptwin::object_map_test
