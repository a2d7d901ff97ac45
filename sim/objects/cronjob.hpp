// batch/v1: CronJob, which makes Jobs by the clock (upstream: pkg/controller/cronjob).
#pragma once

#include "objects/batch_v1.hpp"
#include "objects/validation.hpp"

namespace ddptwin {

struct CronJobSpec {
  std::string schedule{};
  std::optional<std::string> timeZone{};
  std::optional<std::int64_t> startingDeadlineSeconds{};
  std::string concurrencyPolicy{};  // Allow, Forbid, Replace
  std::optional<bool> suspend{};
  JobTemplateSpec jobTemplate{};
  std::optional<std::int32_t> successfulJobsHistoryLimit{};
  std::optional<std::int32_t> failedJobsHistoryLimit{};
  static const Type& type();
};
struct CronJobStatus {
  std::vector<ObjectReference> active{};
  OptionalTime lastScheduleTime{};
  OptionalTime lastSuccessfulTime{};
  static const Type& type();
};
struct CronJob final : ObjectOf<CronJob> {
  Cow<CronJobSpec> spec{};
  CronJobStatus status{};
  Extra extra{};
  static const KindInfo& info();
  static const Type& type();
};

}  // namespace ddptwin
