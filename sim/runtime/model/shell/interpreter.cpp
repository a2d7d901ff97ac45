#include "runtime/model/shell/interpreter.hpp"

#include <fmt/format.h>

#include <csignal>
#include <utility>

#include "runtime/model/programs/pattern.hpp"
#include "runtime/model/shell/builtins.hpp"
#include "runtime/model/shell/streams.hpp"
#include "runtime/model/state.hpp"

namespace ddptwin::model::shell {
namespace {

constexpr Duration loop_time = 100us;  // of one turn: a script that waits for nothing passes time

// Signals that end bash, as process 1 too, with its EXIT trap where it has one (bash(1), SIGNALS).
bool ends_bash(int signal) { return signal == SIGHUP || signal == SIGINT || signal == SIGTERM; }

}  // namespace

Interpreter::Interpreter(Process& process, Scope scope, CommandContext context)
    : process_(process),
      scope_(std::move(scope)),
      variables_(scope_, process),
      context_(context),
      forked_(scope_.pid != 0),
      own_streams_(streams_of(process)) {
  context_.is_child = true;
}

void Interpreter::start(const Node& node, bool tested) {
  if (!forked_) {
    scope_.pid = process_.pid();
    scope_.begun = process_.now();
    if (process_.working_directory().empty()) process_.change_directory("/");
    variables_.set("PWD", process_.working_directory());
    variables_.unset("IFS");  // nobody's but a shell's own
  }
  root_ = &node;
  // dash puts nothing in the place of the shell that a container begins with: a signal to process 1
  // does not reach what it runs (failure-modes.md FM-132).
  run(node, {forked_ || is_bash(), tested},
      [this](int status) { leave(leave_ == Leave::return_ ? return_status_ : status); });
}

bool Interpreter::signal(int number) {
  const std::optional<bool> come = traps_.come(number);
  if (!come && is_bash() && ends_bash(number) && traps_.has_last()) {
    ends_by_ = number;
    // It waits for nobody then; what it does itself is done first.
    const bool waits = !waiting_.empty() || reading_ || interrupted_;
    waiting_.clear();
    reading_ = nullptr;
    interrupted_ = nullptr;
    job_ended_ = nullptr;
    if (waits) finish(0, nullptr);
    return true;
  }
  if (come == true && interrupted_) std::exchange(interrupted_, nullptr)(128 + number);
  return come.has_value();
}

bool Interpreter::child_exited(ProcessId child, const ExitStatus& status) {
  if (const auto found = waiting_.find(child); found != waiting_.end()) {
    const Done done = std::move(found->second);
    waiting_.erase(found);
    done(status.shown());
    return true;
  }
  if (beside_.erase(child) > 0) return true;
  if (!jobs_.ended(child, status.shown())) return false;
  if (job_ended_) std::exchange(job_ended_, nullptr)();
  return true;
}

// What waits for nothing runs within what came before it: now and then it begins anew instead, and
// so time passes too.
void Interpreter::run(const Node& node, Place place, Done done) {
  constexpr int nested_max = 100;
  if (++nested_ > nested_max) {
    nested_ = 0;
    process_.after(loop_time, [this, &node, place, done] { go_on(node, place, done); });
    return;
  }
  go_on(node, place, std::move(done));
}

void Interpreter::go_on(const Node& node, Place place, Done done) {
  if (node.redirections.empty()) return perform(node, place, std::move(done));
  std::vector<const Piece*> outputs;
  add_outputs_of(node.redirections, outputs);
  with_outputs(std::move(outputs), 0, [this, &node, place, done] {
    const Streams before = streams_of(process_);
    const auto name = node.words.empty() ? std::nullopt : node.words.front().literal();
    if (const Status made = redirect_all(node); !made) {
      set_streams(process_, before);
      complain(made.error().message);
      // POSIX, "Consequences of Shell Errors"; bash goes on.
      if (name && is_special(*name) && !is_bash()) return leave(misused_code);
      const bool own_code = is_bash() && made.error().code != 0;
      return alone(ended(place, done))(own_code ? made.error().code : error_code());
    }
    // `exec` alone keeps what it says.
    const bool stays = node.words.size() == 1 && name == "exec";
    if (stays) own_streams_ = streams_of(process_);
    perform(node, {place.last && !is_bash(), place.tested},
            [this, before, stays, done](int status) {
              if (!stays) set_streams(process_, before);
              done(status);
            });
  });
}

// One after the other, until one cannot be done.
Status Interpreter::redirect_all(const Node& node) {
  for (const Redirection& one : node.redirections)
    TRY_VOID(one.target == Redirection::Target::command ? begin_command(one)
                                                        : redirect(process_, one, variables_));
  return {};
}

// False: a file cannot be opened, which has been said.
bool Interpreter::redirected(const Node& node) {
  const Status done = redirect_all(node);
  if (!done) complain(done.error().message);
  return static_cast<bool>(done);
}

void Interpreter::perform(const Node& node, Place place, Done done) {
  switch (node.kind) {
    case Node::Kind::command:
      return command(node, place, alone(ended(place, std::move(done))));
    case Node::Kind::list:
      return list(node, 0, {place.last && (&node == root_ || !is_bash()), place.tested},
                  std::move(done));
    case Node::Kind::and_:
    case Node::Kind::or_:
      return run(node.children[0], {false, true}, [this, &node, place, done](int status) {
        const bool stop = leave_ != Leave::no || (status == 0) != (node.kind == Node::Kind::and_);
        if (stop) return done(status);
        run(node.children[1], place, done);
      });
    case Node::Kind::not_:
      // bash asks whether -e is on when it comes to the !, not when something within fails.
      return run(node.children[0], {false, !is_bash() || place.tested || scope_.exits_on_error},
                 [this, done](int status) {
                   // dash leaves the loop or function before it turns the status round.
                   finish((leave_ != Leave::no && !is_bash()) || status != 0 ? 0 : 1, done);
                 });
    case Node::Kind::if_:
      return run(node.children[0], {false, true}, [this, &node, place, done](int status) {
        if (leave_ != Leave::no) return done(status);
        const Place branch{place.last && !is_bash(), place.tested};
        if (status == 0) return run(node.children[1], branch, done);
        if (node.children.size() > 2) return run(node.children[2], branch, done);
        finish(0, done);
      });
    case Node::Kind::case_:
      return case_of(node, place, std::move(done));
    case Node::Kind::expression:
      return match(node, place, std::move(done));
    case Node::Kind::arithmetic:
      return judge_number(node, place, std::move(done));
    case Node::Kind::until:
    case Node::Kind::while_:
      return loop(node, 0, place, left_by(std::move(done)));
    case Node::Kind::for_:
      return with_outputs(outputs_of(node.words), 0, [this, &node, place, done] {
        auto words = node.over_arguments ? Result<Strings>(scope_.arguments)
                                         : expand(node.words, variables_);
        if (!words) return give_up(words.error());
        over(node, std::make_shared<Strings>(std::move(*words)), 0, 0, place, left_by(done));
      });
    case Node::Kind::counted:
      return evaluate(node.words[0], [this, &node, place, done](std::optional<bool> begun) {
        if (!begun) return finish(1, done);
        count(node, 0, place, left_by(done));
      });
    case Node::Kind::pipe:
      return pipe(node, place, ended(place, std::move(done)));
    case Node::Kind::subshell:
      return forked(scope_, node.children[0], place.tested, {},
                    alone(ended(place, std::move(done))));
    case Node::Kind::background:
      return background(node.children[0], std::move(done));
    case Node::Kind::function:
      scope_.functions[node.variable] = &node.children[0];
      return finish(0, done);
  }
}

// The status of what has been done is known; signals that came meanwhile are seen to first (POSIX,
// trap).
void Interpreter::finish(int status, const Done& done) {
  if (ends_by_ != 0) return leave(128 + std::exchange(ends_by_, 0));
  scope_.status = status;
  if (!traps_.called()) return done(status);
  see_to_traps(status, done);
}

// All that have come, one after the other; only what comes meanwhile is seen to within one.
void Interpreter::see_to_traps(int status, const Done& done) {
  const Node* action = traps_.next();
  if (action == nullptr) return finish(status, done);
  // A trap that signals its own shell: real ones run out of stack.
  constexpr int traps_max = 1000;
  if (++traps_within_ > traps_max) return process_.die(SIGSEGV);
  // dash goes on with the status that was there before the outermost.
  const int after = is_bash() ? status : status_before_trap_.value_or(status);
  const auto outer = std::exchange(status_before_trap_, after);
  run(*action, {false, false}, [this, after, outer, done](int) {
    --traps_within_;
    status_before_trap_ = outer;
    scope_.status = after;
    see_to_traps(after, done);
  });
}

// What comes after a command or pipeline.
Interpreter::Done Interpreter::ended(Place place, Done done) {
  return [this, place, done = std::move(done)](int status) {
    if (scope_.exits_on_error && status != 0 && !place.tested)
      return finish(status, [this](int code) { leave(code); });
    finish(status, done);
  };
}

// bash's PIPESTATUS.
void Interpreter::keep_statuses(const std::vector<int>& statuses) {
  if (!is_bash()) return;
  Strings texts;
  for (const int status : statuses) texts.push_back(std::to_string(status));
  variables_.set_elements("PIPESTATUS", std::move(texts));
}

// Of what is no pipeline of more than one.
Interpreter::Done Interpreter::alone(Done done) {
  return [this, done = std::move(done)](int status) {
    keep_statuses({status});
    done(status);
  };
}

// The shell ends by itself.
void Interpreter::leave(int status) {
  const Node* action = traps_.take_last();
  if (action == nullptr) return process_.exit(status);
  scope_.status = status;
  scope_.calls = 0;
  leave_ = Leave::no;
  variables_.forget_locals();
  set_streams(process_, own_streams_);
  status_before_trap_ = status;
  run(*action, {false, false}, [this, status](int) { process_.exit(status); });
}

void Interpreter::complain(const std::string& message) {
  process_.print_error(fmt::format("{}: {}{}", scope_.name, is_bash() ? "" : "1: ", message));
}

// An error of the shell's own ends it (POSIX, "Consequences of Shell Errors"), in dash's words.
void Interpreter::give_up(const std::string& message, int code_of_bash) {
  complain(message);
  leave(is_bash() ? code_of_bash : misused_code);
}

// Of a word that cannot be expanded.
void Interpreter::give_up(const Error& error) {
  const int code = error.code != 0 ? error.code : not_modelled_code;
  give_up(error.message, code == not_modelled_code          ? code
                         : forked_ || scope_.exits_on_error ? 1
                                                            : code);
}

void Interpreter::list(const Node& node, std::size_t index, Place place, Done done) {
  if (index >= node.children.size()) return done(scope_.status);
  const bool is_last = index + 1 == node.children.size();
  const bool stays = is_bash() && node.children[index].never_in_place;
  run(node.children[index], {place.last && is_last && !stays, place.tested},
      [this, &node, index, is_last, place, done](int status) {
        if (leave_ != Leave::no || is_last) return done(status);
        list(node, index + 1, place, done);
      });
}

void Interpreter::case_of(const Node& node, Place place, const Done& done) {
  std::vector<const Piece*> outputs = outputs_of(node.words);
  for (const std::vector<Word>& patterns : node.patterns)
    for (const Word& pattern : patterns) outputs_in(pattern.pieces, &variables_, outputs);
  with_outputs(std::move(outputs), 0, [this, &node, place, done] {
    const auto subject = expand_value(node.words.front(), variables_);
    if (!subject) return give_up(subject.error());
    for (std::size_t i = 0; i < node.patterns.size(); ++i) {
      for (const Word& word : node.patterns[i]) {
        const auto pattern = expand_pattern(word, variables_);
        if (!pattern) return give_up(pattern.error());
        if (!matches(*pattern, *subject)) continue;
        if (node.children[i].children.empty()) return finish(0, done);
        return run(node.children[i], place, done);
      }
    }
    finish(0, done);
  });
}

void Interpreter::judge_number(const Node& node, Place place, const Done& done) {
  evaluate(node.words.front(), [this, place, done](std::optional<bool> number) {
    alone(ended(place, done))(number.value_or(false) ? 0 : 1);
  });
}

// Whether the number is another than 0; nothing where it cannot be worked out, which is said. What
// is not set under -u ends the shell.
void Interpreter::evaluate(const Word& word, std::function<void(std::optional<bool>)> then) {
  std::vector<const Piece*> outputs;
  outputs_in(word.pieces, &variables_, outputs);
  with_outputs(std::move(outputs), 0, [this, &word, then = std::move(then)] {
    const auto value = expand_value(word, variables_);
    if (value) return then(*value != "0");
    if (value.error().code != 1) return give_up(value.error());
    complain(value.error().message);
    then(std::nullopt);
  });
}

// [[ TEXT =~ EXPRESSION ]]: what its groups stand for is BASH_REMATCH.
void Interpreter::match(const Node& node, Place place, const Done& done) {
  with_outputs(outputs_of(node.words), 0, [this, &node, place, done] {
    const auto text = expand_value(node.words[0], variables_);
    if (!text) return give_up(text.error());
    const auto expression = expand_expression(node.words[1], variables_);
    if (!expression) return give_up(expression.error());
    const Pattern pattern(*expression, REG_EXTENDED);
    if (!pattern.good()) return alone(ended(place, done))(misused_code);
    const auto found = pattern.find(*text, 0);
    Strings groups;
    if (found && pattern.groups() >= found->size())
      return cannot_run("[[", unknown("=~ with more than nine groups"), ended(place, done));
    for (std::size_t i = 0; found && i <= pattern.groups(); ++i) {
      const auto& [begin, end] = (*found)[i];
      groups.push_back(begin < 0 ? ""
                                 : text->substr(static_cast<std::size_t>(begin),
                                                static_cast<std::size_t>(end - begin)));
    }
    variables_.set_elements("BASH_REMATCH", std::move(groups));
    alone(ended(place, done))(found ? 0 : 1);
  });
}

// A loop begins: only within one there is anything to break.
Interpreter::Done Interpreter::left_by(Done done) {
  ++scope_.loops;
  return [this, done = std::move(done)](int status) {
    --scope_.loops;
    done(status);
  };
}

// Whether the loop whose body has ended is left.
bool Interpreter::leaves() {
  if (leave_ == Leave::no) return false;
  if (leave_ == Leave::return_) return true;
  if (leaves_loops_ > 1) {
    --leaves_loops_;
    return true;
  }
  return std::exchange(leave_, Leave::no) == Leave::break_;
}

void Interpreter::loop(const Node& node, int result, Place place, Done done) {
  run(node.children[0], {false, true}, [this, &node, result, place, done](int status) {
    const bool goes_on = (status == 0) == (node.kind == Node::Kind::while_);
    if (leaves()) return finish(0, done);
    if (!goes_on) return finish(result, done);
    run(node.children[1], {false, place.tested}, [this, &node, place, done](int body) {
      if (leaves()) return finish(body, done);
      process_.after(loop_time,
                     [this, &node, body, place, done] { loop(node, body, place, done); });
    });
  });
}

// A turn of for ((BEGIN; WHILE; NEXT)). Of its numbers none ends a script, and none is a command
// whose status anything else could ask for.
void Interpreter::count(const Node& node, int result, Place place, Done done) {
  evaluate(node.words[1], [this, &node, result, place, done](std::optional<bool> goes_on) {
    if (!goes_on.value_or(false)) return finish(goes_on ? result : 1, done);
    run(node.children[0], {false, place.tested}, [this, &node, place, done](int body) {
      if (leaves()) return finish(body, done);
      process_.after(loop_time, [this, &node, body, place, done] {
        evaluate(node.words[2], [this, &node, body, place, done](std::optional<bool> next) {
          if (!next) return finish(1, done);
          count(node, body, place, done);
        });
      });
    });
  });
}

void Interpreter::over(const Node& node, std::shared_ptr<Strings> words, std::size_t index,
                       int result, Place place, Done done) {
  if (index >= words->size()) return finish(result, done);
  variables_.set(node.variable, (*words)[index]);
  run(node.children[0], {false, place.tested}, [this, &node, words, index, place, done](int body) {
    if (leaves()) return finish(body, done);
    process_.after(loop_time, [this, &node, words, index, body, place, done] {
      over(node, words, index + 1, body, place, done);
    });
  });
}

}  // namespace ddptwin::model::shell
