#include "cluster/model_runtime/shell.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <charconv>

#include "cluster/model_runtime/kernel.hpp"
#include "cluster/model_runtime/shell_script.hpp"
#include "cluster/model_runtime/small_programs.hpp"

namespace ddptwin::model {
namespace {

using shell::Node;
using shell::Word;

constexpr std::array<std::string_view, 4> shells{"sh", "bash", "ash", "dash"};
constexpr std::array<std::string_view, 12> built_in{"exit", "echo", "true", "false",  ":",  "break",
                                                    "set",  "test", "[",    "export", "cd", "exec"};
constexpr Duration loop_time = 100us;  // of one turn: a script that waits for nothing passes time
constexpr int not_found_code = 127, not_modelled_code = 126;

bool is_built_in(std::string_view name) {
  return std::find(built_in.begin(), built_in.end(), name) != built_in.end();
}

// Every command in it can be modelled, as far as its name is known.
Status check(const Node& node, const CommandContext& context) {
  for (const Node& child : node.children) TRY_VOID(check(child, context));
  if (node.kind != Node::Kind::command || node.words.empty()) return {};
  std::vector<std::string> argv;
  for (const Word& word : node.words) argv.push_back(word.literal().value_or("$"));
  if (argv.front() == "exec") argv.erase(argv.begin());
  if (argv.empty() || is_built_in(argv.front()) || argv.front() == "$") return {};
  CommandContext inner = context;
  inner.is_child = true;
  const auto made = make_program(argv, inner);
  if (!made && made.error().reason == Reason::bad_input) return fail(made.error());
  return {};
}

class Shell final : public Program {
 public:
  Shell(Node script, CommandContext context) : script_(std::move(script)), context_(context) {
    context_.is_child = true;
  }

