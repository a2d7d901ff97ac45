#include "scenario/world/manager_version.hpp"

#include <array>

#include "objects/apps_v1.hpp"
#include "objects/batch_v1.hpp"
#include "objects/core_v1.hpp"
#include "objects/volumes.hpp"

namespace ddptwin {
namespace {

using KindOf = const KindInfo& (*)();

// pkg/controller/job/job_controller.go, pkg/controller/statefulset/stateful_set.go of v1.36. What a
// StatefulSet's controller writes of ControllerRevisions is not awaited there either.
constexpr std::array<KindOf, 2> of_jobs{&Pod::info, &Job::info};
constexpr std::array<KindOf, 3> of_sets{&Pod::info, &PersistentVolumeClaim::info,
                                        &StatefulSet::info};
constexpr std::array awaited_since_1_36{
    OwnWrites{"job-controller", of_jobs},           // gate StaleControllerConsistencyJob
    OwnWrites{"statefulset-controller", of_sets}};  // gate StaleControllerConsistencyStatefulSet

// Oldest first.
constexpr std::array versions{ManagerVersion{"v1.35"}, ManagerVersion{"v1.36", awaited_since_1_36}};

}  // namespace

const ManagerVersion& default_manager_version() { return versions.back(); }

const ManagerVersion* find_manager_version(std::string_view text) {
  for (const ManagerVersion& one : versions) {
    const bool is_its = text.starts_with(one.name);
    if (is_its && (text.size() == one.name.size() || text[one.name.size()] == '.')) return &one;
  }
  return nullptr;
}

std::vector<const KindInfo*> own_writes_of(const ManagerVersion& version,
                                           std::string_view controller) {
  std::vector<const KindInfo*> kinds;
  for (const OwnWrites& row : version.awaited)
    if (row.controller == controller)
      for (const KindOf kind : row.kinds) kinds.push_back(&kind());
  return kinds;
}

}  // namespace ddptwin
