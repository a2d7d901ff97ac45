// The training: resume, steps, progress, checkpoints. The same for both engines.
//
// On stdout, one line each, flushed, never changed lightly (scenarios wait for them):
//   joined rank R world_size W         the group stands
//   resumed from step S                a checkpoint was found
//   step S/N rank R loss 0.1234        step S is done
//   checkpoint step S                  rank 0, the file is in place
//   finished rank R steps N parameters 0123456789abcdef
#pragma once

#include <functional>
#include <memory>

#include "environment.hpp"
#include "group.hpp"
#include "model.hpp"
#include "options.hpp"

namespace ddptwin::workers {

struct Engineering {  // what an engine provides
  std::function<std::unique_ptr<Group>(const Options&, const RankEnvironment&)> join;
  std::function<std::unique_ptr<Model>(const Options&, const RankEnvironment&)> build;
};

// Runs one rank to its end and gives its exit status; errors are told on stderr (error.hpp). Group
// and model are left standing, for the group's threads may still be at work for a peer: end with
// _exit().
int run_rank(const Options& options, const Engineering& engine);

}  // namespace ddptwin::workers
