#include <algorithm>
#include <csignal>

#include "cluster/model_runtime/commands.hpp"
#include "cluster/model_runtime/kernel.hpp"

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

int Process::cpus() const { return model().cpus; }

const std::string& Process::working_directory() const {
  const ModelContainer& container = *state_->container;
  return container.config.working_dir.empty() ? container.image->workdir
                                              : container.config.working_dir;
}

const Workload* Process::workload() const { return state_->container->workload; }
const Model& Process::model() const { return state_->kernel->model(); }
Loop& Process::loop() { return state_->kernel->loop(); }
Lane Process::lane() const { return state_->container->pod->lane; }
Time Process::now() const { return state_->kernel->loop().now(); }
Random& Process::random() { return state_->random; }
bool Process::prints_steps() const { return state_->kernel->step_lines(); }

void Process::print_to(bool standard_error, std::string line) {
  const Spawn::Stream& stream = standard_error ? state_->error_output : state_->output;
  if (!state_->alive || !stream.shown) return;
  if (state_->capture != nullptr) {
    *state_->capture += line + "\n";
    return;
  }
  line.insert(0, stream.prefix);
  ModelContainer& container = *state_->container;
  container.log.add(line);
  container.untold.push_back({std::move(line), standard_error});
  if (container.untold.size() == 1) state_->kernel->hooks().printed(container);
}

void Process::print(std::string line) { print_to(false, std::move(line)); }
void Process::print_error(std::string line) { print_to(true, std::move(line)); }
void Process::exit(int code) { state_->kernel->end(state_->id, {code & 0xff}); }
void Process::die(int signal) { state_->kernel->end(state_->id, {0, signal}); }

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
  const auto limit = container.config.memory_limit;
  if (!limit || *limit <= 0 || container.memory <= static_cast<std::uint64_t>(*limit)) return true;
  state_->kernel->end(container.processes.front(), {0, SIGKILL, true});
  return false;
}

Result<ProcessId> Process::spawn(Spawn spawn) {
  ModelContainer& container = *state_->container;
  const CommandContext context{container.image, container.workload, true};
  TRY(auto program, make_program(spawn.argv, context));
  Kernel& kernel = *state_->kernel;
  const ProcessId child =
      kernel.make(container, {std::move(spawn.argv), std::move(spawn.env), std::move(program),
                              state_->id, spawn.new_session, state_->capture,
                              std::move(spawn.output), std::move(spawn.error_output)});
  kernel.work(*kernel.find(child), model().timing->program_start,
              [&kernel, child] { kernel.begin(child); });
  return child;
}

bool Process::kill(ProcessId child, int number) { return state_->kernel->signal(child, number); }
bool Process::is_alive(ProcessId child) const { return state_->kernel->find(child) != nullptr; }

int Process::pid_of(ProcessId child) const {
  const Process* process = state_->kernel->find(child);
  return process == nullptr ? 0 : process->pid();
}

Result<std::string> Process::read_file(std::string_view path) const {
  return state_->kernel->files().read(*state_->container, path);
}
Status Process::write_file(std::string_view path, std::string content) {
  return state_->kernel->files().write(*state_->container, path, std::move(content));
}
bool Process::file_exists(std::string_view path) const {
  return state_->kernel->files().exists(*state_->container, path);
}
void Process::remove_file(std::string_view path) {
  state_->kernel->files().remove(*state_->container, path);
}

void Process::lookup(std::string name, UniqueFunction<void(const Resolved&)> done) {
  Kernel& kernel = *state_->kernel;
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
                    [&kernel, id = id(), done = std::move(done)](Connect outcome) mutable {
                      Process* process = kernel.find(id);
                      if (process == nullptr) return;
                      if (!process->is_stopped()) return done(outcome);
                      process->after(Duration::zero(), [outcome, done = std::move(done)]() mutable {
                        done(outcome);
                      });
                    });
}

}  // namespace ddptwin::model
