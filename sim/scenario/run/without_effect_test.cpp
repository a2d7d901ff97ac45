#include "scenario/run/without_effect.hpp"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "scenario/language/scenario_parser.hpp"
#include "scenario/run/virtual_run.hpp"

namespace ddptwin::scenario::without_effect_test {
namespace {

Scenario parsed(const std::string& text) {
  const KindRegistry kinds;
  auto scenario = parse_scenario("s.yaml", kinds,
                                 [&](const std::string&) { return Result<std::string>(text); });
  EXPECT_TRUE(scenario) << scenario.error().text();
  return std::move(*scenario);
}

const std::string job =
    "apiVersion: ddptwin.dev/v1alpha1\n"
    "kind: Scenario\n"
    "spec:\n"
    "  images: [{name: mine, cmd: ['true']}]\n"
    "  steps:\n"
    "  - apply: {object: {apiVersion: v1, kind: Pod, metadata: {name: later}, spec: "
    "{securityContext: "
    "{runAsNonRoot: false, fsGroup: 7}, restartPolicy: Never, containers: [{name: c, image: "
    "mine}]}}}"
    "\n"
    "---\n"
    "apiVersion: v1\n"
    "kind: Pod\n"
    "metadata: {name: train}\n"
    "spec:\n"
    "  restartPolicy: Never\n"
    "  securityContext: {runAsUser: 1000, runAsNonRoot: true, fsGroup: 7}\n"
    "  containers:\n"
    "  - {name: a, image: mine, securityContext: {readOnlyRootFilesystem: true}}\n"
    "  - {name: b, image: mine, securityContext: {privileged: true}}\n";

TEST(WithoutEffect, names_file_line_and_field_of_what_no_run_heeds) {
  const auto found = without_effect(parsed(job), Mode::real);
  ASSERT_EQ(found.size(), 3U);
  EXPECT_EQ(found[0].object, "pod/train");
  EXPECT_EQ(found[0].text,
            "s.yaml:13:3 spec.securityContext: no effect here: runAsUser (but for runAsNonRoot's "
            "check), fsGroup; every program is root in its sandbox");
  EXPECT_EQ(found[1].text,
            "s.yaml:16:28 spec.containers[1].securityContext: no effect here: privileged; every "
            "program is root in its sandbox");
  EXPECT_EQ(found[2].object, "pod/later");
  EXPECT_THAT(found[2].text, testing::EndsWith("spec.securityContext: no effect here: fsGroup; "
                                               "every program is root in its sandbox"));
}

TEST(WithoutEffect, a_run_begins_with_a_note_of_each) {
  const Scenario scenario = parsed(job);
  VirtualRun run(scenario, {});
  std::vector<std::string> notes;
  run.world().trace().add_sink([&notes](const Record& record) {
    if (record.kind == RecordKind::image)
      notes.push_back(fmt::format("{} {}", record.subject, record.text));
  });
  ASSERT_TRUE(run.start());
  const auto of = [](const WithoutEffect& one) { return one.object + " " + one.text; };
  std::vector<std::string> expected;
  for (const WithoutEffect& one : without_effect(scenario, Mode::virtual_))
    expected.push_back(of(one));
  EXPECT_EQ(notes, expected);
  // readOnlyRootFilesystem is heeded in real runs alone.
  EXPECT_EQ(notes.size(), 4U);
}

}  // namespace
}  // namespace ddptwin::scenario::without_effect_test
