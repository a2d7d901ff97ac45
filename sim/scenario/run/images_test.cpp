#include "scenario/run/images.hpp"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "scenario/language/files.hpp"
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

// A patch changes a container that has its image elsewhere.
TEST(Images, what_a_patch_says_of_a_container_needs_no_image) {
  const auto one = parse(scenario("  images: [{name: team/demo, cmd: ['true']}]\n"
                                  "  timeout: 5s\n") +
                         R"(---
apiVersion: trainer.kubeflow.org/v1alpha1
kind: TrainJob
metadata: {name: t}
spec:
  suspend: true
  runtimeRef: {name: torch-distributed}
  trainer: {image: team/demo}
  runtimePatches:
  - manager: me.io/x
    trainingRuntimeSpec:
      template:
        spec:
          replicatedJobs:
          - name: node
            template: {spec: {template: {spec: {containers: [
              {name: node, volumeMounts: [{name: absent, mountPath: /v}]}]}}}}
)");
  ASSERT_TRUE(one) << one.error().text();
  const Status done = preflight(*one);
  EXPECT_TRUE(done) << done.error().text();
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

// A folder that holds so many files is no place to look for scripts, which is said.
TEST(Images, a_large_folder_has_a_note_that_its_scripts_are_unknown) {
  const auto notes_of = [](int files) {
    const std::filesystem::path folder =
        std::filesystem::path(testing::TempDir()) / fmt::format("image-of-{}", files);
    std::filesystem::remove_all(folder);
    std::filesystem::create_directories(folder);
    for (int i = 1; i < files; ++i) std::ofstream(folder / std::to_string(i)) << "data";
    std::ofstream(folder / "start.sh") << "#!/bin/sh\necho begins\n";
    const std::string file = (folder / "s.yaml").string();
    const std::string text =
        scenario("  images: [{name: mine, entrypoint: [sh, /app/start.sh], copy: [{from: " +
                 folder.string() + ", to: /app}]}]\n") +
        pod("p", "mine");
    static const KindRegistry kinds;
    const auto parsed =
        parse_scenario(file, kinds, [&](const std::string& path) -> Result<std::string> {
          return path == file ? Result<std::string>(text) : read_text_file(path);
        });
    EXPECT_TRUE(parsed) << parsed.error().text();
    std::vector<std::string> notes = parsed->images.front().unread;
    for (const auto& [path, script] : parsed->images.front().image.scripts) notes.push_back(path);
    return notes;
  };
  EXPECT_EQ(notes_of(200), std::vector<std::string>{"/app/start.sh"});
  EXPECT_THAT(notes_of(201),
              testing::ElementsAre(testing::HasSubstr("has more than 200 files: no start script")));
}

// As a container's process does: in the folder that the manifest says, or that the script goes to.
TEST(Images, a_script_is_looked_for_where_its_process_is) {
  const std::filesystem::path folder = std::filesystem::path(testing::TempDir()) / "image-folder";
  std::filesystem::create_directories(folder);
  std::ofstream(folder / "start.sh") << "#!/bin/sh\necho begins\n";
  std::filesystem::permissions(folder / "start.sh", std::filesystem::perms::owner_all);
  const auto begins = [&folder](const std::string& container) {
    const std::string file = (folder / "s.yaml").string();
    const std::string text =
        scenario("  images: [{name: mine, workdir: /app, copy: [{from: " + folder.string() +
                 ", to: /opt/tools}]}]\n  expect: [{eventually: {of: pod/p, log: begins}}]\n") +
        "---\napiVersion: v1\nkind: Pod\nmetadata: {name: p}\nspec: {restartPolicy: Never, "
        "containers: [{name: c, image: mine, " +
        container + "}]}\n";
    static const KindRegistry kinds;
    const auto parsed =
        parse_scenario(file, kinds, [&](const std::string& path) -> Result<std::string> {
          return path == file ? Result<std::string>(text) : read_text_file(path);
        });
    EXPECT_TRUE(parsed) << parsed.error().text();
    if (!check_modelled(*parsed)) return false;
    const auto result = run_virtually(*parsed, {});
    EXPECT_TRUE(result) << result.error().text();
    return result->passed();
  };
  EXPECT_TRUE(begins("command: [./start.sh], workingDir: /opt/tools"));
  EXPECT_TRUE(begins("command: [sh, tools/start.sh], workingDir: /opt"));
  EXPECT_TRUE(begins("command: [sh, -c, 'cd /opt && cd tools && ./start.sh']"));
  EXPECT_TRUE(begins("command: [sh, -c, 'cd /opt; sh ../opt/tools/start.sh']"));
  EXPECT_FALSE(begins("command: [sh, -c, '(cd /opt/tools); ./start.sh']"));
  EXPECT_FALSE(begins("command: [./start.sh]"));
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
