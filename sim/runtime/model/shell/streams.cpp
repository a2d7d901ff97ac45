#include "runtime/model/shell/streams.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <memory>

#include "runtime/model/state.hpp"

namespace ddptwin::model::shell {
namespace {

Spawn::Stream into(Sink sink) { return {"", true, std::make_shared<const Sink>(std::move(sink))}; }

// With a sink of its own, which a stream that is copied has.
Spawn::Stream copied(Spawn::Stream stream, bool standard_error) {
  if (stream.sink == nullptr)
    stream.sink = std::make_shared<const Sink>(Sink{Sink::To::log, standard_error, nullptr, {}});
  return stream;
}

Result<Spawn::Stream> stream_of(Process& process, const Redirection& redirection,
                                const Streams& now, Variables& variables) {
  using Target = Redirection::Target;
  std::string name;
  Target target = redirection.target;
  if (target == Target::file) {
    TRY(name, expand_value(redirection.file, variables));
    target = target_of(name);
  }
  switch (target) {
    case Target::output:
      return copied(now.output, false);
    case Target::error:
      return copied(now.error_output, true);
    case Target::file: {
      const std::string file = process.path_of(name);
      if (!open_file(process, file, redirection.appends))
        return fail(Reason::invalid,
                    variables.dialect() == Dialect::bash
                        ? fmt::format("{}: No such file or directory", name)
                        : fmt::format("cannot create {}: Directory nonexistent", name));
      return into({Sink::To::nothing, false, nullptr, {file}});
    }
    case Target::nothing:
    case Target::text:
    case Target::command:
      break;
  }
  return into({Sink::To::nothing, false, nullptr, {}});
}

Result<std::shared_ptr<Input>> input_of(Process& process, const Redirection& redirection,
                                        Variables& variables) {
  using Target = Redirection::Target;
  if (redirection.target == Target::nothing) return std::make_shared<Input>("");
  auto text = expand_value(redirection.file, variables);
  if (!text) return fail(text.error());
  if (redirection.target == Target::text) return std::make_shared<Input>(std::move(*text));
  if (*text == "/dev/null") return std::make_shared<Input>("");
  if (*text == "/dev/stdin") return process.input();
  auto content = process.read_file(*text);
  if (content) return std::make_shared<Input>(std::move(*content));
  return fail(Reason::invalid, variables.dialect() == Dialect::bash
                                   ? fmt::format("{}: No such file or directory", *text)
                                   : fmt::format("cannot open {}: No such file", *text));
}

}  // namespace

Streams streams_of(const Process& process) {
  return {process.state().output, process.state().error_output, process.state().input};
}

void set_streams(Process& process, const Streams& streams) {
  process.state().output = streams.output;
  process.state().error_output = streams.error_output;
  process.state().input = streams.input;
}

bool open_file(Process& process, const std::string& file, bool appends) {
  process.make_room(file);
  return static_cast<bool>(appends ? process.append_file(file, "") : process.write_file(file, ""));
}

PipeEnds make_pipe() {
  auto input = std::make_shared<Input>("");
  Sink sink{.to = Sink::To::pipe};
  sink.pipe = std::make_shared<const Input::End>(input);
  return {std::move(input), into(std::move(sink))};
}

Spawn::Stream copied_to(Spawn::Stream stream, const std::vector<std::string>& files) {
  Sink sink = stream.sink == nullptr ? Sink() : *stream.sink;
  sink.files.insert(sink.files.end(), files.begin(), files.end());
  stream.sink = std::make_shared<const Sink>(std::move(sink));
  return stream;
}

Status redirect(Process& process, const Redirection& redirection, Variables& variables) {
  Streams all = streams_of(process);
  if (redirection.of_input) {
    TRY(all.input, input_of(process, redirection, variables));
  } else {
    TRY(const Spawn::Stream stream, stream_of(process, redirection, all, variables));
    if (redirection.of_output) all.output = stream;
    if (redirection.of_error) all.error_output = stream;
  }
  set_streams(process, all);
  return {};
}

}  // namespace ddptwin::model::shell
