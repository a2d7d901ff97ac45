#include "cluster/model_runtime/shell_run.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <csignal>
#include <functional>
#include <optional>

#include "cluster/model_runtime/kernel.hpp"
#include "cluster/model_runtime/shell_builtins.hpp"
#include "cluster/model_runtime/small_programs.hpp"
#include "cluster/model_runtime/text_programs.hpp"

namespace ddptwin::model::shell {
namespace {

using Strings = std::vector<std::string>;

constexpr Duration loop_time = 100us;  // of one turn: a script that waits for nothing passes time
constexpr int not_found_code = 127, not_modelled_code = 126, misused_code = 2;
constexpr int exit_trap = 0;

void put(Environment& to, const std::string& name, std::string value) {
  for (auto& [key, old] : to) {
    if (key != name) continue;
    old = std::move(value);
    return;
  }
  to.emplace_back(name, std::move(value));
}

const std::string* find(const Environment& in, std::string_view name) {
  for (const auto& [key, value] : in)
    if (key == name) return &value;
  return nullptr;
}

std::optional<int> number_of(const std::string& text) {
  int value = 0;
  const auto [stop, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc{} || stop != text.data() + text.size() || value < 0) return std::nullopt;
  return value;
}

class Shell final : public Program, private Variables {
 public:
  // `tested`: as in Place.
  Shell(Scope scope, const Node& node, CommandContext context, bool tested = false)
      : scope_(std::move(scope)), node_(node), context_(context), tested_(tested) {
    context_.is_child = true;
  }

