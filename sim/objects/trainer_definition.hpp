// The definitions of Kubeflow Trainer's custom resources, by version (spec/trainjob.md §0.2, §1).
#pragma once

#include <cstdint>

#include "objects/jobset_definition.hpp"
#include "objects/type.hpp"

namespace ddptwin {

struct TrainerSchemaOptions {
  bool pod_spec_overrides = false;       // v2.0
  bool pod_template_overrides = false;   // v2.1
  bool runtime_patches = true;           // from v2.2, as most bounds of texts and lists
  bool proc_words = false;               // numProcPerNode may be auto, cpu or gpu; up to v2.1
  bool torch_policy = false;             // torch.numProcPerNode and elasticPolicy; up to v2.1
  bool job_labels = false;               // spec.labels and annotations; up to v2.1
  bool deadline = true;                  // from v2.2
  bool keeps_trainer = true;             // from v2.2: as the initializer it may not change
  bool frameworks = true;                // from v2.2
  bool volcano = true;                   // from v2.1
  bool env_injection = true;             // from v2.3
  bool grace_period = true;              // of patches; from v2.3
  bool names = true;                     // from v2.1: rules about metadata.name
  bool uris = true;                      // from v2.3
  bool counts = false;                   // after v2.3: numNodes and numProcPerNode have a minimum
  bool needs_template = false;           // v2.0: a runtime without one is refused
  std::uint32_t longest_word = 1048576;  // of command and args; 0: any
  JobSetSchemaOptions jobset{};          // of the template
};

// openAPIV3Schemas.
RawJson trainjob_schema(const TrainerSchemaOptions& options = {});
// Of both kinds.
RawJson training_runtime_schema(const TrainerSchemaOptions& options = {});

}  // namespace ddptwin
