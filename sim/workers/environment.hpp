// What a rank is told by its environment, read as torch.distributed's env:// reads it: in the order
// RANK, WORLD_SIZE, MASTER_ADDR, MASTER_PORT, an empty value counting as none.
// Source: spec/ddp-semantics.md §9.2, first rows; §4.2 for torchrun's additions.
#pragma once

#include <functional>
#include <string>
#include <vector>

namespace ddptwin::workers {

struct RankEnvironment {
  int rank = 0;
  int world_size = 1;
  std::string master_addr{};
  int master_port = 0;
  int local_rank = 0;                       // 0 without torchrun
  bool uses_agent_store = false;            // torchrun's agent hosts the store: be a client of it
  bool agent_is_of_2 = false;               // by variables that only a torchrun 2.x sets (§9.5)
  std::string attempt = "0";                // TORCHELASTIC_RESTART_COUNT
  std::vector<std::string> gloo_devices{};  // GLOO_SOCKET_IFNAME, split at commas

  bool hosts_store() const { return rank == 0 && !uses_agent_store; }
};

// The value of a variable, empty if it is not set.
using Lookup = std::function<std::string(const std::string& name)>;

// Throws PythonError("ValueError") with Python's own words.
RankEnvironment read_environment(const Lookup& lookup);

// For workers of PyTorch 1.13. Throws PythonError where they cannot be clients of the store of the
// agent that started them, and would hang: that agent's torchrun is of 2.x, and the two protocols
// do not mix (spec/ddp-semantics.md §9.7).
void refuse_agent_of_2(const RankEnvironment& environment);

}  // namespace ddptwin::workers
