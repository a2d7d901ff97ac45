// ddptwin-worker-gloo: a rank without libtorch.
#include <unistd.h>

#include "gloo_engine.hpp"
#include "program.hpp"

int main(int argc, char** argv) {
  using namespace ddptwin::workers;
  const Program program{.engine = Engine::gloo,
                        .engineering = gloo_engine(),
                        .version = "gloo, c10d store protocol of PyTorch 1.13",
                        .warm_up = nullptr};
  ::_exit(run_program(program, {argv, argv + argc}));
}
