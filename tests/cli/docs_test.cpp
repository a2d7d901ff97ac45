// What the documents show works: commands in virtual time are run, scenarios in YAML are parsed.
#include <fstream>
#include <regex>
#include <set>

#include "command.hpp"
#include "scenario/language/scenario_parser.hpp"

namespace ddptwin::test::docs_test {
namespace {

namespace fs = std::filesystem;

const fs::path source = DDPTWIN_SOURCE_DIR;

std::vector<fs::path> documents() {
  std::vector<fs::path> found{source / "README.md", source / "docs/ddptwin.1",
                              source / "scenarios/README.md"};
  for (const auto& entry : fs::recursive_directory_iterator(source / "docs"))
    if (entry.path().extension() == ".md") found.push_back(entry.path());
  return found;
}

// `ddptwin run scenarios/... --mode virtual`, with or without tools/ before it. Back quotes and
// what stands behind two blanks are no part of a command.
std::set<std::string> virtual_commands() {
  static const std::regex command("ddptwin (run scenarios/[^ ]+\\.yaml( --[a-z]+ [a-z0-9.]+)+)");
  std::set<std::string> found;
  for (const fs::path& document : documents()) {
    const std::string text = read_file(document);
    for (std::sregex_iterator match(text.begin(), text.end(), command), end; match != end; ++match)
      if (const std::string one = (*match)[1]; one.find("--mode virtual") != one.npos)
        found.insert(one);
  }
  return found;
}

TEST(DocsTest, commands_in_virtual_time_work) {
  const auto commands = virtual_commands();
  EXPECT_GE(commands.size(), 2U);
  for (const std::string& command : commands) {
    const Said said = ddptwin(command + " --quiet", source);
    EXPECT_EQ(said.status, 0) << command << "\n" << said.out << said.err;
  }
}

// The example of a described script, with something to run beside it.
TEST(DocsTest, the_described_image_of_the_guide_is_one) {
  const std::string text = read_file(source / "docs/guide/first-steps.md");
  const std::string begin = "```yaml\n  images:\n";
  const std::size_t from = text.find(begin);
  ASSERT_NE(from, text.npos);
  std::string images = text.substr(from + 8, text.find("```", from + 8) - from - 8);
  const std::string dockerfile = "    dockerfile: Dockerfile\n";
  images.erase(images.find(dockerfile), dockerfile.size());
  const std::string whole = "apiVersion: ddptwin.dev/v1alpha1\nkind: Scenario\nspec:\n" + images +
                            "---\napiVersion: v1\nkind: Pod\nmetadata: {name: p}\n"
                            "spec: {containers: [{name: c, image: my-image}]}\n";
  const KindRegistry kinds;
  const auto parsed = scenario::parse_scenario(
      "guide.yaml", kinds, [&whole](const std::string&) { return Result<std::string>(whole); });
  ASSERT_TRUE(parsed) << parsed.error().text();
  ASSERT_TRUE(parsed->images.at(0).model);
  EXPECT_EQ(parsed->images[0].model->steps, 100);
  EXPECT_EQ(parsed->images[0].model->gradient_bytes, 100U << 20U);
  EXPECT_EQ(parsed->images[0].model->checkpoint, "/checkpoints/last");
}

// The first block of YAML in each page of first steps is a manifest that a user has.
TEST(DocsTest, the_first_manifest_of_each_system_runs) {
  int pages = 0;
  for (const fs::path& page : documents()) {
    if (!page.filename().string().starts_with("first-steps")) continue;
    ++pages;
    const std::string text = read_file(page);
    const std::string begin = "```yaml\n";
    const std::size_t from = text.find(begin) + begin.size();
    const fs::path folder = fs::path(testing::TempDir()) / page.stem();
    fs::create_directories(folder);
    std::ofstream(folder / "job.yaml") << text.substr(from, text.find("```", from) - from);
    const Said said = ddptwin("run job.yaml --mode virtual", folder);
    EXPECT_EQ(said.status, 0) << page << "\n" << said.out << said.err;
    EXPECT_NE(said.out.find("PASSED job, with stand-ins"), std::string::npos) << said.out;
    fs::remove_all(folder);
  }
  EXPECT_EQ(pages, 5);
}

// What stands side by side there is what the command prints (compare_test.cpp holds that).
TEST(DocsTest, the_comparison_of_the_systems_is_the_commands) {
  const std::string text = read_file(source / "docs/systems/README.md");
  EXPECT_NE(text.find("```\n" + read_file(source / "tests/cli/testdata/compare.txt") + "```\n"),
            std::string::npos);
}

}  // namespace
}  // namespace ddptwin::test::docs_test
