#include "environment.hpp"

#include <gtest/gtest.h>

#include <map>

#include "error.hpp"

namespace ddptwin::workers::environment_test {
namespace {

using Variables = std::map<std::string, std::string>;

const Variables good{
    {"RANK", "1"}, {"WORLD_SIZE", "2"}, {"MASTER_ADDR", "job-master-0"}, {"MASTER_PORT", "23456"}};

RankEnvironment read(const Variables& variables) {
  return read_environment([&](const std::string& name) {
    const auto found = variables.find(name);
    return found == variables.end() ? std::string{} : found->second;
  });
}

Variables with(Variables variables, const std::string& name, const std::string& value) {
  variables[name] = value;
  return variables;
}

TEST(Environment, is_read_as_a_python_script_reads_it) {
  const RankEnvironment environment = read(with(good, "RANK", " +1\n"));
  EXPECT_EQ(environment.rank, 1);
  EXPECT_EQ(environment.world_size, 2);
  EXPECT_EQ(environment.master_addr, "job-master-0");
  EXPECT_EQ(environment.master_port, 23456);
  EXPECT_FALSE(environment.hosts_store());
  EXPECT_TRUE(read(with(good, "RANK", "0")).hosts_store());
}

TEST(Environment, of_torchrun_makes_rank_zero_a_client_of_the_agents_store) {
  Variables variables = with(good, "RANK", "0");
  variables["TORCHELASTIC_USE_AGENT_STORE"] = "True";
  variables["TORCHELASTIC_RESTART_COUNT"] = "2";
  variables["LOCAL_RANK"] = "3";
  variables["GLOO_SOCKET_IFNAME"] = "eth0,eth1";
  const RankEnvironment environment = read(variables);
  EXPECT_FALSE(environment.hosts_store());
  EXPECT_EQ(environment.attempt, "2");
  EXPECT_EQ(environment.local_rank, 3);
  EXPECT_EQ(environment.gloo_devices, (std::vector<std::string>{"eth0", "eth1"}));
}

// Of PyTorch 2.15 and 1.13.1 (spec/ddp-semantics.md §4.2, §9.5).
TEST(Environment, tells_a_torchrun_that_a_worker_of_1_13_cannot_speak_to) {
  const Variables agent = with(good, "TORCHELASTIC_USE_AGENT_STORE", "True");
  for (const Variables& of_2 : {with(agent, "TORCHELASTIC_SIGNALS_TO_HANDLE", "SIGTERM"),
                                with(agent, "TORCH_NCCL_ASYNC_ERROR_HANDLING", "1")}) {
    EXPECT_THROW(refuse_agent_of_2(read(of_2)), PythonError);
    EXPECT_NO_THROW(refuse_agent_of_2(read(with(of_2, "TORCHELASTIC_USE_AGENT_STORE", "False"))));
  }
  for (const Variables& of_1 : {good, with(agent, "NCCL_ASYNC_ERROR_HANDLING", "1"),
                                with(with(agent, "NCCL_ASYNC_ERROR_HANDLING", "1"),
                                     "TORCH_NCCL_ASYNC_ERROR_HANDLING", "1")})
    EXPECT_NO_THROW(refuse_agent_of_2(read(of_1)));
}

struct Refused {
  const char* name;
  const char* value;
  const char* message;
};

// spec/ddp-semantics.md §9.2, first rows.
const Refused refused[] = {
    {"RANK", "",
     "Error initializing torch.distributed using env:// rendezvous: environment variable RANK "
     "expected, but not set"},
    {"MASTER_ADDR", "",
     "Error initializing torch.distributed using env:// rendezvous: environment variable "
     "MASTER_ADDR "
     "expected, but not set"},
    {"RANK", "abc", "invalid literal for int() with base 10: 'abc'"},
    {"WORLD_SIZE", "2.0", "invalid literal for int() with base 10: '2.0'"},
    {"MASTER_PORT", "+-1", "invalid literal for int() with base 10: '+-1'"},
    {"MASTER_PORT", "70000", "port must have value from 0 to 65535 but was 70000."},
    {"MASTER_PORT", "-1", "port must have value from 0 to 65535 but was -1."},
};

TEST(Environment, is_refused_with_pythons_words) {
  for (const Refused& row : refused) {
    try {
      read(with(good, row.name, row.value));
      ADD_FAILURE() << row.name << "=" << row.value << " was accepted";
    } catch (const PythonError& error) {
      EXPECT_EQ(error.type(), "ValueError");
      EXPECT_STREQ(error.what(), row.message);
    }
  }
}

}  // namespace
}  // namespace ddptwin::workers::environment_test
