#include "runtime/model/commands/at_hand.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <set>
#include <span>
#include <string_view>
#include <utility>

#include "runtime/model/commands/stand_in.hpp"
#include "runtime/model/shell/shell.hpp"
#include "runtime/model/torchrun/torchrun.hpp"

namespace ddptwin::model {
namespace {

using Argv = std::vector<std::string>;

// They ask somebody who is not in the cluster, whatever their words.
constexpr std::string_view asking[] = {
    "apt",    "apk",   "apt-get",         "aws",        "az",    "conda", "dnf", "gcloud", "gsutil",
    "hf",     "mamba", "huggingface-cli", "micromamba", "s3cmd", "wandb", "yum", "mc",     "rclone",
    "azcopy", "kaggle"};
// They do with these words.
struct Asking {
  std::string_view program, word;
};
constexpr Asking asking_words[] = {{"pip", "install"},   {"pip3", "install"}, {"pip", "download"},
                                   {"git", "clone"},     {"git", "pull"},     {"git", "fetch"},
                                   {"uv", "pip"},        {"uv", "sync"},      {"npm", "install"},
                                   {"poetry", "install"}};
// Where they ask is a word of theirs.
constexpr std::string_view fetching[] = {"curl", "wget", "aria2c"};
// They work on files that are there.
constexpr std::string_view on_files[] = {"chmod", "chown", "cp",    "gunzip", "gzip",
                                         "ln",    "mv",    "rsync", "tar",    "unzip"};
// Of these the last word names what is made.
constexpr std::string_view with_target[] = {"cp", "ln", "mv", "rsync"};
// Modules of Python that need nothing but Python.
constexpr std::string_view own_modules[] = {"http.server", "json.tool", "timeit", "zipfile",
                                            "this",        "venv",      "tarfile"};
// What any shell does itself.
constexpr std::string_view built_in[] = {
    ".",       ":",        "[",     "[[",   "alias",   "bg",       "break",   "cd",
    "command", "continue", "echo",  "eval", "exec",    "exit",     "export",  "false",
    "fg",      "getopts",  "hash",  "jobs", "kill",    "local",    "let",     "popd",
    "printf",  "pushd",    "pwd",   "read", "return",  "set",      "shift",   "shopt",
    "source",  "test",     "times", "trap", "true",    "type",     "typeset", "ulimit",
    "umask",   "unalias",  "unset", "wait", "declare", "readonly", "mapfile", "readarray"};
// Words before a command that are none.
constexpr std::string_view keywords[] = {"!",    "{",    "}",     "do",    "done",    "elif",
                                         "else", "esac", "exec",  "fi",    "if",      "in",
                                         "then", "time", "until", "while", "command", "builtin"};

template <std::size_t n>
bool is_in(const std::string_view (&names)[n], std::string_view name) {
  return std::find(std::begin(names), std::end(names), name) != std::end(names);
}

std::string absolute(const std::string& path, const Surroundings& around) {
  if (path.starts_with('/')) return path;
  return around.folder + (around.folder.ends_with('/') ? "" : "/") + path;
}

// A URL of a machine that is not in the cluster: its name has a domain of its own.
bool is_outside(const std::string& word) {
  const std::size_t scheme = word.find("://");
  if (scheme == word.npos) return false;
  const std::string_view rest = std::string_view(word).substr(scheme + 3);
  const std::string_view host = rest.substr(0, rest.find_first_of(":/?"));
  if (word.starts_with("https:") && host.find('.') != host.npos) return true;
  return host.find_first_not_of("0123456789.") != host.npos && host.find('.') != host.npos &&
         host.find(".svc") == host.npos && !host.ends_with(".local");
}

bool asks_outside(const Argv& argv) {
  const std::string name = base_name(argv.front());
  if (is_in(asking, name)) return true;
  if (is_in(fetching, name) && std::any_of(argv.begin() + 1, argv.end(), &is_outside)) return true;
  Argv words(argv.begin() + 1, argv.end());
  std::string program = name;
  if (name.starts_with("python") && words.size() > 1 && words[0] == "-m") {
    program = words[1];
    words.erase(words.begin(), words.begin() + 2);
  }
  return std::any_of(std::begin(asking_words), std::end(asking_words), [&](const Asking& one) {
    return one.program == program && std::any_of(words.begin(), words.end(), [&](const auto& word) {
             return word.starts_with(one.word);
           });
  });
}

// Without what stands behind a # that is in no quotes.
std::string without_comments(std::string_view program) {
  std::string code;
  char quote = 0;
  bool comment = false;
  for (std::size_t i = 0; i < program.size(); ++i) {
    const char c = program[i];
    if (c == '\n') comment = false, quote = 0;
    if (!comment && quote == 0 && c == '#') comment = true;
    if (comment) continue;
    if (quote == 0 && (c == '"' || c == '\''))
      quote = c;
    else if (c == quote)
      quote = 0;
    code += c;
  }
  return code;
}

// A text that stands between quotes of either sort, or begins there and goes on with `:`.
bool names(std::string_view code, std::string_view text) {
  for (const char quote : {'"', '\''})
    for (const char end : {quote, ':'}) {
      std::string quoted(1, quote);
      quoted.append(text);
      quoted += end;
      if (code.find(quoted) != code.npos) return true;
    }
  return false;
}

bool has_any(std::string_view code, std::span<const std::string_view> words) {
  return std::any_of(words.begin(), words.end(),
                     [code](std::string_view word) { return code.find(word) != code.npos; });
}

// The text that an interpreter or a launcher is given to run, as far as it is here.
std::optional<std::string> program_of(const Argv& argv, const Surroundings& around) {
  if (!around.read) return std::nullopt;
  if (const auto launch = stand_in_launch(argv)) {
    const auto started = torchrun::script_of(*launch);
    if (!started || started->is_module) return std::nullopt;
    return around.read(absolute(started->script, around));
  }
  if (!base_name(argv.front()).starts_with("python")) return std::nullopt;
  for (std::size_t i = 1; i < argv.size(); ++i) {
    if (argv[i] == "-c") return i + 1 < argv.size() ? std::optional(argv[i + 1]) : std::nullopt;
    if (argv[i] == "-W" || argv[i] == "-X")
      ++i;
    else if (argv[i] == "-m")
      return std::nullopt;
    else if (!argv[i].starts_with('-'))
      return around.read(absolute(argv[i], around));
  }
  return std::nullopt;
}

// What a command wants that no pod has: by its own words, or its program's.
std::string_view lacking(const Argv& argv, const Surroundings& around) {
  if (argv.empty()) return {};
  auto program = program_of(argv, around);
  if (!program) return {};
  // What it is told counts as what its program names: the other backend, the other device.
  for (std::size_t i = 1; i < argv.size(); ++i) {
    const std::string word = argv[i].substr(argv[i].find('=') + 1);
    if (word == "nccl") return "NCCL";
    *program += "\n\"" + word + '"';
  }
  return device_wanted_by(*program);
}

// The script, module or text that an interpreter is given is here.
bool has_script(const Argv& argv, const Surroundings& around) {
  for (std::size_t i = 1; i < argv.size(); ++i) {
    const std::string& word = argv[i];
    if (word == "-c" || word == "-" || word == "--version" || word == "-V") return true;
    if (word == "-m") return i + 1 < argv.size() && is_in(own_modules, argv[i + 1]);
    if (word == "-W" || word == "-X")
      ++i;
    else if (!word.starts_with('-'))
      return around.has_file(absolute(word, around));
  }
  return true;
}

bool has_launched(const torchrun::Launch& launch, const Surroundings& around) {
  const auto started = torchrun::script_of(launch);
  if (started) return !started->is_module && around.has_file(absolute(started->script, around));
  // torchrun says itself what is wrong with it, unless it is that a variable has no value yet.
  return std::none_of(launch.arguments.begin(), launch.arguments.end(),
                      [](const std::string& word) { return word.find('$') != word.npos; });
}

// Splits a script at what a shell reads as the ends of words and commands.
class Splitter {
 public:
  explicit Splitter(const std::string& script) : text_(script) {}

