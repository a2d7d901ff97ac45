// What a shell starts besides itself: ( ), $( ), & and pipes.
#include <fmt/format.h>

#include <tuple>
#include <utility>

#include "cluster/model_runtime/programs/text.hpp"
#include "cluster/model_runtime/shell/interpreter.hpp"
#include "cluster/model_runtime/shell/run.hpp"
#include "cluster/model_runtime/shell/streams.hpp"
#include "cluster/model_runtime/state.hpp"

namespace ddptwin::model::shell {
namespace {

Spawn::Stream into(const std::shared_ptr<std::string>& text) {
  return {"", true, std::make_shared<const Sink>(Sink{Sink::To::text, false, text, {}})};
}

}  // namespace

// A shell of its own for that part of the script; without `output` its stdout is this shell's.
ProcessId Interpreter::fork(Scope scope, const Node& node, bool tested,
                            std::optional<Spawn::Stream> output) {
  if (is_bash()) scope.loops = 0;
  Spawn spawn;
  spawn.argv = process_.argv();
  spawn.env = process_.environment();
  std::tie(spawn.output, spawn.error_output) = streams_of(process_);
  if (output) spawn.output = std::move(*output);
  spawn.program = make_run(std::move(scope), node, context_, tested);
  const Result<ProcessId> child = process_.spawn(std::move(spawn));
  return child ? *child : ProcessId{0};
}

void Interpreter::forked(Scope scope, const Node& node, bool tested,
                         std::optional<Spawn::Stream> output, Done done) {
  const ProcessId child = fork(std::move(scope), node, tested, std::move(output));
  if (child == 0) return give_up("Cannot fork");
  waits_for_ = child;
  waiting_ = std::move(done);
}

void Interpreter::background(const Node& node, const Done& done) {
  // A ( ) is a process already.
  const bool is_one = node.kind == Node::Kind::subshell && node.redirections.empty();
  const ProcessId child = fork(scope_, is_one ? node.children[0] : node, false, std::nullopt);
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
  for (const Redirection& one : redirections) outputs_in(one.file.pieces, &variables_, all);
}

// Runs what stands in each $( ), then goes on.
void Interpreter::with_outputs(std::vector<const Piece*> pieces, std::size_t index, Then then) {
  if (index >= pieces.size()) return then();
  const auto text = std::make_shared<std::string>();
  const Piece* piece = pieces[index];
  Scope scope = scope_;
  if (is_bash()) scope.exits_on_error = false;
  forked(std::move(scope), *piece->script, false, into(text),
         [this, text, piece, pieces = std::move(pieces), index, then](int status) {
           while (text->ends_with('\n')) text->pop_back();
           variables_.set_output(*piece, *text, status);
           output_status_ = status;
           with_outputs(pieces, index + 1, then);
         });
}

// A pipeline's first command runs by itself. What tee copies is seen at once; what others read they
// read when it has ended.
struct Interpreter::Pipe {
  std::vector<Strings> readers{};
  std::vector<int> codes{};  // of all commands, from the left
  std::size_t next = 0;      // of the readers
  std::shared_ptr<std::string> text = std::make_shared<std::string>();
  Done done{};
};

void Interpreter::pipe(const Node& node, Place place, Done done) {
  std::vector<const Piece*> outputs;
  for (std::size_t i = 1; i < node.children.size(); ++i) {
    for (const Word& word : node.children[i].words) outputs_in(word.pieces, &variables_, outputs);
    add_outputs_of(node.children[i].redirections, outputs);
  }
  with_outputs(std::move(outputs), 0, [this, &node, place, done] {
    auto pipe = std::make_shared<Pipe>();
    for (std::size_t i = 1; i < node.children.size(); ++i) {
      auto words = expand(node.children[i].words, variables_);
      if (!words) return give_up(words.error());
      pipe->readers.push_back(std::move(*words));
    }
    pipe->done = done;
    begin(node, place.tested, pipe);
  });
}

// What is read is worked out by the shell itself; where that fails, the command does.
void Interpreter::document(const Node& node, Done done) {
  const Node& reader = node.children[1];
  std::vector<const Piece*> outputs = outputs_of(reader.words);
  add_outputs_of(reader.redirections, outputs);
  for (const Word& word : node.words) outputs_in(word.pieces, &variables_, outputs);
  with_outputs(std::move(outputs), 0, [this, &node, &reader, done] {
    auto words = expand(reader.words, variables_);
    if (!words) return give_up(words.error());
    auto text = expand_value(node.words.front(), variables_);
    if (!text) {
      complain(text.error().message);
      const int code = is_bash() ? text.error().code : misused_code;
      keep_statuses({code});
      return done(code);
    }
    auto pipe = std::make_shared<Pipe>();
    pipe->readers.push_back(std::move(*words));
    *pipe->text = std::move(*text);
    pipe->done = done;
    read(node, pipe);
  });
}

void Interpreter::begin(const Node& node, bool tested, const std::shared_ptr<Pipe>& pipe) {
  Spawn::Stream output = process_.state().output;
  std::vector<std::string> files;
  std::vector<int> codes;
  for (; pipe->next < pipe->readers.size(); ++pipe->next) {
    const Strings& reader = pipe->readers[pipe->next];
    const Node& command = node.children[pipe->next + 1];
    if (base_name(reader.front()) != "tee" || !command.redirections.empty()) break;
    TextResult said;
    const Strings opened = open_for_tee(process_, reader, said);
    for (std::string& line : said.errors) process_.print_error(std::move(line));
    files.insert(files.end(), opened.begin(), opened.end());
    codes.push_back(said.code);
  }
  if (pipe->next < pipe->readers.size()) output = into(pipe->text);
  Sink sink = output.sink == nullptr ? Sink() : *output.sink;
  sink.files.insert(sink.files.end(), files.begin(), files.end());
  output.sink = std::make_shared<const Sink>(std::move(sink));
  forked(scope_, node.children[0], tested, std::move(output),
         [this, &node, pipe, codes](int status) {
           pipe->codes.push_back(status);
           pipe->codes.insert(pipe->codes.end(), codes.begin(), codes.end());
           read(node, pipe);
         });
}

int Interpreter::status_of(const Pipe& pipe) const {
  int code = pipe.codes.back();
  for (auto one = pipe.codes.rbegin(); scope_.pipe_fails && code == 0 && one != pipe.codes.rend();
       ++one)
    code = *one;
  return code;
}

void Interpreter::read(const Node& node, const std::shared_ptr<Pipe>& pipe) {
  if (pipe->next >= pipe->readers.size()) {
    keep_statuses(pipe->codes);
    return pipe->done(status_of(*pipe));
  }
  process_.work(process_.model().timing->program_start, [this, &node, pipe] {
    const Strings& argv = pipe->readers[pipe->next];
    const Node& command = node.children[++pipe->next];
    const std::string input = std::exchange(*pipe->text, {});
    const Streams before = streams_of(process_);
    if (pipe->next < pipe->readers.size()) process_.state().output = into(pipe->text);
    if (!redirected(command)) {
      pipe->codes.push_back(error_code());
    } else if (const TextProgram* program = TextProgram::find(base_name(argv.front()))) {
      TextResult result = program->run(process_, argv, input);
      for (std::string& line : result.errors) process_.print_error(std::move(line));
      process_.write(result.output);
      pipe->codes.push_back(result.code);
    } else {
      cannot_run(argv.front(), unknown("|"), [&](int code) { pipe->codes.push_back(code); });
    }
    set_streams(process_, before);
    read(node, pipe);
  });
}

}  // namespace ddptwin::model::shell
