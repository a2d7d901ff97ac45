#include "cluster/model_runtime/shell.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <iterator>
#include <optional>
#include <tuple>

#include "cluster/model_runtime/kernel.hpp"
#include "cluster/model_runtime/shell_script.hpp"
#include "cluster/model_runtime/small_programs.hpp"

namespace ddptwin::model {
namespace {

using shell::Node;
using shell::Word;

constexpr std::array<std::string_view, 4> shells{"sh", "bash", "ash", "dash"};
constexpr std::array<std::string_view, 20> built_in{
    "exit", "echo", "true", "false",    ":",     "break", "set",  "test",   "[",     "[[",
    "cd",   "exec", "pwd",  "continue", "shift", "unset", "wait", "ulimit", "umask", "export"};
// A shell does these itself too, and nobody here.
constexpr std::array<std::string_view, 25> not_modelled{
    ".",     "alias",  "bg",    "builtin", "command", "declare", "eval", "fg",     "getopts",
    "hash",  "jobs",   "kill",  "let",     "local",   "printf",  "read", "return", "readonly",
    "shopt", "source", "times", "trap",    "type",    "typeset", "time"};
constexpr Duration loop_time = 100us;  // of one turn: a script that waits for nothing passes time
constexpr int not_found_code = 127, not_modelled_code = 126, misused_code = 2;

template <std::size_t n>
bool is_one_of(const std::array<std::string_view, n>& names, std::string_view name) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

// What the model does not know of a command that the shell does itself; empty: nothing.
std::string not_known_of(const std::vector<std::string>& argv) {
  const std::string& name = argv.front();
  if (is_one_of(not_modelled, name)) return name;
  if ((name == "break" || name == "continue" || name == "shift") && argv.size() > 1)
    return name + " with a number";
  if (name == "test" || name == "[" || name == "[[") return unknown_test(argv);
  return {};
}

// Every command in it can be modelled, as far as its name is known.
Status check(const Node& node, const CommandContext& context) {
  for (const Node& child : node.children) TRY_VOID(check(child, context));
  if (node.kind != Node::Kind::command || node.words.empty()) return {};
  std::vector<std::string> argv;
  for (const Word& word : node.words) argv.push_back(word.literal().value_or("$"));
  if (argv.front() == "exec") argv.erase(argv.begin());
  if (argv.empty() || argv.front() == "$") return {};
  if (const std::string what = not_known_of(argv); !what.empty())
    return fail(Reason::invalid, "its script uses " + what);
  if (is_one_of(built_in, argv.front())) return {};
  CommandContext inner = context;
  inner.is_child = true;
  const auto made = make_program(argv, inner);
  if (!made && made.error().reason == Reason::bad_input) return fail(made.error());
  return {};
}

// sh [OPTION...] -c SCRIPT [NAME [ARGUMENT...]]
struct Invocation {
  std::vector<std::string> options{};  // as `set` takes them
  std::string script{};
  std::vector<std::string> arguments{};  // $0, $1, ...
};
std::optional<Invocation> invocation_of(const std::vector<std::string>& argv) {
  Invocation made;
  bool from_text = false;
  auto word = std::next(argv.begin());
  for (; word != argv.end() && (word->starts_with('-') || word->starts_with('+')); ++word) {
    if (*word == "--") {
      ++word;
      break;
    }
    from_text = from_text || (word->find('c') != word->npos && !word->starts_with("--"));
    made.options.push_back(*word);
    if (word->ends_with('o') && std::next(word) != argv.end()) made.options.push_back(*++word);
  }
  if (!from_text || word == argv.end()) return std::nullopt;
  made.script = *word;
  made.arguments.assign(std::next(word), argv.end());
  return made;
}

class Shell final : public Program, private shell::Variables {
 public:
  Shell(Node script, const Invocation& invocation, CommandContext context)
      : script_(std::move(script)), arguments_(invocation.arguments), context_(context) {
    context_.is_child = true;
    set_options(invocation.options, false);
    if (arguments_.empty()) return;
    name_ = std::move(arguments_.front());
    arguments_.erase(arguments_.begin());
  }

