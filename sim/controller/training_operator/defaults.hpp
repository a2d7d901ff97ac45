// What an unwritten field means (spec/pytorchjob.md §1.3).
#pragma once

#include "core/result.hpp"
#include "objects/pytorchjob.hpp"

namespace ddptwin::controller::pytorchjob {

// The spec with upstream's defaults. They live in memory only and are never written back. The
// error is upstream's own runtime error where its code would crash (Q12 a, b).
Result<PyTorchJobSpec> defaulted(PyTorchJobSpec spec);

}  // namespace ddptwin::controller::pytorchjob
