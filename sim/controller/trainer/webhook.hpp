// Trainer's webhooks (spec/trainjob.md §1.5): what is filled into a TrainJob, and what is refused
// of it and of the runtimes.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "controller/trainer/profile.hpp"
#include "core/result.hpp"
#include "objects/trainjob.hpp"

namespace ddptwin::controller::trainer {

// What a validating webhook answers.
struct Verdict {
  std::vector<std::string> warnings{};
  std::optional<Error> refused{};
};

// What the webhooks' client finds beside the object in hand; each may answer null.
struct Surroundings {
  // Of the TrainJob's namespace; of a ClusterTrainingRuntime the namespace is empty.
  std::function<ObjectPtr(const KindInfo& kind, std::string_view namespace_, std::string_view name)>
      find{};
};

// The mutating webhook, at CREATE (`old` is null) and UPDATE: patches get the time of their last
// change; all else stays as it was sent. The warnings for the client, or the error
// where a value has a wrong type.
Result<std::vector<std::string>> fill_in(TrainJob& job, const TrainJob* old, Time now,
                                         const Profile& profile);

// The validating ones, at CREATE and UPDATE of the objects themselves.
Verdict review(const TrainJob& job, const TrainJob* old, const Surroundings& around,
               const Profile& profile);
// Of a TrainingRuntime or ClusterTrainingRuntime.
Verdict review_runtime(const Object& runtime, const Object* old, const Profile& profile);

}  // namespace ddptwin::controller::trainer
