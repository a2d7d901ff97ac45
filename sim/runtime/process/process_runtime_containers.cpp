// The part of ProcessRuntime that is about containers and the commands in them.
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <boost/json.hpp>
#include <csignal>
#include <filesystem>

#include "core/utf8.hpp"
#include "objects/image_reference.hpp"
#include "runtime/process/own_folders.hpp"
#include "runtime/process/runtime_state.hpp"
#include "runtime/process/start_error.hpp"

namespace ddptwin {
namespace {

using sandbox::Mount;
using sandbox::Operation;
using sandbox::Outcome;
using sandbox::Reply;

bool read_only_root(const RawJson& linux_config) {
  if (linux_config.get() == nullptr) return false;
  boost::system::error_code error;
  const Json* value = linux_config.get()->find_pointer("/securityContext/readonlyRootfs", error);
  return value != nullptr && *value == Json(true);
}

// What pods must be shown of a virtual environment whose folders, or those of the interpreter that
// it leads to (pyenv, uv and conda keep theirs in a home), pods have of their own.
std::vector<Mount> environment_mounts(const std::string& python) {
  namespace fs = std::filesystem;
  constexpr int hops_max = 8;
  std::vector<Mount> mounts;
  if (python.empty()) return mounts;
  std::error_code error;
  fs::path program = python + "/bin/python3";
  for (int hop = 0; hop < hops_max; ++hop) {
    const fs::path prefix = program.parent_path().parent_path();
    const fs::path on_host = fs::canonical(prefix, error);
    const bool shown = std::any_of(mounts.begin(), mounts.end(),
                                   [&](const Mount& mount) { return mount.target == prefix; });
    if (!error && !shown && sandbox::is_own_folder(prefix.native()))
      mounts.push_back({Mount::Kind::host, on_host, "", prefix, true});
    const fs::path link = fs::read_symlink(program, error);
    if (error) break;
    program = (program.parent_path() / link).lexically_normal();
  }
  return mounts;
}

std::string image_name(const ContainerConfig& config) {
  return canonical_image(config.user_image.empty() ? config.image : config.user_image);
}

std::string reason_of(const Reply& event) {
  if (event.out_of_memory) return "OOMKilled";
  return event.status == 0 ? "Completed" : "Error";
}

sandbox::WriteVolume volume_request(const SandboxId& sandbox, const std::string& name,
                                    const VolumeSource& source) {
  using Kind = sandbox::WriteVolume::Kind;
  sandbox::WriteVolume request{sandbox, name, Kind::folder, 0, false, {}};
  if (source.kind == VolumeSource::Kind::memory) request.kind = Kind::memory;
  if (source.kind == VolumeSource::Kind::empty_dir) request.kind = Kind::disk;
  request.exact = source.kind == VolumeSource::Kind::files;
  if (source.size_limit && *source.size_limit > 0) {
    request.size_limit = static_cast<std::uint64_t>(*source.size_limit);
  }
  for (const auto& [path, file] : source.files) {
    request.files.push_back({path, file.content, file.mode});
  }
  return request;
}

// The last drawing of a bar that stands still is what people want to see of it.
template <class Output, class Take>
void await_bar(Loop& loop, Lane lane, Output& output, const Take& take) {
  output.bar_patience.cancel();
  if (!output.lines.holds_bar()) return;
  output.bar_patience =
      loop.after(lane, bar_patience, [&output, take] { output.lines.give_bar(take); });
}

}  // namespace

// --- volumes ---

// A volume that is refused makes the container that mounts it fail to start.
template <class T>
void ProcessRuntime::send_ahead(Container& container, sandbox::Operation operation,
                                const T& request) {
  ++container.volumes_to_write;
  supervisor_->call(operation, request, {}, [this, id = container.id](const Reply& reply) {
    const auto found = containers_.find(id);
    if (found == containers_.end()) return;
    Container& written = *found->second;
    if (reply.outcome != Outcome::ok && !written.refusal) written.refusal = error_of(reply);
    if (--written.volumes_to_write == 0) volumes_written(written);
  });
}

void ProcessRuntime::volumes_written(Container& container) {
  answer(loop_, container.lane, std::exchange(container.created, {}),
         Result<ContainerId>(container.id));
}

void ProcessRuntime::update_volume(const std::string& pod_uid,
                                   std::shared_ptr<const VolumeSource> source) {
  for (const auto& [id, sandbox] : sandboxes_) {
    if (sandbox->config.uid == pod_uid && !sandbox->stopping) {
      // A refusal is no container's yet: the next that starts with this volume writes it again.
      supervisor_->call(Operation::write_volume, volume_request(id, source->name, *source), {},
                        [](const Reply&) {});
    }
  }
}

// The mounts of a container; what they show is sent ahead.
std::vector<Mount> ProcessRuntime::mounts_of(Container& container) {
  std::vector<Mount> mounts;
  for (const char* name : {"resolv.conf", "hostname"}) {
    mounts.push_back({Mount::Kind::volume, own_volume, name, std::string("/etc/") + name, false});
  }
  sandbox::WriteVolume own{container.sandbox, "container." + container.id.str(), {}, 0, false, {}};
  for (const RuntimeMount& mount : container.config.mounts) {
    if (mount.container_path == container.config.termination_log) continue;
    Mount made{Mount::Kind::volume, "", mount.sub_path, mount.container_path, mount.readonly};
    if (mount.source == nullptr) {
      made.source = own.volume;
      made.sub_path = fmt::format("{}", own.files.size());
      own.files.push_back({made.sub_path, mount.content, 0644});
    } else if (mount.source->kind == VolumeSource::Kind::host_path) {
      made.kind = Mount::Kind::host;
      made.source = mount.source->host_path;
      if (mount.source->size_limit)
        send_ahead(
            container, Operation::make_disk,
            sandbox::MakeDisk{made.source, static_cast<std::uint64_t>(*mount.source->size_limit)});
    } else {
      made.source = mount.source->name;
      send_ahead(container, Operation::write_volume,
                 volume_request(container.sandbox, mount.source->name, *mount.source));
    }
    mounts.push_back(std::move(made));
  }
  if (!own.files.empty()) send_ahead(container, Operation::write_volume, own);
  return mounts;
}

// --- containers ---

void ProcessRuntime::create_container(const SandboxId& sandbox, ContainerOrder order,
                                      Done<ContainerId> done) {
  const auto found = sandboxes_.find(sandbox);
  if (found == sandboxes_.end()) {
    return answer(
        loop_, lane_, std::move(done),
        Result<ContainerId>(
            fail(Reason::not_found,
                 fmt::format("failed to find sandbox id \"{}\": not found", sandbox), "NotFound")));
  }
  const ContainerId id = new_id(found->second->config.uid.str() + order.name());
  auto container = std::make_unique<Container>(
      Container{id, sandbox, std::move(order).config(), loop_.new_lane()});
  container->report.id = id;
  container->report.created_at = loop_.now();
  container->created = std::move(done);
  Container& created = *containers_.emplace(id, std::move(container)).first->second;
  if (stand_in_) created.stand_in = stand_in_(created.config, image_of(created));
  created.report.stands_in = !created.stand_in.empty();
  created.mounts = mounts_of(created);
  const KnownImage* image = known(image_name(created.config));
  if (image != nullptr && image->image.present && !image->made) make_present(created);
  if (created.volumes_to_write == 0) volumes_written(created);
}

// What lay on its node before anybody pulled it is made once a container needs it.
void ProcessRuntime::make_present(Container& container) {
  ++container.volumes_to_write;
  pull_image(image_name(container.config), {}, [this, id = container.id](Result<ImageStatus> made) {
    const auto found = containers_.find(id);
    if (found == containers_.end()) return;
    Container& waiting = *found->second;
    if (!made && !waiting.refusal) waiting.refusal = made.error();
    if (--waiting.volumes_to_write == 0) volumes_written(waiting);
  });
}

const Image& ProcessRuntime::image_of(const Container& container) {
  static const Image none;
  const KnownImage* found = known(image_name(container.config));
  return found != nullptr ? found->image : none;
}

sandbox::StartContainer ProcessRuntime::start_request(const Container& container) {
  const ContainerConfig& config = container.config;
  const Image& described = image_of(container);
  const auto sandbox = sandboxes_.find(container.sandbox);
  sandbox::StartContainer request;
  request.pod = container.sandbox;
  request.container = container.id;
  request.image = image_name(config);
  request.argv = container.stand_in.empty() ? command_line(described, config.command, config.args)
                                            : container.stand_in;
  const std::string hostname =
      sandbox != sandboxes_.end() ? sandbox->second->config.hostname : std::string();
  for (const auto& [name, value] : container_environment(described, hostname, config.env))
    request.env.push_back(name + "=" + value);
  request.cwd = config.working_dir.empty() ? described.workdir : config.working_dir;
  request.mounts = container.mounts;
  for (Mount& mount : environment_mounts(described.python))
    request.mounts.push_back(std::move(mount));
  for (Mount& mount : gpus_.mounts(config.env)) request.mounts.push_back(std::move(mount));
  request.termination_path = config.termination_log;
  request.memory_limit = config.memory_limit ? static_cast<std::uint64_t>(*config.memory_limit) : 0;
  request.read_only_root = read_only_root(config.linux_);
  return request;
}

Status ProcessRuntime::open_output(Container& container) {
  const auto open = [&](Container::Output& output, bool standard_error) -> Status {
    const auto take = [this, &container, standard_error](const std::string& text) {
      line(container, standard_error, text);
    };
    TRY(output.pipe, sandbox::OutputPipe::make(
                         loop_,
                         [this, lane = container.lane, &output, take](std::string_view bytes) {
                           output.lines.add(bytes, take);
                           await_bar(loop_, lane, output, take);
                         },
                         [this, &container, &output, take] {
                           output.bar_patience.cancel();
                           output.lines.finish(take);
                           container_over(container);
                         }));
    return {};
  };
  TRY_VOID(open(container.out, false));
  return open(container.err, true);
}

void ProcessRuntime::start_container(const ContainerId& id, Done<void> done) {
  const auto found = containers_.find(id);
  if (found == containers_.end()) {
    return answer(loop_, lane_, std::move(done), Result<void>(fail(no_such_container(id))));
  }
  Container& container = *found->second;
  container.cause = loop_.context();
  if (const std::string message = too_little_to_start(container.config.memory_limit);
      !message.empty())
    container.refusal = Error{Reason::unknown, "Unknown", message, nullptr, 0, {}};
  if (container.refusal) {
    start_failed(container, container.refusal->message);
    return answer(loop_, container.lane, std::move(done), Result<void>(fail(*container.refusal)));
  }
  if (Status opened = open_output(container); !opened) {
    return answer(loop_, container.lane, std::move(done), Result<void>(fail(opened.error())));
  }
  supervisor_->call(
      Operation::start_container, start_request(container),
      {container.out.pipe->write_end(), container.err.pipe->write_end()},
      [this, id, done = std::move(done)](const Reply& reply) mutable {
        const auto started = containers_.find(id);
        if (started == containers_.end()) {
          return answer(loop_, lane_, std::move(done), Result<void>(fail(no_such_container(id))));
        }
        if (!supervisor_->alive()) {
          return answer(loop_, started->second->lane, std::move(done),
                        Result<void>(fail(lost_error())));
        }
        ContainerReport& report = started->second->report;
        if (reply.outcome == Outcome::ok) {
          report.phase = ContainerPhase::running;
          report.started_at = loop_.now();
          return answer(loop_, started->second->lane, std::move(done), Result<void>());
        }
        start_failed(*started->second, reply.message);
        answer(loop_, started->second->lane, std::move(done), Result<void>(fail(error_of(reply))));
      });
  container.out.pipe->close_write_end();
  container.err.pipe->close_write_end();
}

void ProcessRuntime::start_failed(Container& container, std::string message) {
  ddptwin::start_failed(container.report, std::move(message), loop_.now());
  container.exited = true;
}

void ProcessRuntime::stop_container(const ContainerId& id, std::int64_t grace_period,
                                    Done<void> done) {
  const auto found = containers_.find(id);
  if (found == containers_.end() || found->second->report.phase != ContainerPhase::running) {
    return answer(loop_, lane_, std::move(done), Result<void>());
  }
  Container& container = *found->second;
  if (!supervisor_->alive()) {
    return answer(loop_, container.lane, std::move(done), Result<void>(fail(lost_error())));
  }
  container.stops.push_back(std::move(done));
  container.cause = loop_.context();
  const auto send = [this, id](int number) {
    supervisor_->call(Operation::signal_container, sandbox::SignalContainer{id.str(), number}, {},
                      [](const Reply&) {});
  };
  if (grace_period <= 0) return send(SIGKILL);
  send(stop_signal_number(container.config.stop_signal));
  container.grace =
      loop_.after(container.lane, std::chrono::seconds(grace_period), [send] { send(SIGKILL); });
}

void ProcessRuntime::signal_container(const ContainerId& id, int number,
                                      const ProcessChoice& choice, Done<void> done) {
  sandbox::SignalContainer order{id.str(), number};
  if (choice.rank) order.rank = *choice.rank;
  order.command = choice.command;
  order.group = choice.group;
  send_signal(std::move(order), std::move(done));
}

void ProcessRuntime::exit_container(const ContainerId& id, int code, Done<void> done) {
  send_signal({id.str(), SIGKILL, code & 0xff}, std::move(done));
}

void ProcessRuntime::send_signal(sandbox::SignalContainer order, Done<void> done) {
  if (const auto found = containers_.find(order.container); found != containers_.end())
    found->second->cause = loop_.context();
  supervisor_->call(
      Operation::signal_container, order, {},
      [this, done = std::move(done)](const Reply& reply) mutable {
        answer(loop_, lane_, std::move(done),
               reply.outcome == Outcome::ok ? Result<void>() : Result<void>(fail(error_of(reply))));
      });
}

void ProcessRuntime::remove_container(const ContainerId& id) {
  const auto found = containers_.find(id);
  if (found == containers_.end()) return;
  if (found->second->report.phase == ContainerPhase::running) {
    found->second->removed = true;
    return stop_container(id, 0, [](const Result<void>&) {});
  }
  forget(id);
}

// What waits for it is answered.
void ProcessRuntime::forget(const ContainerId& id) {
  const auto gone = containers_.extract(id);
  Container& container = *gone.mapped();
  if (container.created) {
    answer(loop_, lane_, std::move(container.created),
           Result<ContainerId>(fail(no_such_container(container.id))));
  }
  for (Done<void>& done : container.stops) {
    answer(loop_, lane_, std::move(done), Result<void>());
  }
}

void ProcessRuntime::container_exited(Container& container, const Reply& event) {
  ContainerReport& report = container.report;
  report.exit_code = exit_code_of(event.status);
  report.reason = reason_of(event);
  report.termination_log = termination_text(event.message);
  report.finished_at = loop_.now();
  container.exited = true;
  container.grace.cancel();
  container.output_patience =
      loop_.after(container.lane, output_patience, [this, id = container.id] {
        Container& late = *containers_.at(id);
        give_up_output(late, false);
        give_up_output(late, true);
        container_over(late);
      });
  container_over(container);
}

// What it printed without an end of line is its last line, although the pipe may go on.
void ProcessRuntime::give_up_output(Container& container, bool standard_error) {
  Container::Output& output = standard_error ? container.err : container.out;
  output.pipe.reset();
  output.bar_patience.cancel();
  output.lines.finish([&](const std::string& bytes) { line(container, standard_error, bytes); });
}

// Its end is told when all that it printed has been.
void ProcessRuntime::container_over(Container& container) {
  const auto drained = [](const Container::Output& output) {
    return output.pipe == nullptr || output.pipe->ended();
  };
  if (!container.exited || container.report.phase == ContainerPhase::exited) return;
  if (!drained(container.out) || !drained(container.err)) return;
  container.output_patience.cancel();
  container.report.phase = ContainerPhase::exited;
  // Neither the supervisor nor the end of its output knows who ended it.
  loop_.set_context(container.cause);
  emit(container.lane, event_of(container, RuntimeEvent::Kind::container_exited));
  for (Done<void>& done : std::exchange(container.stops, {})) {
    answer(loop_, container.lane, std::move(done), Result<void>());
  }
  if (container.removed) {
    loop_.post(container.lane, [this, id = container.id] { containers_.erase(id); });
  }
}

void ProcessRuntime::line(Container& container, bool standard_error, const std::string& bytes) {
  std::string text = valid_utf8(bytes);
  container.log.add(text);
  container.log_size.add(text.size());
  RuntimeEvent event = event_of(container, RuntimeEvent::Kind::log_line);
  event.line = std::move(text);
  event.standard_error = standard_error;
  const ContextScope of_this_container(loop_, container.cause);
  emit(container.lane, std::move(event));
}

RuntimeEvent ProcessRuntime::event_of(const Container& container, RuntimeEvent::Kind kind) const {
  RuntimeEvent event;
  event.kind = kind;
  event.container = container.id;
  event.container_name = container.config.name;
  const auto sandbox = sandboxes_.find(container.sandbox);
  if (sandbox != sandboxes_.end()) event.pod_uid = sandbox->second->config.uid;
  return event;
}

const ContainerReport* ProcessRuntime::report(const ContainerId& id) const {
  const auto found = containers_.find(id);
  return found == containers_.end() ? nullptr : &found->second->report;
}

std::string ProcessRuntime::log_tail(const ContainerId& id, std::size_t lines,
                                     std::size_t bytes) const {
  const auto found = containers_.find(id);
  return found == containers_.end() ? std::string() : found->second->log.tail(lines, bytes);
}

// --- commands in containers ---

void ProcessRuntime::exec(const ContainerId& id, std::vector<std::string> command, Duration timeout,
                          Done<ExecResult> done) {
  const auto found = containers_.find(id);
  if (found == containers_.end() || found->second->report.phase != ContainerPhase::running) {
    return answer(loop_, lane_, std::move(done), Result<ExecResult>(fail(no_such_container(id))));
  }
  const sandbox::StartContainer start = start_request(*found->second);
  if (stand_in_) {
    ContainerConfig asked = found->second->config;
    asked.command = command;
    asked.args.clear();
    asked.role = ContainerRole::init;  // it ends well where it cannot be had
    if (auto stand_in = stand_in_(asked, image_of(*found->second)); !stand_in.empty())
      command = std::move(stand_in);
  }
  const std::string name = new_id(id.str());
  auto running = std::make_unique<Command>(Command{found->second->lane, loop_.context()});
  Command& state = *running;
  state.done = std::move(done);
  Result<std::unique_ptr<sandbox::OutputPipe>> pipe = sandbox::OutputPipe::make(
      loop_, [&state](std::string_view bytes) { state.output += bytes; },
      [this, name] { command_over(name); });
  if (!pipe) {
    return answer(loop_, lane_, std::move(state.done), Result<ExecResult>(fail(pipe.error())));
  }
  state.pipe = std::move(*pipe);
  commands_.emplace(name, std::move(running));
  if (timeout > Duration::zero()) {
    state.limit = loop_.after(state.lane, timeout, [this, name] {
      commands_.at(name)->timed_out = true;
      supervisor_->call(Operation::kill_exec, sandbox::ExecName{name}, {}, [](const Reply&) {});
    });
  }
  const int out = state.pipe->write_end();
  supervisor_->call(
      Operation::exec, sandbox::Exec{id.str(), name, std::move(command), start.env, start.cwd},
      {out, out}, [this, name](const Reply& reply) {
        const auto refused = commands_.find(name);
        if (reply.outcome == Outcome::ok || refused == commands_.end()) return;
        Done<ExecResult> told = std::move(refused->second->done);
        const Lane lane = refused->second->lane;
        commands_.erase(refused);
        answer(loop_, lane, std::move(told), Result<ExecResult>(fail(error_of(reply))));
      });
  state.pipe->close_write_end();
}

// A command is over when it has ended and its output has been read; a background process of it may
// keep the output open, and is not waited for long.
void ProcessRuntime::command_over(const std::string& name) {
  const auto found = commands_.find(name);
  if (found == commands_.end() || !found->second->status) return;
  Command& command = *found->second;
  const Duration patience = command.pipe->ended() ? Duration::zero() : output_patience;
  // Not now: this may run in a callback of the pipe, which ends with the command.
  command.last_wait = loop_.after(command.lane, patience, [this, name] {
    const auto over = commands_.find(name);
    Command& last = *over->second;
    loop_.set_context(last.cause);
    ExecResult result{exit_code_of(*last.status), valid_utf8(last.output), last.timed_out};
    answer(loop_, last.lane, std::move(last.done), Result<ExecResult>(std::move(result)));
    commands_.erase(over);
  });
}

}  // namespace ddptwin
