#include "objects/yaml_text.hpp"

#include <gtest/gtest.h>

#include <boost/json.hpp>

#include "objects/yaml.hpp"

namespace ddptwin::yaml_text_test {
namespace {

std::string yaml_of(std::string_view text) { return to_yaml_text(boost::json::parse(text)); }

TEST(YamlTextTest, lists_stand_at_the_column_of_their_map) {
  EXPECT_EQ(yaml_of(R"({"b":{"c":[{"z":1,"x":"two"},[1,2],[]]},"a":{}})"),
            "a: {}\n"
            "b:\n"
            "  c:\n"
            "  - x: two\n"
            "    z: 1\n"
            "  - - 1\n"
            "    - 2\n"
            "  - []\n");
}

TEST(YamlTextTest, a_text_that_looks_like_something_else_is_quoted) {
  EXPECT_EQ(
      yaml_of(R"(["99","true","yes","-De","--config","2026-01-02T03:04:05Z","","a: b","@x"])"),
      "- \"99\"\n"
      "- \"true\"\n"
      "- \"yes\"\n"
      "- -De\n"
      "- --config\n"
      "- \"2026-01-02T03:04:05Z\"\n"
      "- \"\"\n"
      "- 'a: b'\n"
      "- '@x'\n");
}

TEST(YamlTextTest, numbers_in_keys_count_by_their_value) {
  EXPECT_EQ(yaml_of(R"({"a10":1,"a9":2,"a.b":3,"ab":4})"), "a.b: 3\na9: 2\na10: 1\nab: 4\n");
}

TEST(YamlTextTest, several_lines_are_a_block) {
  EXPECT_EQ(yaml_of(R"({"s":"one\ntwo\n","t":"one\n\ntwo"})"),
            "s: |\n  one\n  two\nt: |-\n  one\n\n  two\n");
}

TEST(YamlTextTest, what_is_written_is_read_back) {
  const auto value = boost::json::parse(
      R"({"args":["a\nb\n","# no","- no","x: y","1e3","0x1f","null","~",": ","it's"],"n":null,
          "deep":[{"list":[{"k":"v"}]}],"f":1.5,"m":{"with space":true,"8080":"y"}})");
  const auto read = parse_yaml(to_yaml_text(value), "test");
  ASSERT_TRUE(read.has_value());
  EXPECT_EQ(read->front().value, value);
}

}  // namespace
}  // namespace ddptwin::yaml_text_test
