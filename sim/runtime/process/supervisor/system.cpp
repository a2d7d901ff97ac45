#include "runtime/process/supervisor/system.hpp"

#include <dirent.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <ftw.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

namespace ddptwin::sandbox {

tl::unexpected<Error> system_error(std::string_view step) {
  return fail(Reason::io, fmt::format("{}: {}", step, std::strerror(errno)));
}

Fd& Fd::operator=(Fd&& other) noexcept {
  std::swap(fd_, other.fd_);
  return *this;
}

void Fd::reset() {
  if (fd_ >= 0) ::close(std::exchange(fd_, -1));
}

Result<Pipe> make_pipe() {
  int ends[2];
  if (::pipe2(ends, O_CLOEXEC) != 0) return system_error("pipe");
  return Pipe{Fd(ends[0]), Fd(ends[1])};
}

Result<Fd> open_fd(const std::string& path, int flags) {
  const int fd = ::open(path.c_str(), flags | O_CLOEXEC);
  if (fd < 0) return system_error(path);
  return Fd(fd);
}

Status write_file(const std::string& path, std::string_view content, mode_t mode) {
  const Fd fd(::open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, mode));
  if (!fd) return system_error(path);
  while (!content.empty()) {
    const ssize_t written = ::write(fd.get(), content.data(), content.size());
    if (written < 0) return system_error(path);
    content.remove_prefix(static_cast<std::size_t>(written));
  }
  return {};
}

std::string read_file(const std::string& path, std::size_t limit) {
  const Fd fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  std::string content;
  char buffer[4096];
  while (fd && content.size() < limit) {
    const ssize_t got = ::read(fd.get(), buffer, std::min(sizeof buffer, limit - content.size()));
    if (got <= 0) break;
    content.append(buffer, static_cast<std::size_t>(got));
  }
  return content;
}

Status make_folders(const std::string& path, mode_t mode) {
  for (std::size_t end = path.find('/', 1); end != std::string::npos;
       end = path.find('/', end + 1)) {
    ::mkdir(path.substr(0, end).c_str(), mode);
  }
  if (::mkdir(path.c_str(), mode) == 0) return {};
  struct stat info {};
  if (errno == EEXIST && ::stat(path.c_str(), &info) == 0 && S_ISDIR(info.st_mode)) return {};
  return system_error(path);
}

std::vector<std::string> names_in(const std::string& path) {
  std::vector<std::string> names;
  DIR* folder = ::opendir(path.c_str());
  if (folder == nullptr) return names;
  while (const dirent* entry = ::readdir(folder)) {
    const std::string_view name = entry->d_name;
    if (name != "." && name != "..") names.emplace_back(name);
  }
  ::closedir(folder);
  std::sort(names.begin(), names.end());
  return names;
}

FolderContent content_of(const std::string& path) {
  FolderContent content;
  DIR* folder = ::opendir(path.c_str());
  if (folder == nullptr) return content;
  while (const dirent* entry = ::readdir(folder)) {
    const std::string_view name = entry->d_name;
    if (name == "." || name == "..") continue;
    (entry->d_type == DT_DIR ? content.folders : content.others).emplace_back(name);
  }
  ::closedir(folder);
  return content;
}

Status mount_at(const char* source, const std::string& target, const char* type,
                unsigned long flags, const std::string& options) {
  if (::mount(source, target.c_str(), type, flags, options.empty() ? nullptr : options.c_str()) ==
      0) {
    return {};
  }
  return system_error(fmt::format("mount {} at {}", type != nullptr ? type : source, target));
}

void remove_tree(const std::string& path) {
  constexpr int open_folders_max = 32;
  ::nftw(
      path.c_str(),
      [](const char* name, const struct stat*, int, FTW*) {
        ::remove(name);
        return 0;
      },
      open_folders_max, FTW_DEPTH | FTW_PHYS | FTW_MOUNT);
}

}  // namespace ddptwin::sandbox
