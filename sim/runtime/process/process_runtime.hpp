// PodRuntime with real processes: each pod in namespaces of its own, below one supervisor that
// takes them all along when it ends (README.md). Needs no root.
#pragma once

#include <boost/asio/posix/stream_descriptor.hpp>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "core/real_loop.hpp"
#include "runtime/images/image.hpp"
#include "runtime/port_request.hpp"
#include "runtime/process/gpus.hpp"
#include "runtime/process/output_pipe.hpp"
#include "runtime/process/pod_addresses.hpp"
#include "runtime/process/supervisor_client.hpp"
#include "runtime/process_choice.hpp"
#include "runtime/runtime.hpp"

namespace ddptwin {

class ProcessRuntime final : public PodRuntime {
 public:
  struct Options {
    std::string supervisor{};  // the program ddptwin-sandbox; empty: found beside this program
    std::string worker{};      // ddptwin-worker, for the zygote; empty: found, if there is one
    // Load the zygote now (start() then takes 0.5 s more), not with the first worker.
    bool warm_workers = false;
    std::vector<std::string> tools{};    // more programs that pods find in /usr/local/bin
    std::vector<std::string> visible{};  // host folders under /tmp or /run that pods must see
    // What stands in for the command of a container, or for one beside it; empty: it runs as it is.
    std::function<std::vector<std::string>(const ContainerConfig&, const Image&)> stand_in{};
    std::string device_folder = "/dev";  // where this machine's GPUs are found
  };

  // Reason::unsupported_machine where the kernel refuses what sandboxes need.
  static Result<std::unique_ptr<ProcessRuntime>> start(RealLoop& loop, Options options);
  // Ends all pods and waits until they are gone.
  ~ProcessRuntime() override;

  // Makes the image known under a reference, or under all tags where that has none; an exact
  // reference goes first. Pulling it copies its files.
  void add_image(const std::string& reference, Image image);
  // No registry has it, whatever is known of its other tags.
  void add_missing_image(const std::string& reference);

  // Sockets of the cluster's network, which pods reach at the address (10.0.0.10:53). The caller
  // owns them; they do not block. For start-up: both wait for the supervisor.
  Result<int> bind_udp(const std::string& address, std::uint16_t port);
  Result<int> listen_tcp(const std::string& address, std::uint16_t port);
  // Tries to connect to a pod as its node does, and closes again: 0, or the errno of the failure;
  // ETIMEDOUT when `patience` is over.
  void try_connect(const std::string& address, std::uint16_t port, Duration patience,
                   Done<int> done);

  // One request to a pod, as its node's kubelet makes it: HTTP and the health call of gRPC. Of
  // https only whether the port accepts.
  void ask(const PortRequest& request, Duration patience, Done<PortReply> done);

  // What pods see of this host otherwise than its own tree, a sentence for each folder.
  const std::vector<std::string>& host_notes() const;
  // The same of what comes up while pods run; each once.
  void on_note(std::function<void(const std::string&)> noted);

  // Called once if the supervisor dies, before anything else hears of it. All pods have died with
  // it, which is no failure of theirs: no container is reported as exited, what waits for an answer
  // is answered with an error, and so is all that is asked later.
  void on_lost(std::function<void(const Error&)> lost);

  // A signal to a process of a container that runs (fault injection, `kill` steps). NotFound: there
  // is no such process.
  void signal_container(const ContainerId& id, int number, const ProcessChoice& choice,
                        Done<void> done);
  // The main process ends as if by itself: it is killed, and that code is told of it.
  void exit_container(const ContainerId& id, int code, Done<void> done);
  // All that is wrong between addresses from now on.
  void set_links(std::vector<sandbox::SetLinks::Link> links, Done<void> done);
  // The same, waited for. For start-up: whether this kernel can do it.
  Status try_links(std::vector<sandbox::SetLinks::Link> links);

