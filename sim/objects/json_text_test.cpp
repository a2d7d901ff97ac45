#include "objects/json_text.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <boost/json.hpp>

namespace ddptwin::json_text_test {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

TEST(JsonText, NamesDoubledMembersByTheirPaths) {
  const auto read =
      parse_json(R"({"data":{"a":"1","b":"2","a":"3","a":"4"},"spec":{"containers":[{"name":"x"},)"
                 R"({"name":"y","\u006eame":"z"}],"containers":[]},"kind":"K","kind":"K"})");
  ASSERT_TRUE(read) << read.error().message;
  EXPECT_THAT(read->doubled,
              ElementsAre("data.a", "spec.containers[1].name", "spec.containers", "kind"));
  EXPECT_EQ(read->value.at("data").at("a"), "4");
}

TEST(JsonText, WithTheSameMemberInDifferentObjectsIsNotDoubled) {
  const auto read = parse_json(R"([{"a":1},{"a":{"a":[[],{"a":null}]}},5,"a"])");
  ASSERT_TRUE(read) << read.error().message;
  EXPECT_THAT(read->doubled, IsEmpty());
}

TEST(JsonText, ThatIsNoneIsRefused) {
  for (const char* text : {"", "{", "{}x", "[1,]", "{'a':1}", "\"\xff\""}) {
    const auto read = parse_json(text);
    ASSERT_FALSE(read) << text;
    EXPECT_EQ(read.error().reason, Reason::bad_request);
  }
  EXPECT_FALSE(parse_json(std::string(2000, '[') + std::string(2000, ']')));
}

}  // namespace
}  // namespace ddptwin::json_text_test
