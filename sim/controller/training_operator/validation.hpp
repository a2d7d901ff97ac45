// What v1.7.0 checks inside its reconcile; from v1.8.0 on webhook.hpp does it (spec/pytorchjob.md
// §1.4).
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "core/result.hpp"
#include "objects/pytorchjob.hpp"

namespace ddptwin::controller::pytorchjob {

// The first error, in upstream's words. Types are walked Master first.
Status validate(const PyTorchJob& job);

// What is wrong with a name that has to be a DNS-1035 label; empty when nothing is.
std::vector<std::string> dns_label_errors(std::string_view name);

}  // namespace ddptwin::controller::pytorchjob