  std::vector<Argv> run() {
    while (at_ < text_.size()) step();
    end_command();
    return std::move(found_);
  }

 private:
  void step() {
    const char c = text_[at_];
    if (c == '#' && !begun_) return skip_line();
    if (c == '\\') return escape();
    if (c == '\'' || c == '"') return quote(c);
    if (c == '`') return nested('`');
    if (text_.compare(at_, 2, "$(") == 0 && text_.compare(at_, 3, "$((") != 0) return nested(')');
    if (text_.compare(at_, 2, "<<") == 0 && text_.compare(at_, 3, "<<<") != 0) return document();
    ++at_;
    if (c == ' ' || c == '\t') return end_word();
    if (c == '<' || c == '>') return redirect();
    if (c == '\n' || c == ';' || c == '|' || c == '&' || c == '(' || c == ')') {
      end_command();
      if (c == '\n') skip_documents();
      return;
    }
    add(c);
  }

  void add(char c) {
    word_ += c;
    begun_ = true;
  }
  void skip_line() { at_ = std::min(text_.find('\n', at_), text_.size()); }
  void escape() {
    if (at_ + 1 < text_.size() && text_[at_ + 1] != '\n') add(text_[at_ + 1]);
    at_ += 2;
  }
  void quote(char mark) {
    begun_ = true;
    for (++at_; at_ < text_.size() && text_[at_] != mark; ++at_) {
      if (mark == '"' && text_.compare(at_, 2, "$(") == 0 && text_.compare(at_, 3, "$((") != 0) {
        nested(')');
        --at_;
      } else if (mark == '"' && text_[at_] == '\\' && at_ + 1 < text_.size()) {
        add(text_[++at_]);
      } else {
        add(text_[at_]);
      }
    }
    ++at_;
  }
  // $( ) or ` `: its commands come first, and its text is unknown.
  void nested(char mark) {
    const std::size_t from = at_ + (mark == ')' ? 2 : 1);
    std::size_t end = from;
    for (int depth = 1; end < text_.size(); ++end) {
      if (mark == ')' && text_[end] == '(') ++depth;
      if (text_[end] == mark && --depth == 0) break;
    }
    for (Argv& one : Splitter(inner_ = text_.substr(from, end - from)).run())
      found_.push_back(std::move(one));
    add('$');
    at_ = end + 1;
  }
  void document() {
    end_word();
    at_ += 2;
    if (at_ < text_.size() && text_[at_] == '-') ++at_;
    while (at_ < text_.size() && (text_[at_] == ' ' || text_[at_] == '\t')) ++at_;
    const std::size_t end = std::min(text_.find_first_of(" \t\n;|&)", at_), text_.size());
    std::string mark = text_.substr(at_, end - at_);
    mark.erase(std::remove_if(mark.begin(), mark.end(),
                              [](char c) { return c == '\'' || c == '"' || c == '\\'; }),
               mark.end());
    documents_.push_back(mark);
    at_ = end;
  }
  void skip_documents() {
    for (const std::string& mark : std::exchange(documents_, {})) {
      while (at_ < text_.size()) {
        const std::size_t end = std::min(text_.find('\n', at_), text_.size());
        std::string line = text_.substr(at_, end - at_);
        line.erase(0, std::min(line.find_first_not_of('\t'), line.size()));
        at_ = std::min(end + 1, text_.size());
        if (line == mark) break;
      }
    }
  }
  // The number before it is no word, and what stands behind it is a file or a descriptor.
  void redirect() {
    if (word_.find_first_not_of("0123456789") == std::string::npos) word_.clear(), begun_ = false;
    end_word();
    while (at_ < text_.size() && (text_[at_] == '>' || text_[at_] == '&' || text_[at_] == '|'))
      ++at_;
    is_file_ = true;
    while (at_ < text_.size() && (text_[at_] == ' ' || text_[at_] == '\t')) ++at_;
  }
  void end_word() {
    if (!begun_) return;
    if (!std::exchange(is_file_, false)) words_.push_back(std::move(word_));
    word_.clear();
    begun_ = false;
  }
  void end_command() {
    end_word();
    is_file_ = false;
    Argv words = std::exchange(words_, {});
    if (!words.empty() && (words.front() == "for" || words.front() == "case" ||
                           words.front() == "function" || words.front() == "select"))
      return;
    const auto is_assignment = [](const std::string& word) {
      const std::size_t equals = word.find('=');
      return equals != word.npos && equals > 0 &&
             word.find_first_not_of(
                 "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_+") >= equals;
    };
    const auto first = std::find_if(words.begin(), words.end(), [&](const std::string& word) {
      return !is_in(keywords, word) && !is_assignment(word);
    });
    words.erase(words.begin(), first);
    if (!words.empty()) found_.push_back(std::move(words));
  }

