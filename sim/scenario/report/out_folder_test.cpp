#include "scenario/report/out_folder.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <filesystem>
#include <fstream>
#include <sstream>

namespace ddptwin::scenario::out_folder_test {
namespace {

namespace fs = std::filesystem;
using testing::HasSubstr;

constexpr const char* own_result =
    R"({"scenario":"a","mode":"real","seed":1,"passed":true,"expectations":[]})";

class OutFolderTest : public testing::Test {
 protected:
  OutFolderTest() { fs::remove_all(root_); }
  ~OutFolderTest() override { fs::remove_all(root_); }

  std::string path() const { return root_.string(); }
  void put(const std::string& file, const std::string& text) const {
    fs::create_directories((root_ / file).parent_path());
    std::ofstream(root_ / file) << text;
  }
  std::string read(const std::string& file) const {
    std::ifstream stream(root_ / file);
    std::ostringstream text;
    text << stream.rdbuf();
    return text.str();
  }
  std::set<std::string> files() const {
    std::set<std::string> found;
    for (const auto& entry : fs::recursive_directory_iterator(root_))
      if (entry.path().filename() != ".ddptwin")
        found.insert(fs::relative(entry.path(), root_).string());
    return found;
  }
  // A run that leaves what runs leave.
  void run() const {
    const auto folder = OutFolder::open(path(), {""});
    ASSERT_TRUE(folder) << folder.error().text();
    GrowingFile trace(**folder, "trace.jsonl");
    trace.append("{\"id\":1,\"time\":\"\",\"kind\":\"note\"}\n");
    trace.flush();
    EXPECT_TRUE(trace.status());
    EXPECT_TRUE((*folder)->make("logs/default_p_c.log"));
    EXPECT_TRUE((*folder)->write("objects/pod/default/p.yaml", "kind: Pod\n"));
    EXPECT_TRUE((*folder)->write("result.json", own_result));
  }

