#include "runtime/images/docker_ignore.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <sstream>

namespace ddptwin {
namespace {

namespace fs = std::filesystem;

std::string trimmed(const std::string& text) {
  const auto first = text.find_first_not_of(" \t\r");
  return first == text.npos ? std::string()
                            : text.substr(first, text.find_last_not_of(" \t\r") - first + 1);
}

// `**` stands for any folders, `*` and `?` for what is within a name, `[...]` for one of its
// letters.
std::string expression_of(std::string_view pattern) {
  std::string out;
  for (std::size_t i = 0; i < pattern.size(); ++i) {
    const char c = pattern[i];
    if (c == '*' && i + 1 < pattern.size() && pattern[i + 1] == '*') {
      ++i;
      const bool leads = i + 1 < pattern.size() && pattern[i + 1] == '/';
      if (leads) ++i;
      out += leads ? "(?:.*/)?" : ".*";
    } else if (c == '*') {
      out += "[^/]*";
    } else if (c == '?') {
      out += "[^/]";
    } else if (c == '[' || c == ']' || c == '-') {
      out += c;
    } else if (c == '\\' && i + 1 < pattern.size()) {
      out += '\\';
      out += pattern[++i];
    } else {
      if (std::string_view("^$.|()+{}\\").find(c) != std::string_view::npos) out += '\\';
      out += c;
    }
  }
  return out;
}

std::string within(const std::string& context, const std::string& path) {
  return path.size() <= context.size() + 1 ? std::string() : path.substr(context.size() + 1);
}

}  // namespace

Result<DockerIgnore> DockerIgnore::parse(std::string_view text, std::string_view file) {
  DockerIgnore ignore;
  std::istringstream lines{std::string(text)};
  int number = 0;
  for (std::string line; std::getline(lines, line);) {
    ++number;
    if (line.starts_with('#')) continue;
    line = trimmed(line);
    Pattern pattern;
    if (line.starts_with('!')) {
      pattern.is_exception = true;
      line = trimmed(line.substr(1));
    }
    if (line.empty()) continue;
    std::string path = fs::path("/" + line).lexically_normal();
    while (path.ends_with('/')) path.pop_back();
    const std::size_t begin = path.find_first_not_of('/');
    if (begin == path.npos) continue;  // the context itself
    try {
      pattern.matches = std::regex(expression_of(path.substr(begin)));
    } catch (const std::regex_error&) {
      return fail(Reason::bad_input,
                  fmt::format("{}:{}: syntax error in pattern \"{}\"", file, number, line));
    }
    ignore.patterns_.push_back(std::move(pattern));
  }
  return ignore;
}

bool DockerIgnore::leaves_out(const std::string& path) const {
  bool out = false;
  for (const Pattern& pattern : patterns_) {
    if (pattern.is_exception != out) continue;  // it would change nothing
    for (std::size_t end = path.find('/');; end = path.find('/', end + 1)) {
      if (std::regex_match(path.begin(),
                           end == path.npos ? path.end() : path.begin() + std::ptrdiff_t(end),
                           pattern.matches)) {
        out = !pattern.is_exception;
        break;
      }
      if (end == path.npos) break;
    }
  }
  return out;
}

bool DockerIgnore::has_exceptions() const {
  return std::any_of(patterns_.begin(), patterns_.end(),
                     [](const Pattern& one) { return one.is_exception; });
}

bool DockerIgnore::leaves_out_all(const std::string& context, const std::string& path) const {
  if (!leaves_out(within(context, path))) return false;
  std::error_code error;
  if (!has_exceptions() || !fs::is_directory(path, error)) return true;
  for (fs::recursive_directory_iterator at(path, error), end; !error && at != end;
       at.increment(error))
    if (!leaves_out(within(context, at->path()))) return false;
  return true;
}

std::vector<std::string> DockerIgnore::below(const std::string& context,
                                             const std::string& path) const {
  std::vector<std::string> out;
  if (patterns_.empty()) return out;
  const bool sees_inside = has_exceptions();
  std::error_code error;
  std::vector<std::string> folders;  // left out, with what lies in them still to be seen
  for (fs::recursive_directory_iterator at(path, error), end; !error && at != end;
       at.increment(error)) {
    const std::string file = at->path();
    if (!leaves_out(within(context, file))) {
      // An exception: the folders that lead to it stay.
      std::erase_if(folders,
                    [&](const std::string& folder) { return file.starts_with(folder + "/"); });
    } else if (!at->is_directory() || at->is_symlink()) {
      out.push_back(file);
    } else {
      folders.push_back(file);
      if (!sees_inside) at.disable_recursion_pending();
    }
  }
  out.insert(out.end(), folders.begin(), folders.end());
  std::sort(out.begin(), out.end());
  return out;
}

}  // namespace ddptwin
