// The surface of a Dockerfile: logical lines, words, quotes, variables. What the instructions mean
// is dockerfile.cpp's. Source: the Dockerfile reference, chapters "Format", "Parser directives",
// "Environment replacement", "Here-Documents".
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/result.hpp"

namespace ddptwin {

struct DockerfileLine {
  int number = 0;            // of its first physical line
  std::string instruction;   // in capitals
  std::string arguments;     // continued lines joined, comments left out
  bool has_heredoc = false;  // its here-documents follow it in the file and are skipped
};

// Never fails: what is no instruction is found by its name later.
std::vector<DockerfileLine> dockerfile_lines(std::string_view text);

using VariableValue = std::function<std::optional<std::string>(const std::string& name)>;

// Words with quotes removed and $NAME, ${NAME}, ${NAME:-word}, ${NAME:+word} replaced (an unknown
// variable is empty). Reason::bad_input for an open quote or brace.
Result<std::vector<std::string>> dockerfile_words(std::string_view text,
                                                  const VariableValue& value);

// The exec form: a JSON list of strings; nothing if it is not one (then it is the shell form).
std::optional<std::vector<std::string>> json_words(std::string_view text);

// The files of a build context that a source names, which may hold * ? and [...]; sorted, absolute.
std::vector<std::string> context_matches(const std::string& context, const std::string& source);

}  // namespace ddptwin
