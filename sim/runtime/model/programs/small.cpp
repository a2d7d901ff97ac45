#include "runtime/model/programs/small.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <csignal>
#include <utility>

#include "core/numbers.hpp"
#include "runtime/model/commands.hpp"
#include "runtime/model/state.hpp"

namespace ddptwin::model {
namespace {

struct Unit {
  char suffix;
  std::int64_t seconds;
};
constexpr std::array units{Unit{'s', 1}, Unit{'m', 60}, Unit{'h', 3600}, Unit{'d', 86400}};
constexpr std::int64_t seconds_max = std::int64_t{1} << 31U;  // 68 years: "infinity" for a run

class Exit final : public Program {
 public:
  explicit Exit(int code) : code_(code) {}
  void start(Process& process) override { process.exit(code_); }

 private:
  int code_;
};

class Sleep final : public Program {
 public:
  explicit Sleep(std::vector<std::string> argv) : argv_(std::move(argv)) {}

  void start(Process& process) override {
    Duration total{};
    if (argv_.size() < 2) {
      process.print_error("sleep: missing operand");
      return process.exit(1);
    }
    for (std::size_t i = 1; i < argv_.size(); ++i) {
      const std::optional<Duration> time = sleep_time(argv_[i]);
      if (!time) {
        process.print_error(fmt::format("sleep: invalid time interval '{}'", argv_[i]));
        return process.exit(1);
      }
      total += *time;
    }
    process.after(total, [&process] { process.exit(0); });
  }

 private:
  std::vector<std::string> argv_;
};

class Echo final : public Program {
 public:
  explicit Echo(std::string line) : line_(std::move(line)) {}
  void start(Process& process) override {
    process.print(std::move(line_));
    process.exit(0);
  }

 private:
  std::string line_;
};

// Runs another program, and ends it when its time is over: 124.
class Timeout final : public Program {
 public:
  Timeout(Duration time, std::vector<std::string> argv, std::unique_ptr<Program> program)
      : time_(time), argv_(std::move(argv)), program_(std::move(program)) {}

  void start(Process& process) override {
    if (program_ == nullptr) return cannot_run(process, "No such file or directory");
    const auto child =
        process.spawn({argv_, process.environment(), false, {}, {}, std::move(program_)});
    if (!child) return cannot_run(process, child.error().message);
    child_ = *child;
    if (time_ == Duration::zero()) return;  // none
    process.after(time_, [this, &process] {
      late_ = true;
      process.kill(child_, SIGTERM);
    });
  }
  bool signal(Process& process, int number) override {
    constexpr std::array handed_on{SIGHUP, SIGINT, SIGQUIT, SIGTERM};
    if (child_ == 0 || std::find(handed_on.begin(), handed_on.end(), number) == handed_on.end())
      return false;
    process.kill(child_, number);
    return true;
  }
  void child_exited(Process& process, ProcessId, const ExitStatus& status) override {
    constexpr int late_code = 124;
    process.exit(late_ ? late_code : status.shown());
  }

 private:
  void cannot_run(Process& process, std::string_view why) const {
    constexpr int not_found_code = 127;
    process.print_error(fmt::format("timeout: failed to run command '{}': {}", argv_.front(), why));
    process.exit(not_found_code);
  }

  Duration time_;
  std::vector<std::string> argv_;
  std::unique_ptr<Program> program_;
  ProcessId child_ = 0;
  bool late_ = false;
};

class Test final : public Program {
 public:
  explicit Test(std::vector<std::string> argv) : argv_(std::move(argv)) {}
  void start(Process& process) override { process.exit(test_status(process, argv_, "sh", true)); }

