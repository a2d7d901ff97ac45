// The engine without libtorch: Gloo, our own store client, a linear model. 2 ms to start.
#pragma once

#include "trainer.hpp"

namespace ddptwin::workers {

Engineering gloo_engine();

}  // namespace ddptwin::workers
