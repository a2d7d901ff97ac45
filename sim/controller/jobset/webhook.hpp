// What JobSet's webhooks fill in and refuse (spec/trainjob.md §4.2, §5.9), and what they do to the
// pods of a JobSet (§5.10).
#pragma once

#include <functional>
#include <optional>
#include <string_view>

#include "controller/jobset/profile.hpp"
#include "core/result.hpp"
#include "objects/jobset.hpp"

namespace ddptwin::controller::jobset {

inline constexpr std::string_view validator_name = "vjobset.kb.io";

// At CREATE. What Go's encoder makes of the spec then lies over what was sent.
void fill_in(JobSet& set);

// What the webhook's client finds of that name in the set's namespace; null: nothing.
using FindClaim = std::function<std::shared_ptr<const PersistentVolumeClaim>(std::string_view)>;
// At CREATE.
std::optional<Error> review_new(const JobSet& set, const Profile& profile, const FindClaim& find);
// At UPDATE of the set itself.
std::optional<Error> review_change(const JobSet& set, const JobSet& old, const Profile& profile);

}  // namespace ddptwin::controller::jobset
