#include "core/hash.hpp"

#include <gtest/gtest.h>

#include <set>
#include <string>
#include <utility>

namespace ddptwin::hash_test {
namespace {

using Print = std::pair<std::uint64_t, std::uint64_t>;

Print print_of(std::initializer_list<std::string_view> texts) {
  Fingerprint print;
  for (const std::string_view text : texts) print.add(text);
  return {print.low, print.high};
}

TEST(Fingerprint, tells_lists_of_texts_apart) {
  EXPECT_EQ(print_of({"a", "bc"}), print_of({"a", "bc"}));
  EXPECT_NE(print_of({"a", "bc"}), print_of({"ab", "c"}));
  EXPECT_NE(print_of({"a"}), print_of({"a", ""}));
  EXPECT_NE(print_of({"a", "b"}), print_of({"b", "a"}));
  EXPECT_NE(print_of({"12345678"}), print_of({"123456781"}));
}

// Octets of an address lie four letters apart, where a weaker mixing of words loses both halves at
// once.
TEST(Fingerprint, tells_texts_apart_that_differ_in_few_letters) {
  std::set<Print> prints;
  std::size_t texts = 0;
  for (int a = 100; a < 130; ++a)
    for (int b = 100; b < 130; ++b)
      for (int c = 100; c < 130; ++c) {
        const std::string text = "dial " + std::to_string(a) + "." + std::to_string(b) + "." +
                                 std::to_string(c) + ":29500: connection refused";
        prints.insert(print_of({"node-1", text}));
        ++texts;
      }
  EXPECT_EQ(prints.size(), texts);
}

TEST(Fingerprint, differs_in_each_half) {
  const Print a = print_of({"a"}), b = print_of({"b"});
  EXPECT_NE(a.first, b.first);
  EXPECT_NE(a.second, b.second);
  EXPECT_NE(a.first, a.second);
}

}  // namespace
}  // namespace ddptwin::hash_test
