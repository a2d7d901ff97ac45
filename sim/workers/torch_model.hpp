// A multilayer perceptron under libtorch's autograd, trained with SGD: Linear(32, H), ReLU,
// Linear(H, H), ReLU, Linear(H, 1), as torch.nn.Sequential registers it.
#pragma once

#include <memory>
#include <string>

#include "model.hpp"
#include "options.hpp"

namespace ddptwin::workers {

std::unique_ptr<Model> build_torch_model(const Options& options);

// Loads what the first step would load, and leaves the process with one thread, fit to be forked
// (spec/ddp-semantics.md §1.3).
void warm_up_torch();

std::string torch_version();

}  // namespace ddptwin::workers
