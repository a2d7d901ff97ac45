// T9k's admission of PyTorchTrainingJobs: what their definition cannot say (spec/t9k.md §2). The
// World puts it into the store's way.
#pragma once

#include <optional>

#include "core/result.hpp"
#include "objects/pytorchtrainingjob.hpp"

namespace ddptwin::controller::t9k {

inline constexpr std::string_view webhook_name = "pytorchtrainingjob.batch.tensorstack.dev";

// Asked at CREATE and UPDATE of the job itself, never of a subresource. `old` is null at CREATE.
// Nothing: admitted; else Invalid (422), each wrong field a cause.
std::optional<Error> review(const PyTorchTrainingJob& job, const PyTorchTrainingJob* old);
// What a job gets that says nothing of it, where that takes more than a constant. False: nothing.
bool fill_defaults(PyTorchTrainingJob& job);

}  // namespace ddptwin::controller::t9k