  const std::string& text_;
  std::string inner_{};
  std::size_t at_ = 0;
  std::string word_{};
  bool begun_ = false, is_file_ = false;
  Argv words_{};
  std::vector<std::string> documents_{};
  std::vector<Argv> found_{};
};

std::string shown(const Argv& argv) {
  std::string text = fmt::format("{}", fmt::join(argv, " "));
  std::replace(text.begin(), text.end(), '\n', ' ');
  constexpr std::size_t shown_max = 60;
  return text.size() > shown_max ? text.substr(0, shown_max) + "..." : text;
}

// What of a container is absent, as it is found.
class Absences {
 public:
  Absences(const Surroundings& around, ContainerRole role) : around_(around), role_(role) {}

  void look_at(const Argv& argv) {
    if (argv.empty() || argv.front().starts_with('-')) return tell(argv, Likeness::any);
    if (const Inner inner = within(argv); inner.argv.size() < argv.size()) {
      if (!program_file(argv.front(), around_)) found_.at_once.push_back(argv.front());
      return look_at(inner.argv);
    }
    if (is_shell(base_name(argv.front())))
      if (const auto script = script_of(argv)) return look_in(*script);
    if (!is_at_hand(argv, around_)) tell(argv, Likeness::any);
  }
  Outlook take() { return std::move(found_); }

