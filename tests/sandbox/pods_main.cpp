// Starts pods without end, for kill_anytime.py to kill: sandboxes, volumes in memory, copied
// images, containers with children of their own, and stopped pods.
#include <fmt/format.h>

#include <boost/asio/io_context.hpp>
#include <cstdio>
#include <functional>
#include <memory>

#include "runtime/process/process_runtime.hpp"

namespace ddptwin {
namespace {

class Pods {
 public:
  Pods(RealLoop& loop, ProcessRuntime& runtime) : loop_(loop), runtime_(runtime) {}

  void start() {
    Image image;
    image.copies = {{"/etc/ssl", "/copied/ssl"}};
    runtime_.add_image("tools", image);
    runtime_.pull_image("tools", {}, [this](const Result<ImageStatus>&) { next(); });
  }

 private:
  void next() {
    SandboxConfig config;
    config.uid = fmt::format("pod-{}", ++pods_);
    config.hostname = config.uid;
    runtime_.run_sandbox(config, [this](Result<SandboxStatus> pod) {
      if (!pod) return;
      // A rule of the network's is no more to be left than a namespace.
      runtime_.set_links({{pod->ip, "", true, true}}, [](const Result<void>&) {});
      create(pod->id);
    });
  }

  void create(const SandboxId& pod) {
    auto memory = std::make_shared<VolumeSource>();
    memory->kind = VolumeSource::Kind::memory;
    memory->name = "memory";
    ContainerConfig config;
    config.user_image = "tools";
    config.command = {"sh", "-c",
                      "echo x > /tmp/x; sleep 1000 & setsid sleep 1000 & exec sleep 1000"};
    config.mounts.push_back({"/memory", "", false, "", "", memory, ""});
    config.memory_limit = 1 << 30;
    runtime_.create_container(pod, config, [this, pod](Result<ContainerId> id) {
      runtime_.start_container(*id, [this, pod](const Result<void>&) { started(pod); });
    });
  }

  void started(const SandboxId& pod) {
    constexpr int kept = 12;
    if (pods_ <= kept) return next();
    runtime_.stop_sandbox(pod, [this, pod](const Result<void>&) {
      runtime_.remove_sandbox(pod);
      pause_ = loop_.after(loop_.new_lane(), 20ms, [this] { next(); });
    });
  }

  RealLoop& loop_;
  ProcessRuntime& runtime_;
  int pods_ = 0;
  Timer pause_;
};

}  // namespace
}  // namespace ddptwin

int main() {
  boost::asio::io_context io;
  ddptwin::RealLoop loop(io);
  auto runtime = ddptwin::ProcessRuntime::start(loop, {});
  if (!runtime) {
    fmt::print(stderr, "{}\n", runtime.error().text());
    return runtime.error().reason == ddptwin::Reason::unsupported_machine ? 3 : 1;
  }
  ddptwin::Pods pods(loop, **runtime);
  pods.start();
  io.run();
  return 0;
}
