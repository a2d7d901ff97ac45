// Every file of tests/bad_input is refused with exit status 2, with the words of the .stderr file
// beside it, before anything starts.
#include <algorithm>

#include "command.hpp"

namespace ddptwin::test::bad_input_test {
namespace {

namespace fs = std::filesystem;

const fs::path folder = fs::path(DDPTWIN_SOURCE_DIR) / "tests/bad_input";

std::vector<std::string> bad_files() {
  std::vector<std::string> names;
  for (const auto& entry : fs::directory_iterator(folder)) {
    if (entry.path().extension() == ".yaml") names.push_back(entry.path().stem().string());
  }
  std::sort(names.begin(), names.end());
  return names;
}

class BadInput : public testing::TestWithParam<std::string> {};
TEST_P(BadInput, is_refused_with_file_line_and_field) {
  const Said said = ddptwin("run " + GetParam() + ".yaml", folder.string());
  EXPECT_EQ(said.status, 2);
  EXPECT_EQ(said.out, "");
  expect_golden(folder / (GetParam() + ".stderr"), said.err);
}
INSTANTIATE_TEST_SUITE_P(Files, BadInput, testing::ValuesIn(bad_files()),
                         [](const auto& row) { return row.param; });

TEST(BadInputTest, there_are_twenty_such_files_at_least) { EXPECT_GE(bad_files().size(), 20U); }

TEST(BadInputTest, a_file_of_100_megabytes_is_refused_unread) {
  const fs::path huge = fs::path(testing::TempDir()) / "huge.yaml";
  std::ofstream(huge).close();
  fs::resize_file(huge, 100'000'000);
  const Said said = ddptwin("run huge.yaml", testing::TempDir());
  fs::remove(huge);
  EXPECT_EQ(said.status, 2);
  EXPECT_EQ(said.err, "ddptwin: huge.yaml: the file is larger than 16 MiB\n");
}

TEST(BadInputTest, a_missing_file_and_a_folder_are_refused) {
  Said said = ddptwin("run no_such.yaml", folder.string());
  EXPECT_EQ(said.status, 2);
  EXPECT_EQ(said.err, "ddptwin: no_such.yaml: no such file\n");
  said = ddptwin("run .", folder.string());
  EXPECT_EQ(said.status, 2);
  EXPECT_EQ(said.err, "ddptwin: .: is a folder, not a file: name the files in it\n");
}

// The reason is the system's own: nobody looks for a file that is there.
TEST(BadInputTest, what_cannot_be_read_says_why) {
  const fs::path dir = fs::path(testing::TempDir()) / "unreadable";
  fs::remove_all(dir);
  fs::create_directories(dir);
  fs::create_symlink("b.yaml", dir / "a.yaml");
  fs::create_symlink("a.yaml", dir / "b.yaml");
  fs::create_symlink("nowhere", dir / "dangling.yaml");
  std::ofstream(dir / "file").flush();
  const auto says = [&dir](const std::string& file, const std::string& redirected = {}) {
    const Said said = shell("{ " DDPTWIN_BINARY_DIR "/bin/ddptwin run " + file + redirected + "; }",
                            dir.string());
    EXPECT_EQ(said.status, 2) << file;
    EXPECT_EQ(said.out, "") << file;
    return said.err;
  };
  EXPECT_EQ(says("a.yaml"), "ddptwin: a.yaml: cannot be read: Too many levels of symbolic links\n");
  EXPECT_EQ(says("dangling.yaml"), "ddptwin: dangling.yaml: no such file\n");
  EXPECT_EQ(says("file/job.yaml"), "ddptwin: file/job.yaml: no such file\n");
  EXPECT_EQ(says("/proc/self/mem"),
            "ddptwin: /proc/self/mem: cannot be read: Input/output error\n");
  EXPECT_EQ(says("-", " < ."), "ddptwin: standard input: cannot be read: Is a directory\n");
  EXPECT_EQ(says("-", " <&-"), "ddptwin: standard input: cannot be read: Bad file descriptor\n");
  fs::remove_all(dir);
}

TEST(BadInputTest, one_bad_file_does_not_keep_the_good_ones_from_running) {
  const Said said = ddptwin(
      "run ../../scenarios/pytorchjob/demo.yaml unknown_step.yaml --mode virtual", folder.string());
  EXPECT_EQ(said.status, 2);
  EXPECT_NE(said.out.find("PASSED demo"), std::string::npos) << said.out;
  EXPECT_NE(said.out.find("1 passed, 0 failed, 1 not run"), std::string::npos) << said.out;
}

}  // namespace
}  // namespace ddptwin::test::bad_input_test
