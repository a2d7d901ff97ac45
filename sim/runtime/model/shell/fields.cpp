#include "runtime/model/shell/fields.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "core/numbers.hpp"
#include "runtime/model/programs/small.hpp"

namespace ddptwin::model::shell {
namespace {

// Options with a value of their own.
constexpr std::string_view valued_options = "adnNptui";

// The letters of a command line's options, each with its value, and where the names begin.
struct Options {
  std::vector<std::pair<char, std::string>> all{};
  std::size_t names = 1;
};
Options options_of(const std::vector<std::string>& words) {
  Options made;
  for (std::size_t& i = made.names; i < words.size() && words[i].size() > 1; ++i) {
    const std::string& word = words[i];
    if (!word.starts_with('-')) break;
    if (word == "--") {
      ++i;
      break;
    }
    for (std::size_t at = 1; at < word.size(); ++at) {
      const bool valued = valued_options.find(word[at]) != std::string_view::npos;
      std::string value = valued ? word.substr(at + 1) : std::string();
      if (valued && value.empty() && i + 1 < words.size()) value = words[++i];
      made.all.emplace_back(word[at], std::move(value));
      if (valued) break;
    }
  }
  return made;
}

// Takes fields off a line from the left.
class Fields {
 public:
  Fields(const ReadLine& line, std::string_view separators)
      : line_(line), separators_(separators), end_(line.text.size()) {
    skip_blanks();
  }

  bool is_over() const { return at_ == end_; }

  std::string next() {
    const std::size_t begin = at_;
    while (at_ < end_ && !separates(at_)) ++at_;
    std::string field = line_.text.substr(begin, at_ - begin);
    skip_blanks();
    if (at_ < end_ && separates(at_)) {
      ++at_;
      skip_blanks();
    }
    return field;
  }

  // What is left, without the blanks at its end; one separator behind a single field is none of it.
  std::string rest() {
    while (end_ > at_ && separates(end_ - 1) && is_blank(line_.text[end_ - 1])) --end_;
    const std::size_t begin = at_;
    std::string first = next();
    return is_over() ? first : line_.text.substr(begin, end_ - begin);
  }

 private:
  bool separates(std::size_t at) const {
    return !line_.escaped[at] && separators_.find(line_.text[at]) != std::string_view::npos;
  }
  void skip_blanks() {
    while (at_ < end_ && separates(at_) && is_blank(line_.text[at_])) ++at_;
  }

  const ReadLine& line_;
  std::string_view separators_;
  std::size_t at_ = 0, end_;
};

}  // namespace

Result<ReadOrder> read_order(const std::vector<std::string>& words, Dialect dialect) {
  ReadOrder made;
  const Options options = options_of(words);
  for (const auto& [option, value] : options.all) {
    const auto number = whole_number<std::int64_t>(value);
    const bool known = dialect == Dialect::bash
                           ? std::string_view("adnNprst").find(option) != std::string_view::npos
                           : option == 'r' || option == 'p';
    if (!known) return fail(Reason::invalid, fmt::format("Illegal option -{}", option));
    if (option == 'r') made.raw = true;
    if (option == 'd') made.delimiter = value.empty() ? '\0' : value.front();
    if (option == 'a') made.array = value;
    if (option == 'n' || option == 'N') {
      if (!number || *number < 0)
        return fail(Reason::invalid, fmt::format("{}: invalid number", value));
      made.most = static_cast<std::size_t>(*number);
      made.exact = option == 'N';
    }
    if (option == 't') {
      made.patience = sleep_time(value);
      if (!made.patience)
        return fail(Reason::invalid, fmt::format("{}: invalid timeout specification", value));
    }
  }
  made.names.assign(words.begin() + static_cast<std::ptrdiff_t>(options.names), words.end());
  if (made.names.empty() && dialect == Dialect::dash) return fail(Reason::invalid, "arg count");
  for (const std::string& name : made.names)
    if (!is_variable_name(name))
      return fail(Reason::invalid, dialect == Dialect::bash
                                       ? fmt::format("`{}': not a valid identifier", name)
                                       : fmt::format("{}: bad variable name", name));
  return made;
}

std::string unknown_read(const std::vector<std::string>& words) {
  for (const auto& [option, value] : options_of(words).all)
    if (option == 'u' || option == 'e' || option == 'i')
      return fmt::format("read with -{}", option);
  return {};
}

ReadLine text_of_read(std::string_view input, const ReadOrder& order) {
  ReadLine made;
  const auto add = [&made](char c, bool escaped) {
    made.text += c;
    made.escaped.push_back(escaped);
  };
  for (std::size_t& at = made.size; at < input.size();) {
    if (order.most && made.text.size() >= *order.most) break;
    const char c = input[at];
    if (!order.raw && c == '\\') {
      if (at + 1 >= input.size()) break;
      if (input[at + 1] != '\n') add(input[at + 1], true);
      at += 2;
      continue;
    }
    ++at;
    if (c == order.delimiter && !order.exact) {
      made.whole = true;
      return made;
    }
    if (c != '\0') add(c, false);
  }
  if (order.most && made.text.size() >= *order.most) made.whole = true;
  if (!made.whole) made.size = input.size();
  return made;
}

std::vector<std::string> fields_of_read(const ReadLine& line, std::string_view separators,
                                        std::size_t most) {
  Fields fields(line, separators);
  std::vector<std::string> made;
  while (!fields.is_over() && (most == 0 || made.size() + 1 < most)) made.push_back(fields.next());
  if (most > 0) made.push_back(fields.rest());
  return made;
}

}  // namespace ddptwin::model::shell
