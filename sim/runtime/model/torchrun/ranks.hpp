// What the agents of a round tell each other through the store: how many workers each has, and
// where rank 0 is. Source: spec/ddp-semantics.md §4.2, §9.5; upstream's agent/server/api.py.
#pragma once

#include <memory>

#include "runtime/model/torchrun/meeting.hpp"

namespace ddptwin::torchrun {

// The first ranks of this node's workers, and of how many.
struct GroupRanks {
  int first_rank = 0;
  int world_size = 1;
  int first_role_rank = 0;
  int role_world_size = 1;
};

// Keeps what it needs alive until `done`. Fails when somebody does not tell within the store's
// timeout.
void agree_ranks(const Agent& agent, const World& world,
                 UniqueFunction<void(Result<GroupRanks>)> done);

// MASTER_ADDR and MASTER_PORT, told by group rank 0: a port that is free there now, or that of a
// store that is there already (`shared_port`).
void agree_master(const Agent& agent, const World& world, std::optional<std::uint16_t> shared_port,
                  UniqueFunction<void(Result<Endpoint>)> done);

// All agents of the round have come so far, or the exit barrier's time is over, or the store is
// gone: nobody minds which (§4.3, §4.4).
void pass_exit_barrier(const Agent& agent, const World& world, Callback done);

// The ranks of group rank `self`, from what each of them said ("ROLE WORKERS").
std::optional<GroupRanks> ranks_from(const std::vector<std::string>& infos, int self);

}  // namespace ddptwin::torchrun
