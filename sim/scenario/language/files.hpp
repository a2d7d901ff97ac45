// The rim of the parser: files of the user.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "core/result.hpp"

namespace ddptwin::scenario {

// A whole file, or standard input for "-". Refused before it is read when it is no file or larger
// than the limit. The error's message names the path.
inline constexpr std::size_t file_size_max = 16 * 1024 * 1024;
Result<std::string> read_text_file(const std::string& path);

// The absolute path of something that exists, links resolved.
Result<std::string> real_path(const std::string& path);

// The files of a folder by their paths within it, with whether they can be executed; of a file
// itself, under the empty path.
struct FoundFile {
  std::string within{};
  bool executable = false;
};
// Nothing of a folder with more files than that.
inline constexpr std::size_t files_max = 200;
std::optional<std::vector<FoundFile>> files_below(const std::string& path);
// The file can be read and begins with "#!": it is not read any further.
bool is_script(const std::string& path);

}  // namespace ddptwin::scenario
