// Modelled pods without a kubelet, for tests: what is asked of ModelRuntime, and what it tells,
// with times since the begin.
#pragma once

#include <gtest/gtest.h>

#include <map>
#include <string>
#include <vector>

#include "core/virtual_loop.hpp"
#include "runtime/model/model_runtime.hpp"

namespace ddptwin::model {

using Strings = std::vector<std::string>;

inline Strings operator+(Strings one, const Strings& other) {
  one.insert(one.end(), other.begin(), other.end());
  return one;
}

struct TestOptions {
  const TorchProfile* torch = &torch_2;
  std::uint64_t seed = 1;
  bool step_lines = true;
};

class TestPods {
 public:
  struct Line {
    Duration at{};
    std::string pod{};
    std::string text{};
    bool standard_error = false;
  };

  explicit TestPods(const TestOptions& options = {})
      : loop_(Random(options.seed), begin_),
        runtime_(loop_, Random(options.seed),
                 {.model = {.torch = options.torch},
                  .lookup =
                      [this](DnsQuestion question, UniqueFunction<void(DnsAnswer)> done) {
                        answer(std::move(question), std::move(done));
                      },
                  .step_lines = options.step_lines}) {
    Image image;
    image.entrypoint = {"ddptwin-worker"};
    runtime_.add_image("ddptwin-worker", image);
    runtime_.add_image("plain", Image());
    runtime_.listen([this](const RuntimeEvent& event) {
      if (event.kind == RuntimeEvent::Kind::log_line)
        lines_.push_back({now(), event.pod_uid.str(), event.line, event.standard_error});
      if (event.kind == RuntimeEvent::Kind::container_exited) ends_[event.container] = now();
    });
  }

  // A running pod without containers; its name resolves. With a node's address it is on the host
  // network there.
  void pod(const std::string& name, const std::string& node_address = {}) {
    SandboxConfig config;
    config.name = config.uid = config.hostname = name;
    config.namespace_ = "default";
    config.node = "node-1";
    config.host_network = !node_address.empty();
    config.node_address = node_address;
    config.dns = {{"10.0.0.10"}, {"default.svc.cluster.local", "cluster.local"}, {"ndots:5"}};
    runtime_.run_sandbox(config, [this, name](Result<SandboxStatus> status) {
      sandboxes_[name] = status->id;
      addresses_[name + ".default.svc.cluster.local"] = status->ip;
    });
    run(10ms);
  }

  ContainerConfig config(const std::string& pod, const std::string& image, Strings args,
                         Environment env = {}) {
    ContainerConfig made;
    made.name = "c";
    made.attempt = attempts_[pod]++;
    made.image = made.user_image = image;
    made.args = std::move(args);
    made.env = std::move(env);
    RuntimeMount hosts;
    hosts.container_path = "/etc/hosts";
    hosts.content = "127.0.0.1\tlocalhost\n" + ip(pod) + "\t" + pod + "\n";
    made.mounts.push_back(hosts);
    RuntimeMount log;
    log.container_path = made.termination_log = "/dev/termination-log";
    made.mounts.push_back(log);
    RuntimeMount shared;
    shared.container_path = "/shared";
    auto source = std::make_shared<VolumeSource>();
    source->kind = VolumeSource::Kind::host_path;
    source->host_path = "/data";
    shared.source = source;
    made.mounts.push_back(shared);
    return made;
  }

  // Starts a container, and runs until it does.
  ContainerId start(const std::string& pod, ContainerConfig config) {
    ContainerId id;
    runtime_.create_container(sandboxes_.at(pod), std::move(config),
                              [&id](Result<ContainerId> made) { id = *made; });
    loop_.drain();
    runtime_.start_container(id, [this](Result<void> done) {
      start_error_ = done ? std::string() : done.error().message;
    });
    latest_[pod] = id;
    return id;
  }
  // A command in the plain image.
  ContainerId command(const std::string& pod, Strings argv) {
    ContainerConfig made = config(pod, "plain", {});
    made.command = std::move(argv);
    return start(pod, made);
  }
  // A rank in a pod of its own: pod-R.
  ContainerId rank(int rank, int world, Strings args = {}, const std::string& master = "pod-0") {
    const std::string name = "pod-" + std::to_string(rank);
    if (!sandboxes_.contains(name)) pod(name);
    return start(name, config(name, "ddptwin-worker", std::move(args),
                              {{"RANK", std::to_string(rank)},
                               {"WORLD_SIZE", std::to_string(world)},
                               {"MASTER_ADDR", rank == 0 ? "localhost" : master},
                               {"MASTER_PORT", "23456"}}));
  }
  void group(int world, const Strings& args) {
    for (int i = 0; i < world; ++i) pod("pod-" + std::to_string(i));
    for (int i = 0; i < world; ++i) rank(i, world, args);
  }

