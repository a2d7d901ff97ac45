// What a shell starts besides itself: ( ), $( ), & and pipes.
#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "runtime/model/programs/text.hpp"
#include "runtime/model/shell/interpreter.hpp"
#include "runtime/model/shell/run.hpp"
#include "runtime/model/shell/streams.hpp"
#include "runtime/model/state.hpp"

namespace ddptwin::model::shell {
namespace {

Spawn::Stream into(const std::shared_ptr<std::string>& text) {
  return {"", true, std::make_shared<const Sink>(Sink{Sink::To::text, false, text, {}})};
}

}  // namespace

// A shell of its own for that part of the script, whose streams are this one's but for those
// given.
ProcessId Interpreter::fork(Scope scope, const Node& node, bool tested, Forked streams) {
  if (is_bash()) scope.loops = 0;
  scope.jobs = jobs_.running();
  Spawn spawn;
  spawn.argv = process_.argv();
  spawn.env = process_.environment();
  Streams own = streams_of(process_);
  spawn.output = streams.output ? std::move(*streams.output) : std::move(own.output);
  spawn.error_output = std::move(own.error_output);
  spawn.input = std::move(streams.input);
  spawn.program = make_run(std::move(scope), node, context_, tested);
  const Result<ProcessId> child = process_.spawn(std::move(spawn));
  return child ? *child : ProcessId{0};
}

void Interpreter::forked(Scope scope, const Node& node, bool tested, Forked streams, Done done) {
  const ProcessId child = fork(std::move(scope), node, tested, std::move(streams));
  if (child == 0) return give_up("Cannot fork");
  waiting_[child] = std::move(done);
}

void Interpreter::background(const Node& node, const Done& done) {
  // A ( ) is a process already.
  const bool is_one = node.kind == Node::Kind::subshell && node.redirections.empty();
  // It reads nothing of the shell's (POSIX, 2.9.3).
  const ProcessId child = fork(scope_, is_one ? node.children[0] : node, false,
                               {std::nullopt, std::make_shared<Input>("")});
  if (child == 0) return give_up("Cannot fork");
  scope_.last_job = process_.pid_of(child);
  jobs_.add(child, scope_.last_job, !is_bash());
  finish(0, done);
}

std::vector<const Piece*> Interpreter::outputs_of(const std::vector<Word>& words) const {
  std::vector<const Piece*> all;
  for (const Word& word : words) outputs_in(word.pieces, &variables_, all);
  return all;
}

void Interpreter::add_outputs_of(const std::vector<Redirection>& redirections,
                                 std::vector<const Piece*>& all) const {
  for (const Redirection& one : redirections) {
    if (one.target != Redirection::Target::command) {
      outputs_in(one.file.pieces, &variables_, all);
    } else if (const Node* tee = tee_of(one)) {
      for (const Word& word : tee->words) outputs_in(word.pieces, &variables_, all);
    }
  }
}

// Runs what stands in each $( ), then goes on.
void Interpreter::with_outputs(std::vector<const Piece*> pieces, std::size_t index, Then then) {
  if (index >= pieces.size()) return then();
  const auto text = std::make_shared<std::string>();
  const Piece* piece = pieces[index];
  Scope scope = scope_;
  if (is_bash()) scope.exits_on_error = false;
  forked(std::move(scope), *piece->script, false, {into(text), nullptr},
         [this, text, piece, pieces = std::move(pieces), index, then](int status) {
           while (text->ends_with('\n')) text->pop_back();
           variables_.set_output(*piece, *text, status);
           output_status_ = status;
           with_outputs(pieces, index + 1, then);
         });
}

// Of > >(tee FILE...) the tee, whose copies are then made at once; null: it is another command.
const Node* Interpreter::tee_of(const Redirection& redirection) {
  const Node& script = *redirection.file.pieces.front().script;
  if (redirection.of_input || script.children.size() != 1) return nullptr;
  const Node& command = script.children.front();
  const auto name = command.words.empty() ? std::nullopt : command.words.front().literal();
  const bool plain = command.kind == Node::Kind::command && command.assignments.empty() &&
                     command.redirections.empty();
  return plain && name && base_name(*name) == "tee" ? &command : nullptr;
}

// > >(COMMAND) and < <(COMMAND): it runs beside the shell, which waits for neither.
Status Interpreter::begin_command(const Redirection& redirection) {
  Streams streams = streams_of(process_);
  Spawn::Stream output;
  if (const Node* tee = tee_of(redirection)) {
    TRY(const Strings words, expand(tee->words, variables_));
    TextResult said;
    const Strings files = open_for_tee(process_, words, said);
    for (std::string& line : said.errors) process_.print_error(std::move(line));
    output = copied_to(streams.output, files);
  } else {
    PipeEnds pipe = make_pipe();
    const Node& script = *redirection.file.pieces.front().script;
    Forked ends;
    if (redirection.of_input) {
      ends.output = std::move(pipe.output);
      streams.input = std::move(pipe.input);
    } else {
      ends.input = std::move(pipe.input);
      output = std::move(pipe.output);
    }
    Scope scope = scope_;
    const ProcessId child = fork(std::move(scope), script, false, std::move(ends));
    if (child == 0) return fail(Reason::invalid, "Cannot fork");
    beside_.insert(child);
  }
  if (redirection.of_output) streams.output = output;
  if (redirection.of_error) streams.error_output = output;
  set_streams(process_, streams);
  return {};
}

// What tee copies is seen at once. What other programs of text read they read when it has ended, so
// the shell itself works it out; the rest of a pipeline's commands run beside each other, each in a
// shell of its own.
struct Interpreter::Pipe {
  std::vector<Strings> readers{};  // words of each command; empty: it has a shell of its own
  std::vector<int> codes{};        // of all commands, from the left
  int running = 0;
  Done done{};
};

namespace {

// One that reads text and nothing else, so that the shell can do it.
bool is_text_program(const Node& node, const Scope& scope) {
  const auto name = node.words.empty() ? std::nullopt : node.words.front().literal();
  if (node.kind != Node::Kind::command || !node.assignments.empty() || !name) return false;
  const TextProgram* program = TextProgram::find(base_name(*name));
  const bool reads_else =
      std::any_of(node.redirections.begin(), node.redirections.end(), [](const Redirection& one) {
        return one.of_input || one.target == Redirection::Target::command;
      });
  return program != nullptr && program->reads() && !reads_else && !scope.functions.contains(*name);
}

bool is_plain_tee(const std::vector<std::string>& words, const Node& node) {
  return !words.empty() && base_name(words.front()) == "tee" && node.redirections.empty();
}

}  // namespace

void Interpreter::pipe(const Node& node, Place place, Done done) {
  std::vector<const Piece*> outputs;
  for (std::size_t i = 1; i < node.children.size(); ++i) {
    if (!is_text_program(node.children[i], scope_)) continue;
    for (const Word& word : node.children[i].words) outputs_in(word.pieces, &variables_, outputs);
    add_outputs_of(node.children[i].redirections, outputs);
  }
  with_outputs(std::move(outputs), 0, [this, &node, place, done] {
    auto pipe = std::make_shared<Pipe>();
    pipe->readers.resize(node.children.size());
    pipe->codes.resize(node.children.size());
    for (std::size_t i = 1; i < node.children.size(); ++i) {
      if (!is_text_program(node.children[i], scope_)) continue;
      auto words = expand(node.children[i].words, variables_);
      if (!words) return give_up(words.error());
      pipe->readers[i] = std::move(*words);
    }
    pipe->done = done;
    begin(node, 0, nullptr, place.tested, pipe);
  });
}

// Where what one of its commands prints goes, and who reads that; `next` is behind the last then.
struct Interpreter::Outlet {
  Spawn::Stream output{};
  std::size_t next = 0;
  std::shared_ptr<std::string> text{};  // of one that the shell works out
  std::shared_ptr<Input> input{};       // of one with a shell of its own
};

Interpreter::Outlet Interpreter::outlet_of(const Node& node, std::size_t index,
                                           const std::shared_ptr<Pipe>& pipe) {
  Outlet made{process_.state().output, index + 1};
  std::vector<std::string> files;
  for (; made.next < node.children.size(); ++made.next) {
    if (!is_plain_tee(pipe->readers[made.next], node.children[made.next])) break;
    TextResult said;
    const Strings opened = open_for_tee(process_, pipe->readers[made.next], said);
    for (std::string& line : said.errors) process_.print_error(std::move(line));
    files.insert(files.end(), opened.begin(), opened.end());
    pipe->codes[made.next] = said.code;
  }
  if (made.next < node.children.size()) {
    if (!pipe->readers[made.next].empty()) {
      made.text = std::make_shared<std::string>();
      made.output = into(made.text);
    } else {
      PipeEnds ends = make_pipe();
      made.input = std::move(ends.input);
      made.output = std::move(ends.output);
    }
  }
  made.output = copied_to(std::move(made.output), files);
  return made;
}

// From that command on, which has a shell of its own.
void Interpreter::begin(const Node& node, std::size_t index, std::shared_ptr<Input> input,
                        bool tested, const std::shared_ptr<Pipe>& pipe) {
  Outlet outlet = outlet_of(node, index, pipe);
  ++pipe->running;
  forked(scope_, node.children[index], tested, {std::move(outlet.output), std::move(input)},
         [this, &node, index, tested, pipe, next = outlet.next, text = outlet.text](int status) {
           pipe->codes[index] = status;
           if (text != nullptr) work_out(node, next, *text, tested, pipe);
           end_of_one(pipe);
         });
  if (outlet.input != nullptr) begin(node, outlet.next, std::move(outlet.input), tested, pipe);
}

int Interpreter::status_of(const Pipe& pipe) const {
  int code = pipe.codes.back();
  for (auto one = pipe.codes.rbegin(); scope_.pipe_fails && code == 0 && one != pipe.codes.rend();
       ++one)
    code = *one;
  return code;
}

void Interpreter::end_of_one(const std::shared_ptr<Pipe>& pipe) {
  if (--pipe->running > 0) return;
  keep_statuses(pipe->codes);
  pipe->done(status_of(*pipe));
}

void Interpreter::work_out(const Node& node, std::size_t index, std::string input, bool tested,
                           const std::shared_ptr<Pipe>& pipe) {
  ++pipe->running;
  process_.work(process_.model().timing->program_start,
                [this, &node, index, tested, pipe, input = std::move(input)] {
                  const Streams before = streams_of(process_);
                  const Node& command = node.children[index];
                  Outlet outlet = outlet_of(node, index, pipe);
                  process_.state().output = std::move(outlet.output);
                  if (!redirected(command)) {
                    pipe->codes[index] = error_code();
                  } else if (const TextProgram* program =
                                 TextProgram::find(base_name(pipe->readers[index].front()))) {
                    TextResult result = program->run(process_, pipe->readers[index], input);
                    for (std::string& line : result.errors) process_.print_error(std::move(line));
                    static_cast<void>(process_.write(result.output));
                    pipe->codes[index] = result.code;
                  }
                  set_streams(process_, before);
                  if (outlet.text != nullptr)
                    work_out(node, outlet.next, *outlet.text, tested, pipe);
                  if (outlet.input != nullptr)
                    begin(node, outlet.next, std::move(outlet.input), tested, pipe);
                  end_of_one(pipe);
                });
}

}  // namespace ddptwin::model::shell
