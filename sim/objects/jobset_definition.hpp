// The definition of JobSet as a custom resource, by version (spec/trainjob.md §5.1, §5.11).
#pragma once

#include "objects/type.hpp"

namespace ddptwin {

struct JobSetSchemaOptions {
  bool groups = true;            // from v0.9: groupName, and five dependencies where it was one
  bool message_patterns = true;  // from v0.10
  bool claim_policies = true;    // from v0.11, with the strategy InPlaceRestart
  bool job_restarts = true;      // from v0.12: restarts of single Jobs
};

// An openAPIV3Schema.
RawJson jobset_schema(const JobSetSchemaOptions& options = {});

}  // namespace ddptwin
