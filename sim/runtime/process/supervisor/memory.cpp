#include "runtime/process/supervisor/memory.hpp"

#include <fmt/format.h>
#include <sys/stat.h>
#include <sys/statfs.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <cstdlib>

#include "runtime/process/supervisor/system.hpp"

namespace ddptwin::sandbox {
namespace {

std::uint64_t bytes_used(const struct statfs& info) {
  return static_cast<std::uint64_t>(info.f_blocks - info.f_bfree) *
         static_cast<std::uint64_t>(info.f_bsize);
}

}  // namespace

NamespaceId mount_namespace_of(pid_t pid) {
  struct stat info {};
  const std::string path = fmt::format("/proc/{}/ns/mnt", pid);
  return ::stat(path.c_str(), &info) == 0 ? info.st_ino : 0;
}

std::map<NamespaceId, std::vector<pid_t>> processes_by_namespace(
    const std::vector<NamespaceId>& wanted) {
  std::map<NamespaceId, std::vector<pid_t>> found;
  for (const std::string& name : names_in("/proc")) {
    pid_t pid = 0;
    if (std::from_chars(name.data(), name.data() + name.size(), pid).ec != std::errc{}) continue;
    const NamespaceId id = mount_namespace_of(pid);
    if (std::find(wanted.begin(), wanted.end(), id) != wanted.end()) found[id].push_back(pid);
  }
  return found;
}

std::uint64_t quick_memory(const std::vector<pid_t>& processes) {
  static const auto page = static_cast<std::uint64_t>(::sysconf(_SC_PAGESIZE));
  std::uint64_t total = 0;
  for (const pid_t pid : processes) {
    const std::string statm = read_file(fmt::format("/proc/{}/statm", pid), 256);
    char* rest = nullptr;
    std::strtoull(statm.c_str(), &rest, 10);
    const std::uint64_t resident = std::strtoull(rest, &rest, 10);
    const std::uint64_t shared = std::strtoull(rest, &rest, 10);
    total += (resident - std::min(resident, shared)) * page;
  }
  return total;
}

std::uint64_t exact_memory(const std::vector<pid_t>& processes) {
  constexpr std::string_view label = "Pss_Anon:";
  std::uint64_t total = 0;
  for (const pid_t pid : processes) {
    const std::string rollup = read_file(fmt::format("/proc/{}/smaps_rollup", pid), 8192);
    const std::size_t line = rollup.find(label);
    if (line == std::string::npos) continue;
    total += std::strtoull(rollup.c_str() + line + label.size(), nullptr, 10) * 1024;
  }
  return total;
}

std::uint64_t tmpfs_memory(const std::string& path) {
  struct statfs info {};
  constexpr decltype(info.f_type) tmpfs_magic = 0x01021994;
  if (::statfs(path.c_str(), &info) != 0 || info.f_type != tmpfs_magic) return 0;
  return bytes_used(info);
}

std::uint64_t bytes_used(const std::string& path) {
  struct statfs info {};
  return ::statfs(path.c_str(), &info) == 0 ? bytes_used(info) : 0;
}

}  // namespace ddptwin::sandbox