  void start(Process& process) override {
    process_ = &process;
    const std::string& folder = process.working_directory();
    set("PWD", folder.empty() ? "/" : folder);
    run(script_, {true, false}, [this](int status) { process_->exit(status); });
  }
  bool signal(Process& process, int number) override {
    return inner_ && inner_->signal(process, number);
  }
  bool is_first_process() const override { return !inner_ || inner_->is_first_process(); }
  void child_exited(Process& process, ProcessId child, const ExitStatus& status) override {
    if (inner_) return inner_->child_exited(process, child, status);
    if (child != waits_for_ || !waiting_) return;
    waits_for_ = 0;
    std::exchange(waiting_, nullptr)(status.shown());
  }
  void stopped(Process& process) override {
    if (inner_) inner_->stopped(process);
  }
  void continued(Process& process) override {
    if (inner_) inner_->continued(process);
  }
  void ended(Process& process, const ExitStatus& status) override {
    if (inner_) inner_->ended(process, status);
  }

 private:
  using Done = std::function<void(int)>;

  // Where a command stands. `last`: nothing of the script comes after it. `tested`: somebody asks
  // for its status, so that `set -e` does not (POSIX, set).
  struct Place {
    bool last;
    bool tested;
  };
  enum class Leave : std::uint8_t { no, break_, continue_ };

  void run(const Node& node, Place place, Done done) {
    switch (node.kind) {
      case Node::Kind::command:
        return command(node, place.last, ended(place, std::move(done)));
      case Node::Kind::list:
        return list(node, 0, place, std::move(done));
      case Node::Kind::and_:
      case Node::Kind::or_:
        return run(node.children[0], {false, true}, [this, &node, place, done](int status) {
          const bool stop = leave_ != Leave::no || (status == 0) != (node.kind == Node::Kind::and_);
          if (stop) return done(status);
          run(node.children[1], place, done);
        });
      case Node::Kind::not_:
        return run(node.children[0], {false, true}, [this, done](int status) {
          finish(leave_ != Leave::no || status != 0 ? 0 : 1, done);
        });
      case Node::Kind::if_:
        return run(node.children[0], {false, true}, [this, &node, place, done](int status) {
          if (leave_ != Leave::no) return done(status);
          if (status == 0) return run(node.children[1], place, done);
          if (node.children.size() > 2) return run(node.children[2], place, done);
          finish(0, done);
        });
      case Node::Kind::until:
      case Node::Kind::while_:
        return loop(node, 0, place, left_by(std::move(done)));
      case Node::Kind::for_: {
        auto words = expand(node.words, *this);
        if (!words) return give_up(words.error().message);
        return over(node, std::make_shared<std::vector<std::string>>(std::move(*words)), 0, 0,
                    place, left_by(std::move(done)));
      }
      case Node::Kind::tee:
        return run(node.children[0], {false, true},
                   [this, done = ended(place, std::move(done))](int status) {
                     done(pipe_fails_ ? status : 0);
                   });
    }
  }

  void finish(int status, const Done& done) {
    status_ = status;
    done(status);
  }

  // What comes after a command or pipeline.
  Done ended(Place place, Done done) {
    return [this, place, done = std::move(done)](int status) {
      if (exits_on_error_ && status != 0 && !place.tested) return process_->exit(status);
      finish(status, done);
    };
  }

  // An error of the shell's own ends it (POSIX, "Consequences of Shell Errors"), in dash's words.
  void give_up(const std::string& message) {
    process_->print_error(fmt::format("{}: 1: {}", name_, message));
    process_->exit(misused_code);
  }

  void list(const Node& node, std::size_t index, Place place, Done done) {
    if (index >= node.children.size()) return done(status_);
    const bool is_last = index + 1 == node.children.size();
    run(node.children[index], {place.last && is_last, place.tested},
        [this, &node, index, is_last, place, done](int status) {
          if (leave_ != Leave::no || is_last) return done(status);
          list(node, index + 1, place, done);
        });
  }