 private:
  std::optional<std::string> script_of(const Argv& argv) const {
    for (std::size_t i = 1; i < argv.size(); ++i) {
      const std::string& word = argv[i];
      const bool option = word.starts_with('-') && !word.starts_with("--");
      if (option && word.find('c') != word.npos)
        return i + 1 < argv.size() ? std::optional(argv[i + 1]) : std::nullopt;
      if (!word.starts_with('-') && !argv[i - 1].ends_with('o'))
        return around_.read(absolute(word, around_));
    }
    return std::nullopt;
  }

  void look_in(const std::string& script) {
    const Likeness training = likeness_in(script);
    std::set<std::string> functions;
    for (std::size_t at = script.find("()"); at != script.npos; at = script.find("()", at + 2)) {
      const std::size_t begin = script.find_last_of(" \t\n;{", at) + 1;
      functions.insert(script.substr(begin, at - begin));
    }
    for (const Argv& argv : commands_in(script)) {
      const std::string& name = argv.front();
      if (name.find('$') != name.npos || functions.contains(name)) continue;
      const bool looks_for_path = name == "cd" || name == "." || name == "source";
      if (looks_for_path && argv.size() > 1 && argv[1].find('$') == std::string::npos &&
          argv[1].starts_with('/') && !around_.has_file(argv[1])) {
        found_.at_once.push_back(shown(argv));
        continue;
      }
      if (is_in(built_in, name)) continue;
      if (const Inner inner = within(argv); inner.argv.size() < argv.size()) {
        if (!is_at_hand(inner.argv, around_)) tell(argv, training, true);
      } else if (!is_at_hand(argv, around_)) {
        tell(argv, training, true);
      }
    }
  }

  void tell(const Argv& argv, Likeness training, bool of_script = false) {
    const Argv inner = within(argv).argv;
    const bool prepares = of_script && (only_prepares(argv) || likeness_of(argv) < training);
    if (role_ != ContainerRole::training || prepares) {
      found_.at_once.push_back(shown(argv));
      if (role_ == ContainerRole::sidecar && !prepares) found_.stays = true;
      return;
    }
    found_.trains.push_back(shown(argv));
    if (stand_in_launch(inner)) found_.launches = true;
    if (const std::string_view device = lacking(inner, around_); !device.empty())
      found_.wants = device;
  }

