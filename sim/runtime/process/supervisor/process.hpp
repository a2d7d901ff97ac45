// The first instructions of a container, or of a command in one, between fork and exec.
#pragma once

#include <array>
#include <string>
#include <vector>

#include "runtime/process/supervisor/rootfs.hpp"

namespace ddptwin::sandbox {

struct Program {
  std::vector<std::string> argv;
  std::vector<std::string> env;
  std::string cwd;
  std::array<int, 3> standard{-1, -1, -1};  // stdin, stdout, stderr; -1: /dev/null
  std::uint64_t open_files = 0;
};

// What the child says on its status pipe before it becomes the program. Nothing at all: it runs.
struct ChildReport {
  enum class Kind : std::uint8_t { setup_failed, program_failed, holding };
  Kind kind = Kind::setup_failed;
  std::string message;
  static void each(auto& self, auto&& field) { field(self.kind), field(self.message); }
};

struct ContainerStart {
  std::vector<int> namespaces;  // to join first
  std::string hostname;
  RootConfig root;
  Program program;
  int status = -1;  // the pipe
  bool hold =
      false;  // build all, report `holding`, then only reap: the program comes from the zygote
};
[[noreturn]] void become_container(const ContainerStart& start);

struct ExecStart {
  std::vector<int> namespaces;  // the mount namespace last
  Program program;
  int status = -1;
};
[[noreturn]] void become_command(const ExecStart& start);

// Keeps its namespaces alive and reaps, until it is killed.
[[noreturn]] void hold_namespaces();

}  // namespace ddptwin::sandbox
