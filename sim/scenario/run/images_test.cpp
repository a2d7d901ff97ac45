#include "scenario/run/images.hpp"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "scenario/language/scenario_parser.hpp"
#include "scenario/run/preflight.hpp"
#include "scenario/run/virtual_run.hpp"

namespace ddptwin::scenario::images_test {
namespace {

Result<Scenario> parse(const std::string& text) {
  static const KindRegistry kinds;
  return parse_scenario("s.yaml", kinds,
                        [&](const std::string&) { return Result<std::string>(text); });
}

std::string pod(const std::string& name, const std::string& image) {
  return "---\napiVersion: v1\nkind: Pod\nmetadata: {name: " + name +
         "}\nspec: {restartPolicy: Never, containers: [{name: c, image: \"" + image + "\"}]}\n";
}

std::string scenario(const std::string& spec) {
  return "apiVersion: ddptwin.dev/v1alpha1\nkind: Scenario\nspec:\n" + spec;
}

NamedImage named(const std::string& name, const std::string& workdir) {
  NamedImage image;
  image.name = name;
  image.image.workdir = workdir;
  return image;
}

TEST(Images, a_description_without_a_tag_is_of_every_tag_and_an_exact_one_goes_first) {
  const std::string digest = "@sha256:" + std::string(64, 'a');
  const std::vector<NamedImage> images{named("team/demo", "/all"), named("team/demo:2", "/two"),
                                       named("other:1", "/other"), named("host:5000/demo", "/port"),
                                       named("plain", "/plain")};
  const std::pair<std::string, std::string> rows[] = {
      {"team/demo", "/all"},
      {"docker.io/team/demo:1", "/all"},
      {"team/demo:2", "/two"},
      {"team/demo:2" + digest, "/two"},
      {"team/demo" + digest, "/all"},
      {"other:1", "/other"},
      {"other:2", ""},
      {"demo:1", ""},
      {"host:5000/demo", "/port"},
      {"host:5000/demo:1", "/port"},
      {"host:5001/demo:1", ""},
      {"host/demo:5000", ""},
      {"docker.io/library/plain:3", "/plain"},
      {"index.docker.io/library/plain", "/plain"},
      {"team/plain", ""},
  };
  for (const auto& [image, workdir] : rows) {
    const NamedImage* found = description_of(images, image);
    EXPECT_EQ(found == nullptr ? "" : found->image.workdir, workdir) << image;
  }
}

TEST(Images, runs_pull_any_tag_that_a_description_stands_for) {
  const auto one = parse(scenario("  images:\n"
                                  "  - {name: team/demo, cmd: ['true']}\n"
                                  "  - {name: 'team/demo:bad', missing: true}\n"
                                  "  - {name: 'team/demo:fails', cmd: ['false']}\n"
                                  "  expect:\n"
                                  "  - eventually: {of: pod/any, phase: Succeeded}\n"
                                  "  - eventually: {of: pod/fails, phase: Failed}\n"
                                  "  - finally: {of: pod/bad, phase: Pending}\n") +
                         pod("any", "docker.io/team/demo:v1") + pod("bad", "team/demo:bad") +
                         pod("fails", "team/demo:fails"));
  ASSERT_TRUE(one) << one.error().text();
  ASSERT_TRUE(preflight(*one)) << preflight(*one).error().text();
  ASSERT_TRUE(check_modelled(*one)) << check_modelled(*one).error().text();
  const auto result = run_virtually(*one, {});
  ASSERT_TRUE(result) << result.error().text();
  EXPECT_TRUE(result->passed());
}

// What is taken to be the training, and what is passed over, is said before the run.
TEST(Images, a_start_script_has_a_note_of_what_is_done_at_once) {
  const std::string text =
      scenario("  images: [{name: mine, model: {steps: 1}}]\n") +
      "---\napiVersion: v1\nkind: Pod\nmetadata: {name: p}\nspec:\n  restartPolicy: Never\n"
      "  containers:\n  - name: c\n    image: mine\n"
      "    command: [bash, -c, 'pip install x && python3 prep.py; torchrun train.py']\n"
      "---\napiVersion: v1\nkind: Pod\nmetadata: {name: q}\nspec: {restartPolicy: Never, "
      "containers: [{name: c, image: mine, command: [python3, train.py]}]}\n";
  const auto parsed = parse(text);
  ASSERT_TRUE(parsed) << parsed.error().text();
  ASSERT_TRUE(check_modelled(*parsed));
  VirtualRun run(*parsed, {});
  std::vector<std::string> notes;
  run.world().trace().add_sink([&notes](const Record& record) {
    if (record.kind == RecordKind::image)
      notes.push_back(fmt::format("{} {}", record.subject, record.text));
  });
  ASSERT_TRUE(run.start());
  EXPECT_EQ(notes, std::vector<std::string>{
                       "image mine s.yaml:13:5 spec.containers[0].image: of its start script "
                       "`torchrun train.py` is what its model describes; done at once, with "
                       "success: "
                       "`pip install x`, `python3 prep.py`"});
}

TEST(Images, a_plain_manifest_has_a_note_for_each_of_its_images) {
  auto one = parse(pod("a", "demo").substr(4) + pod("b", "demo:1") + pod("c", "demo:latest"));
  ASSERT_TRUE(one) << one.error().text();
  describe_plain_images(*one);
  std::vector<std::string> names;
  for (const NamedImage& image : one->images) names.push_back(image.name);
  EXPECT_THAT(names, testing::ElementsAre("demo", "demo:1"));
  for (const NamedImage& image : one->images) EXPECT_TRUE(image.stand_in && image.of_host);
}

}  // namespace
}  // namespace ddptwin::scenario::images_test
