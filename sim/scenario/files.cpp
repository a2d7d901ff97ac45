#include "scenario/files.hpp"

#include <fmt/format.h>

#include <filesystem>
#include <fstream>
#include <iostream>
#include <system_error>

namespace ddptwin::scenario {
namespace {

tl::unexpected<Error> too_large(const std::string& path) {
  return fail(Reason::bad_input,
              fmt::format("{}: the file is larger than {} MiB", path, file_size_max >> 20));
}

// Pipes tell no size: read one byte more than may be.
Result<std::string> read_stream(std::istream& stream, const std::string& path) {
  std::string text(file_size_max + 1, '\0');
  stream.read(text.data(), static_cast<std::streamsize>(text.size()));
  text.resize(static_cast<std::size_t>(stream.gcount()));
  if (text.size() > file_size_max) return too_large(path);
  return text;
}

}  // namespace

Result<std::string> read_text_file(const std::string& path) {
  if (path == "-") return read_stream(std::cin, "standard input");
  namespace fs = std::filesystem;
  std::error_code error;
  const fs::file_status status = fs::status(path, error);
  if (!fs::exists(status)) return fail(Reason::bad_input, fmt::format("{}: no such file", path));
  if (fs::is_directory(status))
    return fail(Reason::bad_input, fmt::format("{}: is a folder, not a file", path));
  if (fs::is_regular_file(status) && fs::file_size(path, error) > file_size_max && !error)
    return too_large(path);
  std::ifstream stream(path, std::ios::binary);
  if (!stream) return fail(Reason::bad_input, fmt::format("{}: cannot be read", path));
  return read_stream(stream, path);
}

Result<std::string> real_path(const std::string& path) {
  std::error_code error;
  const auto found = std::filesystem::canonical(path, error);
  if (error) return fail(Reason::bad_input, fmt::format("{}: {}", path, error.message()));
  return found.string();
}

}  // namespace ddptwin::scenario
