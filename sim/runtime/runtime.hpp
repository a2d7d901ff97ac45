// PodRuntime: what the kubelet asks of whatever really runs containers. The shape is that of the
// CRI (runtime.v1), which the recordings of a real kubelet show call by call
// (tests/recordings/kubelet, `cri`). Bodies: ProcessRuntime (real children in namespaces),
// ScriptRuntime (told what each container does), ModelRuntime (a modelled DDP worker).
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "core/callback.hpp"
#include "core/result.hpp"
#include "core/time.hpp"
#include "objects/core_v1.hpp"

namespace ddptwin {

// Identifies a pod's sandbox or a container within one runtime; used once (that of a
// container that ScriptRuntime makes is used again where a kubelet that has begun anew repeats the
// same attempt, which takes the place of the first). All that name a container share the text of
// its id.
using SandboxId = std::string;
using ContainerId = SharedText;

struct DnsConfig {
  std::vector<std::string> servers{};
  std::vector<std::string> searches{};
  std::vector<std::string> options{};
};

// One file that the kubelet puts into a volume.
struct VolumeFile {
  std::string content{};
  std::uint32_t mode = 0644;
};

// What a mount shows. Mounts of several containers of a pod that carry the same VolumeSource share
// it.
struct VolumeSource {
  enum class Kind : std::uint8_t { files, empty_dir, memory, host_path };
  Kind kind = Kind::files;
  std::string name{};  // unique within the pod
  std::map<std::string, VolumeFile>
      files{};  // files: by path within the volume; replaced when it changes
  // Bytes. Of memory, and of a host_path that stands for a disk of that size: a write beyond it
  // fails. Of empty_dir it is the kubelet's to heed.
  std::optional<std::int64_t> size_limit{};
  std::string host_path{};  // host_path
};

struct RuntimeMount {
  std::string container_path{};
  std::string host_path{};  // how the kubelet names it (CRI Mount.host_path)
  bool readonly = false;
  std::string propagation{};
  std::string sub_path{};  // within the source, already resolved
  std::shared_ptr<const VolumeSource>
      source{};           // null: a file the kubelet makes itself (hosts, termination log)
  std::string content{};  // of such a file
};

// Which sandbox of which pod.
struct SandboxMetadata {
  Text name{}, namespace_{};
  SharedText uid{};
  std::uint32_t attempt = 0;
  Cow<StringMap> annotations{};  // the pod's own; cri_json() adds those of every sandbox
};

struct SandboxConfig : SandboxMetadata {
  std::string hostname{};
  std::string log_directory{};
  DnsConfig dns{};
  Cow<StringMap> labels{};     // as the annotations
  Time config_seen{};          // when the kubelet saw the pod
  RawJson linux_{};            // CRI LinuxPodSandboxConfig as JSON
  RawJson port_mappings{};     // CRI PortMapping list as JSON; null: none
  std::string node{};          // the twin's: on which node this sandbox is
  std::string node_address{};  // likewise: the node's, which its pods on the host network share
  bool host_network = false;
};

// A sandbox that is to be made. What none but a real runtime reads of its configuration is worked
// out when somebody asks for it.
class SandboxOrder : public SandboxMetadata {
 public:
  using Later = UniqueFunction<SandboxConfig()>;

  SandboxOrder(SandboxConfig config)  // NOLINT: stands for it
      : SandboxMetadata(config), node_(config.node), config_(std::move(config)) {}
  // `later` makes the configuration of that sandbox on that node. A runtime asks for it, if at all,
  // in the call that brings the order.
  SandboxOrder(SandboxMetadata sandbox, std::string node, Later later)
      : SandboxMetadata(std::move(sandbox)), node_(std::move(node)), later_(std::move(later)) {}

  const std::string& node() const { return node_; }
  SandboxConfig config() && { return config_ ? std::move(*config_) : later_(); }

 private:
  std::string node_;
  std::optional<SandboxConfig> config_{};
  Later later_{};
};

// What a container of a pod is for (container_role.hpp says which is which).
enum class ContainerRole : std::uint8_t { training, sidecar, init };

struct ContainerConfig {
  std::string name{};
  ContainerRole role = ContainerRole::training;
  std::uint32_t attempt = 0;
  std::string image{};       // reference of the pulled image
  std::string user_image{};  // as written in the pod
  std::vector<std::string> command{};
  std::vector<std::string> args{};
  std::string working_dir{};
  std::vector<std::pair<std::string, std::string>> env{};  // names are unique
  std::vector<RuntimeMount> mounts{};
  RawJson labels{}, annotations{};  // maps of strings as JSON
  std::string log_path{};
  RawJson linux_{};  // CRI LinuxContainerConfig as JSON
  std::string stop_signal{};
  bool stdin_ = false, stdin_once = false, tty = false;
  std::optional<std::int64_t> memory_limit{};  // bytes
  std::string termination_log{};               // path in the container; empty: none
};

// A container that is to be made. What none but a real runtime reads of its configuration is worked
// out when somebody asks for it.
class ContainerOrder {
 public:
  using Later = UniqueFunction<ContainerConfig()>;

  ContainerOrder(ContainerConfig config)  // NOLINT: stands for it
      : name_(config.name), attempt_(config.attempt), config_(std::move(config)) {}
  // `later` makes the configuration of that name and attempt. A runtime asks for it, if at all, in
  // the call that brings the order.
  ContainerOrder(std::string name, std::uint32_t attempt, Later later)
      : name_(std::move(name)), attempt_(attempt), later_(std::move(later)) {}

  const std::string& name() const { return name_; }
  std::uint32_t attempt() const { return attempt_; }
  ContainerConfig config() && { return config_ ? std::move(*config_) : later_(); }

