#include "scenario/language/claims.hpp"

#include <gtest/gtest.h>

#include <boost/json/parse.hpp>

namespace ddptwin::scenario::claims_test {
namespace {

struct PartRow {
  const char* name;
  const char* whole;
  const char* part;
  bool contains;
};
class ContainsPart : public testing::TestWithParam<PartRow> {};
TEST_P(ContainsPart, decides) {
  EXPECT_EQ(
      contains_part(boost::json::parse(GetParam().whole), boost::json::parse(GetParam().part)),
      GetParam().contains);
}
INSTANTIATE_TEST_SUITE_P(
    Table, ContainsPart,
    testing::Values(PartRow{"nothing_is_in_anything", R"({"a":1})", "{}", true},
                    PartRow{"a_member", R"({"a":1,"b":2})", R"({"b":2})", true},
                    PartRow{"another_value", R"({"a":1})", R"({"a":2})", false},
                    PartRow{"a_missing_member", R"({"a":1})", R"({"c":1})", false},
                    PartRow{"null_is_absent", R"({"a":1})", R"({"c":null})", true},
                    PartRow{"null_is_not_present", R"({"a":1})", R"({"a":null})", false},
                    PartRow{"deep", R"({"a":{"b":{"c":1,"d":2}}})", R"({"a":{"b":{"d":2}}})", true},
                    PartRow{"an_element_anywhere", R"({"l":[{"n":"x"},{"n":"y","v":1}]})",
                            R"({"l":[{"n":"y"}]})", true},
                    PartRow{"no_such_element", R"({"l":[{"n":"x"}]})", R"({"l":[{"n":"y"}]})",
                            false},
                    PartRow{"text_is_not_a_number", R"({"a":"1"})", R"({"a":1})", false},
                    PartRow{"a_map_is_not_a_list", R"({"a":[1]})", R"({"a":{}})", false}),
    [](const auto& row) { return std::string(row.param.name); });

struct StepRow {
  const char* name;
  const char* line;
  std::int64_t step, total;
};
class StepOf : public testing::TestWithParam<StepRow> {};
TEST_P(StepOf, reads_progress_lines_only) {
  const StepLine found = step_of(GetParam().line);
  EXPECT_EQ(found.step, GetParam().step);
  EXPECT_EQ(found.total, GetParam().total);
}
INSTANTIATE_TEST_SUITE_P(Table, StepOf,
                         testing::Values(StepRow{"of_the_worker", "step 21/50 rank 0 loss 0.1234",
                                                 21, 50},
                                         StepRow{"of_a_script", "epoch 1 step=7 loss=0.3", 7, 0},
                                         StepRow{"with_a_colon", "step: 3", 3, 0},
                                         StepRow{"checkpoint", "checkpoint step 30", 0, 0},
                                         StepRow{"resumed", "resumed from step 20", 0, 0},
                                         StepRow{"another_word", "timestep 4, steps 5", 0, 0},
                                         StepRow{"no_number", "step by step", 0, 0}),
                         [](const auto& row) { return std::string(row.param.name); });

}  // namespace
}  // namespace ddptwin::scenario::claims_test