  // A loop begins: only within one there is anything to break.
  Done left_by(Done done) {
    ++loops_;
    return [this, done = std::move(done)](int status) {
      --loops_;
      done(status);
    };
  }

  // Whether the loop whose body has ended is left.
  bool leaves() { return std::exchange(leave_, Leave::no) == Leave::break_; }

  void loop(const Node& node, int result, Place place, Done done) {
    run(node.children[0], {false, true}, [this, &node, result, place, done](int status) {
      const bool goes_on = (status == 0) == (node.kind == Node::Kind::while_);
      if (leaves()) return finish(0, done);
      if (!goes_on) return finish(result, done);
      run(node.children[1], {false, place.tested}, [this, &node, place, done](int body) {
        if (leaves()) return finish(body, done);
        process_->after(loop_time,
                        [this, &node, body, place, done] { loop(node, body, place, done); });
      });
    });
  }

  void over(const Node& node, std::shared_ptr<std::vector<std::string>> words, std::size_t index,
            int result, Place place, Done done) {
    if (index >= words->size()) return finish(result, done);
    set(node.variable, (*words)[index]);
    run(node.children[0], {false, place.tested},
        [this, &node, words, index, place, done](int body) {
          if (leaves()) return finish(body, done);
          process_->after(loop_time, [this, &node, words, index, body, place, done] {
            over(node, words, index + 1, body, place, done);
          });
        });
  }

  void command(const Node& node, bool last, Done done) {
    auto words = expand(node.words, *this);
    if (!words) return give_up(words.error().message);
    Environment assigned;
    for (const auto& [name, value] : node.assignments) {
      const auto text = expand_value(value, *this);
      if (!text) return give_up(text.error().message);
      if (words->empty()) set(name, *text);
      assigned.emplace_back(name, *text);
    }
    if (words->empty()) return done(0);
    const bool replaces = words->front() == "exec" && words->size() > 1;
    if (replaces) {
      words->erase(words->begin());
      done = [this](int status) { process_->exit(status); };
    }
    // What is written out has been looked at before the run.
    const bool computed = !node.words.front().literal();
    if (const std::string what = not_known_of(*words); computed && !what.empty())
      return cannot_run(node, words->front(),
                        {Reason::invalid, "", "its script uses " + what, nullptr, 0, {}}, done);
    if (is_one_of(built_in, words->front())) return built_in_command(*words, node, done);
    if (words->front() == "sleep" && words->size() == 2 && sleep_time((*words)[1])) {
      process_->after(*sleep_time((*words)[1]), [done] { done(0); });
      return;
    }
    if (words->front() == "nslookup" && words->size() > 1)
      return nslookup((*words)[1], node.quiet, done);
    Environment env = process_->environment();
    for (auto& [name, value] : assigned) put(env, name, std::move(value));
    if (last || replaces) return in_place(node, std::move(*words), std::move(env), replaces, done);
    child(node, std::move(*words), std::move(env), std::move(done));
  }

  void nslookup(const std::string& name, bool quiet, const Done& done) {
    // It is a program, which has to start before it can ask.
    process_->work(process_->model().timing->program_start, [this, name, quiet, done] {
      process_->lookup(name, [this, name, quiet, done](const Resolved& answer) {
        for (std::string& line : nslookup_lines(name, answer)) {
          if (!quiet) process_->print(std::move(line));
        }
        done(answer.error == 0 ? 0 : 1);
      });
    });
  }

