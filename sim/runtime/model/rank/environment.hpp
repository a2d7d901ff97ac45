// What env:// rendezvous reads of a rank's variables. Source: spec/ddp-semantics.md §9.2.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "core/result.hpp"
#include "runtime/model/program.hpp"

namespace ddptwin::model {

struct RankEnvironment {
  int rank = 0;
  int world_size = 1;
  std::string master_addr{};
  int master_port = 0;
  bool uses_agent_store = false;
  std::string attempt = "0";
  bool hosts_store() const { return rank == 0 && !uses_agent_store; }
};

// As Python's int(); the error is its ValueError.
Result<int> integer_of(std::string_view text);
Result<RankEnvironment> read_environment(const Process& process);
// Some variable is missing, as of a rank that nobody has started as one of a group.
bool names_no_group(const Process& process);

// The GPUs that its container was given, as CUDA numbers them: names by which those of one host
// differ. CUDA_VISIBLE_DEVICES chooses among them.
std::vector<std::string> cards_of(const Process& process);
// Which of so many a script trains on: cuda:LOCAL_RANK, and again from the first where there are
// fewer than ranks. Precondition: there are some.
std::size_t card_of(const Process& process, std::size_t cards);
// Of a modelled card, as NCCL prints it: "1000", "2000".
std::string bus_of(std::size_t card);

}  // namespace ddptwin::model