 private:
  std::vector<std::string> argv_;
};

// Of `test`. What else it knows asks for files' kinds, which nothing here has.
constexpr std::array<std::string_view, 7> of_a_file{"-e", "-f", "-s", "-r", "-w", "-d", "-x"};
constexpr std::array<std::string_view, 7> of_texts{"=", "==", "!=", "-n", "-z", "-t", "-v"};
constexpr std::array<std::string_view, 4> joining{"-a", "-o", "(", ")"};
struct Comparison {
  std::string_view name;
  bool (*holds)(std::int64_t, std::int64_t);
};
constexpr std::array comparisons{
    Comparison{"-eq", [](std::int64_t a, std::int64_t b) { return a == b; }},
    Comparison{"-ne", [](std::int64_t a, std::int64_t b) { return a != b; }},
    Comparison{"-lt", [](std::int64_t a, std::int64_t b) { return a < b; }},
    Comparison{"-le", [](std::int64_t a, std::int64_t b) { return a <= b; }},
    Comparison{"-gt", [](std::int64_t a, std::int64_t b) { return a > b; }},
    Comparison{"-ge", [](std::int64_t a, std::int64_t b) { return a >= b; }},
};

// Blanks around it do not matter.
std::optional<std::int64_t> integer(std::string_view text) {
  while (text.starts_with(' ')) text.remove_prefix(1);
  while (text.ends_with(' ')) text.remove_suffix(1);
  const auto value = go_integer<std::int64_t>(text);
  return value ? std::optional(*value) : std::nullopt;
}

// The operands of `test`: without its name and the ] or ]] of [ and [[.
std::vector<std::string> operands_of(const std::vector<std::string>& argv) {
  std::vector<std::string> words(argv.begin() + 1, argv.end());
  const bool closed = argv.front().ends_with('[');
  if (closed && !words.empty()) words.pop_back();
  return words;
}

bool is_comparison(std::string_view word) {
  return word == "=" || word == "==" || word == "!=" || word == "<" || word == ">" ||
         compares_numbers(word);
}

using Verdict = Result<bool>;

// `arithmetic`: an empty text counts as 0, as in [[ ]].
Verdict compared(const std::vector<std::string>& words, bool arithmetic) {
  const std::string& by = words[1];
  if (by == "=" || by == "==") return words[0] == words[2];
  if (by == "!=") return words[0] != words[2];
  if (by == "<") return words[0] < words[2];
  if (by == ">") return words[0] > words[2];
  for (const Comparison& one : comparisons) {
    if (one.name != by) continue;
    const auto number = [arithmetic](const std::string& text) {
      return arithmetic && text.empty() ? std::optional<std::int64_t>(0) : integer(text);
    };
    const auto left = number(words[0]), right = number(words[2]);
    if (!left || !right)
      return fail(Reason::invalid, "Illegal number: " + (left ? words[2] : words[0]));
    return one.holds(*left, *right);
  }
  return fail(Reason::invalid, by + ": unexpected operator");
}

// A program of the image, where images have them.
bool is_program_file(const Process& process, const std::string& path) {
  constexpr std::array<std::string_view, 6> folders{
      "/usr/local/bin", "/usr/bin", "/bin", "/usr/sbin", "/sbin", "/usr/local/sbin"};
  const std::string whole = process.path_of(path);
  const std::string folder = whole.substr(0, whole.rfind('/'));
  return std::find(folders.begin(), folders.end(), folder) != folders.end() &&
         has_program(base_name(whole), process);
}

Verdict about_file(const Process& process, const std::string& asked, const std::string& path) {
  if (path.empty()) return false;
  if (process.has_folder(path)) return asked != "-f";
  if (asked == "-d") return false;
  if (is_program_file(process, path)) return true;
  if (asked == "-s") return !process.is_empty_file(path);
  // Nobody here makes one that can be carried out.
  return asked != "-x" && process.file_exists(path);
}

// By the number of its operands (POSIX, test).
Verdict plain_test(const Process& process, const std::vector<std::string>& words, bool arithmetic) {
  if (words.empty()) return false;
  if (words.size() == 1) return !words[0].empty();
  if (words.size() == 2) {
    if (words[0] == "!") return words[1].empty();
    if (words[0] == "-n") return !words[1].empty();
    if (words[0] == "-z") return words[1].empty();
    if (words[0] == "-t") return false;  // nothing here is a terminal
    if (std::find(of_a_file.begin(), of_a_file.end(), words[0]) != of_a_file.end())
      return about_file(process, words[0], words[1]);
    return fail(Reason::invalid, words[0] + ": unexpected operator");
  }
  if (words.size() == 3 && is_comparison(words[1])) return compared(words, arithmetic);
  return fail(Reason::invalid, words[1] + ": unexpected operator");
}

// With -a, -o, ! and ( ), where there are too many operands for another reading.
class JoinedTest {
 public:
  JoinedTest(const Process& process, const std::vector<std::string>& words)
      : process_(process), words_(words) {}

  Verdict run() {
    TRY(const bool all, any());
    if (at_ < words_.size()) return fail(Reason::invalid, words_[at_] + ": unexpected operator");
    return all;
  }

 private:
  bool take(std::string_view word) {
    if (at_ >= words_.size() || words_[at_] != word) return false;
    ++at_;
    return true;
  }

  Verdict any() {
    TRY(bool value, all());
    while (take("-o")) {
      TRY(const bool other, all());
      value = value || other;
    }
    return value;
  }

  Verdict all() {
    TRY(bool value, one());
    while (take("-a")) {
      TRY(const bool other, one());
      value = value && other;
    }
    return value;
  }

  Verdict one() {
    const std::size_t left = words_.size() - at_;
    if (left == 0) return fail(Reason::invalid, "argument expected");
    const auto part = [this](std::size_t size) {
      const auto begin = words_.begin() + static_cast<std::ptrdiff_t>(at_);
      at_ += size;
      return std::vector<std::string>(begin, begin + static_cast<std::ptrdiff_t>(size));
    };
    if (left > 2 && is_comparison(words_[at_ + 1])) return plain_test(process_, part(3), false);
    if (take("!")) {
      TRY(const bool value, one());
      return !value;
    }
    if (take("(")) {
      TRY(const bool value, any());
      if (!take(")")) return fail(Reason::invalid, "closing paren expected");
      return value;
    }
    const bool asks = left > 1 && words_[at_].size() == 2 && words_[at_].front() == '-' &&
                      words_[at_] != "-a" && words_[at_] != "-o";
    return plain_test(process_, part(asks ? 2 : 1), false);
  }