  void start(Process& process) override {
    process_ = &process;
    run(script_, true, [this](int status) { process_->exit(status); });
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

  // `last`: nothing of the script comes after it.
  void run(const Node& node, bool last, Done done) {
    switch (node.kind) {
      case Node::Kind::command:
        return command(node, last, std::move(done));
      case Node::Kind::list:
        return list(node, 0, last, std::move(done));
      case Node::Kind::and_:
      case Node::Kind::or_:
        return run(node.children[0], false, [this, &node, last, done](int status) {
          const bool stop = breaking_ || (status == 0) != (node.kind == Node::Kind::and_);
          if (stop) return done(status);
          run(node.children[1], last, done);
        });
      case Node::Kind::not_:
        return run(node.children[0], false, [done](int status) { done(status == 0 ? 1 : 0); });
      case Node::Kind::if_:
        return run(node.children[0], false, [this, &node, last, done](int status) {
          if (status == 0) return run(node.children[1], last, done);
          if (node.children.size() > 2) return run(node.children[2], last, done);
          done(0);
        });
      case Node::Kind::until:
      case Node::Kind::while_:
        return loop(node, 0, std::move(done));
      case Node::Kind::for_:
        return over(node, std::make_shared<std::vector<std::string>>(expand(node.words)), 0, 0,
                    std::move(done));
    }
  }

  void list(const Node& node, std::size_t index, bool last, Done done) {
    if (index >= node.children.size()) return done(status_);
    const bool is_last = last && index + 1 == node.children.size();
    run(node.children[index], is_last, [this, &node, index, last, done](int status) {
      status_ = status;
      const Node::Kind kind = node.children[index].kind;
      if (exits_on_error_ && status != 0 && kind == Node::Kind::command)
        return process_->exit(status);
      if (breaking_ || index + 1 == node.children.size()) return done(status);
      list(node, index + 1, last, done);
    });
  }

  void loop(const Node& node, int result, Done done) {
    run(node.children[0], false, [this, &node, result, done](int status) {
      const bool goes_on = (status == 0) == (node.kind == Node::Kind::while_);
      if (!goes_on) return done(result);
      run(node.children[1], false, [this, &node, done](int body) {
        if (std::exchange(breaking_, false)) return done(body);
        process_->after(loop_time, [this, &node, body, done] { loop(node, body, done); });
      });
    });
  }

  void over(const Node& node, std::shared_ptr<std::vector<std::string>> words, std::size_t index,
            int result, Done done) {
    if (index >= words->size()) return done(result);
    set(node.variable, (*words)[index]);
    run(node.children[0], false, [this, &node, words, index, done](int body) {
      if (std::exchange(breaking_, false)) return done(body);
      process_->after(loop_time, [this, &node, words, index, body, done] {
        over(node, words, index + 1, body, done);
      });
    });
  }

  void command(const Node& node, bool last, Done done) {
    for (const auto& [name, value] : node.assignments) {
      const std::vector<std::string> words = expand({value});
      set(name, fmt::format("{}", fmt::join(words, " ")));
    }
    std::vector<std::string> words = expand(node.words);
    if (words.empty()) return done(0);
    const bool replaces = words.front() == "exec" && words.size() > 1;
    if (replaces) words.erase(words.begin());
    if (is_built_in(words.front())) return built_in_command(words, node.quiet, done);
    if (words.front() == "sleep" && words.size() == 2 && sleep_time(words[1])) {
      process_->after(*sleep_time(words[1]), [done] { done(0); });
      return;
    }
    if (words.front() == "nslookup" && words.size() > 1)
      return nslookup(words[1], node.quiet, done);
    external(node, std::move(words), last || replaces, std::move(done));
  }

  void nslookup(const std::string& name, bool quiet, const Done& done) {
    // It is a program, which has to start before it can ask.
    process_->after(process_->model().timing->program_start, [this, name, quiet, done] {
      process_->lookup(name, [this, name, quiet, done](const Resolved& answer) {
        for (std::string& line : nslookup_lines(name, answer)) {
          if (!quiet) process_->print(std::move(line));
        }
        done(answer.error == 0 ? 0 : 1);
      });
    });
  }

  void built_in_command(const std::vector<std::string>& words, bool quiet, const Done& done) {
    const std::string& name = words.front();
    const std::vector<std::string> rest(words.begin() + 1, words.end());
    if (name == "exit") {
      int code = status_;
      if (!rest.empty()) std::from_chars(rest[0].data(), rest[0].data() + rest[0].size(), code);
      return process_->exit(code);
    }
    if (name == "echo") {
      if (!quiet) process_->print(fmt::format("{}", fmt::join(rest, " ")));
      return done(0);
    }
    if (name == "false") return done(1);
    if (name == "test" || name == "[") return done(test_holds(*process_, words) ? 0 : 1);
    if (name == "break") breaking_ = true;
    if (name == "set") {
      for (const std::string& option : rest) {
        if (option.starts_with('-') && option.find('e') != option.npos) exits_on_error_ = true;
      }
    }
    if (name == "export") {
      for (const std::string& one : rest) {
        if (const std::size_t equals = one.find('='); equals != one.npos)
          set(one.substr(0, equals), one.substr(equals + 1));
      }
    }
    done(0);
  }

  // Its streams are the shell's own, less what is redirected.
  void external(const Node& node, std::vector<std::string> argv, bool in_place, Done done) {
    Process::State& own = process_->state();
    Spawn::Stream output = own.output, error_output = own.error_output;
    output.shown = output.shown && !node.quiet;
    error_output.shown = error_output.shown && !node.error_quiet;
    if (in_place) {
      auto program = make_program(argv, context_);
      if (!program) return cannot_run(node, argv.front(), program.error(), done);
      own.argv = std::move(argv);
      own.output = std::move(output);
      own.error_output = std::move(error_output);
      inner_ = std::move(*program);
      return inner_->start(*process_);
    }
    const std::string name = argv.front();
    const Result<ProcessId> child =
        process_->spawn({std::move(argv), process_->environment(), false, std::move(output),
                         std::move(error_output)});
    if (!child) return cannot_run(node, name, child.error(), done);
    waits_for_ = *child;
    waiting_ = std::move(done);
  }

  void cannot_run(const Node& node, const std::string& name, const Error& error, const Done& done) {
    const bool missing = error.reason == Reason::not_found;
    if (!node.error_quiet)
      process_->print_error(missing ? fmt::format("sh: 1: {}: not found", name)
                                    : fmt::format("sh: 1: {}", error.message));
    done(missing ? not_found_code : not_modelled_code);
  }

  void set(const std::string& name, std::string value) {
    Environment& env = process_->state().env;
    for (auto& [key, old] : env) {
      if (key != name) continue;
      old = std::move(value);
      return;
    }
    env.emplace_back(name, std::move(value));
  }

  std::string value_of(const std::string& name) const {
    if (name == "?") return std::to_string(status_);
    return std::string(process_->env(name));
  }

  std::vector<std::string> expand(const std::vector<Word>& words) const {
    std::vector<std::string> all;
    for (const Word& word : words) {
      if (word.sequence != 0) {
        for (int i = 1; i <= word.sequence; ++i) all.push_back(std::to_string(i));
        continue;
      }
      expand_word(word, all);
    }
    return all;
  }

  void expand_word(const Word& word, std::vector<std::string>& all) const {
    std::string text;
    bool any = false;
    for (const shell::Piece& piece : word.pieces) {
      if (!piece.variable || piece.quoted) {
        text += piece.variable ? value_of(piece.text) : piece.text;
        any = any || piece.quoted || !text.empty();
        continue;
      }
      for (const char c : value_of(piece.text)) {
        if (c != ' ' && c != '\t' && c != '\n') {
          text += c;
          any = true;
        } else if (any) {
          all.push_back(std::exchange(text, {}));
          any = false;
        }
      }
    }
    if (any) all.push_back(std::move(text));
  }

  Node script_;
  CommandContext context_;
  Process* process_ = nullptr;
  std::unique_ptr<Program> inner_{};  // what runs in the shell's place
  int status_ = 0;
  bool breaking_ = false;
  bool exits_on_error_ = false;
  ProcessId waits_for_ = 0;
  Done waiting_{};
};

}  // namespace

bool is_shell(const std::string& name) {
  return std::find(shells.begin(), shells.end(), name) != shells.end();
}

Result<std::unique_ptr<Program>> make_shell(const std::vector<std::string>& argv,
                                            const CommandContext& context) {
  const auto option = std::find_if(argv.begin() + 1, argv.end(), [](const std::string& word) {
    return word.starts_with('-') && word.ends_with('c');
  });
  if (option == argv.end() || option + 1 == argv.end())
    return fail(Reason::invalid, "only `sh -c SCRIPT` is known");
  TRY(Node script, shell::parse(*(option + 1)));
  TRY_VOID(check(script, context));
  auto made = std::make_unique<Shell>(std::move(script), context);
  return std::unique_ptr<Program>(std::move(made));
}

}  // namespace ddptwin::model
