#include "scenario/run/never_printed.hpp"

#include <gtest/gtest.h>

#include "scenario/language/scenario_parser.hpp"
#include "scenario/run/preflight.hpp"

namespace ddptwin::scenario::never_printed_test {
namespace {

struct Awaited {
  std::string name;
  std::string model;    // of the image
  std::string awaited;  // a member of spec
  std::string why;      // empty: it may come
};

std::string text_of(const Awaited& one) {
  std::string text =
      "apiVersion: ddptwin.dev/v1alpha1\nkind: Scenario\nmetadata: {name: s}\nspec:\n"
      "  modes: [virtual]\n  images: [{name: mine, model: {" +
      one.model + "}}]\n  " + one.awaited +
      "\n---\napiVersion: kubeflow.org/v1\nkind: PyTorchJob\nmetadata: {name: train}\n"
      "spec:\n  pytorchReplicaSpecs:\n";
  for (const char* type : {"Master", "Worker"})
    text += "    " + std::string(type) +
            ":\n      replicas: 1\n      template: {spec: {containers: [{name: pytorch, image: "
            "mine, command: [python3, t.py]}]}}\n";
  return text;
}

const std::string kill_at_5 =
    "steps: [{kill: {of: pod/train-worker-0}, when: {of: pod/train-worker-0, step: 5}}]";

class NeverPrinted : public testing::TestWithParam<Awaited> {};
INSTANTIATE_TEST_SUITE_P(
    Library, NeverPrinted,
    testing::Values(
        Awaited{"default_lines", "steps: 9", kill_at_5, ""},
        Awaited{"other_lines", "steps: 9, prints: {step: ['epoch {step}']}", kill_at_5,
                "prints no line with \"step {step}\""},
        Awaited{"own_words", "steps: 9, prints: {step: ['at step={step} of {steps}']}", kill_at_5,
                ""},
        Awaited{"no_lines", "steps: 9, prints: {step: []}", kill_at_5, "prints no line"},
        Awaited{"told_at_the_end", "steps: 9, prints: {step: [], finished: ['step {step}']}",
                kill_at_5, ""},
        Awaited{"joining_silences_no_step", "steps: 9, prints: {joined: [here]}", kill_at_5, ""},
        Awaited{"too_few", "steps: 4", kill_at_5, "has 4 steps"},
        Awaited{"too_few_but_for_a_rank", "steps: 4, ranks: [{rank: 1, steps: 6}]", kill_at_5, ""},
        Awaited{"a_server", "serves: true", kill_at_5, "is no rank"},
        Awaited{"a_wait", "steps: 4", "steps: [{wait: {of: pod/train-worker-0, step: 5}}]",
                "has 4 steps"},
        Awaited{"another_pod", "steps: 4", "steps: [{wait: {of: pod/other-0, step: 5}}]", ""},
        Awaited{"an_expectation_may_fail", "steps: 4",
                "expect: [{eventually: {of: pod/train-worker-0, step: 5}}]", ""}),
    [](const auto& one) { return one.param.name; });

TEST_P(NeverPrinted, is_refused_before_the_run_with_its_place) {
  const KindRegistry kinds;
  const std::string text = text_of(GetParam());
  const auto one = parse_scenario("s.yaml", kinds,
                                  [&](const std::string&) { return Result<std::string>(text); });
  ASSERT_TRUE(one) << one.error().text();
  const Status fine = check_modelled(*one);
  EXPECT_EQ(fine.has_value(), GetParam().why.empty()) << (fine ? "" : fine.error().text());
  if (fine) return;
  EXPECT_NE(fine.error().message.find("step 5 never comes: images[].model of \"mine\""),
            std::string::npos)
      << fine.error().message;
  EXPECT_NE(fine.error().message.find(GetParam().why), std::string::npos) << fine.error().message;
  EXPECT_NE(fine.error().where.find("s.yaml:7:"), std::string::npos) << fine.error().where;
}

}  // namespace
}  // namespace ddptwin::scenario::never_printed_test
