#pragma once

#include <deque>
#include <list>
#include <map>
#include <memory>
#include <optional>
#include <string>

#include "runtime/process/protocol.hpp"
#include "runtime/process/supervisor/firewall.hpp"
#include "runtime/process/supervisor/layers.hpp"
#include "runtime/process/supervisor/memory.hpp"
#include "runtime/process/supervisor/network.hpp"
#include "runtime/process/supervisor/process.hpp"
#include "runtime/process/supervisor/zygote_link.hpp"
#include "runtime/process/wire.hpp"

namespace ddptwin::sandbox {

template <class T>
Result<T> body_of(const Request& request) {
  std::optional<T> body = decode<T>(request.body);
  if (!body) return fail(Reason::bad_request, "a request that does not decode");
  return std::move(*body);
}

// The first process of the cluster's PID namespace: makes pods and containers as ddptwin asks,
// reports their ends, and takes everything with it when it dies. One thread; nothing here waits for
// anything but the one poll() of run().
class Supervisor {
 public:
  // `life` is readable as soon as the guard is gone.
  Supervisor(Fd socket, Fd life) : socket_(std::move(socket)), life_(std::move(life)) {}

  // Returns when ddptwin or the guard is gone.
  void run();

 private:
  struct Pod {
    RunPod config;
    pid_t pid = 0;  // holds the pod's namespaces; the first process of its PID namespace
    Fd pid_namespace, net, uts, ipc;
    std::vector<std::uint64_t> stop_requests;
    bool dead = false;
    std::vector<std::string> memory_volumes, disk_volumes;
  };
  struct Container {
    StartContainer config;
    std::uint64_t request = 0;
    pid_t pid = 0;  // the first process of its PID namespace
    Fd status;      // open until it runs
    NamespaceId mounts = 0;
    bool running = false;
    bool over = false;  // the first process is reaped
    bool out_of_memory = false;
    bool from_zygote = false;
    Fd standard_output, standard_error;  // kept until the zygote has them
    pid_t worker = 0;
    std::optional<int> worker_status;
    std::optional<ChildReport> failure;
    int exit_status = 0;
    std::optional<int> ends_with;  // the exit code that is told, whatever killed it
  };
  struct Command {
    std::uint64_t request = 0;
    pid_t pid = 0;
    Fd status;
    bool running = false;
  };
  struct ImageJob {
    std::uint64_t request = 0;
    pid_t pid = 0;
    std::string image, folder;
    Fd status;
  };
  using Fds = std::vector<Fd>;
  // A request that has come and is still to be handled.
  struct Pending {
    Request request;
    Fds fds;
    bool quick = false;  // see goes_ahead()
    std::string pod{};   // of files to be written: whose
  };
  void take_requests();
  void take_request();
  void handle_next();
  bool goes_ahead(const Pending& pending) const;
  // Of the built-in worker, which comes from the zygote.
  bool is_worker(const std::vector<std::string>& argv) const;
  Status handle(const Request& request, Fds& fds);
  // One per operation. A failure is the reply; success is replied by the function, now or later.
  Status configure(const Request& request, Fds& fds);
  Status open_socket(const Request& request, Fds& fds);
  Status make_image(const Request& request, Fds& fds);
  Status run_pod(const Request& request, Fds& fds);
  Status stop_pod(const Request& request, Fds& fds);
  Status remove_pod(const Request& request, Fds& fds);
  Status write_volume(const Request& request, Fds& fds);
  Status start_container(const Request& request, Fds& fds);
  Status signal_container(const Request& request, Fds& fds);
  Status exec(const Request& request, Fds& fds);
  Status kill_exec(const Request& request, Fds& fds);
  Status usage(const Request& request, Fds& fds);
  Status make_disk(const Request& request, Fds& fds);
  Status set_links(const Request& request, Fds& fds);

  void send(const Reply& reply, const std::vector<int>& fds = {});
  void reply_ok(std::uint64_t id);
  void reply_error(std::uint64_t id, Outcome outcome, std::string message);

  std::vector<pid_t> targets_of(const Container& container, const SignalContainer& order) const;
  // Of the pod or node with that address; -1: there is none.
  int network_at(const std::string& address) const;
  Status prepare_container(Container& container, const Pod& pod, ContainerStart& start);
  void container_reported(Container& container);
  void request_worker(Container& container);
  void command_reported(const std::string& name, Command& command);
  void image_done(ImageJob& job, int status);
  void zygote_reported();
  void reap();
  void ended(pid_t pid, int status);
  void finish(const std::string& name);
  std::uint64_t file_memory(const Container& container) const;
  void add_memory(Usage& usage, std::uint64_t glance) const;
  void check_memory();
  bool any_limit() const;

  Fd socket_, life_, signals_;
  Layers layers_;
  Network network_;
  Firewall firewall_;
  std::string worker_;
  std::optional<ZygoteLink> zygote_;
  std::map<std::string, Stack> images_;
  std::map<std::string, Pod> pods_;
  std::map<std::string, Container> containers_;
  std::map<std::string, Command> commands_;
  std::list<ImageJob> image_jobs_;
  std::uint64_t images_made_ = 0;
  std::map<std::string, std::uint64_t> disks_;  // bytes, by path
  std::deque<Pending> pending_;
  bool gone_ = false;
};

}  // namespace ddptwin::sandbox
