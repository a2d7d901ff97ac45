#include "objects/yaml.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <boost/json/serialize.hpp>

namespace ddptwin::yaml_test {
namespace {

std::string values_of(std::string_view text) {
  const auto documents = parse_yaml(text, "f.yaml");
  if (!documents) return documents.error().text();
  std::string out;
  for (const YamlDocument& document : *documents)
    out += (out.empty() ? "" : "\n") + boost::json::serialize(document.value);
  return out;
}

struct Row {
  const char* name;
  std::string text;
  std::string expected;
};

class YamlValue : public testing::TestWithParam<Row> {};
TEST_P(YamlValue, is_read_as_kubernetes_reads_it) {
  EXPECT_EQ(values_of(GetParam().text), GetParam().expected);
}
INSTANTIATE_TEST_SUITE_P(
    Table, YamlValue,
    testing::Values(Row{"booleans", "[yes, No, on, OFF, y, n, true, False]",
                        "[true,false,true,false,true,false,true,false]"},
                    Row{"near_booleans", "[yEs, oN, t, nope]", R"(["yEs","oN","t","nope"])"},
                    Row{"quoted_stays_text", R"(["yes", 'no', "5", '', "null"])",
                        R"(["yes","no","5","","null"])"},
                    Row{"nulls", "[null, ~, Null, NULL]", "[null,null,null,null]"},
                    Row{"empty_value_is_null", "a:\nb: 1\n", R"({"a":null,"b":1})"},
                    Row{"integers", "[0, -7, +7, 1_000, 010, 0o17, 0x1F, 0b101, -0x10]",
                        "[0,-7,7,1000,8,15,31,5,-16]"},
                    Row{"not_octal", "[08, 09.5]", "[8,9.5E0]"},
                    Row{"wide_integers",
                        "[9223372036854775807, -9223372036854775808, 18446744073709551615]",
                        "[9223372036854775807,-9223372036854775808,18446744073709551615]"},
                    Row{"floats", "[1.5, .5, 1., 1e3, -2.5E-1]", "[1.5E0,5E-1,1,1000,-2.5E-1]"},
                    Row{"not_numbers", "[1.2.3, 1Gi, 500m, -, 1e, 10.0.0.1, +]",
                        R"(["1.2.3","1Gi","500m","-","1e","10.0.0.1","+"])"},
                    Row{"beyond_a_double", "[1e400, 100000000000000000000]", R"(["1e400",1E20])"},
                    Row{"dates_stay_text", "[2024-01-02, 2024-01-02T03:04:05Z]",
                        R"(["2024-01-02","2024-01-02T03:04:05Z"])"},
                    Row{"text_tag", "[!!str 5, !!str yes]", R"(["5","yes"])"},
                    Row{"keys_become_text", "{1: a, yes: b, 1.5: c, 'x': d}",
                        R"({"1":"a","true":"b","1.5":"c","x":"d"})"},
                    Row{"literal_block", "a: |\n  x: 1\n  y\nb: >-\n  p\n  q\n",
                        R"({"a":"x: 1\ny\n","b":"p q"})"},
                    Row{"documents", "---\n---\na: 1\n---\n# only a comment\n---\nb: 2\n...\n",
                        "{\"a\":1}\n{\"b\":2}"},
                    Row{"no_document", "# nothing\n", ""},
                    Row{"alias", "a: &x {k: [1]}\nb: *x\n", R"({"a":{"k":[1]},"b":{"k":[1]}})"},
                    Row{"merge", "a: &x {k: 1, l: 2}\nb: {<<: *x, l: 3, m: 4}\n",
                        R"({"a":{"k":1,"l":2},"b":{"k":1,"l":3,"m":4}})"},
                    Row{"merge_list", "a: [&x {k: 1}, &y {k: 2, l: 2}]\nb: {<<: [*x, *y]}\n",
                        R"({"a":[{"k":1},{"k":2,"l":2}],"b":{"k":1,"l":2}})"},
                    Row{"json", "{\n\t\"a\": [1, 2.5, null, true],\n\t\"b\": \"\\u00e9\\/\"\n}\n",
                        R"({"a":[1,2.5E0,null,true],"b":"é/"})"},
                    Row{"escapes", R"(["x\Ny\_z\L", "\x85\u00e9"])",
                        "[\"x\u0085y\u00a0z\u2028\",\"\u0085\u00e9\"]"},
                    Row{"json_surrogates", R"({"a": "\ud83d\ude00"})", R"({"a":"😀"})"},
                    Row{"byte_order_mark",
                        "\xEF\xBB\xBF"
                        "a: 1\n",
                        R"({"a":1})"}),
    [](const auto& row) { return std::string(row.param.name); });

class YamlRefusal : public testing::TestWithParam<Row> {};
TEST_P(YamlRefusal, names_file_line_and_column) {
  EXPECT_EQ(values_of(GetParam().text), GetParam().expected);
}
INSTANTIATE_TEST_SUITE_P(
    Table, YamlRefusal,
    testing::Values(
        Row{"unclosed_list", "a: 1\nb: [1, 2\n",
            "f.yaml:3:1: not valid YAML: end of sequence flow not found"},
        Row{"colon_in_value", "a: b: c\n", "f.yaml:1:5: not valid YAML: illegal map value"},
        Row{"duplicate_key", "a: 1\nb: 2\na: 3\n",
            "f.yaml:3:1: the key \"a\" is given twice (first on line 1)"},
        Row{"duplicate_key_other_type", "1: a\n\"1\": b\n",
            "f.yaml:2:1: the key \"1\" is given twice (first on line 1)"},
        Row{"local_tag", "a: !ruby/object {}\n",
            "f.yaml:1:4: the tag !ruby/object is not supported; Kubernetes objects carry none"},
        Row{"binary_tag", "a: !!binary aGk=\n",
            "f.yaml:1:4: the tag tag:yaml.org,2002:binary is not supported; Kubernetes objects "
            "carry none"},
        Row{"unknown_alias", "a: *x\n",
            "f.yaml:1:4: not valid YAML: the referenced anchor is not defined"},
        Row{"alias_in_itself", "a: &x [*x]\n",
            "f.yaml:1:8: an alias stands inside its own anchor's value"},
        Row{"complex_key", "{a: 1, [x]: 2}\n",
            "f.yaml:1:8: a mapping key must be a scalar, not a list or a map"},
        // Found by fuzzing: yaml-cpp reads this for ever.
        Row{"comma_first", ", a\n", "f.yaml:1:1: not valid YAML: no value can begin here"},
        Row{"null_key", "~: 1\n", "f.yaml:1:1: a mapping key may not be null"},
        Row{"infinity", "a: .inf\n", "f.yaml:1:4: .inf has no JSON value"},
        Row{"merge_of_text", "<<: x\n", "f.yaml:1:1: << takes a map or a list of maps"},
        Row{"not_utf8", "a: 1\nb: \xFF\n", "f.yaml:2:4: the text is not UTF-8: byte 0xff"},
        Row{"overlong_utf8", "a: \xC0\x80\n", "f.yaml:1:4: the text is not UTF-8: byte 0xc0"},
        Row{"cut_utf8", "a: \xE2\x82", "f.yaml:1:4: the text is not UTF-8: byte 0xe2"},
        Row{"control_character", "a: \x01\n",
            "f.yaml:1:4: control characters are not allowed: byte 0x01"},
        Row{"too_deep", std::string(101, '[') + std::string(101, ']'),
            "f.yaml:1:101: lists and maps are nested more than 100 deep"}),
    [](const auto& row) { return std::string(row.param.name); });

TEST(Yaml, aliases_that_multiply_are_refused_before_they_are_made) {
  std::string bomb = "a0: &a0 [lol, lol, lol, lol, lol, lol, lol, lol, lol, lol]\n";
  for (int i = 1; i < 10; ++i) {
    bomb += "a" + std::to_string(i) + ": &a" + std::to_string(i) + " [";
    for (int k = 0; k < 10; ++k) bomb += (k > 0 ? ", *a" : "*a") + std::to_string(i - 1);
    bomb += "]\n";
  }
  EXPECT_EQ(values_of(bomb),
            "f.yaml:6:10: excessive aliasing: aliases would add more than 1048576 bytes");
  std::string long_key = "&a " + std::string(1000, 'k') + ": [*a";
  for (int i = 1; i < 2000; ++i) long_key += ", *a";
  EXPECT_THAT(values_of(long_key + "]\n"), testing::HasSubstr("excessive aliasing"));
}

TEST(Yaml, a_document_beyond_the_limit_is_refused_and_a_smaller_one_beside_it_is_not) {
  const YamlLimits limits{.document_bytes = 20};
  EXPECT_TRUE(parse_yaml("a: 1234567\n---\nb: 12345678\n", "f.yaml", limits));
  const auto refused = parse_yaml("a: 1\n---\nb: 123456789012345\n", "f.yaml", limits);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().text(), "f.yaml:2:1: a document is larger than 20 bytes");
}

TEST(Yaml, a_position_is_that_of_the_key_or_the_element) {
  const auto documents = parse_yaml(
      "# comment\n"
      "metadata:\n"
      "  annotations:\n"
      "    example.com/a.b: x\n"
      "spec:\n"
      "  containers:\n"
      "  - name: one\n"
      "    image: i\n"
      "  - &two\n"
      "    name: two\n"
      "  more: [*two]\n",
      "f.yaml");
  ASSERT_TRUE(documents);
  const YamlDocument& document = documents->front();
  const auto line_of = [&](std::string_view path) { return document.position(path).line; };
  EXPECT_EQ(line_of(""), 2U);
  EXPECT_EQ(line_of("metadata.annotations"), 3U);
  EXPECT_EQ(line_of("metadata.annotations.example.com/a.b"), 4U);
  EXPECT_EQ(line_of("metadata.annotations[example.com/a.b]"), 4U);
  EXPECT_EQ(line_of("spec.containers[0].image"), 8U);
  EXPECT_EQ(line_of("spec.containers[1].name"), 10U);
  EXPECT_EQ(line_of("spec.more[0]"), 11U);
  EXPECT_EQ(line_of("spec.more[0].name"), 10U);
  EXPECT_EQ(line_of("spec.containers[0].nothing.here"), 7U);
  EXPECT_EQ(line_of("spec.containers[7]"), 6U);
  EXPECT_EQ(document.where("spec.containers[0].image"), "f.yaml:8:5 spec.containers[0].image");
  EXPECT_EQ(document.where(""), "f.yaml:2:1");
}

TEST(Yaml, an_alias_of_a_key_is_a_value_of_its_own) {
  const auto documents = parse_yaml("x: 1\n&a b: [*a]\n", "f.yaml");
  ASSERT_TRUE(documents);
  const YamlDocument& document = documents->front();
  EXPECT_EQ(document.position("b[0]"), (YamlPosition{2, 8}));
  const auto& list = document.positions[document.positions[document.root].children.at(1)];
  EXPECT_TRUE(document.positions[list.children.at(0)].children.empty());
}

}  // namespace
}  // namespace ddptwin::yaml_test
