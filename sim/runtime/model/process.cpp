#include <algorithm>
#include <csignal>
#include <filesystem>

#include "runtime/model/commands.hpp"
#include "runtime/model/kernel.hpp"
#include "runtime/process/container_rules.hpp"

namespace ddptwin::model {
namespace {

constexpr std::string_view hosts_path = "/etc/hosts";

std::string_view hosts_of(const ModelContainer& container) {
  for (const RuntimeMount& mount : container.config.mounts) {
    if (mount.container_path == hosts_path) return mount.content;
  }
  return {};
}

}  // namespace

Process::Process(std::unique_ptr<State> state) : state_(std::move(state)) {}

// What a program owns cancels its timers.
Process::~Process() {
  state_->program.reset();
  state_->lookups.clear();
}

ProcessId Process::id() const { return state_->id; }
bool Process::alive() const { return state_->alive; }
bool Process::is_stopped() const { return state_->stopped; }
int Process::pid() const { return state_->pid; }
const std::vector<std::string>& Process::argv() const { return state_->argv; }
const Environment& Process::environment() const { return state_->env; }

void Process::set_variable(const std::string& name, std::string value) {
  Environment& all = state_->env;
  const auto found =
      std::find_if(all.begin(), all.end(), [&](const auto& entry) { return entry.first == name; });
  if (found != all.end())
    found->second = std::move(value);
  else
    all.emplace_back(name, std::move(value));
}

std::string_view Process::env(std::string_view name) const {
  for (const auto& [key, value] : state_->env) {
    if (key == name) return value;
  }
  return {};
}

const std::string& Process::hostname() const { return state_->container->pod->config.hostname; }

std::string Process::fqdn() const {
  std::string name = hosts_name(hosts_of(*state_->container), ip());
  return name.empty() ? hostname() : name;
}

const std::string& Process::ip() const { return state_->container->pod->address; }
const std::string& Process::node() const { return state_->container->pod->config.node; }

int Process::cpus() const {
  const auto& of_node = state_->kernel->hooks().cpus;
  return of_node ? of_node(node()) : model().cpus;
}

const std::string& Process::working_directory() const { return state_->folder; }
void Process::change_directory(const std::string& path) { state_->folder = path_of(path); }
bool Process::has_folder(std::string_view path) const {
  return state_->kernel->files().has_folder(*state_->container, path_of(path));
}

bool Process::may_have_folder(std::string_view path) const {
  return state_->kernel->files().may_have_folder(*state_->container, path_of(path));
}

const Workload* Process::workload() const { return state_->container->workload; }
const Model& Process::model() const { return state_->kernel->model(); }
Loop& Process::loop() { return state_->kernel->loop(); }
Lane Process::lane() const { return state_->container->pod->lane; }
Time Process::now() const { return state_->kernel->loop().now(); }
Random& Process::random() { return state_->random; }
const Random& Process::random() const { return state_->random; }
bool Process::prints_steps() const { return state_->kernel->step_lines(); }
const std::shared_ptr<Input>& Process::input() const { return state_->input; }

void Process::when_input_changes(Callback callback) {
  const auto shared = std::make_shared<Callback>(std::move(callback));
  state_->input->when_it_changes([&kernel = *state_->kernel, id = id(), shared] {
    if (Process* process = kernel.find(id); process != nullptr)
      process->after(Duration::zero(), std::move(*shared));
  });
}

Status Process::emit(const Spawn::Stream& stream, bool standard_error, std::string text) {
  if (!state_->alive || !stream.shown) return {};
  Status written;
  for (std::size_t line = 0; !stream.prefix.empty() && line < text.size();) {
    text.insert(line, stream.prefix);
    const std::size_t end = text.find('\n', line);
    line = end == text.npos ? text.size() : end + 1;
  }
  if (const Sink* sink = stream.sink.get(); sink != nullptr) {
    for (const std::string& file : sink->files)  // that it is there was asked when it was opened
      if (Status appended = append_file(file, text); !appended) written = std::move(appended);
    if (sink->to == Sink::To::text) *sink->text += text;
    if (sink->to == Sink::To::pipe) sink->pipe->write(text);
    if (sink->to != Sink::To::log) return written;
    standard_error = sink->standard_error;
  }
  ModelContainer& container = *state_->container;
  const auto take = [&](std::string line) {
    state_->kernel->log(container, {std::move(line), standard_error});
  };
  if (!standard_error) {
    container.begun.add(text, take);
    return written;
  }
  LineCutter whole;  // what stands on stderr is told at once
  whole.add(text, take);
  whole.finish(take);
  return written;
}

void Process::print(std::string line) {
  static_cast<void>(emit(state_->output, false, std::move(line += '\n')));
}
void Process::print_error(std::string line) {
  static_cast<void>(emit(state_->error_output, true, std::move(line += '\n')));
}
Status Process::write(std::string_view text) {
  return emit(state_->output, false, std::string(text));
}

Result<bool> Process::write_blank(std::uint64_t bytes, bool are_zeros) {
  const Sink* sink = state_->output.sink.get();
  if (sink == nullptr || !state_->output.shown) return true;  // a log shows nothing of them
  for (const std::string& file : sink->files) TRY_VOID(append_blank(file, {.written = bytes}));
  constexpr std::uint64_t most = 1U << 20U;
  const bool is_read = sink->to == Sink::To::text || sink->to == Sink::To::pipe;
  if (!is_read) return true;
  if (bytes > most || !are_zeros) return false;
  const std::string zeros(bytes, '\0');
  if (sink->to == Sink::To::text) *sink->text += zeros;
  if (sink->to == Sink::To::pipe) sink->pipe->write(zeros);
  return true;
}

void Process::exit(int code) { state_->kernel->end(state_->id, {code & 0xff}); }
// The kernel keeps a container's first process from its own SIGABRT; abort() then runs into an
// instruction that nobody may (glibc's abort.c), and that SIGSEGV no process is kept from.
void Process::die(int signal) {
  const bool survives = signal == SIGABRT && pid() == 1;
  state_->kernel->end(state_->id, {0, survives ? SIGSEGV : signal});
}

TimerId Process::after(Duration delay, Callback callback) {
  return state_->kernel->after(*this, delay, std::move(callback));
}
TimerId Process::work(Duration time, Callback callback) {
  return state_->kernel->work(*this, time, std::move(callback));
}
void Process::cancel(TimerId timer) { state_->kernel->cancel(*this, timer); }

// The whole container is killed, as ProcessRuntime does and cgroup v2's memory.oom.group.
bool Process::allocate(std::uint64_t bytes) {
  ModelContainer& container = *state_->container;
  state_->memory += bytes;
  container.memory += bytes;
  Kernel& kernel = *state_->kernel;
  const bool is_short = kernel.node_memory().take(container.pod->config.node, bytes);
  const auto limit = container.config.memory_limit;
  if (limit && *limit > 0 && container.memory > static_cast<std::uint64_t>(*limit)) {
    kernel.end(container.processes.front(), {0, SIGKILL, true});
    return false;
  }
  if (is_short) kernel.hooks().node_is_short(container, NodeResource::memory);
  return true;
}

Result<ProcessId> Process::spawn(Spawn spawn) {
  ModelContainer& container = *state_->container;
  constexpr int processes_max = 1024;  // as podPidsLimit has it on many clusters
  if (container.alive >= processes_max) return fail(Reason::invalid, "Cannot fork");
  if (spawn.program == nullptr) {
    CommandContext context{container.image, container.workload, true, container.config.role, true};
    context.folder = state_->folder;
    TRY(spawn.program, make_program(spawn.argv, context));
  }
  if (spawn.output.sink == nullptr) spawn.output.sink = state_->output.sink;
  if (spawn.error_output.sink == nullptr) spawn.error_output.sink = state_->error_output.sink;
  if (spawn.input == nullptr) spawn.input = state_->input;
  Kernel& kernel = *state_->kernel;
  const ProcessId child =
      kernel.make(container, {std::move(spawn.argv), std::move(spawn.env), std::move(spawn.program),
                              state_->id, spawn.new_session, std::move(spawn.output),
                              std::move(spawn.error_output), std::move(spawn.input)});
  kernel.work(*kernel.find(child), model().timing->program_start,
              [&kernel, child] { kernel.begin(child); });
  return child;
}

bool Process::kill(ProcessId child, int number) { return state_->kernel->signal(child, number); }

bool Process::signal_pid(int pid, int number) {
  const std::vector<ProcessId>& all = state_->container->processes;
  if (pid < 1 || static_cast<std::size_t>(pid) > all.size()) return false;
  const ProcessId id = all[static_cast<std::size_t>(pid - 1)];
  // From within a namespace its first process cannot be ended or stopped (pid_namespaces(7)).
  const bool guarded = pid == 1 && !shares_processes(state_->container->config.linux_) &&
                       (number == SIGKILL || number == SIGSTOP);
  if (guarded) return true;
  if (number != 0) return state_->kernel->signal(id, number);
  return state_->kernel->find(id) != nullptr;
}

// A session has one group here: nobody but who begins one leaves it.
std::vector<ProcessId> Process::group() const {
  const Kernel& kernel = *state_->kernel;
  const auto leader_of = [&kernel](const Process* process) {
    while (!process->state().new_session) {
      const Process* parent = kernel.find(process->state().parent);
      if (parent == nullptr) break;
      process = parent;
    }
    return process->state().new_session ? process->id() : ProcessId{0};
  };
  const ProcessId own = leader_of(this), self = id();
  std::vector<ProcessId> group;
  for (const ProcessId one : state_->container->processes) {
    const Process* process = kernel.find(one);
    if (process != nullptr && one != self && leader_of(process) == own) group.push_back(one);
  }
  group.push_back(self);
  return group;
}

void Process::signal_group(int number) {
  Kernel& kernel = *state_->kernel;
  for (const ProcessId one : group())
    if (number != 0 && kernel.find(one) != nullptr) kernel.signal(one, number);
}

bool Process::is_alive(ProcessId child) const { return state_->kernel->find(child) != nullptr; }

int Process::pid_of(ProcessId child) const {
  const Process* process = state_->kernel->find(child);
  return process == nullptr ? 0 : process->pid();
}

std::string Process::path_of(std::string_view path) const {
  const std::filesystem::path whole = std::filesystem::path(state_->folder) / path;
  std::string made = whole.lexically_normal().string();
  if (made.size() > 1 && made.ends_with('/')) made.pop_back();
  return made.starts_with('/') ? made : "/" + made;
}

Result<std::string> Process::read_file(std::string_view path) const {
  const ModelContainer& container = *state_->container;
  const std::string whole = path_of(path);
  auto text = state_->kernel->files().read(container, whole);
  // What the image would have had, and nobody knows, is empty; what a volume has not is not there.
  const bool unknown = !text && container.workload != nullptr && container.workload->stands_in;
  const bool on_volume = std::any_of(
      container.config.mounts.begin(), container.config.mounts.end(),
      [&](const RuntimeMount& mount) { return whole.starts_with(mount.container_path); });
  return unknown && !on_volume ? Result<std::string>(std::string()) : text;
}
Status Process::write_file(std::string_view path, std::string content) {
  Files& files = state_->kernel->files();
  const Status done = files.write(*state_->container, path_of(path), std::move(content));
  state_->kernel->wrote(*state_->container, files.take_growth());
  return done;
}
Status Process::append_file(std::string_view path, std::string_view content) {
  Files& files = state_->kernel->files();
  const Status done = files.append(*state_->container, path_of(path), content);
  state_->kernel->wrote(*state_->container, files.take_growth());
  return done;
}
Status Process::append_blank(std::string_view path, Blank blank) {
  Files& files = state_->kernel->files();
  const Status done = files.append_blank(*state_->container, path_of(path), blank);
  state_->kernel->wrote(*state_->container, files.take_growth());
  return done;
}
void Process::make_room(std::string_view path) {
  const std::string file = path_of(path);
  const std::string folder = file.substr(0, std::max<std::size_t>(1, file.rfind('/')));
  if (workload() != nullptr && may_have_folder(folder)) static_cast<void>(make_folder(folder));
}
Status Process::make_folder(std::string_view path) {
  return state_->kernel->files().make_folder(*state_->container, path_of(path));
}
bool Process::file_exists(std::string_view path) const {
  return state_->kernel->files().exists(*state_->container, path_of(path));
}
bool Process::is_empty_file(std::string_view path) const {
  return state_->kernel->files().is_empty(*state_->container, path_of(path));
}
void Process::remove_file(std::string_view path) {
  state_->kernel->files().remove(*state_->container, path_of(path));
}
bool Process::remove_folder(std::string_view path) {
  return state_->kernel->files().remove_folder(*state_->container, path_of(path));
}

void Process::lookup(std::string name, UniqueFunction<void(const Resolved&)> done) {
  Kernel& kernel = *state_->kernel;
  const ContextScope of_this_container(kernel.loop(), state_->container->context());
  const ModelPod& pod = *state_->container->pod;
  const ResolverFiles files{hosts_of(*state_->container), &pod.config.dns, pod.address};
  state_->lookups.push_back(
      std::make_unique<Resolution>(files, kernel.lookup(), model().timing->dns, *this));
  Resolution* resolution = state_->lookups.back().get();
  resolution->start(
      std::move(name), [this, resolution, done = std::move(done)](const Resolved& answer) mutable {
        auto& all = state_->lookups;
        const auto found = std::find_if(all.begin(), all.end(),
                                        [&](const auto& one) { return one.get() == resolution; });
        const std::unique_ptr<Resolution> over = std::move(*found);
        all.erase(found);
        done(answer);
      });
}

Network& Process::network() { return state_->kernel->network(); }

void Process::connect(const std::string& address, std::uint16_t port, Duration patience,
                      UniqueFunction<void(Connect)> done) {
  Kernel& kernel = *state_->kernel;
  network().connect(ip(), address, port, patience, lane(),
                    [&kernel, id = id(), address, done = std::move(done)](Connect outcome) mutable {
                      Process* process = kernel.find(id);
                      if (process == nullptr) return;
                      process->connected(address, outcome);
                      if (!process->is_stopped()) return done(outcome);
                      process->after(Duration::zero(), [outcome, done = std::move(done)]() mutable {
                        done(outcome);
                      });
                    });
}

// Of a refusal the link is the cause only where it refuses.
void Process::connected(const std::string& address, Connect outcome) const {
  ModelContainer& container = *state_->container;
  const Network& net = state_->kernel->network();
  if (outcome == Connect::accepted) container.broken = container.broken_by = 0;
  if (outcome == Connect::timed_out) connection_broke(address, 0, "is not answered");
  if (outcome == Connect::refused &&
      (net.link(ip(), address).reset || net.link(address, ip()).reset))
    connection_broke(address, 0, "is refused");
  state_->kernel->loop().set_context(container.context());
}

void Process::connection_broke(const std::string& address, ProcessId peer,
                               std::string_view how) const {
  state_->kernel->broke(*this, address, peer, how);
}

}  // namespace ddptwin::model
