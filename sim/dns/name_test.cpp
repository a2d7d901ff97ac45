#include "dns/name.hpp"

#include <gmock/gmock.h>

namespace ddptwin::dns::name_test {
namespace {

TEST(DnsName, text_is_what_was_parsed_with_the_final_dot) {
  const std::pair<std::string, std::string> rows[] = {
      {"a.b.c", "a.b.c."},
      {"a.b.c.", "a.b.c."},
      {".", "."},
      {"_p._tcp.Svc", "_p._tcp.Svc."},
      {R"(a\.b.c)", R"(a\046b.c.)"},
      {R"(\001x)", R"(\001x.)"},
  };
  for (const auto& [text, expected] : rows) {
    const auto name = Name::parse(text);
    ASSERT_TRUE(name) << text;
    EXPECT_EQ(name->text(), expected);
    EXPECT_EQ(*Name::parse(name->text()), *name) << text;
  }
}

TEST(DnsName, refuses_what_cannot_be_a_name) {
  const std::string long_label(64, 'a');
  std::string long_name;
  for (int i = 0; i < 128; ++i) long_name += "a.";
  const std::pair<std::string, std::string> rows[] = {
      {"", "it is empty"},
      {"a..b", "an empty label"},
      {long_label, "a label of more than 63 bytes"},
      {long_name, "longer than 253 bytes"},
      {R"(a\)", "a backslash that escapes nothing"},
      {R"(\256)", "a backslash that escapes nothing"},
  };
  for (const auto& [text, why] : rows) {
    const auto name = Name::parse(text);
    ASSERT_FALSE(name) << text;
    EXPECT_EQ(name.error().message, "\"" + text + "\" is not a domain name: " + why);
  }
}

TEST(DnsName, ends_with_looks_at_whole_labels) {
  const auto ends = [](const char* name, const char* zone) {
    return Name::parse(name)->ends_with(*Name::parse(zone));
  };
  EXPECT_TRUE(ends("a.cluster.local", "cluster.local"));
  EXPECT_TRUE(ends("cluster.local", "cluster.local"));
  EXPECT_TRUE(ends("anything", "."));
  EXPECT_FALSE(ends("xcluster.local", "cluster.local"));
  EXPECT_FALSE(ends("local", "cluster.local"));
}

}  // namespace
}  // namespace ddptwin::dns::name_test