  void built_in_command(const std::vector<std::string>& words, const Node& node, const Done& done) {
    const bool quiet = node.quiet;
    const std::string& name = words.front();
    const std::vector<std::string> rest(words.begin() + 1, words.end());
    if (name == "exit") {
      int code = status_;
      if (!rest.empty()) {
        const char* end = rest[0].data() + rest[0].size();
        const auto [stop, error] = std::from_chars(rest[0].data(), end, code);
        if (error != std::errc{} || stop != end || code < 0)
          return give_up("exit: Illegal number: " + rest[0]);
      }
      return process_->exit(code & 0xff);
    }
    if (name == "echo") {
      const std::size_t from = !rest.empty() && rest[0] == "-n" ? 1 : 0;
      if (!quiet) print_lines(fmt::format("{}", fmt::join(rest.begin() + from, rest.end(), " ")));
      return done(0);
    }
    if (name == "pwd" && !quiet) process_->print(*value("PWD"));
    if (name == "cd" && !rest.empty())
      set("PWD", rest[0].starts_with('/') ? rest[0] : *value("PWD") + "/" + rest[0]);
    if (name == "false") return done(1);
    if (name == "test" || name == "[" || name == "[[")
      return done(test_status(*process_, words, node.error_quiet));
    if (name == "break" && loops_ > 0) leave_ = Leave::break_;
    if (name == "continue" && loops_ > 0) leave_ = Leave::continue_;
    if (name == "set") set_options(rest, true);
    if (name == "shift") {
      if (arguments_.empty()) return give_up("shift: can't shift that many");
      arguments_.erase(arguments_.begin());
    }
    if (name == "unset") {
      for (const std::string& one : rest) unset(one);
    }
    if (name == "export") {
      for (const std::string& one : rest) export_variable(one);
    }
    done(0);
  }

  void print_lines(std::string_view text) {
    for (std::size_t end = text.find('\n'); end != text.npos; end = text.find('\n')) {
      process_->print(std::string(text.substr(0, end)));
      text.remove_prefix(end + 1);
    }
    process_->print(std::string(text));
  }

  // -e and -u alone and together with others; -o NAME. What else there is changes no status.
  // `arguments`: what stands behind them are $1, $2, ...
  void set_options(const std::vector<std::string>& words, bool arguments) {
    for (std::size_t i = 0; i < words.size(); ++i) {
      const std::string& word = words[i];
      const bool option = word.size() > 1 && (word.front() == '-' || word.front() == '+');
      if (!option || word == "--") {
        const auto from = static_cast<std::ptrdiff_t>(word == "--" ? i + 1 : i);
        if (arguments) arguments_.assign(words.begin() + from, words.end());
        return;
      }
      const bool on = word.front() == '-';
      const bool named = word.ends_with('o') && i + 1 < words.size();
      const std::string name = named ? words[i + 1] : std::string();
      if (word.find('e') != word.npos || name == "errexit") exits_on_error_ = on;
      if (word.find('u') != word.npos || name == "nounset") unset_is_an_error_ = on;
      if (name == "pipefail") pipe_fails_ = on;
      if (named) ++i;
    }
  }

  // Its streams are the shell's own, less what is redirected.
  std::pair<Spawn::Stream, Spawn::Stream> streams(const Node& node) {
    Process::State& own = process_->state();
    std::pair<Spawn::Stream, Spawn::Stream> made{own.output, own.error_output};
    made.first.shown = made.first.shown && !node.quiet;
    made.second.shown = made.second.shown && !node.error_quiet;
    return made;
  }

  void in_place(const Node& node, std::vector<std::string> argv, Environment env, bool replaces,
                const Done& done) {
    auto program = make_program(argv, context_);
    if (!program) {
      // A shell that cannot become something else ends.
      const Done end = [this](int status) { process_->exit(status); };
      return cannot_run(node, argv.front(), program.error(), replaces ? end : done);
    }
    Process::State& own = process_->state();
    std::tie(own.output, own.error_output) = streams(node);
    own.argv = std::move(argv);
    own.env = std::move(env);
    inner_ = std::move(*program);
    inner_->start(*process_);
  }

  void child(const Node& node, std::vector<std::string> argv, Environment env, Done done) {
    const std::string name = argv.front();
    auto [output, error_output] = streams(node);
    const Result<ProcessId> child = process_->spawn(
        {std::move(argv), std::move(env), false, std::move(output), std::move(error_output)});
    if (!child) return cannot_run(node, name, child.error(), done);
    waits_for_ = *child;
    waiting_ = std::move(done);
  }

