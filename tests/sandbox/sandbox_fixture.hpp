// Pods in real sandboxes, for tests: each call runs the loop until its answer is there.
#pragma once

#include <gtest/gtest.h>

#include <boost/asio/io_context.hpp>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "runtime/process/process_runtime.hpp"

namespace ddptwin {

class SandboxTest : public testing::Test {
 protected:
  static constexpr Duration patience = 20s;

  void SetUp() override {
    ProcessRuntime::Options options;
    options.supervisor = DDPTWIN_BINARY_DIR "/bin/ddptwin-sandbox";
    options.device_folder = device_folder;
    auto started = ProcessRuntime::start(loop, std::move(options));
    ASSERT_TRUE(started) << started.error().text();
    runtime = std::move(*started);
    runtime->listen([this](const RuntimeEvent& event) { events.push_back(event); });
    runtime->add_image("tools", Image{});
    ASSERT_TRUE(pull("tools"));
  }

  // Runs the loop until the condition holds; false if it does not in time.
  bool until(const std::function<bool()>& holds) {
    const Time last = loop.now() + patience;
    while (!holds() && loop.now() < last) {
      if (io.stopped()) io.restart();  // it ran out of work once; what was posted since waits
      io.run_one_for(std::chrono::milliseconds(100));
    }
    return holds();
  }

  template <class T>
  Result<T> wait(const std::function<void(Done<T>)>& call) {
    auto result = std::make_shared<std::optional<Result<T>>>();
    call([result](Result<T> answer) { *result = std::move(answer); });
    if (!until([&] { return result->has_value(); })) return fail(Reason::timeout, "no answer");
    return std::move(**result);
  }

  Result<ImageStatus> pull(const std::string& image) {
    return wait<ImageStatus>([&](auto done) { runtime->pull_image(image, {}, std::move(done)); });
  }

  SandboxStatus run_pod(SandboxConfig config = {}) {
    if (config.uid.empty()) config.uid = "uid-" + std::to_string(++pods);
    if (config.hostname.empty()) config.hostname = "pod-" + std::to_string(pods);
    auto status =
        wait<SandboxStatus>([&](auto done) { runtime->run_sandbox(config, std::move(done)); });
    EXPECT_TRUE(status) << status.error().text();
    return status.value_or(SandboxStatus{});
  }

  Result<ContainerId> start(const SandboxId& pod, ContainerConfig config) {
    if (config.user_image.empty()) config.user_image = "tools";
    TRY(ContainerId id, wait<ContainerId>([&](auto done) {
          runtime->create_container(pod, config, std::move(done));
        }));
    last_created = id;
    TRY_VOID(wait<void>([&](auto done) { runtime->start_container(id, std::move(done)); }));
    return id;
  }

  Result<ContainerId> start_shell(const SandboxId& pod, const std::string& script,
                                  ContainerConfig config = {}) {
    config.command = {"sh", "-c", script};
    config.name = config.name.empty() ? "main" : config.name;
    return start(pod, std::move(config));
  }

  ContainerReport wait_for_end(const ContainerId& id) {
    EXPECT_TRUE(until([&] { return runtime->report(id)->phase == ContainerPhase::exited; }));
    return *runtime->report(id);
  }

  std::string log_of(const ContainerId& id) { return runtime->log_tail(id, 1000, 64 * 1024); }

  // A container that runs the script to its end, and what it printed.
  struct Ran {
    ContainerReport report;
    std::string output;
  };
  Ran run_shell(const SandboxId& pod, const std::string& script, ContainerConfig config = {}) {
    const auto id = start_shell(pod, script, std::move(config));
    EXPECT_TRUE(id) << id.error().text();
    if (!id) return {};
    ContainerReport report = wait_for_end(*id);
    return {std::move(report), log_of(*id)};
  }

  bool wait_for_line(const ContainerId& id, const std::string& text) {
    return until([&] { return log_of(id).find(text) != std::string::npos; });
  }

  std::string device_folder = "/dev";  // where GPUs of this machine are found
  boost::asio::io_context io;
  RealLoop loop{io};
  std::vector<RuntimeEvent> events;
  int pods = 0;
  ContainerId last_created;
  std::unique_ptr<ProcessRuntime> runtime;
};

}  // namespace ddptwin