  void run_sandbox(SandboxOrder order, Done<SandboxStatus> done) override;
  void stop_sandbox(const SandboxId& id, Done<void> done) override;
  void remove_sandbox(const SandboxId& id) override;
  bool is_ready(const SandboxId& id) const override;
  std::optional<ImageStatus> image(const std::string& reference) override;
  void pull_image(const std::string& reference, const SandboxMetadata& sandbox,
                  Done<ImageStatus> done) override;
  void create_container(const SandboxId& sandbox, ContainerOrder order,
                        Done<ContainerId> done) override;
  void start_container(const ContainerId& id, Done<void> done) override;
  void stop_container(const ContainerId& id, std::int64_t grace_period, Done<void> done) override;
  void remove_container(const ContainerId& id) override;
  void exec(const ContainerId& id, std::vector<std::string> command, Duration timeout,
            Done<ExecResult> done) override;
  const ContainerReport* report(const ContainerId& id) const override;
  std::string log_tail(const ContainerId& id, std::size_t lines, std::size_t bytes) const override;
  void update_volume(const std::string& pod_uid,
                     std::shared_ptr<const VolumeSource> source) override;
  void usage(std::vector<SharedText> pod_uids, Done<std::vector<PodUsage>> done) override;
  NodeWatch watch_node(const std::string& node, NodeResource resource, std::int64_t bytes) override;
  void listen(std::function<void(const RuntimeEvent&)> listener) override;

 private:
  struct Sandbox;
  struct Container;
  struct Command;
  struct Dial;
  struct Exchange;
  struct KnownImage {
    Image image;
    bool missing = false;  // no registry has it
    bool made = false;
    struct Waiting {
      Done<ImageStatus> done;
      std::uint64_t context;  // of who asked (Loop::context)
    };
    std::vector<Waiting> waiting{};  // for it to be made
  };

  ProcessRuntime(RealLoop& loop, std::unique_ptr<sandbox::SupervisorClient> supervisor);

  std::string new_id(const std::string& of);
  void send_signal(sandbox::SignalContainer order, Done<void> done);
  Result<int> open_socket(const std::string& address, std::uint16_t port, bool stream);
  // What comes of an attempt to connect: an errno, and where that is 0 the socket.
  using Dialled = UniqueFunction<void(Result<int>, boost::asio::posix::stream_descriptor*)>;
  void dial(const std::string& address, std::uint16_t port, Duration patience, Dialled done);
  void dial_with(int fd, const std::string& address, std::uint16_t port, Duration patience,
                 Dialled done);
  void dialled(std::uint64_t id, int outcome);
  void exchange(int fd, const PortRequest& request, std::optional<Time> end, Done<PortReply> done);
  void replied(std::uint64_t id, PortReply reply);
  void on_event(const sandbox::Reply& event);
  void image_made(const std::string& name, const sandbox::Reply& reply);
  void supervisor_died();
  void container_exited(Container& container, const sandbox::Reply& event);
  void container_over(Container& container);
  void forget(const ContainerId& id);
  void command_over(const std::string& name);
  void sandbox_died(const SandboxId& id);
  std::vector<sandbox::Mount> mounts_of(Container& container);
  template <class T>
  void send_ahead(Container& container, sandbox::Operation operation, const T& request);
  void volumes_written(Container& container);
  void make_present(Container& container);
  void start_failed(Container& container, std::string message);
  KnownImage* known(const std::string& reference);
  const Image& image_of(const Container& container);
  sandbox::StartContainer start_request(const Container& container);
  std::int64_t logs_of(const SandboxId& sandbox, const std::string& name) const;  // bytes
  Status open_output(Container& container);
  void give_up_output(Container& container, bool standard_error);
  void line(Container& container, bool standard_error, const std::string& bytes);
  void emit(Lane lane, RuntimeEvent event);
  RuntimeEvent event_of(const Container& container, RuntimeEvent::Kind kind) const;

  RealLoop& loop_;
  Lane lane_;
  std::uint64_t ids_ = 0;
  PodAddresses addresses_;
  std::map<std::string, KnownImage> images_;  // by described_image() and canonical_image()
  std::map<SandboxId, std::unique_ptr<Sandbox>> sandboxes_;
  std::map<ContainerId, std::unique_ptr<Container>> containers_;
  std::map<std::string, std::unique_ptr<Command>> commands_;
  std::map<std::uint64_t, std::unique_ptr<Dial>> dials_;
  std::map<std::uint64_t, std::unique_ptr<Exchange>> exchanges_;
  std::uint64_t dial_count_ = 0;
  std::map<std::string, std::uint64_t> memory_watches_;  // bytes, by node
  std::function<void(const RuntimeEvent&)> listener_;
  std::function<void(const Error&)> lost_;
  std::function<std::vector<std::string>(const ContainerConfig&, const Image&)> stand_in_;
  Gpus gpus_{"", ""};
  std::unique_ptr<sandbox::SupervisorClient> supervisor_;  // last: its end is the first
};

}  // namespace ddptwin