  const Surroundings& around_;
  ContainerRole role_;
  Outlook found_{};
};

}  // namespace

std::optional<std::string> program_file(const std::string& name, const Surroundings& around) {
  // The runtime puts it into every pod.
  if (name == "/usr/local/bin/atlctl") return name;
  if (name.find('/') != name.npos) {
    std::string path = absolute(name, around);
    return around.has_file(path) ? std::optional(std::move(path)) : std::nullopt;
  }
  std::string_view rest = around.search_path;
  while (!rest.empty()) {
    const std::string_view folder = rest.substr(0, rest.find(':'));
    std::string path = fmt::format("{}/{}", folder, name);
    if (!folder.empty() && around.has_file(path)) return path;
    rest.remove_prefix(std::min(folder.size() + 1, rest.size()));
  }
  return std::nullopt;
}

constexpr std::array<std::string_view, 3> asking_for_it{"is_available", "is_nccl_available",
                                                        "device_count"};

std::string_view device_wanted_by(std::string_view program) {
  constexpr std::array<std::string_view, 3> using_it{".cuda(", "cuda.set_device(",
                                                     "cuda.current_device("};
  const std::string code = without_comments(program);
  if (has_any(code, asking_for_it)) return {};
  if (names(code, "nccl") && !names(code, "gloo")) return "NCCL";
  const bool uses = has_any(code, using_it) || names(code, "cuda");
  return uses && !names(code, "cpu") ? "a GPU" : "";
}

bool wants_nccl(const std::vector<std::string>& argv, const Surroundings& around, bool has_gpu) {
  if (argv.empty()) return false;
  constexpr std::string_view told = "nccl";
  for (std::size_t i = 1; i < argv.size(); ++i)
    if (argv[i].substr(argv[i].find('=') + 1) == told) return true;
  const auto program = program_of(argv, around);
  if (!program) return false;
  if (device_wanted_by(*program) == "NCCL") return true;
  // "nccl" if torch.cuda.is_available() else "gloo"
  const std::string code = without_comments(*program);
  return has_gpu && names(code, told) && has_any(code, asking_for_it);
}

bool is_at_hand(const std::vector<std::string>& argv, const Surroundings& around) {
  if (argv.empty() || argv.front().empty() || argv.front().starts_with('-')) return false;
  if (asks_outside(argv) || !lacking(argv, around).empty()) return false;
  const std::string name = base_name(argv.front());
  if (const auto launch = stand_in_launch(argv))
    return program_file(argv.front(), around) && program_file("torchrun", around) &&
           has_launched(*launch, around);
  if (!program_file(argv.front(), around)) return false;
  const bool interprets = name.starts_with("python") || is_shell(name);
  return !interprets || has_script(argv, around);
}

bool misses_files(const std::vector<std::string>& argv, const Surroundings& around) {
  const std::string name = argv.empty() ? std::string() : base_name(argv.front());
  if (!is_in(on_files, name)) return false;
  const std::ptrdiff_t made = is_in(with_target, name) && argv.size() > 2 ? 1 : 0;
  return std::any_of(argv.begin() + 1, argv.end() - made, [&around](const std::string& word) {
    const bool is_file = !word.starts_with('-') && word.find_first_of("/.") != word.npos;
    return is_file && !around.has_file(absolute(word, around));
  });
}

std::vector<std::vector<std::string>> commands_in(const std::string& script) {
  return Splitter(script).run();
}

Likeness likeness_in(const std::string& script) {
  Likeness most = Likeness::any;
  for (const Argv& argv : commands_in(script)) most = std::max(most, likeness_of(argv));
  return most;
}

Outlook absent_of(const std::vector<std::string>& argv, const Surroundings& around,
                  ContainerRole role) {
  Absences absences(around, role);
  absences.look_at(argv);
  return absences.take();
}

}  // namespace ddptwin::model
