#include "runtime/script_runtime.hpp"

#include <gtest/gtest.h>

#include "core/virtual_loop.hpp"

namespace ddptwin::script_runtime_test {
namespace {

// A kubelet that has begun anew may make the attempt of its predecessor once more.
TEST(ScriptRuntime, an_attempt_that_is_made_once_more_takes_the_place_of_the_first) {
  VirtualLoop loop{Random(1), Time(1000s), VirtualLoop::Order::fifo};
  ScriptRuntime runtime(loop);
  SandboxConfig pod;
  pod.name = "p";
  pod.namespace_ = "ns";
  pod.uid = "u";
  SandboxId sandbox;
  runtime.run_sandbox(pod, [&](Result<SandboxStatus> made) { sandbox = made->id; });
  loop.run_until(loop.now() + 1s);
  ASSERT_FALSE(sandbox.empty());
  ContainerConfig config;
  config.name = "c";
  ContainerId id;
  for (int i = 0; i < 2; ++i) {
    runtime.create_container(sandbox, config, [&](Result<ContainerId> made) { id = *made; });
    loop.run_until(loop.now() + 1s);
    runtime.start_container(id, [](Status) {});
    loop.run_until(loop.now() + 1s);
  }
  EXPECT_EQ(runtime.running_in("u"), std::vector<std::string>{"c"});
  runtime.remove_sandbox(sandbox);
  EXPECT_TRUE(runtime.running_in("u").empty());
}

}  // namespace
}  // namespace ddptwin::script_runtime_test
