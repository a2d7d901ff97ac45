#include "runtime/images/dockerfile_lines.hpp"

#include <fmt/format.h>
#include <glob.h>

#include <algorithm>
#include <boost/json.hpp>
#include <cctype>

namespace ddptwin {
namespace {

std::string_view trim(std::string_view text) {
  constexpr std::string_view blank = " \t\r";
  const std::size_t first = text.find_first_not_of(blank);
  if (first == std::string_view::npos) return {};
  return text.substr(first, text.find_last_not_of(blank) - first + 1);
}

class Lines {
 public:
  explicit Lines(std::string_view text) : rest_(text) {}
  std::optional<std::string_view> next() {
    if (rest_.empty()) return std::nullopt;
    const std::size_t end = rest_.find('\n');
    const std::string_view line = rest_.substr(0, end);
    rest_.remove_prefix(end == std::string_view::npos ? rest_.size() : end + 1);
    ++number_;
    return line;
  }
  int number() const { return number_; }

 private:
  std::string_view rest_;
  int number_ = 0;
};

// "# escape=`" among the comments at the very top.
char escape_of(std::string_view text) {
  Lines lines(text);
  while (const auto line = lines.next()) {
    std::string directive;
    for (const char c : trim(*line)) {
      if (c != ' ' && c != '\t')
        directive += static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
    }
    if (!directive.starts_with("#") || directive.find('=') == std::string::npos) break;
    if (directive == "#escape=`") return '`';
  }
  return '\\';
}

// The words that end the here-documents of a line: <<EOF, <<-"EOF".
std::vector<std::string> heredoc_ends(std::string_view arguments) {
  std::vector<std::string> ends;
  for (std::size_t at = arguments.find("<<"); at != std::string_view::npos;
       at = arguments.find("<<", at + 2)) {
    std::string_view word = arguments.substr(at + 2);
    if (word.starts_with('-')) word.remove_prefix(1);
    std::string end;
    for (const char c : word.substr(0, word.find_first_of(" \t"))) {
      if (c != '"' && c != '\'') end += c;
    }
    const bool name = !end.empty() && std::all_of(end.begin(), end.end(), [](unsigned char c) {
      return std::isalnum(c) != 0 || c == '_';
    });
    if (name) ends.push_back(std::move(end));
  }
  return ends;
}

}  // namespace

std::vector<DockerfileLine> dockerfile_lines(std::string_view text) {
  const char escape = escape_of(text);
  std::vector<DockerfileLine> result;
  Lines lines(text);
  std::string joined;
  int number = 0;
  while (const auto physical = lines.next()) {
    const std::string_view line = trim(*physical);
    if (line.starts_with('#') || (line.empty() && joined.empty())) continue;
    if (joined.empty()) number = lines.number();
    const bool continued = line.ends_with(escape);
    if (line.empty()) continue;  // an empty line inside a continued one is no end of it
    joined += continued ? line.substr(0, line.size() - 1) : line;
    if (continued) continue;
    const std::size_t end = std::min(joined.find_first_of(" \t"), joined.size());
    DockerfileLine logical{number, joined.substr(0, end), std::string(trim(joined.substr(end))),
                           false};
    for (char& c : logical.instruction)
      c = static_cast<char>(std::toupper(static_cast<unsigned char>(c)));
    const bool takes_heredoc = logical.instruction == "RUN" || logical.instruction == "COPY" ||
                               logical.instruction == "ADD";
    if (takes_heredoc) {
      for (const std::string& word : heredoc_ends(logical.arguments)) {
        logical.has_heredoc = true;
        for (auto inner = lines.next(); inner && trim(*inner) != word; inner = lines.next()) {
        }
      }
    }
    result.push_back(std::move(logical));
    joined.clear();
  }
  if (!trim(joined).empty()) {  // the file ended in a continued line
    const std::size_t end = std::min(joined.find_first_of(" \t"), joined.size());
    result.push_back({number, joined.substr(0, end), std::string(trim(joined.substr(end))), false});
  }
  return result;
}

namespace {

class WordSplitter {
 public:
  WordSplitter(std::string_view text, const VariableValue& value) : text_(text), value_(value) {}

  Result<std::vector<std::string>> run() {
    while (at_ < text_.size()) {
      const char c = text_[at_];
      if (c == ' ' || c == '\t') {
        finish_word();
        ++at_;
      } else if (c == '\'') {
        TRY_VOID(single_quoted());
      } else if (c == '"') {
        TRY_VOID(double_quoted());
      } else {
        TRY_VOID(plain());
      }
    }
    finish_word();
    return std::move(words_);
  }

