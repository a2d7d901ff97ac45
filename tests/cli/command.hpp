// Runs the ddptwin command of this build and keeps what it said.
#pragma once

#include <gtest/gtest.h>
#include <sys/wait.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>

namespace ddptwin::test {

struct Said {
  std::string out{};
  std::string err{};
  int status = -1;
};

inline std::string read_file(const std::filesystem::path& path) {
  std::ifstream stream(path, std::ios::binary);
  std::ostringstream text;
  text << stream.rdbuf();
  return text.str();
}

// A command line of a shell, in the folder.
inline Said shell(const std::string& line, const std::string& folder) {
  const std::string base =
      testing::TempDir() + "cli" + std::to_string(::getpid()) + std::to_string(std::rand());
  const std::string command =
      "cd '" + folder + "' && " + line + " >" + base + ".out 2>" + base + ".err </dev/null";
  const int status = std::system(command.c_str());
  Said said{read_file(base + ".out"), read_file(base + ".err"),
            WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status)};
  std::filesystem::remove(base + ".out");
  std::filesystem::remove(base + ".err");
  return said;
}

// `arguments` as a shell reads them, in the folder.
inline Said ddptwin(const std::string& arguments, const std::string& folder) {
  return shell(DDPTWIN_BINARY_DIR "/bin/ddptwin " + arguments, folder);
}

// Compares with a golden file; with GOLDEN_REWRITE=1 writes it instead.
inline void expect_golden(const std::filesystem::path& golden, const std::string& text) {
  if (std::getenv("GOLDEN_REWRITE") != nullptr) {
    std::ofstream(golden, std::ios::binary) << text;
    return;
  }
  ASSERT_TRUE(std::filesystem::exists(golden)) << golden << " is missing; it would hold:\n" << text;
  EXPECT_EQ(read_file(golden), text) << golden;
}

}  // namespace ddptwin::test
