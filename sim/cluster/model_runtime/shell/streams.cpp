#include "cluster/model_runtime/shell/streams.hpp"

#include <fmt/format.h>

#include <memory>

#include "cluster/model_runtime/state.hpp"

namespace ddptwin::model::shell {
namespace {

using Made = std::shared_ptr<const Sink>;

Made make_sink(Sink sink) { return std::make_shared<const Sink>(std::move(sink)); }

Result<Made> sink_of(Process& process, const Redirection& redirection, const Streams& now,
                     Variables& variables) {
  switch (redirection.target) {
    case Redirection::Target::nothing:
      break;
    case Redirection::Target::output:
      return now.first.sink != nullptr ? now.first.sink : make_sink({});
    case Redirection::Target::error:
      return now.second.sink != nullptr ? now.second.sink
                                        : make_sink({Sink::To::log, true, nullptr, {}});
    case Redirection::Target::file: {
      TRY(const std::string name, expand_value(redirection.file, variables));
      const std::string file = process.path_of(name);
      if (!open_file(process, file, redirection.appends))
        return fail(Reason::invalid, fmt::format("cannot create {}: Directory nonexistent", name));
      return make_sink({Sink::To::nothing, false, nullptr, {file}});
    }
  }
  return make_sink({Sink::To::nothing, false, nullptr, {}});
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
    TRY(const Made sink, sink_of(process, one, all, variables));
    if (one.of_output) all.first.sink = sink;
    if (one.of_error) all.second.sink = sink;
    set_streams(process, all);
  }
  return {};
}

}  // namespace ddptwin::model::shell
