#include "scenario/language/files.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <filesystem>
#include <system_error>

namespace ddptwin::scenario {
namespace {

tl::unexpected<Error> too_large(const std::string& path) {
  return fail(Reason::bad_input,
              fmt::format("{}: the file is larger than {} MiB", path, file_size_max >> 20));
}

tl::unexpected<Error> unreadable(const std::string& path, int number) {
  return fail(Reason::bad_input,
              fmt::format("{}: cannot be read: {}", path, std::generic_category().message(number)));
}

// A descriptor of a file that was opened, closed at the end.
class Opened {
 public:
  explicit Opened(int descriptor) : descriptor_(descriptor) {}
  ~Opened() {
    if (descriptor_ > STDERR_FILENO) close(descriptor_);
  }
  Opened(const Opened&) = delete;
  Opened& operator=(const Opened&) = delete;
  int descriptor() const { return descriptor_; }

 private:
  int descriptor_;
};

// Pipes tell no size: one byte more than may be is read.
Result<std::string> read_all(int descriptor, const std::string& path) {
  std::string text;
  std::array<char, 65536> part{};
  while (text.size() <= file_size_max) {
    const ssize_t count = read(descriptor, part.data(), part.size());
    if (count == 0) return text;
    if (count > 0)
      text.append(part.data(), static_cast<std::size_t>(count));
    else if (errno != EINTR)
      return unreadable(path, errno);
  }
  return too_large(path);
}

}  // namespace

Result<std::string> read_text_file(const std::string& path) {
  if (path == "-") return read_all(STDIN_FILENO, "standard input");
  namespace fs = std::filesystem;
  std::error_code error;
  const fs::file_status status = fs::status(path, error);
  if (status.type() == fs::file_type::not_found)
    return fail(Reason::bad_input, fmt::format("{}: no such file", path));
  if (error) return unreadable(path, error.value());
  if (fs::is_directory(status))
    return fail(Reason::bad_input,
                fmt::format("{}: is a folder, not a file: name the files in it", path));
  if (fs::is_regular_file(status) && fs::file_size(path, error) > file_size_max && !error)
    return too_large(path);
  const Opened file(open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (file.descriptor() < 0) return unreadable(path, errno);
  return read_all(file.descriptor(), path);
}

Result<std::string> real_path(const std::string& path) {
  std::error_code error;
  const auto found = std::filesystem::canonical(path, error);
  if (error) return fail(Reason::bad_input, fmt::format("{}: {}", path, error.message()));
  return found.string();
}

std::optional<std::vector<FoundFile>> files_below(const std::string& path) {
  namespace fs = std::filesystem;
  const auto can_run = [](const fs::file_status& status) {
    return (status.permissions() & fs::perms::owner_exec) != fs::perms::none;
  };
  std::error_code error;
  if (const auto status = fs::status(path, error); fs::is_regular_file(status))
    return std::vector<FoundFile>{{"", can_run(status)}};
  std::vector<FoundFile> found;
  for (fs::recursive_directory_iterator at(path, error), end; at != end && !error;
       at.increment(error)) {
    if (!at->is_regular_file(error)) continue;
    if (found.size() == files_max) return std::nullopt;
    found.push_back({fs::relative(at->path(), path, error).string(), can_run(at->status(error))});
  }
  std::sort(found.begin(), found.end(),
            [](const FoundFile& a, const FoundFile& b) { return a.within < b.within; });
  return found;
}

bool is_script(const std::string& path) {
  const Opened file(open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  std::array<char, 2> first{};
  return file.descriptor() >= 0 &&
         read(file.descriptor(), first.data(), first.size()) ==
             static_cast<ssize_t>(first.size()) &&
         std::string_view(first.data(), first.size()) == "#!";
}

}  // namespace ddptwin::scenario
