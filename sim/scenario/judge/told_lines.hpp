// What lines of a training script tell of it beside its steps: who has joined, and of what it died.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace ddptwin::scenario {

struct Scenario;

// Lines with {rank} and {world_size} that tell that a rank has joined: the worker's own
// (sim/workers/README.md), and those of the scenario's descriptions.
std::vector<std::string> join_lines(const Scenario& scenario);

// "rank 0 of 2" of a line that is one of those, behind torchrun's prefix or not; what the line does
// not tell is left out, "joined" where it tells neither. Empty: it is none of them.
std::string joined_by(std::string_view line, const std::vector<std::string>& join_lines);

// "RuntimeError at unbound_buffer.cc:81", "DistStoreError: wait timeout after": the type of the
// exception that a line tells, and the place in the source or, without one, how its words begin.
// That a peer's socket has closed is one place however it was found out: "RuntimeError: a peer is
// gone". Empty: the line tells no exception.
std::string error_in(std::string_view line);

// Whether PyTorch itself has raised it, so that every model of the script tells it too.
bool is_of_pytorch(std::string_view error);

}  // namespace ddptwin::scenario
