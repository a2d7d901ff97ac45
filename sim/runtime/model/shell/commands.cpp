// A simple command: its words, its assignments, and what runs it.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <utility>

#include "runtime/model/shell/arithmetic.hpp"
#include "runtime/model/shell/builtins.hpp"
#include "runtime/model/shell/interpreter.hpp"
#include "runtime/model/shell/shell.hpp"
#include "runtime/model/shell/streams.hpp"
#include "runtime/model/shell/training.hpp"
#include "runtime/model/state.hpp"

namespace ddptwin::model::shell {

void Interpreter::command(const Node& node, Place place, Done done) {
  output_status_ = 0;
  with_outputs(outputs_of(node.words), 0, [this, &node, place, done] {
    auto expanded = expand(node.words, variables_);
    if (!expanded) return give_up(expanded.error());
    auto words = std::make_shared<Strings>(std::move(*expanded));
    if (node.assignments.empty()) return execute(node, std::move(*words), place, done);
    // Without a command they are the shell's; so they are before what POSIX calls a special
    // built-in, which bash makes no difference of.
    const bool stays =
        words->empty() || (!is_bash() && is_special(words->front()) && words->front() != "exec");
    if (!stays) variables_.begin_locals();
    const Done after = stays ? done : [this, done](int status) {
      variables_.end_locals();
      done(status);
    };
    assign(node, 0, stays,
           [this, &node, words, place, after] { execute(node, std::move(*words), place, after); });
  });
}

// One assignment after the other.
void Interpreter::assign(const Node& node, std::size_t index, bool stays, Then then) {
  if (index >= node.assignments.size()) return then();
  const Assignment& one = node.assignments[index];
  std::vector<const Piece*> outputs;
  outputs_in(one.value.pieces, &variables_, outputs);
  if (one.index) outputs_in(one.index->pieces, &variables_, outputs);
  if (one.elements)
    for (const Word& element : *one.elements) outputs_in(element.pieces, &variables_, outputs);
  with_outputs(std::move(outputs), 0, [this, &node, &one, index, stays, then] {
    if (variables_.is_readonly(one.name)) return give_up(variables_.why_readonly(one.name));
    if (const Status made = assign(one, stays); !made) return give_up(made.error());
    assign(node, index + 1, stays, then);
  });
}

Status Interpreter::assign(const Assignment& one, bool stays) {
  if (one.elements) {
    TRY(const Strings added, expand(*one.elements, variables_));
    Strings all = one.appends ? variables_.elements(one.name).value_or(Strings()) : Strings();
    all.insert(all.end(), added.begin(), added.end());
    variables_.set_elements(one.name, std::move(all));
    return {};
  }
  std::optional<std::int64_t> at;
  if (one.index) {
    TRY(const std::string expression, expand_value(*one.index, variables_));
    TRY(at, arithmetic(expression, variables_));
  }
  TRY(std::string text, expand_value(one.value, variables_));
  if (at) {
    const Strings all = variables_.elements(one.name).value_or(Strings());
    const auto where = static_cast<std::size_t>(*at);
    if (one.appends && *at >= 0 && where < all.size()) text.insert(0, all[where]);
    return variables_.set_element(one.name, *at, std::move(text));
  }
  if (one.appends) text.insert(0, variables_.value(one.name).value_or(""));
  if (stays) {
    variables_.set(one.name, std::move(text));
  } else {
    variables_.export_locally(one.name, std::move(text));
  }
  return {};
}

void Interpreter::execute(const Node& node, Strings words, Place place, Done done) {
  if (words.empty()) return done(output_status_);
  const bool replaces = words.front() == "exec" && words.size() > 1;
  if (replaces) {
    words.erase(words.begin());
    done = [this](int status) { process_.exit(status); };
  }
  // `command NAME` is no function.
  bool by_name = true;
  while (!replaces && words.size() > 1 && !words[1].starts_with('-') &&
         (words.front() == "command" || (words.front() == "builtin" && is_bash()))) {
    words.erase(words.begin());
    by_name = false;
  }
  if (const auto found = scope_.functions.find(words.front());
      found != scope_.functions.end() && !replaces && by_name)
    return call(*found->second, std::move(words), place, std::move(done));
  if (words.front() == "eval") return evaluate(words, place, done);
  if (words.front() == ".") return source(std::move(words), place, done);
  if (words.front() == "source")
    return is_bash() ? source(std::move(words), place, done)
                     : cannot_run("source", {Reason::not_found, {}}, done);
  const auto variables = unwrap(words);
  // What is written out has been looked at before the run.
  const bool computed = !node.words.front().literal();
  if (const std::string what = unknown_of(words, scope_.dialect); computed && !what.empty())
    return cannot_run(words.front(), unknown(what), done);
  if (const BuiltIns::Run own = BuiltIns::find(words.front(), scope_.dialect))
    return (this->*own)(words, done);
  Environment env = process_.environment();
  for (const auto& [name, value] : variables) put(env, name, value);
  CommandContext context = context_;
  context.training = node.training.value_or(context.training);
  context.folder = process_.working_directory();
  auto program = make_program(words, context);
  // A shell with traps has to outlive it.
  const bool last = place.last && !traps_.any();
  if (last || replaces)
    return in_place(std::move(words), std::move(env), std::move(program), replaces, done);
  child(std::move(words), std::move(env), std::move(program), std::move(done));
}

void Interpreter::call(const Node& body, Strings words, Place place, Done done) {
  constexpr int calls_max = 1000;  // dash's
  if (++scope_.calls > calls_max)
    return give_up(fmt::format("Maximum function recursion depth ({}) reached", calls_max));
  words.erase(words.begin());
  const Strings arguments = std::exchange(scope_.arguments, std::move(words));
  const int loops = std::exchange(scope_.loops, 0);
  variables_.begin_locals();
  run(body, {false, place.tested}, [this, arguments, loops, done](int status) {
    --scope_.calls;
    scope_.arguments = arguments;
    scope_.loops = loops;
    variables_.end_locals();
    if (leave_ == Leave::return_) {
      leave_ = Leave::no;
      status = return_status_;
    }
    done(status);
  });
}

// A script that comes up in a run, and is kept.
Result<const Node*> Interpreter::take_script(const std::string& text) {
  constexpr int within_max = 200;  // real shells run out of stack
  if (scope_.evals + scope_.sourced >= within_max)
    return fail(unknown("more than 200 scripts within each other"));
  // A loop that evaluates the same again takes no more memory.
  if (const auto known = scope_.taken.find(text); known != scope_.taken.end()) return known->second;
  TRY(Node script, parse(text, scope_.dialect));
  label_training(script, context_.training);
  TRY_VOID(check_script(script, context_, scope_.dialect));
  scope_.scripts.push_back(std::make_shared<const Node>(std::move(script)));
  return scope_.taken[text] = scope_.scripts.back().get();
}

void Interpreter::evaluate(const Strings& words, Place place, const Done& done) {
  const auto script =
      take_script(fmt::format("{}", fmt::join(words.begin() + 1, words.end(), " ")));
  if (!script) return cannot_run(words.front(), script.error(), done);
  if ((*script)->children.empty()) return done(0);
  ++scope_.evals;
  run(**script, {false, place.tested}, [this, done](int status) {
    --scope_.evals;
    done(status);
  });
}

// A file that nobody here holds is one of a described image, and prepares it; any other is missing.
void Interpreter::source(Strings words, Place place, const Done& done) {
  const std::string file = words.size() > 1 ? words[1] : "";
  // Without a slash dash looks along PATH only.
  const bool is_looked_for = is_bash() || file.find('/') != std::string::npos;
  auto text = is_looked_for ? process_.read_file(file) : fail(Reason::not_found, "");
  if (!text) {
    if (context_.workload != nullptr) return done(0);
    if (!is_bash())
      return give_up(is_looked_for ? fmt::format(".: cannot open {}: No such file", file)
                                   : fmt::format(".: {}: not found", file));
    complain(file + ": No such file or directory");
    return done(1);
  }
  const auto script = take_script(*text);
  if (!script) return cannot_run(words.front(), script.error(), done);
  const Node& body = **script;
  // bash's own arguments come back unless the file has set others.
  const bool replaces = is_bash() && words.size() > 2;
  const Strings own = scope_.arguments, given(words.begin() + (replaces ? 2 : 0), words.end());
  if (replaces) scope_.arguments = given;
  ++scope_.sourced;
  run(body, {false, place.tested}, [this, replaces, own, given, done](int status) {
    --scope_.sourced;
    const Strings& now = scope_.arguments;
    const bool only_shifted =
        now.size() <= given.size() && std::equal(now.rbegin(), now.rend(), given.rbegin());
    if (replaces && only_shifted) scope_.arguments = own;
    if (leave_ == Leave::return_) {
      leave_ = Leave::no;
      status = return_status_;
    }
    done(status);
  });
}

void Interpreter::in_place(Strings argv, Environment env, Result<std::unique_ptr<Program>> program,
                           bool replaces, const Done& done) {
  if (!program) {
    // A shell that cannot become something else ends.
    const Done end = [this](int status) { leave(status); };
    return cannot_run(argv.front(), program.error(), replaces ? end : done);
  }
  Process::State& own = process_.state();
  own.argv = std::move(argv);
  own.env = std::move(env);
  successor_ = std::move(*program);
  successor_->start(process_);
}

void Interpreter::child(Strings argv, Environment env, Result<std::unique_ptr<Program>> program,
                        Done done) {
  const std::string name = argv.front();
  if (!program) return cannot_run(name, program.error(), done);
  Streams streams = streams_of(process_);
  const Result<ProcessId> child =
      process_.spawn({std::move(argv), std::move(env), false, std::move(streams.output),
                      std::move(streams.error_output), std::move(*program)});
  if (!child) return cannot_run(name, child.error(), done);
  waiting_[*child] = std::move(done);
}

void Interpreter::cannot_run(const std::string& name, const Error& error, const Done& done) {
  const bool missing = error.reason == Reason::not_found;
  if (context_.workload != nullptr && context_.workload->stands_in) {
    // Beside a training it prepares one.
    if (missing || context_.training > Likeness::any) return done(0);
    return child({name}, process_.environment(), make_stand_in({name}, context_), done);
  }
  complain(missing ? fmt::format("{}: {}not found", name, is_bash() ? "command " : "")
                   : error.message);
  done(missing ? not_found_code : not_modelled_code);
}

}  // namespace ddptwin::model::shell
