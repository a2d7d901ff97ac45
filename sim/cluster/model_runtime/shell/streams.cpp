#include "cluster/model_runtime/shell/streams.hpp"

#include <fmt/format.h>

#include <memory>
#include <tuple>

#include "cluster/model_runtime/state.hpp"

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
    case Target::nothing:
      break;
    case Target::output:
      return copied(now.first, false);
    case Target::error:
      return copied(now.second, true);
    case Target::file: {
      const std::string file = process.path_of(name);
      if (!open_file(process, file, redirection.appends))
        return fail(Reason::invalid,
                    variables.dialect() == Dialect::bash
                        ? fmt::format("{}: No such file or directory", name)
                        : fmt::format("cannot create {}: Directory nonexistent", name));
      return into({Sink::To::nothing, false, nullptr, {file}});
    }
  }
  return into({Sink::To::nothing, false, nullptr, {}});
}

}  // namespace

Streams streams_of(const Process& process) {
  return {process.state().output, process.state().error_output};
}

void set_streams(Process& process, const Streams& streams) {
  std::tie(process.state().output, process.state().error_output) = streams;
}

bool open_file(Process& process, const std::string& file, bool appends) {
  return static_cast<bool>(appends ? process.append_file(file, "") : process.write_file(file, ""));
}

Status redirect(Process& process, const std::vector<Redirection>& redirections,
                Variables& variables) {
  for (const Redirection& one : redirections) {
    Streams all = streams_of(process);
    TRY(const Spawn::Stream stream, stream_of(process, one, all, variables));
    if (one.of_output) all.first = stream;
    if (one.of_error) all.second = stream;
    set_streams(process, all);
  }
  return {};
}

}  // namespace ddptwin::model::shell
