#include "scenario/language/cures.hpp"

#include <gtest/gtest.h>

namespace ddptwin::scenario::cures_test {
namespace {

// tests/bad_input shows each in its refusal; here is what is none.
TEST(Cures, what_a_shell_reads_is_no_variable_to_be_filled_in) {
  for (const char* text : {"$HOME", "$(POD_NAME)", "${", "${}", "$${x", "price: $5", "{a: {b: c}}"})
    EXPECT_EQ(cure_of_template(text), "") << text;
  for (const char* text : {"${A}", "x/${A_1}:y", "${A:-b}", "${} ${B}"})
    EXPECT_NE(cure_of_template(text).find("envsubst"), std::string::npos) << text;
  for (const char* text : {"{{ .Values.a }}", "{{a}}", "x-{{ a }}-y", "{% if a %}"})
    EXPECT_NE(cure_of_template(text).find("helm template"), std::string::npos) << text;
}

std::string why_none(const std::string& text) {
  const auto documents = parse_yaml(text, "f.yaml");
  EXPECT_TRUE(documents && !documents->empty()) << text;
  return not_a_manifest(documents->front());
}

TEST(Cures, an_object_with_a_slip_is_still_one) {
  for (const char* text :
       {"kind: Pod\n", "apiVersion: v1\nmetadata: {name: a}\n",
        "metadata: {name: a}\nresources: {}\n", "apiVersion: v1\nkind: List\nitems: []\n", "[a]\n",
        "apiVersion: v1\nspec: {}\n"})
    EXPECT_EQ(why_none(text), "") << text;
  for (const char* text : {"a: b\n", "resources: [a.yaml]\n", "services: {web: {image: x}}\n",
                           "apiVersion: v2\nname: a\nversion: 1.0.0\n"})
    EXPECT_NE(why_none(text), "") << text;
}

TEST(Cures, a_device_in_requests_alone_wants_limits) {
  for (const char* words :
       {"spec.containers[0].resources.limits: Required value: Limit must be set for non "
        "overcommitable resources",
        "resources.requests: Invalid value: \"8\": must be equal to nvidia.com/gpu limit of 4"})
    EXPECT_NE(cure_of_denial(words).find("the same amount in limits"), std::string::npos) << words;
  EXPECT_EQ(cure_of_denial("exceeded quota"), "");
}

}  // namespace
}  // namespace ddptwin::scenario::cures_test
