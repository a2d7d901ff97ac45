// Names that a StatefulSet gives, and what they say (spec/kubernetes.md §4).
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "objects/apps_v1.hpp"

namespace ddptwin::controller::statefulset {

namespace label {
inline const Text pod_name = "statefulset.kubernetes.io/pod-name";
inline const Text pod_index = "apps.kubernetes.io/pod-index";
inline const Text revision = "controller-revision-hash";
inline const Text revision_hash = "controller.kubernetes.io/hash";
}  // namespace label

// "web-3": of the set web, ordinal 3. Nothing where the name does not end in a number.
struct Place {
  std::string_view set{};
  std::int64_t ordinal = 0;
};
std::optional<Place> place_of(std::string_view pod_name);

std::string pod_name(const StatefulSet& set, std::int64_t ordinal);
std::string claim_name(const StatefulSet& set, const ClaimTemplate& claim, std::int64_t ordinal);

int start_ordinal(const StatefulSet& set);
int replica_count(const StatefulSet& set);
bool in_range(const StatefulSet& set, std::int64_t ordinal);
// Parallel: neither waits for readiness nor for order.
bool is_parallel(const StatefulSet& set);

}  // namespace ddptwin::controller::statefulset
