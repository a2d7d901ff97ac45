// System calls as Results, for the supervisor.
#pragma once

#include <sys/types.h>

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/result.hpp"

namespace ddptwin::sandbox {

// "step: No such file or directory", from errno.
tl::unexpected<Error> system_error(std::string_view step);

class Fd {
 public:
  Fd() = default;
  explicit Fd(int fd) : fd_(fd) {}
  Fd(Fd&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}
  Fd& operator=(Fd&& other) noexcept;
  ~Fd() { reset(); }

  int get() const { return fd_; }
  explicit operator bool() const { return fd_ >= 0; }
  int release() { return std::exchange(fd_, -1); }
  void reset();

 private:
  int fd_ = -1;
};

struct Pipe {
  Fd read;
  Fd write;
};
Result<Pipe> make_pipe();

Result<Fd> open_fd(const std::string& path, int flags);
Status write_file(const std::string& path, std::string_view content, mode_t mode = 0644);
// At most `limit` bytes; a file that cannot be read is empty.
std::string read_file(const std::string& path, std::size_t limit = 1 << 20);
// mkdir -p; existing folders are left as they are.
Status make_folders(const std::string& path, mode_t mode = 0755);
// The names in a folder, sorted, without . and ..; none if it cannot be read.
std::vector<std::string> names_in(const std::string& path);
Status mount_at(const char* source, const std::string& target, const char* type,
                unsigned long flags, const std::string& options = {});
// The same, of folders only, and of everything else.
struct FolderContent {
  std::vector<std::string> folders;
  std::vector<std::string> others;
};
FolderContent content_of(const std::string& path);
// Removes a tree; crosses no mounts and follows no links.
void remove_tree(const std::string& path);

}  // namespace ddptwin::sandbox