 private:
  std::string name_;
  std::uint32_t attempt_;
  std::optional<ContainerConfig> config_{};
  Later later_{};
};

struct SandboxStatus {
  SandboxId id{};
  std::string ip{};
};

struct ImageStatus {
  SharedText ref{};  // what ContainerStatus.imageID shows
  std::int64_t size = 0;
};

enum class ContainerPhase : std::uint8_t { created, running, exited };

struct ContainerReport {
  ContainerId id{};
  ContainerPhase phase = ContainerPhase::created;
  std::int32_t exit_code = 0;
  Text reason{};  // Completed, Error, OOMKilled, StartError, ContainerCannotRun
  OptionalTime created_at{}, started_at{}, finished_at{};
  Cow<std::string> message{};          // of a failed start
  Cow<std::string> termination_log{};  // what it wrote there
  // Something stands in for what it was to run, and answers neither probes nor hooks.
  bool stands_in = false;
};

struct ExecResult {
  int exit_code = 0;
  std::string output{};
  bool timed_out = false;
};

// What a pod has of its node at one moment, in bytes. Of a file what it takes on disk counts, as
// du(1) says it: nothing of its holes.
struct PodUsage {
  struct OfContainer {
    std::string name{};
    std::int64_t root = 0;    // what it has written outside its volumes
    std::int64_t logs = 0;    // what is kept of what it has printed, in all its attempts
    std::int64_t memory = 0;  // its working set: private memory, and files that lie in memory
  };
  SharedText pod_uid{};
  std::vector<OfContainer> containers{};          // that run, in the order of their starts
  std::map<std::string, std::int64_t> volumes{};  // its emptyDirs on disk, by name

  std::int64_t memory() const {
    std::int64_t sum = 0;
    for (const OfContainer& one : containers) sum += one.memory;
    return sum;
  }
  std::int64_t on_disk() const {
    std::int64_t sum = 0;
    for (const OfContainer& one : containers) sum += one.root + one.logs;
    for (const auto& [name, bytes] : volumes) sum += bytes;
    return sum;
  }
};

// What the pods of a node share.
enum class NodeResource : std::uint8_t { memory, disk };

struct RuntimeEvent {
  enum class Kind : std::uint8_t {
    container_exited,
    sandbox_died,
    log_line,
    node_is_short,  // its node is, of `resource` (PodRuntime::watch_node)
  };
  Kind kind = Kind::container_exited;
  SharedText pod_uid{};
  ContainerId container{};
  std::string container_name{};
  std::string line{};  // log_line, without its end
  bool standard_error = false;
  NodeResource resource = NodeResource::memory;  // node_is_short
};

template <class T>
using Done = UniqueFunction<void(Result<T>)>;

// How a runtime tells that a node is short of something.
enum class NodeWatch : std::uint8_t {
  tells,     // by an event, once at least, and again when it is watched anew
  is_short,  // it is so now, and will be told when it is so again
  silent,    // who wants to know asks for the usage
};

// Every completion is posted, never called inside the call. Errors carry the gRPC code's name in
// `where` ("NotFound", "Unknown", "DeadlineExceeded") and the runtime's words in `message`.
class PodRuntime {
 public:
  virtual ~PodRuntime() = default;

  virtual void run_sandbox(SandboxOrder order, Done<SandboxStatus> done) = 0;
  // Ends what still runs in it; idempotent.
  virtual void stop_sandbox(const SandboxId& id, Done<void> done) = 0;
  virtual void remove_sandbox(const SandboxId& id) = 0;
  // It has been made, and was neither stopped nor lost.
  virtual bool is_ready(const SandboxId& id) const = 0;

  // The image as it is present on the node, or nothing. `pod` lets a script answer by pod.
  virtual std::optional<ImageStatus> image(const std::string& reference) = 0;
  virtual void pull_image(const std::string& reference, const SandboxMetadata& sandbox,
                          Done<ImageStatus> done) = 0;

  virtual void create_container(const SandboxId& sandbox, ContainerOrder order,
                                Done<ContainerId> done) = 0;
  virtual void start_container(const ContainerId& id, Done<void> done) = 0;
  // The stop signal now, SIGKILL when the grace period (seconds) is over; done once it has ended.
  virtual void stop_container(const ContainerId& id, std::int64_t grace_period,
                              Done<void> done) = 0;
  virtual void remove_container(const ContainerId& id) = 0;
  // A command in the running container. Zero timeout: none.
  virtual void exec(const ContainerId& id, std::vector<std::string> command, Duration timeout,
                    Done<ExecResult> done) = 0;

  // Null: there is no such container. It stays until the runtime is asked for anything else.
  virtual const ContainerReport* report(const ContainerId& id) const = 0;
  // The last lines of what the container printed, at most `bytes` and `lines`.
  virtual std::string log_tail(const ContainerId& id, std::size_t lines,
                               std::size_t bytes) const = 0;
  // Volumes of files were changed (a ConfigMap's update reached the node).
  virtual void update_volume(const std::string& pod_uid,
                             std::shared_ptr<const VolumeSource> source) = 0;

  // Of those of the pods that have a sandbox, in that order.
  virtual void usage(std::vector<SharedText> pod_uids, Done<std::vector<PodUsage>> done) = 0;

  // How many bytes the pods of a node may have together before it is short of them.
  virtual NodeWatch watch_node(const std::string& node, NodeResource resource,
                               std::int64_t bytes) = 0;

  // Called for each event, on a lane of that container.
  virtual void listen(std::function<void(const RuntimeEvent&)> listener) = 0;
};

}  // namespace ddptwin
