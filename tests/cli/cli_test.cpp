#include "command.hpp"
#include "scenario/reference.hpp"

namespace ddptwin::test {
namespace {

namespace fs = std::filesystem;

const fs::path source = DDPTWIN_SOURCE_DIR;

struct Row {
  const char* name;
  const char* arguments;
  int status;
};
class Cli : public testing::TestWithParam<Row> {};
TEST_P(Cli, says_what_its_golden_file_says) {
  const Said said = ddptwin(GetParam().arguments, DDPTWIN_TEST_DIR);
  EXPECT_EQ(said.status, GetParam().status);
  expect_golden(fs::path(DDPTWIN_TEST_DIR) / "testdata" / (std::string(GetParam().name) + ".txt"),
                said.out + said.err);
}
INSTANTIATE_TEST_SUITE_P(
    Table, Cli,
    testing::Values(Row{"help", "--help", 0}, Row{"help_run", "run --help", 0},
                    Row{"help_env", "env --help", 0}, Row{"help_list", "list --help", 0},
                    Row{"no_command", "", 2}, Row{"unknown_command", "fly", 2},
                    Row{"run_without_file", "run", 2},
                    Row{"unknown_option", "run --fast x.yaml", 2},
                    Row{"bad_seed", "run --seed many x.yaml", 2},
                    Row{"bad_mode", "run --mode warp x.yaml", 2},
                    Row{"no_such_python", "run --python /no/such x.yaml", 2},
                    Row{"env_of_the_demo", "env ../../scenarios/pytorchjob/demo.yaml", 0}),
    [](const auto& row) { return std::string(row.param.name); });

TEST(CliTest, version_is_said_at_once) {
  const Said said = ddptwin("--version", DDPTWIN_TEST_DIR);
  EXPECT_EQ(said.status, 0);
  EXPECT_EQ(said.out.substr(0, 8), "ddptwin ");
}

TEST(CliTest, list_names_scenarios_with_their_incident) {
  const Said said = ddptwin("list", DDPTWIN_TEST_DIR);
  EXPECT_EQ(said.status, 0);
  for (const auto& entry : fs::directory_iterator(source / "scenarios/pytorchjob")) {
    if (entry.path().extension() != ".yaml") continue;
    EXPECT_NE(said.out.find(entry.path().filename().string()), std::string::npos) << entry.path();
  }
}

TEST(CliTest, a_report_that_cannot_be_written_is_found_before_anything_runs) {
  const Said said =
      ddptwin("run demo.yaml --junit /nonexistent/report.xml", source / "scenarios/pytorchjob");
  EXPECT_EQ(said.status, 2);
  EXPECT_EQ(said.out, "");
  EXPECT_EQ(said.err, "ddptwin: --junit: /nonexistent/report.xml: cannot be written\n");
}

TEST(CliTest, two_scenarios_of_one_name_do_not_share_a_folder) {
  const Said said =
      ddptwin("run demo.yaml demo.yaml --out /nonexistent", source / "scenarios/pytorchjob");
  EXPECT_EQ(said.status, 2);
  EXPECT_EQ(said.err, "ddptwin: demo.yaml metadata.name: two scenarios are named \"demo\"\n");
}

TEST(CliTest, the_reference_page_is_that_of_the_parser) {
  expect_golden(source / "docs/reference/scenario.md", scenario::reference_page());
}

// Each option of the help stands in the completions of all shells and in the manual page.
TEST(CliTest, completions_and_manual_know_every_option) {
  const std::string help = ddptwin("run --help", DDPTWIN_TEST_DIR).out;
  for (const char* file : {"tools/completions/ddptwin.bash", "tools/completions/_ddptwin",
                           "tools/completions/ddptwin.fish", "docs/ddptwin.1"}) {
    const std::string text = read_file(source / file);
    for (const std::string word : {"run", "env", "list"})
      EXPECT_NE(text.find(word), std::string::npos) << file << " " << word;
    for (std::size_t at = help.find("--"); at != help.npos; at = help.find("--", at + 2)) {
      const std::size_t end = help.find_first_not_of("abcdefghijklmnopqrstuvwxyz", at + 2);
      const std::string option = help.substr(at + 2, end - at - 2);
      EXPECT_NE(text.find(option), std::string::npos) << file << " --" << option;
    }
  }
}

}  // namespace
}  // namespace ddptwin::test
