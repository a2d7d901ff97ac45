#include <gmock/gmock.h>

#include <fstream>

#include "sandbox_fixture.hpp"

namespace ddptwin {
namespace {

using testing::HasSubstr;

TEST_F(SandboxTest, a_program_runs_and_its_output_and_exit_code_are_seen) {
  const Ran ran = run_shell(run_pod().id, "echo out; echo err >&2; exit 3");
  EXPECT_EQ(ran.report.exit_code, 3);
  EXPECT_EQ(ran.report.reason, "Error");
  EXPECT_THAT(ran.output, HasSubstr("out\n"));
  EXPECT_THAT(ran.output, HasSubstr("err\n"));
}

TEST_F(SandboxTest, a_pod_has_its_own_hostname_and_address) {
  SandboxConfig config;
  config.hostname = "torchrun-cpu-master-0";
  const SandboxStatus pod = run_pod(config);
  const Ran ran =
      run_shell(pod.id, "hostname; cat /etc/hostname; cat /proc/net/fib_trie | grep -c " + pod.ip);
  EXPECT_EQ(ran.output, "torchrun-cpu-master-0\ntorchrun-cpu-master-0\n2\n");
}

}  // namespace
}  // namespace ddptwin
