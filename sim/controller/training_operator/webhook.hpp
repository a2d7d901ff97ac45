// The validating webhook that training-operator runs from v1.8.0 on (spec/pytorchjob.md §1.4). The
// World puts it into the store's way; it sees jobs as their authors wrote them.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "controller/training_operator/profile.hpp"
#include "core/result.hpp"
#include "objects/pytorchjob.hpp"

namespace ddptwin::controller::pytorchjob {

inline constexpr std::string_view webhook_name =
    "validator.pytorchjob.training-operator.kubeflow.org";

struct Review {
  std::vector<std::string> warnings{};
  // Forbidden, with the API server's wrapping and no details; all errors in one message.
  std::optional<Error> refused{};
};

// Asked at CREATE and UPDATE of the job itself, never of a subresource. `old` is null at CREATE; it
// counts only for the check that managedBy does not change, which upstream's registered webhook
// never reaches (Q29): the World passes null there too. Profiles without a webhook admit all.
Review review(const PyTorchJob& job, const PyTorchJob* old, const Profile& profile);

}  // namespace ddptwin::controller::pytorchjob
