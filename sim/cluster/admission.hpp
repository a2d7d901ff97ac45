// What stands between a request and the store: the admission chain (spec/kubernetes.md section 1).
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "api/client.hpp"

namespace ddptwin {

// Mutating hooks run after defaults and before the kind's validation, validating ones after it.
enum class AdmissionPhase : std::uint8_t { mutating, validating };

struct AdmissionRequest {
  api::Verb verb;  // create, update (also for a patch) or remove
  const KindInfo& kind;
  std::string_view subresource;
  std::shared_ptr<Object> object;  // to be stored; null when it is a deletion
  ObjectPtr old;                   // what is stored; null when it is a creation
  std::string_view actor;
  bool dry_run = false;
};

// The warnings for the client, or the refusal.
using AdmissionHook = std::function<Result<std::vector<std::string>>(const AdmissionRequest&)>;

}  // namespace ddptwin
