#include "controller/manager/statefulset/names.hpp"

#include <fmt/format.h>

#include <charconv>

namespace ddptwin::controller::statefulset {

std::optional<Place> place_of(std::string_view pod_name) {
  const std::size_t dash = pod_name.rfind('-');
  if (dash == pod_name.npos) return std::nullopt;
  const std::string_view digits = pod_name.substr(dash + 1);
  std::int32_t ordinal = 0;
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), ordinal);
  const bool is_number = !digits.empty() && digits.find_first_not_of("0123456789") == digits.npos;
  if (!is_number || error != std::errc() || end != digits.data() + digits.size())
    return std::nullopt;
  return Place{pod_name.substr(0, dash), ordinal};
}

std::string pod_name(const StatefulSet& set, std::int64_t ordinal) {
  return fmt::format("{}-{}", set.metadata.name.view(), ordinal);
}

std::string claim_name(const StatefulSet& set, const ClaimTemplate& claim, std::int64_t ordinal) {
  return fmt::format("{}-{}-{}", claim.metadata.name.view(), set.metadata.name.view(), ordinal);
}

int start_ordinal(const StatefulSet& set) {
  return set.spec->ordinals ? set.spec->ordinals->start : 0;
}

int replica_count(const StatefulSet& set) { return set.spec->replicas.value_or(1); }

bool in_range(const StatefulSet& set, std::int64_t ordinal) {
  const std::int64_t start = start_ordinal(set);
  return ordinal >= start && ordinal < start + replica_count(set);
}

bool is_parallel(const StatefulSet& set) { return set.spec->podManagementPolicy == "Parallel"; }

}  // namespace ddptwin::controller::statefulset
