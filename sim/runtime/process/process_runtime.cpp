#include "runtime/process/process_runtime.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <filesystem>

#include "objects/image_reference.hpp"
#include "runtime/process/open_files.hpp"
#include "runtime/process/runtime_state.hpp"

namespace ddptwin {
namespace {

using sandbox::Operation;
using sandbox::Outcome;
using sandbox::Reply;

// A file that lies where programs of ours lie: beside this one, or in the build folder's bin.
std::string beside_us(const std::string& name) {
  std::error_code error;
  const std::filesystem::path self = std::filesystem::read_symlink("/proc/self/exe", error);
  const std::filesystem::path path = self.parent_path() / name;
  return std::filesystem::exists(path, error) ? path.string() : std::string();
}

// What containerd writes into the sandbox's resolv.conf.
std::string resolv_conf(const DnsConfig& dns) {
  std::string text;
  if (!dns.searches.empty()) text += fmt::format("search {}\n", fmt::join(dns.searches, " "));
  for (const std::string& server : dns.servers) text += fmt::format("nameserver {}\n", server);
  if (!dns.options.empty()) text += fmt::format("options {}\n", fmt::join(dns.options, " "));
  return text;
}

}  // namespace

Result<std::unique_ptr<ProcessRuntime>> ProcessRuntime::start(RealLoop& loop, Options options) {
  const std::string program =
      options.supervisor.empty() ? beside_us("ddptwin-sandbox") : options.supervisor;
  if (program.empty()) {
    return fail(Reason::unsupported_machine,
                "ddptwin-sandbox is not beside this program; install or build it");
  }
  sandbox::Configure configure;
  configure.bridge_address = PodAddresses::gateway;
  configure.node_network = PodAddresses::nodes;
  configure.prefix = PodAddresses::prefix;
  configure.worker = options.worker.empty() ? beside_us("ddptwin-worker") : options.worker;
  configure.warm_workers = options.warm_workers;
  configure.tools = std::move(options.tools);
  for (const std::string& tool :
       {configure.worker, beside_us("ddptwin-worker-gloo"), beside_us("ddptwin-worker-nccl.so"),
        beside_us("ddptwin-stand-in"), beside_us("atlctl")}) {
    if (!tool.empty()) configure.tools.push_back(tool);
  }
  configure.visible = std::move(options.visible);
  sandbox::raise_open_files();
  TRY(auto supervisor, sandbox::SupervisorClient::start(loop, program, configure));
  std::unique_ptr<ProcessRuntime> runtime(new ProcessRuntime(loop, std::move(supervisor)));
  runtime->stand_in_ = std::move(options.stand_in);
  runtime->gpus_ = Gpus(std::move(options.device_folder), beside_us("ddptwin-nvidia-smi"));
  return runtime;
}

ProcessRuntime::ProcessRuntime(RealLoop& loop,
                               std::unique_ptr<sandbox::SupervisorClient> supervisor)
    : loop_(loop), lane_(loop.new_lane()), supervisor_(std::move(supervisor)) {
  supervisor_->listen([this](const Reply& event) { on_event(event); });
}

ProcessRuntime::~ProcessRuntime() = default;

void ProcessRuntime::add_image(const std::string& reference, Image image) {
  images_.insert_or_assign(described_image(reference), KnownImage{std::move(image)});
}

void ProcessRuntime::add_missing_image(const std::string& reference) {
  images_.insert_or_assign(described_image(reference), KnownImage{.image = {}, .missing = true});
}

std::string ProcessRuntime::new_id(const std::string& of) { return hex_name(of, ++ids_); }

Result<int> ProcessRuntime::open_socket(const std::string& address, std::uint16_t port,
                                        bool stream) {
  const sandbox::OpenSocket request{address, port, stream, false};
  TRY(const Reply reply,
      supervisor_->call_and_wait(Operation::open_socket, sandbox::encode(request)));
  if (reply.sockets.size() != 1) return fail(Reason::io, "the supervisor sent no socket");
  return reply.sockets.front();
}

Result<int> ProcessRuntime::bind_udp(const std::string& address, std::uint16_t port) {
  return open_socket(address, port, false);
}

Result<int> ProcessRuntime::listen_tcp(const std::string& address, std::uint16_t port) {
  return open_socket(address, port, true);
}

void ProcessRuntime::listen(std::function<void(const RuntimeEvent&)> listener) {
  listener_ = std::move(listener);
}

const std::vector<std::string>& ProcessRuntime::host_notes() const {
  return supervisor_->host_notes();
}

void ProcessRuntime::on_note(std::function<void(const std::string&)> noted) {
  gpus_.on_note(std::move(noted));
}

void ProcessRuntime::on_lost(std::function<void(const Error&)> lost) { lost_ = std::move(lost); }

void ProcessRuntime::emit(Lane lane, RuntimeEvent event) {
  loop_.post(lane, [this, event = std::move(event)] {
    if (listener_) listener_(event);
  });
}

// --- sandboxes ---

void ProcessRuntime::run_sandbox(SandboxOrder order, Done<SandboxStatus> done) {
  SandboxConfig config = std::move(order).config();
  const SandboxId id = new_id(config.uid.str());
  const Lane lane = loop_.new_lane();
  Result<std::string> address = addresses_.take(config);
  if (!address)
    return answer(loop_, lane, std::move(done), Result<SandboxStatus>(fail(address.error())));
  sandbox::RunPod pod{id, *address, config.hostname, shares_processes(config.linux_),
                      config.host_network};
  sandbox::WriteVolume own_files{id, own_volume, {}, 0, true, {}};
  own_files.files.push_back({"resolv.conf", resolv_conf(config.dns), 0644});
  own_files.files.push_back({"hostname", config.hostname + "\n", 0644});
  sandboxes_.emplace(id, std::make_unique<Sandbox>(Sandbox{std::move(config), lane, *address}));
  // The refusal of the first request makes the second be refused too, with less to say.
  auto refusal = std::make_shared<std::optional<Error>>();
  supervisor_->call(Operation::run_pod, pod, {}, [refusal](const Reply& reply) {
    if (reply.outcome != Outcome::ok) *refusal = error_of(reply);
  });
  supervisor_->call(
      Operation::write_volume, own_files, {},
      [this, id, lane, refusal, ip = *address, done = std::move(done)](const Reply& reply) mutable {
        if (!*refusal && reply.outcome != Outcome::ok) *refusal = error_of(reply);
        if (*refusal) {
          addresses_.give_back(ip);
          sandboxes_.erase(id);
          return answer(loop_, lane, std::move(done), Result<SandboxStatus>(fail(**refusal)));
        }
        answer(loop_, lane, std::move(done), Result<SandboxStatus>(SandboxStatus{id, ip}));
      });
}

void ProcessRuntime::stop_sandbox(const SandboxId& id, Done<void> done) {
  const auto found = sandboxes_.find(id);
  if (found == sandboxes_.end()) return answer(loop_, lane_, std::move(done), Result<void>());
  found->second->stopping = true;
  for (const auto& [name, container] : containers_)
    if (container->sandbox == id) container->cause = loop_.context();
  supervisor_->call(
      Operation::stop_pod, sandbox::PodName{id}, {},
      [this, lane = found->second->lane, done = std::move(done)](const Reply& reply) mutable {
        answer(loop_, lane, std::move(done),
               reply.outcome == Outcome::ok ? Result<void>() : Result<void>(fail(error_of(reply))));
      });
}

bool ProcessRuntime::is_ready(const SandboxId& id) const {
  const auto found = sandboxes_.find(id);
  return found != sandboxes_.end() && !found->second->stopping;
}

void ProcessRuntime::remove_sandbox(const SandboxId& id) {
  const auto found = sandboxes_.find(id);
  if (found == sandboxes_.end()) return;
  std::vector<ContainerId> inside;
  for (const auto& [name, container] : containers_) {
    if (container->sandbox == id) inside.push_back(name);
  }
  supervisor_->call(Operation::stop_pod, sandbox::PodName{id}, {}, [this, id](const Reply&) {
    supervisor_->call(Operation::remove_pod, sandbox::PodName{id}, {}, [](const Reply&) {});
  });
  addresses_.give_back(found->second->address);
  sandboxes_.erase(found);
  for (const ContainerId& container : inside) forget(container);
}

void ProcessRuntime::sandbox_died(const SandboxId& id) {
  const auto found = sandboxes_.find(id);
  if (found == sandboxes_.end() || found->second->stopping) return;
  found->second->stopping = true;
  RuntimeEvent event;
  event.kind = RuntimeEvent::Kind::sandbox_died;
  event.pod_uid = found->second->config.uid;
  emit(found->second->lane, std::move(event));
}

// --- images ---

std::optional<ImageStatus> ProcessRuntime::image(const std::string& reference) {
  const KnownImage* image = known(reference);
  if (image == nullptr || !(image->made || image->image.present)) return std::nullopt;
  return image_status(canonical_image(reference));
}

// Each tag of a description is an image of its own, pulled by itself.
ProcessRuntime::KnownImage* ProcessRuntime::known(const std::string& reference) {
  const std::string name = canonical_image(reference);
  auto found = images_.find(name);
  if (found == images_.end()) {
    const auto described = images_.find(ImageReference::cut(reference).repository());
    if (described == images_.end() || described->second.missing) return nullptr;
    found = images_.emplace(name, KnownImage{described->second.image}).first;
  }
  return found->second.missing ? nullptr : &found->second;
}

void ProcessRuntime::pull_image(const std::string& reference, const SandboxMetadata&,
                                Done<ImageStatus> done) {
  const std::string name = canonical_image(reference);
  KnownImage* image = known(reference);
  if (image == nullptr) {
    return answer(loop_, lane_, std::move(done), Result<ImageStatus>(fail(image_not_found(name))));
  }
  if (image->made) {
    return answer(loop_, lane_, std::move(done), Result<ImageStatus>(image_status(name)));
  }
  image->waiting.push_back({std::move(done), loop_.context()});
  if (image->waiting.size() > 1) return;
  sandbox::MakeImage request{name, image->image.workdir, {}};
  for (const ImageCopy& copy : image->image.copies) {
    request.copies.push_back({copy.from, copy.to, copy.without});
  }
  supervisor_->call(Operation::make_image, request, {},
                    [this, name](const Reply& reply) { image_made(name, reply); });
}

void ProcessRuntime::image_made(const std::string& name, const Reply& reply) {
  KnownImage& known = images_.at(name);
  known.made = reply.outcome == Outcome::ok;
  for (KnownImage::Waiting& waiting : std::exchange(known.waiting, {})) {
    loop_.set_context(waiting.context);
    answer(loop_, lane_, std::move(waiting.done),
           known.made ? Result<ImageStatus>(image_status(name))
                      : Result<ImageStatus>(fail(error_of(reply))));
  }
}

// --- what is wrong between them ---

void ProcessRuntime::set_links(std::vector<sandbox::SetLinks::Link> links, Done<void> done) {
  supervisor_->call(
      Operation::set_links, sandbox::SetLinks{std::move(links)}, {},
      [this, done = std::move(done)](const Reply& reply) mutable {
        answer(loop_, lane_, std::move(done),
               reply.outcome == Outcome::ok ? Result<void>() : Result<void>(fail(error_of(reply))));
      });
}

Status ProcessRuntime::try_links(std::vector<sandbox::SetLinks::Link> links) {
  const auto tried = supervisor_->call_and_wait(
      Operation::set_links, sandbox::encode(sandbox::SetLinks{std::move(links)}));
  return tried ? Status() : fail(tried.error());
}

// --- what they take ---

void ProcessRuntime::usage(std::vector<SharedText> pod_uids, Done<std::vector<PodUsage>> done) {
  std::map<SandboxId, std::size_t> places;  // in `usage`
  std::vector<PodUsage> usage;
  sandbox::AskUsage request;
  for (const SharedText& uid : pod_uids) {
    for (const auto& [id, sandbox] : sandboxes_) {
      if (sandbox->config.uid != uid || sandbox->stopping) continue;
      places.emplace(id, usage.size());
      usage.push_back({.pod_uid = uid});
      request.pods.push_back(id);
      const auto watched = memory_watches_.find(sandbox->config.node);
      if (watched != memory_watches_.end()) request.memory_glance = watched->second;
    }
  }
  supervisor_->call(
      Operation::usage, request, {},
      [this, places = std::move(places), usage = std::move(usage),
       done = std::move(done)](const Reply& reply) mutable {
        const auto found = sandbox::decode<sandbox::Usage>(reply.message);
        if (reply.outcome != Outcome::ok || !found)
          return answer(loop_, lane_, std::move(done),
                        Result<std::vector<PodUsage>>(fail(error_of(reply))));
        for (const sandbox::Usage::Row& row : found->rows) {
          PodUsage& pod = usage[places.at(row.pod)];
          const auto bytes = static_cast<std::int64_t>(row.bytes);
          if (row.is_volume) {
            pod.volumes[row.name] = bytes;
          } else if (const auto one = containers_.find(ContainerId(row.name));
                     one != containers_.end()) {
            const std::string& name = one->second->config.name;
            pod.containers.push_back(
                {name, bytes, logs_of(row.pod, name), static_cast<std::int64_t>(row.memory)});
          }
        }
        answer(loop_, lane_, std::move(done), Result<std::vector<PodUsage>>(std::move(usage)));
      });
}

// The disk is looked at with each usage; of memory it has to be known how much matters.
NodeWatch ProcessRuntime::watch_node(const std::string& node, NodeResource resource,
                                     std::int64_t bytes) {
  if (resource == NodeResource::memory)
    memory_watches_[node] = static_cast<std::uint64_t>(std::max<std::int64_t>(bytes, 1));
  return NodeWatch::silent;
}

std::int64_t ProcessRuntime::logs_of(const SandboxId& sandbox, const std::string& name) const {
  std::int64_t bytes = 0;
  for (const auto& [id, one] : containers_)
    if (one->sandbox == sandbox && one->config.name == name) bytes += one->log_size.on_disk();
  return bytes;
}

// --- what happens by itself ---

void ProcessRuntime::on_event(const Reply& event) {
  switch (event.kind) {
    case Reply::Kind::reply:
      return;
    case Reply::Kind::container_exited: {
      const auto found = containers_.find(event.name);
      if (found != containers_.end()) container_exited(*found->second, event);
      return;
    }
    case Reply::Kind::exec_exited: {
      const auto found = commands_.find(event.name);
      if (found == commands_.end()) return;
      found->second->status = event.status;
      return command_over(event.name);
    }
    case Reply::Kind::pod_died:
      return sandbox_died(event.name);
    case Reply::Kind::supervisor_died:
      return supervisor_died();
  }
}

// To tell that the containers were killed would make an accident of ours a failure of the training.
void ProcessRuntime::supervisor_died() {
  loop_.post(lane_, [this, error = lost_error()] {
    if (lost_) lost_(error);
  });
  for (const auto& [id, container] : containers_) {
    container->grace.cancel();
    for (Done<void>& done : std::exchange(container->stops, {})) {
      answer(loop_, container->lane, std::move(done), Result<void>(fail(lost_error())));
    }
  }
  for (const auto& [name, command] : std::exchange(commands_, {})) {
    answer(loop_, command->lane, std::move(command->done), Result<ExecResult>(fail(lost_error())));
  }
}

}  // namespace ddptwin
