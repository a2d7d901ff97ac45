#include "objects/kinds.hpp"

#include <algorithm>
#include <array>

#include "objects/apps_v1.hpp"
#include "objects/autoscaling.hpp"
#include "objects/batch_v1.hpp"
#include "objects/core_v1.hpp"
#include "objects/cronjob.hpp"
#include "objects/ddpset.hpp"
#include "objects/ddptask.hpp"
#include "objects/discovery_v1.hpp"
#include "objects/disruption_budget.hpp"
#include "objects/jobset.hpp"
#include "objects/limit_range.hpp"
#include "objects/node_v1.hpp"
#include "objects/pytorchjob.hpp"
#include "objects/pytorchtrainingjob.hpp"
#include "objects/resource_quota.hpp"
#include "objects/scheduling_v1.hpp"
#include "objects/trainjob.hpp"
#include "objects/volumes.hpp"

namespace ddptwin {

std::span<const KindInfo* const> built_in_kinds() {
  static const std::array rows{
      &Namespace::info(),
      &Node::info(),
      &Pod::info(),
      &Service::info(),
      &Endpoints::info(),
      &ConfigMap::info(),
      &Secret::info(),
      &Event::info(),
      &ServiceAccount::info(),
      &EndpointSlice::info(),
      &PyTorchJob::info(),
      &HorizontalPodAutoscaler::info(),
      &PriorityClass::info(),
      &RuntimeClass::info(),
      &ResourceQuota::info(),
      &LimitRange::info(),
      &PodDisruptionBudget::info(),
      &PersistentVolumeClaim::info(),
      &PersistentVolume::info(),
      &StorageClass::info(),
      &StatefulSet::info(),
      &ControllerRevision::info(),
      &Job::info(),
      &CronJob::info(),
      &DDPSet::info(),
      &PyTorchTrainingJob::info(),
      &DDPTask::info(),
      &JobSet::info(),
      &TrainJob::info(),
      &TrainingRuntime::info(),
      &ClusterTrainingRuntime::info(),
  };
  return rows;
}

KindRegistry::KindRegistry() {
  for (const KindInfo* kind : built_in_kinds())
    kinds_.push_back(
        std::shared_ptr<const KindInfo>(std::shared_ptr<void>(), kind));  // lives for ever
}

void KindRegistry::add(std::shared_ptr<const KindInfo> kind) {
  remove(kind->group, kind->kind);
  kinds_.push_back(std::move(kind));
}

void KindRegistry::remove(std::string_view group, std::string_view kind) {
  std::erase_if(kinds_, [&](const auto& row) { return row->group == group && row->kind == kind; });
}

namespace {

// As == with its api_version(), which is not made for each row that is looked at.
bool is_version_of(const KindInfo& kind, std::string_view api_version) {
  if (kind.group.empty()) return api_version == kind.version;
  return api_version.size() == kind.group.size() + 1 + kind.version.size() &&
         api_version.starts_with(kind.group) && api_version[kind.group.size()] == '/' &&
         api_version.ends_with(kind.version);
}

}  // namespace

const KindInfo* KindRegistry::find(std::string_view api_version, std::string_view kind) const {
  for (const auto& row : kinds_)
    if (row->kind == kind && is_version_of(*row, api_version)) return row.get();
  return nullptr;
}

const KindInfo* KindRegistry::find_plural(std::string_view group, std::string_view version,
                                          std::string_view plural) const {
  for (const auto& row : kinds_)
    if (row->plural == plural && row->group == group && row->version == version) return row.get();
  return nullptr;
}

std::shared_ptr<const KindInfo> KindRegistry::share(const KindInfo& kind) const {
  for (const auto& row : kinds_)
    if (row.get() == &kind) return row;
  return nullptr;
}

std::vector<const KindInfo*> KindRegistry::all() const {
  std::vector<const KindInfo*> rows;
  for (const auto& row : kinds_) rows.push_back(row.get());
  return rows;
}

std::shared_ptr<Object> KindRegistry::make(const KindInfo& kind) const {
  if (kind.make != nullptr) return kind.make();
  return std::make_shared<GenericObject>(share(kind));
}

}  // namespace ddptwin
