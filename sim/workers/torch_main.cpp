// ddptwin-worker: a rank on libtorch, or the zygote of many.
#include <unistd.h>

#include "program.hpp"
#include "torch_group.hpp"
#include "torch_model.hpp"

int main(int argc, char** argv) {
  using namespace ddptwin::workers;
  const Engineering engineering{.join = join_torch_group,
                                .build = [](const Options& options, const RankEnvironment&) {
                                  return build_torch_model(options);
                                }};
  const Program program{.engine = Engine::torch,
                        .engineering = engineering,
                        .version = torch_version(),
                        .warm_up = warm_up_torch};
  ::_exit(run_program(program, {argv, argv + argc}));
}
