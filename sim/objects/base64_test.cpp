#include "objects/base64.hpp"

#include <gtest/gtest.h>

namespace ddptwin::base64_test {
namespace {

TEST(Base64, OfUrlsHasNoPaddingAndReadsBack) {
  const std::pair<std::string, std::string> rows[] = {
      {"", ""}, {"a", "YQ"}, {"ab", "YWI"}, {"abc", "YWJj"}, {"\xff\xfe\xfd?", "__79Pw"}};
  for (const auto& [text, encoded] : rows) {
    EXPECT_EQ(to_base64_url(text), encoded);
    const auto read = from_base64_url(encoded);
    ASSERT_TRUE(read) << encoded;
    EXPECT_EQ(*read, text);
  }
}

TEST(Base64, TellsTheFirstBadByte) {
  EXPECT_EQ(from_base64_url("YQ==").error(), 2U);
  EXPECT_EQ(from_base64_url("a+b").error(), 1U);
  EXPECT_EQ(from_base64_url("ab*d").error(), 2U);
  EXPECT_EQ(from_base64_url("a").error(), 1U);
  EXPECT_EQ(from_base64("YQ").error(), 2U);
}

}  // namespace
}  // namespace ddptwin::base64_test