  void start(Process& process) override {
    process_ = &process;
    if (scope_.pid == 0) {
      scope_.pid = process.pid();
      if (process.working_directory().empty()) process.change_directory("/");
      set("PWD", process.working_directory());
    }
    run(node_, {true, tested_}, [this](int status) { leave(status); });
  }
  bool signal(Process& process, int number) override {
    if (inner_) return inner_->signal(process, number);
    const auto found = traps_.find(number);
    if (found == traps_.end()) return false;
    if (found->second == nullptr) return true;  // ignored
    pending_.push_back(number);
    if (interrupted_) std::exchange(interrupted_, nullptr)(128 + number);
    return true;
  }
  bool is_first_process() const override { return !inner_ || inner_->is_first_process(); }
  void child_exited(Process& process, ProcessId child, const ExitStatus& status) override {
    if (child == waits_for_) {
      waits_for_ = 0;
      return std::exchange(waiting_, nullptr)(status.shown());
    }
    const auto job = std::find_if(jobs_.begin(), jobs_.end(),
                                  [child](const Job& one) { return one.id == child; });
    // What runs in the shell's place knows its own children alone.
    if (job == jobs_.end()) {
      if (inner_) inner_->child_exited(process, child, status);
      return;
    }
    job->status = status.shown();
    if (job_ended_) std::exchange(job_ended_, nullptr)();
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
  using Then = std::function<void()>;

  // Where a command stands. `last`: nothing of the script comes after it. `tested`: somebody asks
  // for its status, so that `set -e` does not (POSIX, set).
  struct Place {
    bool last;
    bool tested;
  };
  enum class Leave : std::uint8_t { no, break_, continue_, return_ };
  // Of `&`.
  struct Job {
    ProcessId id;
    int pid;
    std::optional<int> status{};
  };

  // ---- the tree --------------------------------------------------------------------------------

  // What waits for nothing runs within what came before it: now and then it begins anew instead,
  // and so time passes too.
  void run(const Node& node, Place place, Done done) {
    constexpr int nested_max = 100;
    if (++nested_ > nested_max) {
      nested_ = 0;
      process_->after(loop_time, [this, &node, place, done] { go_on(node, place, done); });
      return;
    }
    go_on(node, place, std::move(done));
  }

  void go_on(const Node& node, Place place, Done done) {
    if (node.redirections.empty()) return perform(node, place, std::move(done));
    std::vector<const Piece*> outputs;
    for (const Redirection& one : node.redirections) outputs_in(one.file.pieces, this, outputs);
    with_outputs(std::move(outputs), 0, [this, &node, place, done] {
      const auto before = streams();
      if (!redirect(node)) {
        set_streams(before);
        return ended(place, done)(misused_code);
      }
      // `exec` alone keeps what it says.
      const bool stays = node.words.size() == 1 && node.words.front().literal() == "exec";
      perform(node, place, [this, before, stays, done](int status) {
        if (!stays) set_streams(before);
        done(status);
      });
    });
  }

  void perform(const Node& node, Place place, Done done) {
    switch (node.kind) {
      case Node::Kind::command:
        return command(node, place, ended(place, std::move(done)));
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
      case Node::Kind::case_:
        return case_of(node, place, std::move(done));
      case Node::Kind::until:
      case Node::Kind::while_:
        return loop(node, 0, place, left_by(std::move(done)));
      case Node::Kind::for_:
        return with_outputs(outputs_of(node.words), 0, [this, &node, place, done] {
          auto words =
              node.over_arguments ? Result<Strings>(scope_.arguments) : expand(node.words, *this);
          if (!words) return give_up(words.error().message);
          over(node, std::make_shared<Strings>(std::move(*words)), 0, 0, place, left_by(done));
        });
      case Node::Kind::pipe:
        return pipe(node, place, ended(place, std::move(done)));
      case Node::Kind::subshell:
        return forked(node.children[0], place.tested, process_->state().output.sink,
                      ended(place, std::move(done)));
      case Node::Kind::background:
        return background(node.children[0], std::move(done));
      case Node::Kind::function:
        scope_.functions[node.variable] = &node.children[0];
        return finish(0, done);
    }
  }

  // The status of what has been done is known; signals that came meanwhile are seen to first
  // (POSIX, trap).
  void finish(int status, const Done& done) {
    scope_.status = status;
    if (pending_.empty()) return done(status);
    const Node* action = traps_[pending_.front()];
    pending_.erase(pending_.begin());
    if (action == nullptr) return finish(status, done);
    // A trap that signals its own shell: real ones run out of stack.
    constexpr int traps_max = 1000;
    if (++traps_within_ > traps_max) return process_->die(SIGSEGV);
    run(*action, {false, true}, [this, status, done](int) {
      --traps_within_;
      finish(status, done);
    });
  }

  // What comes after a command or pipeline.
  Done ended(Place place, Done done) {
    return [this, place, done = std::move(done)](int status) {
      if (scope_.exits_on_error && status != 0 && !place.tested)
        return finish(status, [this](int code) { leave(code); });
      finish(status, done);
    };
  }

  // The shell ends by itself.
  void leave(int status) {
    const auto trap = traps_.find(exit_trap);
    const Node* action = trap == traps_.end() ? nullptr : trap->second;
    if (action == nullptr) return process_->exit(status);
    traps_.erase(trap);
    scope_.status = status;
    leave_ = Leave::no;
    locals_ = nullptr;
    run(*action, {false, true}, [this, status](int) { process_->exit(status); });
  }

  // An error of the shell's own ends it (POSIX, "Consequences of Shell Errors"), in dash's words.
  void give_up(const std::string& message) {
    process_->print_error(fmt::format("{}: 1: {}", scope_.name, message));
    leave(misused_code);
  }

  void list(const Node& node, std::size_t index, Place place, Done done) {
    if (index >= node.children.size()) return done(scope_.status);
    const bool is_last = index + 1 == node.children.size();
    run(node.children[index], {place.last && is_last, place.tested},
        [this, &node, index, is_last, place, done](int status) {
          if (leave_ != Leave::no || is_last) return done(status);
          list(node, index + 1, place, done);
        });
  }

  void case_of(const Node& node, Place place, const Done& done) {
    std::vector<const Piece*> outputs = outputs_of(node.words);
    for (const std::vector<Word>& patterns : node.patterns)
      for (const Word& pattern : patterns) outputs_in(pattern.pieces, this, outputs);
    with_outputs(std::move(outputs), 0, [this, &node, place, done] {
      const auto subject = expand_value(node.words.front(), *this);
      if (!subject) return give_up(subject.error().message);
      for (std::size_t i = 0; i < node.patterns.size(); ++i) {
        for (const Word& word : node.patterns[i]) {
          const auto pattern = expand_pattern(word, *this);
          if (!pattern) return give_up(pattern.error().message);
          if (!matches(*pattern, *subject)) continue;
          if (node.children[i].children.empty()) return finish(0, done);
          return run(node.children[i], place, done);
        }
      }
      finish(0, done);
    });
  }

  // A loop begins: only within one there is anything to break.
  Done left_by(Done done) {
    ++scope_.loops;
    return [this, done = std::move(done)](int status) {
      --scope_.loops;
      done(status);
    };
  }

  // Whether the loop whose body has ended is left.
  bool leaves() {
    if (leave_ == Leave::no) return false;
    if (leave_ == Leave::return_) return true;
    if (leaves_loops_ > 1) {
      --leaves_loops_;
      return true;
    }
    return std::exchange(leave_, Leave::no) == Leave::break_;
  }

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

  void over(const Node& node, std::shared_ptr<Strings> words, std::size_t index, int result,
            Place place, Done done) {
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

  // ---- other processes -------------------------------------------------------------------------

  // A shell of its own for that part of the script; null: stdout goes where the shell's goes.
  ProcessId fork(const Node& node, bool tested, std::shared_ptr<const Sink> output) {
    Spawn spawn;
    spawn.argv = process_->argv();
    spawn.env = process_->environment();
    std::tie(spawn.output, spawn.error_output) = streams();
    if (output != nullptr) spawn.output.sink = std::move(output);
    spawn.program = std::make_unique<Shell>(scope_, node, context_, tested);
    const Result<ProcessId> child = process_->spawn(std::move(spawn));
    return child ? *child : ProcessId{0};
  }

  void forked(const Node& node, bool tested, std::shared_ptr<const Sink> output, Done done) {
    const ProcessId child = fork(node, tested, std::move(output));
    if (child == 0) return give_up("Cannot fork");
    waits_for_ = child;
    waiting_ = std::move(done);
  }

  void background(const Node& node, const Done& done) {
    // A ( ) is a process already.
    const bool is_one = node.kind == Node::Kind::subshell && node.redirections.empty();
    const ProcessId child = fork(is_one ? node.children[0] : node, false, nullptr);
    if (child == 0) return give_up("Cannot fork");
    scope_.last_job = process_->pid_of(child);
    jobs_.push_back({child, scope_.last_job});
    finish(0, done);
  }

  // Runs what stands in each $( ), then goes on.
  void with_outputs(std::vector<const Piece*> pieces, std::size_t index, Then then) {
    if (index >= pieces.size()) return then();
    const auto text = std::make_shared<std::string>();
    auto sink = std::make_shared<Sink>();
    sink->to = Sink::To::text;
    sink->text = text;
    const Piece* piece = pieces[index];
    forked(*piece->script, false, std::move(sink),
           [this, text, piece, pieces = std::move(pieces), index, then](int status) {
             while (text->ends_with('\n')) text->pop_back();
             outputs_[piece] = *text;
             output_status_ = status;
             with_outputs(pieces, index + 1, then);
           });
  }

  std::vector<const Piece*> outputs_of(const std::vector<Word>& words) const {
    std::vector<const Piece*> all;
    for (const Word& word : words) outputs_in(word.pieces, this, all);
    return all;
  }

  // A pipeline's first command runs by itself. What tee copies is seen at once; what others read
  // they read when it has ended.
  struct Pipe {
    std::vector<Strings> readers{};
    std::vector<int> codes{};  // of all commands, from the left
    std::size_t next = 0;      // of the readers
    std::shared_ptr<std::string> text = std::make_shared<std::string>();
    Done done{};
  };

  void pipe(const Node& node, Place place, Done done) {
    std::vector<const Piece*> outputs;
    for (std::size_t i = 1; i < node.children.size(); ++i)
      for (const Word& word : node.children[i].words) outputs_in(word.pieces, this, outputs);
    with_outputs(std::move(outputs), 0, [this, &node, place, done] {
      auto pipe = std::make_shared<Pipe>();
      for (std::size_t i = 1; i < node.children.size(); ++i) {
        auto words = expand(node.children[i].words, *this);
        if (!words) return give_up(words.error().message);
        pipe->readers.push_back(std::move(*words));
      }
      pipe->done = done;
      begin(node, place.tested, pipe);
    });
  }

  void begin(const Node& node, bool tested, const std::shared_ptr<Pipe>& pipe) {
    const std::shared_ptr<const Sink> own = process_->state().output.sink;
    auto sink = own == nullptr ? std::make_shared<Sink>() : std::make_shared<Sink>(*own);
    std::vector<std::string> files;
    std::vector<int> codes;
    for (; pipe->next < pipe->readers.size(); ++pipe->next) {
      const Strings& reader = pipe->readers[pipe->next];
      const Node& command = node.children[pipe->next + 1];
      if (base_name(reader.front()) != "tee" || !command.redirections.empty()) break;
      codes.push_back(open_all(reader, files));
    }
    if (pipe->next < pipe->readers.size()) *sink = Sink{Sink::To::text, false, pipe->text, {}};
    sink->files.insert(sink->files.end(), files.begin(), files.end());
    forked(node.children[0], tested, std::move(sink), [this, &node, pipe, codes](int status) {
      pipe->codes.push_back(status);
      pipe->codes.insert(pipe->codes.end(), codes.begin(), codes.end());
      read(node, pipe);
    });
  }

  // The files of a tee, emptied unless it has -a; its exit code.
  int open_all(const Strings& tee, std::vector<std::string>& files) {
    int code = 0;
    bool appends = false;
    for (std::size_t i = 1; i < tee.size(); ++i) {
      if (tee[i].starts_with('-')) appends = appends || tee[i].find('a') != tee[i].npos;
      if (tee[i].starts_with('-') || tee[i] == "/dev/null") continue;
      const std::string file = process_->path_of(tee[i]);
      if (open(file, appends)) {
        files.push_back(file);
      } else {
        process_->print_error(fmt::format("tee: {}: No such file or directory", tee[i]));
        code = 1;
      }
    }
    return code;
  }

  bool open(const std::string& file, bool appends) {
    return static_cast<bool>(appends ? process_->append_file(file, "")
                                     : process_->write_file(file, ""));
  }

  void read(const Node& node, const std::shared_ptr<Pipe>& pipe) {
    if (pipe->next >= pipe->readers.size()) {
      int code = pipe->codes.back();
      for (auto one = pipe->codes.rbegin();
           scope_.pipe_fails && code == 0 && one != pipe->codes.rend(); ++one)
        code = *one;
      return pipe->done(code);
    }
    process_->work(process_->model().timing->program_start, [this, &node, pipe] {
      const Strings& argv = pipe->readers[pipe->next];
      const Node& command = node.children[++pipe->next];
      const std::string input = std::exchange(*pipe->text, {});
      const auto before = streams();
      if (pipe->next < pipe->readers.size())
        process_->state().output.sink =
            std::make_shared<const Sink>(Sink{Sink::To::text, false, pipe->text, {}});
      if (!redirect(command)) {
        pipe->codes.push_back(misused_code);
      } else if (const TextProgram* program = TextProgram::find(base_name(argv.front()))) {
        TextResult result = program->run(*process_, argv, input);
        for (std::string& line : result.errors) process_->print_error(std::move(line));
        process_->write(result.output);
        pipe->codes.push_back(result.code);
      } else {
        cannot_run(argv.front(), unknown("|"), [&](int code) { pipe->codes.push_back(code); });
      }
      set_streams(before);
      read(node, pipe);
    });
  }

  // ---- commands --------------------------------------------------------------------------------

  void command(const Node& node, Place place, Done done) {
    output_status_ = 0;
    with_outputs(outputs_of(node.words), 0, [this, &node, place, done] {
      auto words = expand(node.words, *this);
      if (!words) return give_up(words.error().message);
      assign(node, 0, std::make_shared<Strings>(std::move(*words)), std::make_shared<Environment>(),
             place, done);
    });
  }

  // One assignment after the other, then the command.
  void assign(const Node& node, std::size_t index, std::shared_ptr<Strings> words,
              std::shared_ptr<Environment> assigned, Place place, Done done) {
    if (index >= node.assignments.size())
      return execute(node, std::move(*words), std::move(*assigned), place, std::move(done));
    std::vector<const Piece*> outputs;
    outputs_in(node.assignments[index].second.pieces, this, outputs);
    with_outputs(std::move(outputs), 0, [this, &node, index, words, assigned, place, done] {
      const auto& [name, value] = node.assignments[index];
      const auto text = expand_value(value, *this);
      if (!text) return give_up(text.error().message);
      if (words->empty()) set(name, *text);
      assigned->emplace_back(name, *text);
      assign(node, index + 1, words, assigned, place, done);
    });
  }

  void execute(const Node& node, Strings words, Environment assigned, Place place, Done done) {
    if (words.empty()) return done(output_status_);
    const bool replaces = words.front() == "exec" && words.size() > 1;
    if (replaces) {
      words.erase(words.begin());
      done = [this](int status) { process_->exit(status); };
    }
    if (const auto found = scope_.functions.find(words.front());
        found != scope_.functions.end() && !replaces)
      return call(*found->second, std::move(words), place, std::move(done));
    const auto variables = unwrap(words);
    assigned.insert(assigned.end(), variables.begin(), variables.end());
    // What is written out has been looked at before the run.
    const bool computed = !node.words.front().literal();
    if (const std::string what = unknown_of(words); computed && !what.empty())
      return cannot_run(words.front(), unknown(what), done);
    if (is_built_in(words.front())) return built_in(words, done);
    Environment env = process_->environment();
    for (auto& [name, value] : assigned) put(env, name, std::move(value));
    // A shell with traps has to outlive it.
    const bool last = place.last && traps_.empty() && jobs_.empty();
    if (last || replaces) return in_place(std::move(words), std::move(env), replaces, done);
    child(std::move(words), std::move(env), std::move(done));
  }

  void call(const Node& body, Strings words, Place place, Done done) {
    constexpr int calls_max = 1000;  // dash's
    if (++calls_ > calls_max)
      return give_up(fmt::format("Maximum function recursion depth ({}) reached", calls_max));
    words.erase(words.begin());
    const Strings arguments = std::exchange(scope_.arguments, std::move(words));
    const auto before =
        std::make_shared<std::vector<std::pair<std::string, std::optional<std::string>>>>();
    const auto outer = std::exchange(locals_, before);
    const int loops = std::exchange(scope_.loops, 0);
    run(body, {false, place.tested}, [this, arguments, before, outer, loops, done](int status) {
      --calls_;
      scope_.arguments = arguments;
      scope_.loops = loops;
      locals_ = outer;
      for (auto one = before->rbegin(); one != before->rend(); ++one) {
        if (one->second) {
          set(one->first, *one->second);
        } else {
          unset(one->first);
        }
      }
      if (leave_ == Leave::return_) {
        leave_ = Leave::no;
        status = return_status_;
      }
      done(status);
    });
  }

  void in_place(Strings argv, Environment env, bool replaces, const Done& done) {
    auto program = make_program(argv, context_);
    if (!program) {
      // A shell that cannot become something else ends.
      const Done end = [this](int status) { process_->exit(status); };
      return cannot_run(argv.front(), program.error(), replaces ? end : done);
    }
    Process::State& own = process_->state();
    own.argv = std::move(argv);
    own.env = std::move(env);
    inner_ = std::move(*program);
    inner_->start(*process_);
  }

  void child(Strings argv, Environment env, Done done) {
    const std::string name = argv.front();
    auto [output, error_output] = streams();
    const Result<ProcessId> child =
        process_->spawn({std::move(argv), std::move(env), false, std::move(output),
                         std::move(error_output), nullptr});
    if (!child) return cannot_run(name, child.error(), done);
    waits_for_ = *child;
    waiting_ = std::move(done);
  }

  void cannot_run(const std::string& name, const Error& error, const Done& done) {
    const bool missing = error.reason == Reason::not_found;
    process_->print_error(missing ? fmt::format("{}: 1: {}: not found", scope_.name, name)
                                  : fmt::format("{}: 1: {}", scope_.name, error.message));
    done(missing ? not_found_code : not_modelled_code);
  }

  void built_in(const Strings& words, const Done& done) {
    const std::string& name = words.front();
    const Strings rest(words.begin() + 1, words.end());
    if (name == "exit" || name == "return") {
      const std::optional<int> code = rest.empty() ? scope_.status : number_of(rest[0]);
      if (!code) return give_up(fmt::format("{}: Illegal number: {}", name, rest[0]));
      if (name == "exit") return leave(*code);
      leave_ = Leave::return_;
      return_status_ = *code;
      return done(return_status_);
    }
    if (name == "break" || name == "continue") {
      const std::optional<int> count = rest.empty() ? 1 : number_of(rest[0]);
      if (!count || *count < 1)
        return give_up(fmt::format("{}: Illegal number: {}", name, rest[0]));
      if (scope_.loops == 0) return done(0);
      leave_ = name == "break" ? Leave::break_ : Leave::continue_;
      leaves_loops_ = std::min(*count, scope_.loops);
      return done(0);
    }
    if (name == "echo") {
      process_->write(echo_text(rest, scope_.is_bash));
      return done(0);
    }
    if (name == "printf") {
      const auto text = printf_text(rest);
      if (!text) return cannot_run(name, unknown(text.error().message), done);
      process_->write(*text);
      return done(0);
    }
    if (name == "command") return look_for(rest[1], done);
    if (name == "trap") return trap(rest, done);
    if (name == "wait") return wait(rest, 0, done);
    if (name == "kill") return kill(rest, done);
    if (name == "false") return done(1);
    if (name == "test" || name == "[" || name == "[[") return done(test_status(*process_, words));
    if (name == "shift") {
      if (scope_.arguments.empty()) return give_up("shift: can't shift that many");
      scope_.arguments.erase(scope_.arguments.begin());
    }
    if (name == "pwd") process_->print(process_->working_directory());
    if (name == "cd" && !rest.empty()) {
      process_->change_directory(rest[0]);
      set("PWD", process_->working_directory());
    }
    if (name == "set") set_options(scope_, rest, true);
    for (const std::string& one : rest) {
      if (name == "unset") unset(one);
      if (name == "export") export_variable(one);
      if (name == "local" && !local(one)) return give_up("local: not in a function");
    }
    done(0);
  }

  // command -v NAME: whether there is such a command, and where.
  void look_for(const std::string& name, const Done& done) {
    const bool own = is_built_in(name) || scope_.functions.contains(name);
    const auto program = make_program({name}, {context_.image, nullptr, true});
    const bool missing = !own && !program && program.error().reason == Reason::not_found;
    if (missing) return done(not_found_code);
    process_->print(own || name.find('/') != name.npos ? name : "/usr/bin/" + name);
    done(0);
  }

  // ---- signals and jobs ------------------------------------------------------------------------

  // trap ACTION SIGNAL...; - for what is done without one, nothing to ignore it.
  void trap(const Strings& words, const Done& done) {
    const Node* action = nullptr;
    if (words[0] != "-" && !words[0].empty()) {
      auto script = parse(words[0]);
      if (!script) return cannot_run("trap", script.error(), done);
      scope_.scripts.push_back(std::make_shared<const Node>(std::move(*script)));
      action = scope_.scripts.back().get();
    }
    int status = 0;
    for (std::size_t i = 1; i < words.size(); ++i) {
      const std::optional<int> number = signal_of(words[i], scope_.is_bash);
      if (!number) {
        process_->print_error(fmt::format("{}: 1: trap: {}: bad trap", scope_.name, words[i]));
        status = 1;
        break;
      }
      if (words[0] == "-") {
        traps_.erase(*number);
      } else {
        traps_[*number] = action;
      }
    }
    done(status);
  }

  // For all jobs, or for these one after the other; a trapped signal ends it (POSIX, wait).
  void wait(const Strings& pids, std::size_t index, const Done& done) {
    const auto running = [](const Job& job) { return !job.status; };
    int status = 0;
    auto job = jobs_.end();
    if (pids.empty()) {
      job = std::find_if(jobs_.begin(), jobs_.end(), running);
      if (job == jobs_.end()) {
        jobs_.clear();
        return done(0);
      }
    } else {
      const std::optional<int> pid = number_of(pids[index]);
      if (!pid) return give_up(fmt::format("wait: Illegal number: {}", pids[index]));
      job = std::find_if(jobs_.begin(), jobs_.end(),
                         [pid](const Job& one) { return one.pid == *pid; });
      status = job == jobs_.end() ? not_found_code : job->status.value_or(0);
      // Who has been told of is forgotten.
      if (job != jobs_.end() && job->status) {
        jobs_.erase(job);
        job = jobs_.end();
      }
    }
    if (job != jobs_.end() && running(*job)) {
      job_ended_ = [this, pids, index, done] {
        interrupted_ = nullptr;
        wait(pids, index, done);
      };
      interrupted_ = [this, done](int code) {
        job_ended_ = nullptr;
        done(code);
      };
      return;
    }
    if (index + 1 < pids.size()) return wait(pids, index + 1, done);
    done(status);
  }

  void kill(const Strings& words, const Done& done) {
    std::size_t first = 0;
    std::optional<int> number = SIGTERM;
    if (words[0] == "-s" && words.size() > 1) {
      number = signal_of(words[1], true);
      first = 2;
    } else if (words[0].starts_with('-') && words[0] != "--") {
      number = signal_of(std::string_view(words[0]).substr(1), true);
      first = 1;
    }
    if (!number) return give_up(fmt::format("kill: Illegal option {}", words[0]));
    int status = 0;
    for (std::size_t i = first; i < words.size(); ++i) {
      const std::optional<int> pid = number_of(words[i]);
      if (!pid) return give_up(fmt::format("kill: Illegal number: {}", words[i]));
      if (process_->signal_pid(*pid, *number)) continue;
      process_->print_error(fmt::format("{}: 1: kill: No such process", scope_.name));
      status = 1;
    }
    if (process_->alive()) done(status);
  }

  // ---- streams ---------------------------------------------------------------------------------

  using Streams = std::pair<Spawn::Stream, Spawn::Stream>;
  Streams streams() const { return {process_->state().output, process_->state().error_output}; }
  void set_streams(const Streams& streams) {
    std::tie(process_->state().output, process_->state().error_output) = streams;
  }

  // False: a file cannot be opened, which has been said.
  bool redirect(const Node& node) {
    for (const Redirection& one : node.redirections) {
      Streams all = streams();
      std::shared_ptr<const Sink> sink;
      switch (one.target) {
        case Redirection::Target::nothing:
          sink = std::make_shared<const Sink>(Sink{Sink::To::nothing, false, nullptr, {}});
          break;
        case Redirection::Target::output:
          sink = all.first.sink;
          if (sink == nullptr) sink = std::make_shared<const Sink>();
          break;
        case Redirection::Target::error:
          sink = all.second.sink;
          if (sink == nullptr)
            sink = std::make_shared<const Sink>(Sink{Sink::To::log, true, nullptr, {}});
          break;
        case Redirection::Target::file: {
          const auto name = expand_value(one.file, *this);
          if (!name) {
            process_->print_error(fmt::format("{}: 1: {}", scope_.name, name.error().message));
            return false;
          }
          const std::string file = process_->path_of(*name);
          if (!open(file, one.appends)) {
            process_->print_error(
                fmt::format("{}: 1: cannot create {}: Directory nonexistent", scope_.name, *name));
            return false;
          }
          sink = std::make_shared<const Sink>(Sink{Sink::To::nothing, false, nullptr, {file}});
          break;
        }
      }
      if (one.of_output) all.first.sink = sink;
      if (one.of_error) all.second.sink = sink;
      set_streams(all);
    }
    return true;
  }

  // ---- variables -------------------------------------------------------------------------------

  // A variable that is not exported is the shell's own.
  void set(const std::string& name, std::string value) override {
    constexpr std::size_t size_max = std::size_t{1} << 20U;
    if (value.size() > size_max) value.resize(size_max);  // a real shell is killed for it
    Environment& env = process_->state().env;
    put(find(env, name) != nullptr ? env : scope_.own, name, std::move(value));
  }

  void unset(const std::string& name) {
    const auto named = [&name](const auto& variable) { return variable.first == name; };
    std::erase_if(process_->state().env, named);
    std::erase_if(scope_.own, named);
  }

  // NAME or NAME=value.
  void export_variable(const std::string& text) {
    const std::size_t equals = text.find('=');
    const std::string name = text.substr(0, equals);
    const std::string* value = find(scope_.own, name);
    if (equals != text.npos) {
      put(process_->state().env, name, text.substr(equals + 1));
    } else if (value != nullptr) {
      put(process_->state().env, name, *value);
    }
    std::erase_if(scope_.own, [&name](const auto& variable) { return variable.first == name; });
  }

  // NAME or NAME=value, until the function ends. False: there is none.
  bool local(const std::string& text) {
    if (locals_ == nullptr) return false;
    const std::size_t equals = text.find('=');
    const std::string name = text.substr(0, equals);
    locals_->emplace_back(name, value(name));
    if (equals != text.npos) set(name, text.substr(equals + 1));
    return true;
  }

  std::optional<std::string> value(std::string_view name) const override {
    if (name == "?") return std::to_string(scope_.status);
    if (name == "$") return std::to_string(scope_.pid);
    if (name == "!" && scope_.last_job != 0) return std::to_string(scope_.last_job);
    std::size_t number = 0;
    const auto [stop, error] = std::from_chars(name.data(), name.data() + name.size(), number);
    if (error == std::errc{} && stop == name.data() + name.size()) {
      if (number == 0) return scope_.name;
      if (number > scope_.arguments.size()) return std::nullopt;
      return scope_.arguments[number - 1];
    }
    if (const std::string* own = find(scope_.own, name)) return *own;
    if (const std::string* exported = find(process_->environment(), name)) return *exported;
    return std::nullopt;
  }

  const Strings& arguments() const override { return scope_.arguments; }
  const std::string& output_of(const Piece& piece) const override {
    static const std::string nothing;
    const auto found = outputs_.find(&piece);
    return found == outputs_.end() ? nothing : found->second;
  }
  bool unset_is_an_error() const override { return scope_.unset_is_an_error; }

  Scope scope_;
  const Node& node_;
  CommandContext context_;
  bool tested_;
  Process* process_ = nullptr;
  std::unique_ptr<Program> inner_{};  // what runs in the shell's place

  Leave leave_ = Leave::no;  // by break, continue or return
  int leaves_loops_ = 1;     // how many of them
  int return_status_ = 0;
  // What the variables of the function that runs were before it; null: none runs.
  std::shared_ptr<std::vector<std::pair<std::string, std::optional<std::string>>>> locals_{};
  int calls_ = 0;   // of functions within each other
  int nested_ = 0;  // commands since the last that began anew

  ProcessId waits_for_ = 0;
  Done waiting_{};
  std::map<const Piece*, std::string> outputs_{};  // only looked up
  int output_status_ = 0;                          // of the last of them

  std::vector<Job> jobs_{};
  Then job_ended_{};
  Done interrupted_{};                  // of a wait
  std::map<int, const Node*> traps_{};  // by signal; null: ignored
  int traps_within_ = 0;                // each other
  std::vector<int> pending_{};          // signals whose traps are still to run
};

}  // namespace

void set_options(Scope& scope, const Strings& words, bool arguments) {
  for (std::size_t i = 0; i < words.size(); ++i) {
    const std::string& word = words[i];
    const bool option = word.size() > 1 && (word.front() == '-' || word.front() == '+');
    if (!option || word == "--") {
      const auto from = static_cast<std::ptrdiff_t>(word == "--" ? i + 1 : i);
      if (arguments) scope.arguments.assign(words.begin() + from, words.end());
      return;
    }
    const bool on = word.front() == '-';
    const bool named = word.ends_with('o') && i + 1 < words.size();
    const std::string name = named ? words[i + 1] : std::string();
    if (word.find('e') != word.npos || name == "errexit") scope.exits_on_error = on;
    if (word.find('u') != word.npos || name == "nounset") scope.unset_is_an_error = on;
    if (name == "pipefail") scope.pipe_fails = on;
    if (named) ++i;
  }
}

std::unique_ptr<Program> make_run(Scope scope, const Node& node, CommandContext context) {
  return std::make_unique<Shell>(std::move(scope), node, context);
}

}  // namespace ddptwin::model::shell