  const Process& process_;
  const std::vector<std::string>& words_;
  std::size_t at_ = 0;
};

bool is_joined(const std::vector<std::string>& words) {
  const bool joins = words.size() == 3 && (words[1] == "-a" || words[1] == "-o");
  const bool enclosed = words.size() >= 3 && words.front() == "(" && words.back() == ")" &&
                        !(words.size() == 3 && is_comparison(words[1]));
  return joins || enclosed || words.size() > 3;
}

}  // namespace

std::optional<Duration> sleep_time(const std::string& text) {
  if (text == "infinity" || text == "inf") return std::chrono::seconds(seconds_max);
  double amount = 0;
  const char* end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data(), end, amount);
  if (error != std::errc{} || !(amount >= 0)) return std::nullopt;
  std::int64_t factor = 1;
  if (stop != end) {
    const auto unit = std::find_if(units.begin(), units.end(), [letter = *stop](const Unit& one) {
      return one.suffix == letter;
    });
    if (unit == units.end() || stop + 1 != end) return std::nullopt;
    factor = unit->seconds;
  }
  const double seconds =
      std::min(amount * static_cast<double>(factor), static_cast<double>(seconds_max));
  return Duration(static_cast<std::int64_t>(seconds * 1e9));
}

int test_status(Process& process, const std::vector<std::string>& argv, std::string_view shell,
                bool double_equals) {
  std::vector<std::string> words = operands_of(argv);
  bool wanted = true;
  // Of three the middle one is an operator first (POSIX, test).
  const auto compares = [&] { return words.size() == 3 && is_comparison(words[1]); };
  for (; words.size() > 1 && words.size() < 5 && words.front() == "!" && !compares();
       wanted = !wanted)
    words.erase(words.begin());
  const bool arithmetic = argv.front() == "[[";
  const Verdict holds = words.size() == 3 && words[1] == "==" && !double_equals
                            ? fail(Reason::invalid, words[0] + ": unexpected operator")
                        : is_joined(words) ? JoinedTest(process, words).run()
                                           : plain_test(process, words, arithmetic);
  if (holds) return *holds == wanted ? 0 : 1;
  process.print_error(fmt::format("{}: 1: {}: {}", shell, argv.front(), holds.error().message));
  return 2;
}

std::string unknown_test(const std::vector<std::string>& argv) {
  const std::string& name = argv.front();
  if (name == "[" && argv.back() != "]") return "[ without ]";
  std::vector<std::string> words = operands_of(argv);
  while (words.size() > 1 && words.front() == "!" &&
         !(words.size() == 3 && is_comparison(words[1])))
    words.erase(words.begin());
  const auto is_operator = [](std::string_view word) {
    return word == "=~" || (word.size() > 1 && word.starts_with('-') && word[1] >= 'A');
  };
  const auto is_known = [](std::string_view word) {
    return std::find(of_a_file.begin(), of_a_file.end(), word) != of_a_file.end() ||
           std::find(of_texts.begin(), of_texts.end(), word) != of_texts.end() ||
           std::find(joining.begin(), joining.end(), word) != joining.end() ||
           std::any_of(comparisons.begin(), comparisons.end(),
                       [word](const Comparison& one) { return one.name == word; });
  };
  // One operand behind its operator, two around it; among more any may be one.
  for (std::size_t i = 0; i < words.size() && words.size() > 1; ++i) {
    const bool may_be = words.size() > 3 || i + 2 == words.size();
    if (may_be && is_operator(words[i]) && !is_known(words[i])) return "test with " + words[i];
  }
  return {};
}

bool compares_numbers(std::string_view word) {
  return std::any_of(comparisons.begin(), comparisons.end(),
                     [word](const Comparison& one) { return one.name == word; });
}

std::unique_ptr<Program> make_exit(int code) { return std::make_unique<Exit>(code); }

std::unique_ptr<Program> make_sleep(const std::vector<std::string>& argv) {
  return std::make_unique<Sleep>(argv);
}

std::unique_ptr<Program> make_echo(const std::vector<std::string>& argv) {
  std::string line;
  for (std::size_t i = 1; i < argv.size(); ++i) line += (i == 1 ? "" : " ") + argv[i];
  return std::make_unique<Echo>(std::move(line));
}

std::unique_ptr<Program> make_timeout(Duration time, std::vector<std::string> argv,
                                      std::unique_ptr<Program> program) {
  return std::make_unique<Timeout>(time, std::move(argv), std::move(program));
}

std::unique_ptr<Program> make_test(const std::vector<std::string>& argv) {
  return std::make_unique<Test>(argv);
}

}  // namespace ddptwin::model
