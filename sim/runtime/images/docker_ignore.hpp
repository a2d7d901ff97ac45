// What a build context leaves out: .dockerignore as BuildKit reads it
// (https://docs.docker.com/build/concepts/context/#dockerignore-files).
#pragma once

#include <regex>
#include <string>
#include <string_view>
#include <vector>

#include "core/result.hpp"

namespace ddptwin {

class DockerIgnore {
 public:
  // Patterns in the order of their lines; the last that matches decides. Errors are
  // Reason::bad_input and name `file` and the line.
  static Result<DockerIgnore> parse(std::string_view text, std::string_view file);

  // Of a path within the context, without a leading slash: it or a folder that it lies in is left
  // out, and no later exception brings it back.
  bool leaves_out(const std::string& path) const;
  // Of a file or folder by its absolute path, within the folder `context`: nothing of it stays.
  bool leaves_out_all(const std::string& context, const std::string& path) const;
  // The files and folders at or below `path` (absolute, within the folder `context`) that are left
  // out, absolute and sorted; of a folder without anything that stays the folder alone.
  std::vector<std::string> below(const std::string& context, const std::string& path) const;

 private:
  bool has_exceptions() const;
  struct Pattern {
    std::regex matches{};
    bool is_exception = false;
  };
  std::vector<Pattern> patterns_{};
};

}  // namespace ddptwin
