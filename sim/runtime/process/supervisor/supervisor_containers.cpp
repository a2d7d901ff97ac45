// The part of Supervisor that starts containers and commands, and follows them to their end.
#include <fcntl.h>
#include <fmt/format.h>
#include <sched.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>

#include "runtime/process/supervisor/clone.hpp"
#include "runtime/process/supervisor/process_facts.hpp"
#include "runtime/process/supervisor/supervisor.hpp"

namespace ddptwin::sandbox {
namespace {

constexpr std::string_view worker_program = "ddptwin-worker";

std::string termination_file(const StartContainer& config) {
  return fmt::format("{}/{}/termination/{}", place::pods, config.pod, config.container);
}

// A killed container as waitpid() would report it.
constexpr int killed_status = SIGKILL;

std::optional<ChildReport> read_report(const Fd& status) {
  std::string bytes;
  char buffer[4096];
  for (ssize_t got = 0; (got = ::read(status.get(), buffer, sizeof buffer)) > 0;) {
    bytes.append(buffer, static_cast<std::size_t>(got));
    if (auto report = decode<ChildReport>(bytes)) return report;
  }
  return std::nullopt;
}

}  // namespace

bool Supervisor::is_worker(const std::vector<std::string>& argv) const {
  return !worker_.empty() && !argv.empty() &&
         argv.front().substr(argv.front().rfind('/') + 1) == worker_program;
}

Status Supervisor::prepare_container(Container& container, const Pod& pod, ContainerStart& start) {
  const StartContainer& config = container.config;
  start.namespaces = {pod.net.get(), pod.uts.get(), pod.ipc.get()};
  start.hostname = pod.config.hostname;
  start.root.stack = &images_.at(config.image);
  start.root.visible = layers_.visible();
  start.root.mounts = config.mounts;
  for (Mount& mount : start.root.mounts) {
    if (mount.kind != Mount::Kind::volume) continue;
    mount.source = volume_path(config.pod, mount.source);
  }
  if (!config.termination_path.empty()) {
    const std::string file = termination_file(config);
    TRY_VOID(write_file(file, "", 0666));
    ::chmod(file.c_str(), 0666);
    start.root.mounts.push_back({Mount::Kind::volume, file, "", config.termination_path, false});
  }
  start.root.cwd = config.cwd;
  start.root.shm_size = config.shm_size;
  start.root.read_only = config.read_only_root;
  start.program.argv = config.argv;
  start.program.env = config.env;
  start.program.cwd = config.cwd;
  start.program.open_files = config.open_files;
  start.hold = container.from_zygote;
  return {};
}

Status Supervisor::start_container(const Request& request, Fds& fds) {
  TRY(StartContainer config, body_of<StartContainer>(request));
  const auto pod = pods_.find(config.pod);
  if (pod == pods_.end() || pod->second.dead) return fail(Reason::not_found, "no such pod");
  if (!images_.contains(config.image)) return fail(Reason::not_found, "no such image");
  if (fds.size() != 2) return fail(Reason::bad_request, "expected stdout and stderr");
  Container container;
  container.config = std::move(config);
  container.request = request.id;
  container.from_zygote = is_worker(container.config.argv);
  ContainerStart start;
  TRY_VOID(prepare_container(container, pod->second, start));
  start.program.standard = {-1, fds[0].get(), fds[1].get()};
  TRY(Pipe status, make_pipe());
  start.status = status.write.get();
  const int pod_processes = pod->second.pid_namespace.get();
  if (pod->second.config.share_processes) {
    TRY(container.pid, clone_into(pod_processes, CLONE_NEWNS));
  } else {
    TRY(container.pid, clone_below(pod_processes, CLONE_NEWNS));
  }
  if (container.pid == 0) become_container(start);
  container.status = std::move(status.read);
  container.mounts = mount_namespace_of(container.pid);
  if (container.from_zygote) {
    container.standard_output = std::move(fds[0]);
    container.standard_error = std::move(fds[1]);
  }
  const std::string name = container.config.container;
  containers_.insert_or_assign(name, std::move(container));
  return {};
}

// The status pipe of a container says something, or it closes because its program runs now.
void Supervisor::container_reported(Container& container) {
  std::optional<ChildReport> report = read_report(container.status);
  container.status.reset();
  if (report && report->kind == ChildReport::Kind::holding) return request_worker(container);
  if (report) {
    container.failure = std::move(report);  // answered when the child is reaped
    return;
  }
  container.running = true;
  reply_ok(container.request);
}

void Supervisor::request_worker(Container& container) {
  if (!zygote_) {
    Result<ZygoteLink> started = ZygoteLink::start(worker_);
    if (started) zygote_ = std::move(*started);
  }
  const std::string folder = fmt::format("/proc/{}/ns/", container.pid);
  zygote::Spawn spawn;
  spawn.id = container.request;
  spawn.flags = zygote::new_session | zygote::drop_capabilities;
  spawn.cwd = container.config.cwd;
  spawn.argv = container.config.argv;
  spawn.env = container.config.env;
  std::vector<Fd> namespaces;
  const auto add = [&](zygote::Role role, const char* name) {
    namespaces.emplace_back(::open((folder + name).c_str(), O_RDONLY | O_CLOEXEC));
    spawn.descriptors.push_back({role, namespaces.back().get()});
  };
  add(zygote::Role::pid_namespace, "pid");
  add(zygote::Role::ipc_namespace, "ipc");
  add(zygote::Role::uts_namespace, "uts");
  add(zygote::Role::net_namespace, "net");
  add(zygote::Role::mount_namespace, "mnt");
  spawn.descriptors.push_back({zygote::Role::out, container.standard_output.get()});
  spawn.descriptors.push_back({zygote::Role::err, container.standard_error.get()});
  const bool sent = zygote_ && zygote_->send(spawn);
  container.standard_output.reset();
  container.standard_error.reset();
  if (sent) return;
  container.failure =
      ChildReport{ChildReport::Kind::setup_failed, "the worker zygote does not run"};
  ::kill(container.pid, SIGKILL);
}

void Supervisor::zygote_reported() {
  std::optional<zygote::Reply> reply = zygote::receive_reply(zygote_->socket());
  using Kind = zygote::Reply::Kind;
  if (!reply) {  // it is gone, and its workers with it; the next worker starts another
    for (auto& [name, container] : containers_) {
      if (!container.from_zygote || container.status || container.worker_status) continue;
      container.worker_status = killed_status;
      ::kill(container.pid, SIGKILL);
    }
    zygote_.reset();
    return;
  }
  const Fd pidfd(reply->pidfd);
  const auto found = std::find_if(containers_.begin(), containers_.end(), [&](const auto& entry) {
    return entry.second.request == reply->id;
  });
  if (reply->kind == Kind::ready || found == containers_.end()) return;
  Container& container = found->second;
  switch (reply->kind) {
    case Kind::ready:
      return;
    case Kind::started:
      container.running = true;
      container.worker = reply->pid;
      return reply_ok(container.request);
    case Kind::failed:
      container.failure = ChildReport{ChildReport::Kind::setup_failed, reply->what};
      ::kill(container.pid, SIGKILL);
      return;
    case Kind::exited:
      container.worker = 0;
      container.worker_status = reply->status;
      if (container.over) return finish(found->first);
      ::kill(container.pid, SIGKILL);
      return;
  }
}

Status Supervisor::signal_container(const Request& request, Fds&) {
  TRY(const SignalContainer body, body_of<SignalContainer>(request));
  const auto found = containers_.find(body.container);
  if (found == containers_.end() || found->second.over) {
    return fail(Reason::not_found, "no such container");
  }
  Container& container = found->second;
  if (body.exit_code >= 0) container.ends_with = body.exit_code;
  const std::vector<pid_t> targets = targets_of(container, body);
  if (targets.empty()) return fail(Reason::not_found, "no such process");
  for (const pid_t target : targets)
    if (::kill(target, body.number) != 0 && errno != ESRCH) return system_error("kill");
  reply_ok(request.id);
  return {};
}

// What kill(2) is to be given: processes, and groups as negative numbers.
std::vector<pid_t> Supervisor::targets_of(const Container& container,
                                          const SignalContainer& order) const {
  const pid_t first = container.worker > 0 ? container.worker : container.pid;
  ProcessChoice choice{{}, order.command, order.group};
  if (order.rank >= 0) choice.rank = order.rank;
  std::vector<pid_t> targets{first};
  if (!choice.is_first()) {
    std::vector<pid_t> asked;
    for (const auto& [name, command] : commands_) asked.push_back(command.pid);
    auto processes = facts_of(processes_by_namespace({container.mounts})[container.mounts], asked);
    // One that the zygote forked shows the zygote's own words.
    for (ProcessFacts& one : processes)
      if (one.id == container.worker) describe(one, container.config.argv, container.config.env);
    targets.clear();
    for (const std::int64_t id : chosen(processes, choice))
      targets.push_back(static_cast<pid_t>(id));
  }
  if (!choice.group) return targets;
  std::vector<pid_t> groups;
  for (const pid_t target : targets) {
    const pid_t group = ::getpgid(target);
    if (group > 1 && std::find(groups.begin(), groups.end(), -group) == groups.end())
      groups.push_back(-group);
  }
  return groups;
}

Status Supervisor::exec(const Request& request, Fds& fds) {
  TRY(const Exec body, body_of<Exec>(request));
  const auto found = containers_.find(body.container);
  if (found == containers_.end() || !found->second.running || found->second.over) {
    return fail(Reason::not_found, "no such container");
  }
  if (fds.size() != 2) return fail(Reason::bad_request, "expected stdout and stderr");
  const std::string folder = fmt::format("/proc/{}/ns/", found->second.pid);
  ExecStart start;
  std::vector<Fd> namespaces;
  for (const char* name : {"net", "uts", "ipc", "mnt"}) {
    TRY(Fd space, open_fd(folder + name, O_RDONLY));
    start.namespaces.push_back(space.get());
    namespaces.push_back(std::move(space));
  }
  TRY(const Fd processes, open_fd(folder + "pid", O_RDONLY));
  TRY(Pipe status, make_pipe());
  start.program = {body.argv, body.env, body.cwd, {-1, fds[0].get(), fds[1].get()}, 0};
  start.status = status.write.get();
  Command command;
  command.request = request.id;
  TRY(command.pid, clone_into(processes.get(), 0));
  if (command.pid == 0) become_command(start);
  command.status = std::move(status.read);
  commands_.insert_or_assign(body.exec, std::move(command));
  return {};
}

void Supervisor::command_reported(const std::string& name, Command& command) {
  const std::optional<ChildReport> report = read_report(command.status);
  command.status.reset();
  if (!report) {
    command.running = true;
    return reply_ok(command.request);
  }
  const bool program = report->kind == ChildReport::Kind::program_failed;
  reply_error(command.request, program ? Outcome::start_error : Outcome::refused, report->message);
  commands_.erase(name);
}

Status Supervisor::kill_exec(const Request& request, Fds&) {
  TRY(const ExecName body, body_of<ExecName>(request));
  const auto found = commands_.find(body.exec);
  if (found != commands_.end()) {
    ::kill(-found->second.pid, SIGKILL);  // it leads a session, and so a process group
    ::kill(found->second.pid, SIGKILL);
  }
  reply_ok(request.id);
  return {};
}

void Supervisor::ended(pid_t pid, int status) {
  for (auto& [name, container] : containers_) {
    if (container.pid != pid || container.over) continue;
    if (container.status) container_reported(container);
    container.over = true;
    container.exit_status = status;
    return finish(name);
  }
  for (auto& [name, command] : commands_) {
    if (command.pid != pid) continue;
    const std::string exec = name;
    if (command.status) command_reported(exec, command);
    if (commands_.erase(exec) == 0) return;  // it never ran, which is said already
    Reply reply;
    reply.kind = Reply::Kind::exec_exited;
    reply.name = exec;
    reply.status = status;
    return send(reply);
  }
  for (auto& [name, pod] : pods_) {
    if (pod.pid != pid || pod.dead) continue;
    pod.dead = true;
    pod.pid_namespace.reset(), pod.net.reset(), pod.uts.reset(), pod.ipc.reset();
    for (const std::uint64_t request : pod.stop_requests) reply_ok(request);
    if (!pod.stop_requests.empty()) return;
    Reply reply;
    reply.kind = Reply::Kind::pod_died;
    reply.name = name;
    return send(reply);
  }
  for (auto job = image_jobs_.begin(); job != image_jobs_.end(); ++job) {
    if (job->pid != pid) continue;
    image_done(*job, status);
    image_jobs_.erase(job);
    return;
  }
}

// A container has ended when its first process has, and its worker where the zygote started one.
void Supervisor::finish(const std::string& name) {
  Container& container = containers_.at(name);
  if (container.failure) {
    const bool program = container.failure->kind == ChildReport::Kind::program_failed;
    reply_error(container.request, program ? Outcome::start_error : Outcome::refused,
                container.failure->message);
    containers_.erase(name);
    return;
  }
  if (!container.running) {  // killed before its program ran
    reply_error(container.request, Outcome::refused, "the container was killed while it started");
    containers_.erase(name);
    return;
  }
  if (container.from_zygote && !container.worker_status) return;
  Reply reply;
  reply.kind = Reply::Kind::container_exited;
  reply.name = name;
  reply.status = container.worker_status.value_or(container.exit_status);
  if (container.ends_with) reply.status = W_EXITCODE(*container.ends_with, 0);
  reply.out_of_memory = container.out_of_memory;
  if (!container.config.termination_path.empty()) {
    reply.message = read_file(termination_file(container.config), termination_message_max);
  }
  containers_.erase(name);
  send(reply);
}

bool Supervisor::any_limit() const {
  return std::any_of(containers_.begin(), containers_.end(), [](const auto& entry) {
    return entry.second.config.memory_limit > 0 && !entry.second.over;
  });
}

// What the container has written to memory by way of files: /dev/shm and the memory volumes it
// mounts.
std::uint64_t Supervisor::file_memory(const Container& container) const {
  std::uint64_t total = tmpfs_memory(fmt::format("/proc/{}/root/dev/shm", container.pid));
  const auto pod = pods_.find(container.config.pod);
  if (pod == pods_.end()) return total;
  for (const Mount& mount : container.config.mounts) {
    const auto& volumes = pod->second.memory_volumes;
    if (mount.kind != Mount::Kind::volume || mount.target == "/dev/shm") continue;
    if (std::find(volumes.begin(), volumes.end(), mount.source) == volumes.end()) continue;
    total += tmpfs_memory(volume_path(container.config.pod, mount.source));
  }
  return total;
}

// To its rows of containers.
void Supervisor::add_memory(Usage& usage, std::uint64_t glance) const {
  std::vector<NamespaceId> wanted;
  for (const Usage::Row& row : usage.rows)
    if (!row.is_volume) wanted.push_back(containers_.at(row.name).mounts);
  const auto processes = processes_by_namespace(wanted);
  std::uint64_t total = 0;
  for (const auto count : {&quick_memory, &exact_memory}) {
    total = 0;
    for (Usage::Row& row : usage.rows) {
      if (row.is_volume) continue;
      const Container& container = containers_.at(row.name);
      const auto found = processes.find(container.mounts);
      row.memory = file_memory(container) + (found != processes.end() ? count(found->second) : 0);
      total += row.memory;
    }
    if (total <= glance) return;
  }
}

void Supervisor::check_memory() {
  std::vector<NamespaceId> wanted;
  for (const auto& [name, container] : containers_) {
    if (container.config.memory_limit > 0) wanted.push_back(container.mounts);
  }
  const auto processes = processes_by_namespace(wanted);
  for (auto& [name, container] : containers_) {
    const auto found = processes.find(container.mounts);
    if (container.config.memory_limit == 0 || found == processes.end()) continue;
    const std::uint64_t files = file_memory(container);
    const std::uint64_t limit = container.config.memory_limit;
    if (quick_memory(found->second) + files <= limit) continue;
    if (exact_memory(found->second) + files <= limit) continue;
    container.out_of_memory = true;
    ::kill(container.pid, SIGKILL);
  }
}

}  // namespace ddptwin::sandbox
