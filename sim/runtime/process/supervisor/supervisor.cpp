#include "runtime/process/supervisor/supervisor.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <sys/mount.h>
#include <sys/signalfd.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>

#include "runtime/process/supervisor/clone.hpp"
#include "runtime/process/supervisor/volume_files.hpp"

namespace ddptwin::sandbox {
namespace {

constexpr std::size_t pending_max = 1024;  // what comes beyond waits in the socket
constexpr int memory_look_ms = 20;         // how often containers with a limit are looked at

bool all_ids_mapped() {
  const std::string map = read_file("/proc/self/uid_map", 4096);
  return map.find("4294967295") != std::string::npos;
}

Outcome outcome_of(const Error& error) {
  if (error.reason == Reason::unsupported_machine) return Outcome::unsupported;
  return error.reason == Reason::not_found ? Outcome::not_found : Outcome::refused;
}

// Of a copier that could not say itself what was wrong.
std::string copying_ended(int status) {
  return WIFSIGNALED(status) ? fmt::format("copying was killed by signal {}", WTERMSIG(status))
                             : fmt::format("copying ended with status {}", WEXITSTATUS(status));
}

}  // namespace

void Supervisor::run() {
  sigset_t child;
  ::sigemptyset(&child);
  ::sigaddset(&child, SIGCHLD);
  ::sigprocmask(SIG_BLOCK, &child, nullptr);
  signals_ = Fd(::signalfd(-1, &child, SFD_CLOEXEC | SFD_NONBLOCK));
  while (!gone_) {
    std::vector<pollfd> polls{{socket_.get(), POLLIN, 0}, {life_.get(), POLLIN, 0}};
    polls.push_back({signals_.get(), POLLIN, 0});
    polls.push_back({zygote_ ? zygote_->socket() : -1, POLLIN, 0});
    std::vector<std::string> starting, commands;
    for (const auto& [name, container] : containers_) {
      if (!container.status) continue;
      polls.push_back({container.status.get(), POLLIN, 0});
      starting.push_back(name);
    }
    for (const auto& [name, command] : commands_) {
      if (!command.status) continue;
      polls.push_back({command.status.get(), POLLIN, 0});
      commands.push_back(name);
    }
    const int patience = any_limit() ? memory_look_ms : -1;
    ::poll(polls.data(), polls.size(), pending_.empty() ? patience : 0);
    if (polls[1].revents != 0) return;
    // Whether a program runs is known before its end is: the order of what ddptwin hears is true.
    std::size_t at = 4;
    for (const std::string& name : starting) {
      if (polls[at++].revents != 0) container_reported(containers_.at(name));
    }
    for (const std::string& name : commands) {
      if (polls[at++].revents != 0) command_reported(name, commands_.at(name));
    }
    if (polls[3].revents != 0) zygote_reported();
    if (polls[2].revents != 0) reap();
    if (any_limit()) check_memory();
    if (polls[0].revents != 0) take_requests();
    handle_next();
  }
}

void Supervisor::send(const Reply& reply, const std::vector<int>& fds) {
  if (!send_message(socket_.get(), encode(reply), fds)) gone_ = true;
}

void Supervisor::reply_ok(std::uint64_t id) {
  Reply reply;
  reply.id = id;
  send(reply);
}

void Supervisor::reply_error(std::uint64_t id, Outcome outcome, std::string message) {
  Reply reply;
  reply.id = id;
  reply.outcome = outcome;
  reply.message = std::move(message);
  send(reply);
}

void Supervisor::take_requests() {
  pollfd more{socket_.get(), POLLIN, 0};
  do {
    take_request();
  } while (!gone_ && pending_.size() < pending_max && ::poll(&more, 1, 0) > 0);
}

void Supervisor::take_request() {
  std::optional<Message> message = receive_message(socket_.get());
  if (!message || message->end) {
    gone_ = true;
    return;
  }
  Fds fds;
  for (const int fd : message->fds) fds.emplace_back(fd);
  std::optional<Request> request = decode<Request>(message->body);
  if (!request) {
    gone_ = true;  // only another build could send this
    return;
  }
  Pending pending{std::move(*request), std::move(fds)};
  if (pending.request.operation == Operation::start_container) {
    const auto start = decode<StartContainer>(pending.request.body);
    pending.quick = start && is_worker(start->argv);
  } else if (pending.request.operation == Operation::write_volume) {
    if (auto files = decode<WriteVolume>(pending.request.body)) pending.pod = std::move(files->pod);
  } else {
    pending.quick = pending.request.operation == Operation::make_image;
  }
  pending_.push_back(std::move(pending));
}

// What is quick here and lets others go on beside: an image, which a child copies; the start of a
// built-in worker, most of which is the zygote's work; files of a pod that is there. None of them
// needs anything that stands before it in the queue: a start is asked for only when all that it
// needs has been answered.
bool Supervisor::goes_ahead(const Pending& pending) const {
  return pending.quick || (!pending.pod.empty() && pods_.contains(pending.pod));
}

// In the order in which they came, but for what goes ahead.
void Supervisor::handle_next() {
  if (gone_ || pending_.empty()) return;
  auto next = std::find_if(pending_.begin(), pending_.end(),
                           [this](const Pending& pending) { return goes_ahead(pending); });
  if (next == pending_.end()) next = pending_.begin();
  Pending taken = std::move(*next);
  pending_.erase(next);
  if (Status handled = handle(taken.request, taken.fds); !handled) {
    reply_error(taken.request.id, outcome_of(handled.error()), handled.error().text());
  }
}

Status Supervisor::handle(const Request& request, Fds& fds) {
  struct Row {
    Operation operation;
    Status (Supervisor::*run)(const Request&, Fds&);
  };
  static constexpr std::array rows{
      Row{Operation::configure, &Supervisor::configure},
      Row{Operation::open_socket, &Supervisor::open_socket},
      Row{Operation::make_image, &Supervisor::make_image},
      Row{Operation::run_pod, &Supervisor::run_pod},
      Row{Operation::stop_pod, &Supervisor::stop_pod},
      Row{Operation::remove_pod, &Supervisor::remove_pod},
      Row{Operation::write_volume, &Supervisor::write_volume},
      Row{Operation::start_container, &Supervisor::start_container},
      Row{Operation::signal_container, &Supervisor::signal_container},
      Row{Operation::exec, &Supervisor::exec},
      Row{Operation::kill_exec, &Supervisor::kill_exec},
      Row{Operation::usage, &Supervisor::usage},
      Row{Operation::make_disk, &Supervisor::make_disk},
      Row{Operation::set_links, &Supervisor::set_links},
  };
  for (const Row& row : rows) {
    if (row.operation == request.operation) return (this->*row.run)(request, fds);
  }
  return fail(Reason::bad_request, "no such operation");
}

Status Supervisor::configure(const Request& request, Fds&) {
  TRY(const Configure body, body_of<Configure>(request));
  TRY_VOID(layers_.survey(body.visible, all_ids_mapped()));
  for (const std::string& tool : body.tools) {
    TRY_VOID(layers_.add_to_base(tool, "/usr/local/bin" + tool.substr(tool.rfind('/'))));
  }
  worker_ = body.worker;
  TRY_VOID(network_.set_up(body.bridge_address, body.node_network, body.prefix));
  TRY_VOID(firewall_.set_up(body.bridge_address));
  if (body.warm_workers && !worker_.empty()) {
    TRY(zygote_, ZygoteLink::start(worker_));
    zygote_->wait_until_warm();
  }
  Reply reply;
  reply.id = request.id;
  reply.message = fmt::format("{}", fmt::join(layers_.notes(), "\n"));
  send(reply);
  return {};
}

Status Supervisor::open_socket(const Request& request, Fds&) {
  TRY(const OpenSocket body, body_of<OpenSocket>(request));
  TRY(const Fd socket, network_.open_socket(body));
  Reply reply;
  reply.id = request.id;
  send(reply, {socket.get()});
  return {};
}

// Copying can take long, so a child does it.
Status Supervisor::make_image(const Request& request, Fds&) {
  TRY(const MakeImage body, body_of<MakeImage>(request));
  ImageJob job{request.id, 0, body.image, fmt::format("{}/{}", place::images, ++images_made_), {}};
  if (body.copies.empty()) {
    if (Status filled = layers_.fill_image(body, job.folder); !filled) {
      remove_tree(job.folder);
      return filled;
    }
    images_[job.image] = layers_.stack(job.folder);
    reply_ok(job.request);
    return {};
  }
  TRY(Pipe status, make_pipe());
  job.pid = ::fork();
  if (job.pid < 0) return system_error("fork");
  if (job.pid == 0) {
    if (const Status made = layers_.fill_image(body, job.folder); !made) {
      const std::string text = made.error().text();
      static_cast<void>(!::write(status.write.get(), text.data(), text.size()));
      ::_exit(1);
    }
    ::_exit(0);
  }
  job.status = std::move(status.read);
  image_jobs_.push_back(std::move(job));
  return {};
}

void Supervisor::image_done(ImageJob& job, int status) {
  if (status != 0) {
    remove_tree(job.folder);
    char text[4096];
    const ssize_t size = ::read(job.status.get(), text, sizeof text);
    const std::string why =
        size > 0 ? std::string(text, static_cast<std::size_t>(size)) : copying_ended(status);
    return reply_error(job.request, Outcome::refused, why);
  }
  images_[job.image] = layers_.stack(job.folder);
  reply_ok(job.request);
}

Status Supervisor::run_pod(const Request& request, Fds&) {
  TRY(RunPod body, body_of<RunPod>(request));
  Pod pod;
  pod.config = body;
  constexpr int flags = CLONE_NEWUTS | CLONE_NEWIPC | CLONE_NEWPID;
  // The first pod on a node's network makes it.
  const Fd* node = body.host_network ? network_.node(body.address) : nullptr;
  TRY(pod.pid,
      node != nullptr ? network_.clone_within(*node, flags) : clone_process(flags | CLONE_NEWNET));
  if (pod.pid == 0) hold_namespaces();
  const std::string folder = fmt::format("/proc/{}/ns/", pod.pid);
  const auto prepare = [&]() -> Status {
    TRY(pod.pid_namespace, open_fd(folder + "pid", O_RDONLY));
    TRY(pod.net, open_fd(folder + "net", O_RDONLY));
    TRY(pod.uts, open_fd(folder + "uts", O_RDONLY));
    TRY(pod.ipc, open_fd(folder + "ipc", O_RDONLY));
    if (node == nullptr) TRY_VOID(network_.attach(pod.net.get(), body.address));
    if (node == nullptr && body.host_network) {
      TRY(Fd kept, open_fd(folder + "net", O_RDONLY));
      network_.keep_node(body.address, std::move(kept));
    }
    for (const char* name : {"volumes", "termination"}) {
      TRY_VOID(make_folders(fmt::format("{}/{}/{}", place::pods, body.pod, name)));
    }
    return {};
  };
  if (Status prepared = prepare(); !prepared) {
    ::kill(pod.pid, SIGKILL);
    return prepared;
  }
  if (Status refused = firewall_.joins(body.address, pod.net.get()); !refused) {
    ::kill(pod.pid, SIGKILL);
    return refused;
  }
  pods_.insert_or_assign(body.pod, std::move(pod));
  reply_ok(request.id);
  return {};
}

int Supervisor::network_at(const std::string& address) const {
  if (const Fd* node = network_.node(address); node != nullptr) return node->get();
  for (const auto& [name, pod] : pods_)
    if (!pod.dead && pod.config.address == address) return pod.net.get();
  return -1;
}

Status Supervisor::set_links(const Request& request, Fds&) {
  TRY(const SetLinks body, body_of<SetLinks>(request));
  TRY_VOID(firewall_.set(body.links,
                         [this](const std::string& address) { return network_at(address); }));
  reply_ok(request.id);
  return {};
}

Status Supervisor::stop_pod(const Request& request, Fds&) {
  TRY(const PodName body, body_of<PodName>(request));
  const auto pod = pods_.find(body.pod);
  if (pod == pods_.end() || pod->second.dead) {
    reply_ok(request.id);
    return {};
  }
  pod->second.stop_requests.push_back(request.id);
  ::kill(pod->second.pid, SIGKILL);  // the kernel takes all that is in its PID namespace along
  return {};
}

Status Supervisor::remove_pod(const Request& request, Fds&) {
  TRY(const PodName body, body_of<PodName>(request));
  const auto pod = pods_.find(body.pod);
  if (pod != pods_.end()) {
    if (!pod->second.dead) return fail(Reason::conflict, "the pod is not stopped");
    for (const auto* volumes : {&pod->second.memory_volumes, &pod->second.disk_volumes})
      for (const std::string& volume : *volumes)
        ::umount2(volume_path(body.pod, volume).c_str(), MNT_DETACH);
    pods_.erase(pod);
    remove_tree(place::pods + "/" + body.pod);
  }
  reply_ok(request.id);
  return {};
}

Status Supervisor::write_volume(const Request& request, Fds&) {
  TRY(const WriteVolume body, body_of<WriteVolume>(request));
  const auto pod = pods_.find(body.pod);
  if (pod == pods_.end()) return fail(Reason::not_found, "no such pod");
  const std::string path = volume_path(body.pod, body.volume);
  if (::mkdir(path.c_str(), 0755) == 0) {
    if (body.kind != WriteVolume::Kind::folder) {
      const bool in_memory = body.kind == WriteVolume::Kind::memory;
      const std::string size =
          in_memory && body.size_limit > 0 ? fmt::format(",size={}", body.size_limit) : "";
      const unsigned long flags = in_memory ? MS_NOSUID | MS_NODEV : 0UL;
      TRY_VOID(mount_at("tmpfs", path, "tmpfs", flags, "mode=1777" + size));
      (in_memory ? pod->second.memory_volumes : pod->second.disk_volumes).push_back(body.volume);
    }
    ::chmod(path.c_str(), body.exact ? 0755 : 0777);
  } else if (errno != EEXIST) {
    return system_error(path);
  }
  TRY_VOID(replace_files(path, body));
  reply_ok(request.id);
  return {};
}

// All of it lies in memory, of which it gets no more than the kernel gives any tmpfs by itself.
Status Supervisor::make_disk(const Request& request, Fds&) {
  TRY(const MakeDisk body, body_of<MakeDisk>(request));
  std::uint64_t& size = disks_[body.path];
  const std::string path = place::node + body.path;
  const bool is_new = size == 0;
  if (body.size > size && ::access((place::host + body.path).c_str(), F_OK) != 0) {
    static const auto page = static_cast<std::uint64_t>(::sysconf(_SC_PAGESIZE));
    static const auto half = static_cast<std::uint64_t>(::sysconf(_SC_PHYS_PAGES)) / 2 * page;
    if (is_new) TRY_VOID(make_folders(path));
    TRY_VOID(mount_at("tmpfs", path, "tmpfs", is_new ? 0UL : static_cast<unsigned long>(MS_REMOUNT),
                      fmt::format("mode=755,size={}", std::min(body.size, half))));
    size = body.size;
  }
  reply_ok(request.id);
  return {};
}

// What a container has written outside its volumes lies in the one file system of its upper layers,
// for which its root speaks (rootfs.cpp); each asked for costs one call, however much it holds.
Status Supervisor::usage(const Request& request, Fds&) {
  TRY(const AskUsage body, body_of<AskUsage>(request));
  Usage usage;
  for (const std::string& name : body.pods) {
    const auto pod = pods_.find(name);
    if (pod == pods_.end() || pod->second.dead) continue;
    for (const std::string& volume : pod->second.disk_volumes)
      usage.rows.push_back({name, volume, true, bytes_used(volume_path(name, volume))});
    for (const auto& [id, container] : containers_)
      if (container.config.pod == name && container.running && !container.over)
        usage.rows.push_back(
            {name, id, false, bytes_used(fmt::format("/proc/{}/root", container.pid))});
  }
  if (body.memory_glance > 0) add_memory(usage, body.memory_glance);
  Reply reply;
  reply.id = request.id;
  reply.message = encode(usage);
  send(reply);
  return {};
}

void Supervisor::reap() {
  signalfd_siginfo info{};
  while (::read(signals_.get(), &info, sizeof info) > 0) {
  }
  int status = 0;
  for (pid_t pid = 0; (pid = ::waitpid(-1, &status, WNOHANG)) > 0;) ended(pid, status);
}

}  // namespace ddptwin::sandbox
