// The releases of kube-controller-manager that differ in what is modelled here, one row each.
#pragma once

#include <span>
#include <string_view>
#include <vector>

#include "objects/kinds.hpp"

namespace ddptwin {

// A controller that plans a key only once its caches have seen what it last wrote of these kinds
// (KEP-5647).
struct OwnWrites {
  std::string_view controller;
  std::span<const KindInfo& (*const)()> kinds;
};

struct ManagerVersion {
  std::string_view name;  // "v1.36"
  std::span<const OwnWrites> awaited{};
};

// That of the recordings.
const ManagerVersion& default_manager_version();
// By its name or by a release of it ("v1.36.3"); null: there is none such.
const ManagerVersion* find_manager_version(std::string_view text);
// Of whose own writes the controller waits to hear before it plans a key again.
std::vector<const KindInfo*> own_writes_of(const ManagerVersion& version,
                                           std::string_view controller);

}  // namespace ddptwin
