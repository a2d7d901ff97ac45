// torchrun: the elastic agent of one node, which finds the other agents, starts the workers,
// watches them, and starts them all again when one fails or nodes come and go. Source:
// spec/ddp-semantics.md chapter 4, §8.1, §9.5, §9.8.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "objects/type.hpp"
#include "runtime/model/program.hpp"

namespace ddptwin::torchrun {

// A command that starts torchrun: how argparse calls it, and what it is given.
struct Launch {
  std::string program = "torchrun";
  std::vector<std::string> arguments{};
  friend bool operator==(const Launch&, const Launch&) = default;
};

// torchrun ..., python3 [-u] -m torch.distributed.run ...; nothing for other commands.
std::optional<Launch> launch_of(const std::vector<std::string>& argv);

// What a launch starts, and the options by which, each as both versions read it.
struct LaunchedScript {
  std::vector<std::string> options{};
  std::string script{};
  bool is_module = false;
};
// Nothing where torchrun would refuse the command line.
std::optional<LaunchedScript> script_of(const Launch& launch);

// Stands in a launch's arguments for what only its run will tell.
inline constexpr std::string_view unknown_text = "$";

// The rendezvous backend that the launch needs and nobody models, as far as its own words and these
// variables tell; empty: none.
std::string unmodelled_backend(const Launch& launch, const StringMap& environment);

// Ends with 0 when its workers have succeeded, 2 for a command line that argparse refuses, and 1
// else, whatever the workers' codes were (§4.4).
std::unique_ptr<model::Program> make_torchrun(Launch launch);

}  // namespace ddptwin::torchrun
