// The Pod Security Standards, check by check
// (https://kubernetes.io/docs/concepts/security/pod-security-standards/; words and order as
// k8s.io/pod-security-admission has them).
#pragma once

#include <initializer_list>
#include <string>
#include <string_view>
#include <vector>

#include "objects/type.hpp"

namespace ddptwin::pod_security {

enum class Level : std::uint8_t { privileged, baseline, restricted };

struct Finding {
  std::string_view reason;
  std::string detail;
};

// What of a pod's specification the level forbids in Kubernetes 1.`minor`.
std::vector<Finding> findings(Level level, int minor, const Json& pod_spec);

// The member at the end of the path; null: absent or null.
const Json* part_of(const Json& value, std::initializer_list<std::string_view> path);

inline std::string_view plural(std::string_view one, std::string_view more, std::size_t count) {
  return count == 1 ? one : more;
}

}  // namespace ddptwin::pod_security
