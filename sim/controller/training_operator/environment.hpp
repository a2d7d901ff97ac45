// The environment that a replica's containers get (spec/pytorchjob.md §2).
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "controller/training_operator/profile.hpp"
#include "core/result.hpp"
#include "objects/pytorchjob.hpp"

namespace ddptwin::controller::pytorchjob {

struct InjectedVariable {
  std::string_view name{};  // a literal
  std::string value{};
};

// What a replica counts for in WORLD_SIZE: nprocPerNode where it is an integer to Go's
// strconv.Atoi, of 64 bits, else 1 (auto, cpu, gpu, nil; §2.1).
std::int64_t processes_per_node(const PyTorchJobSpec& spec);
// All processes of the job's replicas; what is too much for Go's int goes round.
std::int64_t world_size(const PyTorchJob& job);

// Where each comes from says rules::variables. In upstream's order, to be appended to the env of
// every container (not of init containers) of the replica. `job` is defaulted. The error is
// upstream's: "port not found", or a runtime error where its code would crash (reason
// internal_error, Q12 c, d, e).
Result<std::vector<InjectedVariable>> environment(const PyTorchJob& job, std::string_view type,
                                                  int index, const Profile& profile);

// The same of another replica of that type, of which only the rank differs.
void set_rank(std::vector<InjectedVariable>& variables, std::string_view type, int index);

// §2.3 alone: nothing without an elasticPolicy.
Result<std::vector<InjectedVariable>> elastic_environment(const PyTorchJob& job);

}  // namespace ddptwin::controller::pytorchjob
