#include "runtime/model/kernel.hpp"

#include <algorithm>
#include <array>
#include <csignal>
#include <utility>

#include "runtime/model/training.hpp"
#include "runtime/process/container_rules.hpp"

namespace ddptwin::model {
namespace {

// signal(7): what these do by default is nothing.
constexpr std::array ignored_by_default{SIGCHLD, SIGURG, SIGWINCH};

bool is_ignored(int number) {
  return std::find(ignored_by_default.begin(), ignored_by_default.end(), number) !=
         ignored_by_default.end();
}

// pid_namespaces(7): of what it has no handler for, process 1 gets nothing but SIGKILL and SIGSTOP.
bool is_process_one(const Process::State& state) {
  return state.pid == 1 && state.program->is_first_process() &&
         !shares_processes(state.container->config.linux_);
}

}  // namespace

Kernel::Kernel(Loop& loop, Random random, Model model, Lookup lookup, bool step_lines, Hooks hooks)
    : loop_(loop),
      random_(random),
      model_(model),
      lookup_(std::move(lookup)),
      step_lines_(step_lines),
      hooks_(std::move(hooks)),
      network_(loop, model.timing->round_trip, model.torch->no_host),
      node_disks_(hooks_.on_disk),
      trainings_(std::make_unique<Trainings>(loop, network_, model)) {
  processes_.emplace_back();  // 0 is no process
  container_of_.push_back(0);
}

// What ends with it is told to nobody. What processes hold may ask for others of them: there are
// none then.
Kernel::~Kernel() {
  hooks_.connection_broke = nullptr;
  const auto last = std::exchange(processes_, {});
}

ProcessId Kernel::make(ModelContainer& container, Start start) {
  const auto id = static_cast<ProcessId>(processes_.size());
  container.processes.push_back(id);
  ++container.alive;
  auto state = std::make_unique<Process::State>();
  state->kernel = this;
  state->id = id;
  state->pid = static_cast<int>(container.processes.size());
  state->container = &container;
  state->argv = std::move(start.argv);
  state->env = std::move(start.env);
  state->program = std::move(start.program);
  state->parent = start.parent;
  state->new_session = start.new_session;
  state->output = std::move(start.output);
  state->error_output = std::move(start.error_output);
  state->input = std::move(start.input);
  const Process* parent = find(start.parent);
  state->folder = parent != nullptr                      ? parent->working_directory()
                  : container.config.working_dir.empty() ? container.image->workdir
                                                         : container.config.working_dir;
  state->random = random_.split(container.pod->config.uid)
                      .split(container.config.name)
                      .split((std::uint64_t{container.config.attempt} << 32U) |
                             static_cast<std::uint32_t>(state->pid));
  processes_.push_back(std::make_unique<Process>(std::move(state)));
  container_of_.push_back(container.number);
  if (last_.size() <= container.number) last_.resize(container.number + 1);
  return id;
}

void Kernel::begin(ProcessId id) {
  Process& process = *processes_[id];
  if (process.pid() == 1) hit(*process.state().container);
  process.state().program->start(process);
}

Process* Kernel::find(ProcessId id) const {
  if (id >= processes_.size() || processes_[id] == nullptr) return nullptr;
  return processes_[id]->state().alive ? processes_[id].get() : nullptr;
}

void Kernel::hit(ModelContainer& container) {
  container.began = loop_.context();
  container.broken = container.broken_by = 0;
  if (container.number < last_.size()) told(container);
}

void Kernel::broke(const Process& process, const std::string& address, ProcessId peer,
                   std::string_view how) {
  ModelContainer& container = *process.state().container;
  const std::string& own = container.pod->address;
  if (address == own) return;  // within the pod nothing but the pod itself is the cause
  const std::uint64_t cause =
      peer != 0 ? last_[container_of_[peer]] : network_.cause_between(own, address);
  if (cause == 0 || cause == container.broken_by) return;
  const ContextScope of_its_cause(loop_, cause);
  if (hooks_.connection_broke) hooks_.connection_broke(container, address, how);
  container.broken = loop_.context();
  container.broken_by = cause;
}

bool Kernel::signal(ProcessId id, int number) {
  Process* process = find(id);
  if (process == nullptr) return false;
  Process::State& state = process->state();
  switch (number) {
    case SIGKILL:
      end(id, {0, SIGKILL});
      return true;
    case SIGSTOP:
      stop(*process);
      return true;
    case SIGCONT:
      resume(*process);
      return true;
    default:
      break;
  }
  if (state.stopped) {
    state.pending.insert(number);
    return true;
  }
  if (state.program->signal(*process, number) || !state.alive) return true;
  if (!is_ignored(number) && !is_process_one(state)) end(id, {0, number});
  return true;
}

void Kernel::stop(Process& process) {
  Process::State& state = process.state();
  if (state.stopped) return;
  state.stopped = true;
  for (Wait& wait : state.waits) {
    if (wait.works) wait.left = std::max(wait.due - loop_.now(), Duration::zero());
    wait.timer.cancel();
  }
  state.program->stopped(process);
}

void Kernel::resume(Process& process) {
  Process::State& state = process.state();
  if (!state.stopped) return;
  state.stopped = false;
  // What has become due meanwhile comes in its order after this call, so behind what continued()
  // finds: data before timeouts.
  std::vector<Wait*> waits;
  for (Wait& wait : state.waits) {
    if (wait.works) wait.due = loop_.now() + wait.left;
    waits.push_back(&wait);
  }
  std::stable_sort(waits.begin(), waits.end(),
                   [](const Wait* one, const Wait* other) { return one->due < other->due; });
  for (Wait* wait : waits) arm(process, *wait);
  state.program->continued(process);
  for (const int number : std::exchange(state.pending, {})) {
    if (state.alive) signal(state.id, number);
  }
}

void Kernel::end(ProcessId id, const ExitStatus& status) {
  Process* process = find(id);
  if (process == nullptr) return;
  Process::State& state = process->state();
  ModelContainer& container = *state.container;
  const ContextScope of_this_container(loop_, container.context());
  state.alive = false;
  state.waits.clear();
  state.lookups.clear();
  starts_.ended(*process);
  state.program->ended(*process, status);
  network_.close_all(id);
  container.memory -= state.memory;
  node_memory_.give_back(container.pod->config.node, state.memory);
  --container.alive;
  container.processes[static_cast<std::size_t>(state.pid - 1)] = 0;
  // Not now: it may be on the stack.
  loop_.post(container.pod->lane, [this, id] { processes_[id].reset(); });
  if (Process* parent = find(state.parent); parent != nullptr) {
    after(*parent, Duration::zero(),
          [parent, id, status] { parent->state().program->child_exited(*parent, id, status); });
  }
  hooks_.process_ended(id, status);
  if (state.pid != 1) return;
  container.begun.finish([&](std::string line) { log(container, {std::move(line), false}); });
  const std::vector<ProcessId> others = container.processes;
  for (const ProcessId other : others) end(other, {0, SIGKILL});
  hooks_.ended(container, status);
}

void Kernel::log(ModelContainer& container, PrintedLine line) {
  container.log.add(line.text);
  const std::int64_t kept = container.log_size.on_disk();
  container.log_size.add(line.text.size());
  wrote(container, container.log_size.on_disk() - kept);
  container.untold.push_back(std::move(line));
  if (container.untold.size() > 1) return;
  const ContextScope of_this_container(loop_, container.context());
  hooks_.printed(container);
}

void Kernel::wrote(const ModelContainer& container, std::int64_t bytes) {
  if (node_disks_.grow(container.pod->config.node, bytes))
    hooks_.node_is_short(container, NodeResource::disk);
}

TimerId Kernel::after(Process& process, Duration delay, Callback callback) {
  return wait(process, delay, false, std::move(callback));
}

TimerId Kernel::work(Process& process, Duration time, Callback callback) {
  return wait(process, time, true, std::move(callback));
}

TimerId Kernel::wait(Process& process, Duration time, bool works, Callback callback) {
  Process::State& state = process.state();
  Wait& wait = state.waits.emplace_back();
  wait.id = ++state.last_wait;
  wait.due = loop_.now() + time;
  wait.works = works;
  wait.left = time;
  wait.callback = std::move(callback);
  if (!state.stopped) arm(process, wait);
  return wait.id;
}

void Kernel::arm(Process& process, Wait& wait) {
  const Process::State& state = process.state();
  wait.timer = loop_.at(state.container->pod->lane, std::max(wait.due, loop_.now()),
                        [this, id = state.id, timer = wait.id] { fire(id, timer); });
}

// What became due in one instant is called even if it was cancelled in that instant, or its process
// stopped or ended: so nothing but the numbers is relied on.
void Kernel::fire(ProcessId id, TimerId timer) {
  Process* process = find(id);
  if (process == nullptr || process->state().stopped) return;
  std::vector<Wait>& waits = process->state().waits;
  const auto found =
      std::find_if(waits.begin(), waits.end(), [&](const Wait& wait) { return wait.id == timer; });
  if (found == waits.end() || found->due > loop_.now()) return;
  Callback callback = std::move(found->callback);
  waits.erase(found);
  loop_.set_context(process->state().container->context());
  callback();
}

void Kernel::cancel(Process& process, TimerId timer) {
  if (timer != 0)
    std::erase_if(process.state().waits, [&](const Wait& wait) { return wait.id == timer; });
}

}  // namespace ddptwin::model