 private:
  void finish_word() {
    if (in_word_) words_.push_back(std::exchange(word_, {}));
    in_word_ = false;
  }

  Status single_quoted() {
    const std::size_t end = text_.find('\'', at_ + 1);
    if (end == std::string_view::npos)
      return fail(Reason::bad_input,
                  "unexpected end of statement while "
                  "looking for matching single-quote");
    word_ += text_.substr(at_ + 1, end - at_ - 1);
    in_word_ = true;
    at_ = end + 1;
    return {};
  }

  Status double_quoted() {
    in_word_ = true;
    for (++at_; at_ < text_.size() && text_[at_] != '"';) {
      if (text_[at_] == '\\' && at_ + 1 < text_.size() &&
          std::string_view("\"\\$").find(text_[at_ + 1]) != std::string_view::npos) {
        word_ += text_[at_ + 1];
        at_ += 2;
      } else if (text_[at_] == '$') {
        TRY_VOID(variable());
      } else {
        word_ += text_[at_++];
      }
    }
    if (at_ >= text_.size())
      return fail(Reason::bad_input,
                  "unexpected end of statement while looking for "
                  "matching double-quote");
    ++at_;
    return {};
  }

  Status plain() {
    in_word_ = true;
    if (text_[at_] == '$') return variable();
    if (text_[at_] == '\\' && at_ + 1 < text_.size()) ++at_;
    word_ += text_[at_++];
    return {};
  }

  static bool is_name(char c) {
    return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_';
  }

  Status variable() {
    ++at_;
    const bool braced = at_ < text_.size() && text_[at_] == '{';
    if (braced) ++at_;
    const std::size_t start = at_;
    while (at_ < text_.size() && is_name(text_[at_])) ++at_;
    const std::string name(text_.substr(start, at_ - start));
    if (name.empty() && !braced) {
      word_ += '$';
      return {};
    }
    const std::optional<std::string> value = value_(name);
    if (!braced) {
      word_ += value.value_or("");
      return {};
    }
    const std::size_t end = text_.find('}', at_);
    if (end == std::string_view::npos) return fail(Reason::bad_input, "syntax error: missing '}'");
    const std::string_view modifier = text_.substr(at_, end - at_);
    at_ = end + 1;
    const bool set = value && !value->empty();
    if (modifier.empty()) {
      word_ += value.value_or("");
    } else if (modifier.starts_with(":-")) {
      word_ += set ? *value : std::string(modifier.substr(2));
    } else if (modifier.starts_with(":+")) {
      if (set) word_ += modifier.substr(2);
    } else {
      return fail(Reason::bad_input,
                  fmt::format("unsupported modifier ({}) in substitution", modifier));
    }
    return {};
  }

  std::string_view text_;
  const VariableValue& value_;
  std::size_t at_ = 0;
  std::string word_;
  bool in_word_ = false;
  std::vector<std::string> words_;
};

}  // namespace

Result<std::vector<std::string>> dockerfile_words(std::string_view text,
                                                  const VariableValue& value) {
  return WordSplitter(text, value).run();
}

std::optional<std::vector<std::string>> json_words(std::string_view text) {
  boost::system::error_code error;
  const boost::json::value parsed = boost::json::parse({text.data(), text.size()}, error);
  if (error || !parsed.is_array()) return std::nullopt;
  std::vector<std::string> words;
  for (const boost::json::value& item : parsed.get_array()) {
    if (!item.is_string()) return std::nullopt;
    words.emplace_back(item.get_string());
  }
  return words;
}

std::vector<std::string> context_matches(const std::string& context, const std::string& source) {
  std::string pattern;
  for (const char c : context) {  // only the source is a pattern
    if (std::string_view("*?[]\\").find(c) != std::string_view::npos) pattern += '\\';
    pattern += c;
  }
  pattern += source == "/" ? "" : source;
  glob_t found{};
  std::vector<std::string> paths;
  if (::glob(pattern.c_str(), 0, nullptr, &found) == 0) {
    for (std::size_t i = 0; i < found.gl_pathc; ++i) paths.emplace_back(found.gl_pathv[i]);
  }
  ::globfree(&found);
  return paths;
}

}  // namespace ddptwin
