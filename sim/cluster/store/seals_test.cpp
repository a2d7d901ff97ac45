// What is published stays as it was, and who edits it in place is found out.
#include <gtest/gtest.h>

#include <optional>

#include "cluster/store/store.hpp"
#include "core/virtual_loop.hpp"
#include "objects/core_v1.hpp"

namespace ddptwin::seals_test {
namespace {

struct Sealed {
  explicit Sealed(std::size_t history = 1000)
      : store(std::in_place, loop, Random(7), trace, kinds, Store::Options{.history = history}) {
    store->seal();
    auto map = std::make_shared<ConfigMap>();
    map->metadata.namespace_ = "default";
    map->metadata.name = "m";
    map->metadata.labels.edit()[Text("round")] = "0";
    (void)store->call(api::create(map), "test");
  }
  ObjectPtr stored() const { return store->find(ConfigMap::info(), "default", "m"); }
  void relabel(const char* round) {
    auto next = stored()->clone();
    next->metadata.labels.edit()[Text("round")] = round;
    const auto answer = store->call(api::update(std::shared_ptr<Object>(next)), "test");
    ASSERT_TRUE(answer.has_value()) << answer.error().message;
  }

  VirtualLoop loop{Random(1), Time(std::chrono::hours(24 * 365 * 50))};
  Trace trace{loop};
  KindRegistry kinds{};
  std::optional<Store> store;
};

// As somebody would who takes what an informer holds for its own.
void edit(const ObjectPtr& published) {
  std::const_pointer_cast<Object>(published)->metadata.labels.edit()[Text("round")] = "mine";
}

constexpr const char* told = "it was published and edited since: ConfigMap .*mine";

TEST(SealsDeathTest, who_edits_what_is_stored_is_found_at_its_next_write) {
  Sealed one;
  edit(one.stored());
  EXPECT_DEATH(one.relabel("1"), told);
  EXPECT_DEATH((void)one.store->call(api::remove(*one.stored(), {}), "test"), told);
  // And in the end, where nobody writes it any more.
  EXPECT_DEATH(one.store.reset(), told);
  auto right = std::const_pointer_cast<Object>(one.stored());
  right->metadata.labels.edit()[Text("round")] = "0";
}

TEST(SealsDeathTest, who_edits_what_was_is_found_when_it_leaves_the_history) {
  Sealed one(2);
  const ObjectPtr old = one.stored();
  one.relabel("1");
  edit(old);
  one.relabel("2");
  EXPECT_DEATH(one.relabel("3"), told);
  EXPECT_DEATH(one.store->compact(), told);
  auto right = std::const_pointer_cast<Object>(old);
  right->metadata.labels.edit()[Text("round")] = "0";
}

TEST(Seals, who_writes_a_copy_is_let_be) {
  Sealed one(2);
  for (const char* round : {"1", "2", "3", "4"}) one.relabel(round);
  EXPECT_EQ(*one.stored()->metadata.label("round"), "4");
  EXPECT_TRUE(one.store->call(api::remove(*one.stored(), {}), "test").has_value());
  one.store->compact();
}

}  // namespace
}  // namespace ddptwin::seals_test
