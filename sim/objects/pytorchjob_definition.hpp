// The definition of PyTorchJob as a custom resource, by version of training-operator
// (spec/pytorchjob.md sections 0.1 and 1).
#pragma once

#include "objects/type.hpp"

namespace ddptwin {

struct PyTorchJobSchemaOptions {
  bool keyed_lists = true;      // from v1.9: doubled containers and variables are refused
  bool immutable_queue = true;  // from v1.8
  bool managed_by = true;       // from v1.9
};

// An openAPIV3Schema.
RawJson pytorchjob_schema(const PyTorchJobSchemaOptions& options = {});

}  // namespace ddptwin
