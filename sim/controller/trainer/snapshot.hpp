// The runtime as it was when its TrainJob was first looked at (spec/trainjob.md §2.2).
#pragma once

#include "controller/trainer/plugins.hpp"

namespace ddptwin::controller::trainer {

// What a TrainJob's runtime says, whichever of the two kinds it is. Precondition: it is of one.
const TrainingRuntimeSpec& spec_of_runtime(const Object& runtime);
// The kind that the TrainJob's runtimeRef names; null: none of Trainer's.
const KindInfo* runtime_kind_of(const TrainJob& job);
// "TrainingRuntime.trainer.kubeflow.org"
std::string runtime_name_of_kind(const TrainJob& job);

// The ConfigMap of a runtime.
Applied snapshot_of(const TrainJob& job, const Object& runtime);
// What a snapshot says. The error of one that is another's, or of no use.
Result<TrainingRuntimeSpec> read_snapshot(const TrainJob& job, const ConfigMap& snapshot);

}  // namespace ddptwin::controller::trainer