  Duration now() const { return loop_.now() - begin_; }
  void run(Duration time) { loop_.run_until(loop_.now() + time); }
  // When a line with that text comes; fails the test after the limit.
  Duration until_line(const std::string& pod, const std::string& text, Duration limit = 1min) {
    const Time end = loop_.now() + limit;
    while (loop_.now() < end) {
      if (const Line* found = line(pod, text)) return found->at;
      const auto next = loop_.next_timer();
      if (loop_.idle() && (!next || *next > end)) break;
      loop_.step();
    }
    const Line* found = line(pod, text);
    EXPECT_NE(found, nullptr) << pod << " does not print " << text << "; all:\n" << all_lines();
    return found == nullptr ? Duration::zero() : found->at;
  }
  const Line* line(const std::string& pod, const std::string& text) const {
    for (const Line& one : lines_) {
      if (one.pod == pod && one.text.find(text) != std::string::npos) return &one;
    }
    return nullptr;
  }
  // Runs until the last container of the pod has ended: its code.
  int exit_code(const std::string& pod, Duration limit = 1h) {
    const Time end = loop_.now() + limit;
    while (loop_.now() < end && report(pod).phase != ContainerPhase::exited) {
      const auto next = loop_.next_timer();
      if (loop_.idle() && (!next || *next > end)) break;
      loop_.step();
    }
    EXPECT_EQ(report(pod).phase, ContainerPhase::exited) << pod << " runs on:\n" << all_lines();
    return report(pod).exit_code;
  }
  bool runs(const std::string& pod) const { return report(pod).phase == ContainerPhase::running; }
  ContainerReport report(const std::string& pod) const { return *runtime_.report(latest_.at(pod)); }
  Duration ended_at(const std::string& pod) const { return *report(pod).finished_at - begin_; }
  void signal(const std::string& pod, int number) {
    runtime_.signal_container(latest_.at(pod), number, {}, [](Result<void>) {});
  }
  std::string last_error(const std::string& pod) const {
    for (auto one = lines_.rbegin(); one != lines_.rend(); ++one) {
      if (one->pod == pod && one->standard_error) return one->text;
    }
    return {};
  }
  const std::vector<Line>& lines() const { return lines_; }
  std::string all_lines() const {
    std::string text;
    for (const Line& one : lines_)
      text += std::to_string(seconds_of(one.at)) + " " + one.pod + ": " + one.text + "\n";
    return text;
  }

  const std::string& ip(const std::string& pod) const {
    return addresses_.at(pod + ".default.svc.cluster.local");
  }
  ModelRuntime& runtime() { return runtime_; }
  VirtualLoop& loop() { return loop_; }
  const std::string& start_error() const { return start_error_; }
  const ContainerId& latest(const std::string& pod) const { return latest_.at(pod); }
  const SandboxId& sandbox(const std::string& pod) const { return sandboxes_.at(pod); }
  // By full name; what is absent does not exist.
  std::map<std::string, std::string>& addresses() { return addresses_; }
  int questions() const { return questions_; }
  void set_dns(DnsOutcome forced) { forced_ = forced; }

 private:
  void answer(DnsQuestion question, UniqueFunction<void(DnsAnswer)> done) {
    ++questions_;
    DnsAnswer given{DnsOutcome::nx_domain, {}};
    if (const auto found = addresses_.find(question.name); found != addresses_.end())
      given = {DnsOutcome::found, {found->second}};
    if (forced_ != DnsOutcome::found) given = {forced_, {}};
    loop_.post(dns_lane_, [done = std::move(done), given]() mutable { done(given); });
  }

  Time begin_{1'700'000'000s};
  VirtualLoop loop_;
  Lane dns_lane_ = loop_.new_lane();
  DnsOutcome forced_ = DnsOutcome::found;
  int questions_ = 0;
  std::map<std::string, std::string> addresses_{};
  std::map<std::string, SandboxId> sandboxes_{};
  std::map<std::string, ContainerId> latest_{};
  std::map<std::string, std::uint32_t> attempts_{};
  std::map<ContainerId, Duration> ends_{};
  std::vector<Line> lines_{};
  std::string start_error_{};
  ModelRuntime runtime_;  // last: it ends first
};

}  // namespace ddptwin::model
