// What both worker programs do with their command line.
#pragma once

#include <string>
#include <vector>

#include "trainer.hpp"

namespace ddptwin::workers {

struct Program {
  Engine engine = Engine::torch;
  Engineering engineering;
  std::string version;            // second line of --version: what it is built on
  std::function<void()> warm_up;  // before a zygote serves; nothing: this program cannot be one
};

// Gives the exit status; end with _exit() (trainer.hpp). 2: a wrong command line, told on stderr.
int run_program(const Program& program, const std::vector<std::string>& arguments);

}  // namespace ddptwin::workers