 private:
  fs::path root_ = fs::path(testing::TempDir()) / ("out" + std::to_string(::getpid()));
};

const std::set<std::string> whole{
    "logs",        "logs/default_p_c.log", "objects",
    "objects/pod", "objects/pod/default",  "objects/pod/default/p.yaml",
    "result.json", "trace.jsonl"};

TEST_F(OutFolderTest, what_an_earlier_run_left_goes_and_nothing_else) {
  put("notes.txt", "mine");
  run();
  put("logs/mine.log", "mine");
  {
    const auto folder = OutFolder::open(path(), {""});
    ASSERT_TRUE(folder) << folder.error().text();
    EXPECT_EQ(files(), (std::set<std::string>{"logs", "logs/mine.log", "notes.txt"}));
  }
  run();
  std::set<std::string> with_mine = whole;
  with_mine.insert({"logs/mine.log", "notes.txt"});
  EXPECT_EQ(files(), with_mine);
  EXPECT_EQ(read("logs/mine.log"), "mine");
}

// Runs of one command are below its folder; the next command may have others.
TEST_F(OutFolderTest, folders_of_earlier_runs_go_too) {
  {
    const auto folder = OutFolder::open(path(), {"demo/real", "demo/virtual"});
    ASSERT_TRUE(folder) << folder.error().text();
    EXPECT_TRUE((*folder)->write("demo/real/result.json", own_result));
    EXPECT_TRUE((*folder)->make("demo/virtual/trace.jsonl"));
  }
  run();
  EXPECT_EQ(files(), whole);
}

TEST_F(OutFolderTest, results_and_traces_of_others_are_refused_before_anything_is_touched) {
  for (const char* file : {"result.json", "trace.jsonl"}) {
    for (const char* text : {"{\"accuracy\": 0.9}", "not JSON", "[1]"}) {
      fs::remove_all(path());
      put(file, text);
      const auto folder = OutFolder::open(path(), {""});
      ASSERT_FALSE(folder) << file << text;
      EXPECT_EQ(folder.error().reason, Reason::bad_input);
      EXPECT_THAT(folder.error().text(), HasSubstr(std::string(file) + ": is not ddptwin's"));
      EXPECT_EQ(read(file), text);
      EXPECT_FALSE(fs::exists(path() + "/.ddptwin"));
    }
  }
  fs::remove_all(path());
  run();
  put("result.json", "{}");  // the user's own, in the place of ours
  EXPECT_FALSE(OutFolder::open(path(), {"another"}));
  EXPECT_TRUE(fs::exists(path() + "/logs/default_p_c.log"));
}

TEST_F(OutFolderTest, what_versions_without_a_list_left_is_known) {
  put("result.json", own_result);
  put("trace.jsonl", "");
  put("logs/default_p_c.log", "old");
  put("logs/train.log", "mine");
  run();
  std::set<std::string> with_mine = whole;
  with_mine.insert("logs/train.log");
  EXPECT_EQ(files(), with_mine);
  EXPECT_EQ(read("logs/default_p_c.log"), "");
}

TEST_F(OutFolderTest, a_file_of_others_is_never_written_over) {
  put("logs/default_p_c.log", "mine");
  const auto folder = OutFolder::open(path(), {""});
  ASSERT_TRUE(folder) << folder.error().text();
  GrowingFile log(**folder, "logs/default_p_c.log");
  log.append("theirs\n");
  log.flush();
  ASSERT_FALSE(log.status());
  EXPECT_THAT(log.status().error().text(), HasSubstr("logs/default_p_c.log: is not of this run"));
  EXPECT_EQ(read("logs/default_p_c.log"), "mine");
}

TEST_F(OutFolderTest, one_at_a_time) {
  auto first = OutFolder::open(path(), {""});
  ASSERT_TRUE(first);
  EXPECT_TRUE((*first)->make("trace.jsonl"));
  const auto second = OutFolder::open(path() + "/.", {""});
  ASSERT_FALSE(second);
  EXPECT_EQ(second.error().reason, Reason::bad_input);
  EXPECT_EQ(second.error().text(), path() + "/.: another ddptwin (process " +
                                       std::to_string(::getpid()) +
                                       ") writes there; wait for its end or name another folder");
  EXPECT_TRUE(fs::exists(path() + "/trace.jsonl"));
  first->reset();
  EXPECT_TRUE(OutFolder::open(path(), {""}));
}

TEST_F(OutFolderTest, the_lock_of_a_killed_process_does_not_hold) {
  int ready[2];
  ASSERT_EQ(::pipe(ready), 0);
  const pid_t child = ::fork();
  if (child == 0) {
    const auto folder = OutFolder::open(path(), {""});
    const bool made = folder && (*folder)->make("logs/default_p_c.log");
    if (::write(ready[1], made ? "y" : "n", 1) == 1) ::pause();
    ::_exit(1);
  }
  char made = 0;
  ASSERT_EQ(::read(ready[0], &made, 1), 1);
  EXPECT_EQ(made, 'y');
  EXPECT_FALSE(OutFolder::open(path(), {""}));
  ::kill(child, SIGKILL);
  ::waitpid(child, nullptr, 0);
  EXPECT_TRUE(OutFolder::open(path(), {""}));
  EXPECT_EQ(files(), std::set<std::string>{});
}

// Of a list that somebody wrote into.
TEST_F(OutFolderTest, no_entry_leads_out_of_the_folder) {
  put("../out_of_it", "mine");
  run();
  std::ofstream(path() + "/.ddptwin", std::ios::app) << "../out_of_it\n"
                                                     << path() << "/../out_of_it\n";
  EXPECT_TRUE(OutFolder::open(path(), {""}));
  EXPECT_EQ(read("../out_of_it"), "mine");
  fs::remove(path() + "/../out_of_it");
}

TEST_F(OutFolderTest, a_full_disk_is_told_with_the_file_and_the_reason) {
  if (!fs::exists("/dev/full")) GTEST_SKIP();
  const auto folder = OutFolder::open(path(), {""});
  ASSERT_TRUE(folder);
  GrowingFile log(**folder, "logs/a.log");
  fs::remove(path() + "/logs/a.log");
  fs::create_symlink("/dev/full", path() + "/logs/a.log");
  log.append("line\n");
  log.flush();
  ASSERT_FALSE(log.status());
  EXPECT_EQ(log.status().error().reason, Reason::io);
  EXPECT_EQ(log.status().error().text(), path() + "/logs/a.log: No space left on device");
}

}  // namespace
}  // namespace ddptwin::scenario::out_folder_test
