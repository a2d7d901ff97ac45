// onSuccess of a scenario: what holds a container, and who scales a set.
#include "scenario/language/on_success.hpp"

#include <gtest/gtest.h>

#include "cluster/store/store.hpp"
#include "objects/apps_v1.hpp"
#include "scenario/language/scenario_parser.hpp"
#include "scenario/run/virtual_run.hpp"

namespace ddptwin::scenario::on_success_test {
namespace {

Result<Scenario> parse(const std::string& text) {
  static const KindRegistry kinds;
  return parse_scenario("s.yaml", kinds,
                        [&](const std::string&) { return Result<std::string>(text); });
}

std::string scenario(const std::string& spec) {
  return "apiVersion: ddptwin.dev/v1alpha1\nkind: Scenario\nspec:\n" + spec;
}

// A StatefulSet of one pod that is told its rank.
std::string set_of(const std::string& container) {
  return "---\napiVersion: apps/v1\nkind: StatefulSet\nmetadata: {name: s}\nspec:\n"
         "  serviceName: s\n  selector: {matchLabels: {a: b}}\n  template:\n"
         "    metadata: {labels: {a: b}}\n    spec:\n      containers:\n      - name: c\n"
         "        env: [{name: RANK, value: '0'}, {name: WORLD_SIZE, value: '1'}, "
         "{name: MASTER_ADDR, value: localhost}, {name: MASTER_PORT, value: '29500'}]\n" +
         container;
}

std::string verdicts_of(const std::string& text,
                        const std::function<void(VirtualRun&)>& with = {}) {
  const auto parsed = parse(text);
  if (!parsed) return parsed.error().text();
  VirtualRun run(*parsed, {});
  if (with) with(run);
  if (const auto started = run.start(); !started) return started.error().text();
  const auto result = run.finish();
  if (!result) return result.error().text();
  std::string told = result->passed() ? "passed" : "failed";
  for (const auto* list : {&result->step_verdicts, &result->expectations, &result->invariants})
    for (const auto& judged : *list)
      if (judged.verdict == Verdict::failed) told += "; " + judged.name + ": " + judged.detail;
  return told;
}

constexpr std::string_view is_held =
    "  onSuccess: hold\n  steps: [{wait: {of: statefulset/s, phase: Complete}}, {wait: 5m}]\n"
    "  expect:\n  - finally: {of: pod/s-0, phase: Running, restarts: 0}\n"
    "  - eventually: {of: pod/s-0, log: 'onSuccess: hold: ended with 0'}\n  timeout: 10m\n";

TEST(OnSuccess, hold_knows_the_images_that_everybody_knows) {
  for (const char* arguments : {"        args: ['--steps', '3']\n", ""})
    EXPECT_EQ(verdicts_of(scenario(std::string(is_held)) +
                          set_of("        image: ddptwin-worker\n" + std::string(arguments))),
              "passed");
}

TEST(OnSuccess, hold_knows_what_the_scenario_says_of_an_image) {
  EXPECT_EQ(verdicts_of(scenario("  images: [{name: mine, entrypoint: [ddptwin-worker], "
                                 "cmd: ['--steps', '3']}]\n" +
                                 std::string(is_held)) +
                        set_of("        image: mine:2\n")),
            "passed");
}

// It would be a shell around nothing, or around arguments.
TEST(OnSuccess, hold_refuses_a_command_that_nobody_knows) {
  const std::string why =
      "onSuccess: hold puts a shell around the command of each container, and that of \"c\" is "
      "not known: give the container a command, or say under spec.images of the Scenario what the "
      "image \"other\" runs";
  for (const std::string spec :
       {"  onSuccess: hold\n", "  onSuccess: hold\n  standIns: true\n",
        "  onSuccess: hold\n  images: [{name: other, standIn: true, model: {steps: 1}}]\n"}) {
    const auto parsed = parse(scenario(spec) + set_of("        image: other\n        args: [a]\n"));
    ASSERT_FALSE(parsed) << spec;
    EXPECT_EQ(parsed.error().message, why) << spec;
    EXPECT_NE(parsed.error().where.find("spec.template.spec.containers[0].image"),
              std::string::npos)
        << parsed.error().where;
  }
  const auto named = parse(scenario("  onSuccess: hold\n") +
                           set_of("        image: other\n        command: [a]\n"));
  EXPECT_TRUE(named) << named.error().text();
  const auto missing =
      parse(scenario("  onSuccess: hold\n  images: [{name: other, missing: true}]\n") +
            set_of("        image: other\n"));
  EXPECT_TRUE(missing) << missing.error().text();
}

// Who saves a checkpoint when its pod goes is waited for, and what it ends with is the container's.
TEST(OnSuccess, hold_leaves_a_command_the_time_to_stop) {
  const auto stopped = [](const std::string& trap, const std::string& expected) {
    return verdicts_of(
        scenario("  onSuccess: hold\n  images: [{name: mine, entrypoint: [sh, -c]}]\n"
                 "  steps:\n  - {wait: {of: pod/s-0, log: ready}}\n"
                 "  - {delete: pod/s-0}\n  - {wait: {of: pod/s-0, created: 2}}\n"
                 "  expect:\n  - eventually: {of: pod/s-0, log: saved}\n"
                 "  - eventually: {of: pod/s-0, exitCode: " +
                 expected +
                 "}\n"
                 "  - never: {of: pod/s-0, log: 'ended with 0'}\n") +
        set_of("        image: mine\n        args: [\"trap '" + trap +
               "' TERM; echo ready; while :; do sleep 1; done\"]\n"));
  };
  EXPECT_EQ(stopped("sleep 3; echo saved; exit 0", "0"), "passed");
  EXPECT_EQ(stopped("sleep 3; echo saved; exit 7", "7"), "passed");
}

TEST(OnSuccess, scale_to_zero_is_tried_again_where_it_is_refused) {
  int refused = 0, notes = 0;
  const std::string told = verdicts_of(
      scenario("  onSuccess: scaleToZero\n  steps: [{wait: {of: statefulset/s, phase: Complete}}, "
               "{wait: {of: pods, count: 0}}]\n  timeout: 10m\n") +
          set_of("        image: ddptwin-worker\n        args: ['--steps', '3']\n"),
      [&](VirtualRun& run) {
        run.world().trace().add_sink([&notes](const Record& record) {
          if (record.subject == "onSuccess: scaleToZero") ++notes;
        });
        run.world().store().add_admission(
            AdmissionPhase::validating,
            [&refused](const AdmissionRequest& request) -> Result<std::vector<std::string>> {
              if (request.subresource != "scale" || refused == 3) return std::vector<std::string>();
              ++refused;
              return fail(Reason::forbidden, "not now");
            },
            &StatefulSet::info());
      });
  EXPECT_EQ(told, "passed");
  EXPECT_EQ(refused, 3);
  EXPECT_EQ(notes, 3);
}

}  // namespace
}  // namespace ddptwin::scenario::on_success_test
