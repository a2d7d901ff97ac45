// The processes below one, as /proc tells.
#pragma once

#include <sys/types.h>

#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

namespace ddptwin {

inline std::vector<pid_t> children_of(pid_t parent) {
  std::vector<pid_t> children;
  for (const auto& entry : std::filesystem::directory_iterator("/proc")) {
    const std::string name = entry.path().filename();
    if (name.find_first_not_of("0123456789") != std::string::npos) continue;
    std::ifstream file(entry.path() / "stat");
    std::string stat;
    std::getline(file, stat);
    // "PID (command) state PPID ..."
    const std::size_t end = stat.rfind(") ");
    if (end == std::string::npos) continue;
    if (std::stoi(stat.substr(end + 4)) == parent) children.push_back(std::stoi(name));
  }
  return children;
}

}  // namespace ddptwin
