#include "core/print_table.hpp"

#include <gtest/gtest.h>

#include <map>
#include <memory>
#include <string>

#include "core/random.hpp"

namespace ddptwin::print_table_test {
namespace {

Fingerprint print_of(std::uint64_t number) { return Fingerprint::of(std::to_string(number)); }

TEST(PrintTable, keeps_what_is_put_until_it_is_erased) {
  PrintTable<std::string> table;
  EXPECT_TRUE(table.empty());
  EXPECT_EQ(table.find(print_of(1)), nullptr);
  table[print_of(1)] = "one";
  table[print_of(2)] = "two";
  EXPECT_FALSE(table.empty());
  ASSERT_NE(table.find(print_of(1)), nullptr);
  EXPECT_EQ(*table.find(print_of(1)), "one");
  EXPECT_EQ(table[print_of(2)], "two");
  table.erase(print_of(3));
  table.erase(print_of(1));
  EXPECT_EQ(table.find(print_of(1)), nullptr);
  EXPECT_EQ(*table.find(print_of(2)), "two");
  table.clear();
  EXPECT_TRUE(table.empty());
  EXPECT_EQ(table.find(print_of(2)), nullptr);
}

TEST(PrintTable, is_empty_once_it_has_been_moved) {
  PrintTable<std::string> table;
  table[print_of(1)] = "one";
  PrintTable<std::string> other = std::move(table);
  EXPECT_EQ(*other.find(print_of(1)), "one");
  table.erase(print_of(1));  // NOLINT: what is left is a table
  EXPECT_EQ(table.find(print_of(1)), nullptr);
  table[print_of(2)] = "two";
  other = std::move(table);
  EXPECT_EQ(other.find(print_of(1)), nullptr);
  EXPECT_EQ(*other.find(print_of(2)), "two");
}

TEST(PrintTable, agrees_with_a_map_whatever_comes_and_goes) {
  Random random(7);
  PrintTable<std::unique_ptr<std::uint64_t>> table;
  std::map<std::uint64_t, std::uint64_t> expected;
  for (std::uint64_t i = 0; i < 20'000; ++i) {
    // Few at first, then many, then few again.
    const std::uint64_t key = random.below(i < 5'000 || i > 15'000 ? 20 : 2'000);
    if (random.below(2) == 0) {
      table[print_of(key)] = std::make_unique<std::uint64_t>(i);
      expected[key] = i;
    } else {
      table.erase(print_of(key));
      expected.erase(key);
    }
    const std::uint64_t asked = random.below(2'000);
    const auto* found = table.find(print_of(asked));
    const auto there = expected.find(asked);
    ASSERT_EQ(found != nullptr, there != expected.end());
    if (found != nullptr) {
      ASSERT_EQ(**found, there->second);
    }
  }
  std::uint64_t sum = 0, expected_sum = 0;
  table.each([&sum](const auto& value) { sum += *value; });
  for (const auto& [key, value] : expected) expected_sum += value;
  EXPECT_EQ(sum, expected_sum);
}

}  // namespace
}  // namespace ddptwin::print_table_test
