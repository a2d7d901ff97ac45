#include <fcntl.h>
#include <fmt/format.h>
#include <sys/sendfile.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <climits>

#include "runtime/process/supervisor/layers.hpp"

namespace ddptwin::sandbox {
namespace {

Status copy_file(const std::string& from, const std::string& to, const struct stat& info) {
  TRY(const Fd source, open_fd(from, O_RDONLY));
  ::unlink(to.c_str());
  const Fd target(
      ::open(to.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, info.st_mode & 07777));
  if (!target) return system_error(to);
  for (;;) {
    constexpr std::size_t chunk = 64 * 1024 * 1024;
    const ssize_t sent = ::sendfile(target.get(), source.get(), nullptr, chunk);
    if (sent < 0) return system_error(fmt::format("copy {} to {}", from, to));
    if (sent == 0) break;
  }
  ::fchmod(target.get(), info.st_mode & 07777);
  return {};
}

Status copy_link(const std::string& from, const std::string& to) {
  char target[PATH_MAX + 1];
  const ssize_t size = ::readlink(from.c_str(), target, PATH_MAX);
  if (size < 0) return system_error(from);
  target[size] = '\0';
  ::unlink(to.c_str());
  if (::symlink(target, to.c_str()) != 0) return system_error(to);
  return {};
}

Status copy_folder(const std::string& from, const std::string& to, const struct stat& info,
                   const std::vector<std::string>& without) {
  TRY_VOID(make_folders(to));
  for (const std::string& name : names_in(from)) {
    TRY_VOID(copy_tree(from + "/" + name, to + "/" + name, without));
  }
  ::chmod(to.c_str(), info.st_mode & 07777);
  return {};
}

}  // namespace

Status copy_tree(const std::string& from, const std::string& to,
                 const std::vector<std::string>& without) {
  if (std::binary_search(without.begin(), without.end(), from)) return {};
  struct stat info {};
  if (::lstat(from.c_str(), &info) != 0) return system_error(from);
  if (S_ISDIR(info.st_mode)) {
    TRY_VOID(copy_folder(from, to, info, without));
  } else if (S_ISLNK(info.st_mode)) {
    TRY_VOID(copy_link(from, to));
  } else if (S_ISREG(info.st_mode)) {
    TRY_VOID(copy_file(from, to, info));
  } else {
    return {};  // sockets, pipes and devices are no content
  }
  // Only with all user ids mapped does the owner exist here; the copy is ours otherwise.
  const bool owner_kept = ::lchown(to.c_str(), info.st_uid, info.st_gid) == 0;
  if (owner_kept && !S_ISLNK(info.st_mode)) ::chmod(to.c_str(), info.st_mode & 07777);
  const timespec times[2] = {info.st_atim, info.st_mtim};
  ::utimensat(AT_FDCWD, to.c_str(), times, AT_SYMLINK_NOFOLLOW);
  return {};
}

}  // namespace ddptwin::sandbox