  void cannot_run(const Node& node, const std::string& name, const Error& error, const Done& done) {
    const bool missing = error.reason == Reason::not_found;
    if (!node.error_quiet)
      process_->print_error(missing ? fmt::format("{}: 1: {}: not found", name_, name)
                                    : fmt::format("{}: 1: {}", name_, error.message));
    done(missing ? not_found_code : not_modelled_code);
  }

  // ---- variables -------------------------------------------------------------------------------

  static void put(Environment& to, const std::string& name, std::string value) {
    for (auto& [key, old] : to) {
      if (key != name) continue;
      old = std::move(value);
      return;
    }
    to.emplace_back(name, std::move(value));
  }
  static const std::string* find(const Environment& in, std::string_view name) {
    for (const auto& [key, value] : in)
      if (key == name) return &value;
    return nullptr;
  }

  // A variable that is not exported is the shell's own.
  void set(const std::string& name, std::string value) override {
    Environment& env = process_->state().env;
    put(find(env, name) != nullptr ? env : own_, name, std::move(value));
  }

  void unset(const std::string& name) {
    const auto named = [&name](const auto& variable) { return variable.first == name; };
    std::erase_if(process_->state().env, named);
    std::erase_if(own_, named);
  }

  // NAME or NAME=value.
  void export_variable(const std::string& text) {
    const std::size_t equals = text.find('=');
    const std::string name = text.substr(0, equals);
    const std::string* value = find(own_, name);
    if (equals != text.npos) {
      put(process_->state().env, name, text.substr(equals + 1));
    } else if (value != nullptr) {
      put(process_->state().env, name, *value);
    }
    std::erase_if(own_, [&name](const auto& variable) { return variable.first == name; });
  }

  std::optional<std::string> value(std::string_view name) const override {
    if (name == "?") return std::to_string(status_);
    if (name == "$") return std::to_string(process_->pid());
    if (name == "0") return name_;
    if (name == "hostname()") return process_->hostname();
    std::size_t number = 0;
    const auto [stop, error] = std::from_chars(name.data(), name.data() + name.size(), number);
    if (error == std::errc{} && stop == name.data() + name.size()) {
      if (number == 0) return name_;
      if (number > arguments_.size()) return std::nullopt;
      return arguments_[number - 1];
    }
    if (const std::string* own = find(own_, name)) return *own;
    if (const std::string* exported = find(process_->environment(), name)) return *exported;
    return std::nullopt;
  }

  const std::vector<std::string>& arguments() const override { return arguments_; }
  bool unset_is_an_error() const override { return unset_is_an_error_; }

  Node script_;
  std::string name_ = "sh";
  std::vector<std::string> arguments_;  // $1, $2, ...
  CommandContext context_;
  Environment own_{};  // variables that are not exported
  Process* process_ = nullptr;
  std::unique_ptr<Program> inner_{};  // what runs in the shell's place
  int status_ = 0;
  int loops_ = 0;            // one within the other
  Leave leave_ = Leave::no;  // the innermost, by break or continue
  bool exits_on_error_ = false, unset_is_an_error_ = false, pipe_fails_ = false;
  ProcessId waits_for_ = 0;
  Done waiting_{};
};

}  // namespace

bool is_shell(const std::string& name) {
  return std::find(shells.begin(), shells.end(), name) != shells.end();
}

Result<std::unique_ptr<Program>> make_shell(const std::vector<std::string>& argv,
                                            const CommandContext& context) {
  const std::optional<Invocation> invocation = invocation_of(argv);
  if (!invocation) return fail(Reason::invalid, "only `sh -c SCRIPT` is known");
  TRY(Node script, shell::parse(invocation->script));
  TRY_VOID(check(script, context));
  auto made = std::make_unique<Shell>(std::move(script), *invocation, context);
  return std::unique_ptr<Program>(std::move(made));
}

}  // namespace ddptwin::model
