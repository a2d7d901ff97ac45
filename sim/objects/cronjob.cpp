#include "objects/cronjob.hpp"

#include <algorithm>
#include <array>

#include "objects/cron_schedule.hpp"
#include "objects/defaults.hpp"
#include "objects/fields.hpp"
#include "objects/kinds.hpp"
#include "objects/validation_batch_v1.hpp"

namespace ddptwin {
namespace {

constexpr std::size_t cron_name_max = 52;  // eleven characters more name a Job

CronJob& cron_in(Object& object) { return static_cast<CronJob&>(object); }
const CronJob& cron_in(const Object& object) { return static_cast<const CronJob&>(object); }

void may_not_be_negative(ErrorList& out, const char* field,
                         const std::optional<std::int64_t>& value) {
  if (value && *value < 0)
    out.push_back(invalid(field, std::to_string(*value), "must be greater than or equal to 0"));
}

void check_schedule(ErrorList& out, const CronJobSpec& spec) {
  if (spec.schedule.empty()) {
    out.push_back(required("spec.schedule"));
    return;
  }
  if (spec.schedule.find("TZ") != std::string::npos)
    out.push_back(invalid("spec.schedule", quoted(spec.schedule),
                          "cannot use TZ or CRON_TZ in schedule, use timeZone field instead"));
  else if (const auto parsed = CronSchedule::parse(spec.schedule); !parsed)
    out.push_back(invalid("spec.schedule", quoted(spec.schedule), parsed.error().message));
}

// As it stands in the CronJob.
void check_job_template(ErrorList& out, const JobSpec& spec) {
  constexpr std::string_view here = "spec", there = "spec.jobTemplate.spec";
  for (ErrorCause& one : validate_job_spec(spec)) {
    if (one.field.starts_with(here)) one.field.replace(0, here.size(), there);
    out.push_back(std::move(one));
  }
}

std::string active_cell(const Object& object, Time) {
  return std::to_string(cron_in(object).status.active.size());
}
std::string since_cell(const OptionalTime& time, Time now) {
  return time ? format_age(now - *time) : "<none>";
}

std::vector<PrinterColumn> cron_columns() {
  const auto column = [](const char* name, auto cell, const char* type = "string") {
    PrinterColumn made;
    made.name = name;
    made.type = type;
    made.cell = cell;
    return made;
  };
  return {column("Schedule", [](const Object& o, Time) { return cron_in(o).spec->schedule; }),
          column("Timezone", [](const Object& o,
                                Time) { return cron_in(o).spec->timeZone.value_or("<none>"); }),
          column("Suspend",
                 [](const Object& o, Time) -> std::string {
                   const auto& suspend = cron_in(o).spec->suspend;
                   if (!suspend) return "<unset>";
                   return *suspend ? "True" : "False";
                 }),
          column("Active", &active_cell, "integer"),
          column("Last Schedule",
                 [](const Object& o, Time now) {
                   return since_cell(cron_in(o).status.lastScheduleTime, now);
                 }),
          column("Age", [](const Object& o, Time now) {
            return since_cell(o.metadata.creationTimestamp, now);
          })};
}

void check_time_zone(ErrorList& out, const std::optional<std::string>& zone) {
  if (!zone) return;
  if (zone->empty())
    out.push_back(invalid("spec.timeZone", "\"\"", "timeZone must be nil or non-empty string"));
  else if (TimeZone::find(*zone) == nullptr)
    out.push_back(invalid("spec.timeZone", quoted(*zone),
                          "this twin does not know that zone: say the schedule in UTC, or in a "
                          "place of the same clocks (Europe/Berlin, America/New_York, "
                          "Asia/Tokyo, ...)"));
}

void default_cron_job(CronJob& job) {
  CronJobSpec& spec = job.spec.edit();
  if (spec.concurrencyPolicy.empty()) spec.concurrencyPolicy = "Allow";
  if (!spec.suspend) spec.suspend = false;
  if (!spec.successfulJobsHistoryLimit) spec.successfulJobsHistoryLimit = 3;
  if (!spec.failedJobsHistoryLimit) spec.failedJobsHistoryLimit = 1;
  default_pod_spec(spec.jobTemplate.spec.edit().template_.spec.edit());
}

ErrorList validate_cron_job(const Object& object) {
  static const std::vector<std::string_view> policies{"Allow", "Forbid", "Replace"};
  const CronJobSpec& spec = *cron_in(object).spec;
  ErrorList out;
  check_schedule(out, spec);
  may_not_be_negative(out, "spec.startingDeadlineSeconds", spec.startingDeadlineSeconds);
  if (std::find(policies.begin(), policies.end(), spec.concurrencyPolicy) == policies.end())
    out.push_back(
        not_supported("spec.concurrencyPolicy", quoted(spec.concurrencyPolicy), policies));
  const auto wide = [](const std::optional<std::int32_t>& value) {
    return value ? std::optional<std::int64_t>(*value) : std::nullopt;
  };
  may_not_be_negative(out, "spec.successfulJobsHistoryLimit",
                      wide(spec.successfulJobsHistoryLimit));
  may_not_be_negative(out, "spec.failedJobsHistoryLimit", wide(spec.failedJobsHistoryLimit));
  check_time_zone(out, spec.timeZone);
  check_job_template(out, *spec.jobTemplate.spec);
  if (object.metadata.name.size() > cron_name_max)
    out.push_back(invalid("metadata.name", quoted(object.metadata.name.view()),
                          "must be no more than 52 characters"));
  return out;
}

}  // namespace

const Type& CronJobSpec::type() {
  using S = CronJobSpec;
  static const Type t =
      structure<S>("v1.CronJobSpec", {F(schedule, .always = true), F(timeZone),
                                      F(startingDeadlineSeconds), F(concurrencyPolicy), F(suspend),
                                      F(jobTemplate, .always = true, .required = true),
                                      F(successfulJobsHistoryLimit), F(failedJobsHistoryLimit)});
  return t;
}
const Type& CronJobStatus::type() {
  using S = CronJobStatus;
  static const Type t = structure<S>(
      "v1.CronJobStatus", {F(active, .atomic = true), F(lastScheduleTime), F(lastSuccessfulTime)});
  return t;
}
const Type& CronJob::type() {
  using S = CronJob;
  static const Type t = structure<S>("v1.CronJob", {F(metadata), F(spec), F(status)});
  return t;
}

const KindInfo& CronJob::info() {
  static const KindInfo kind{
      .group = "batch",
      .version = "v1",
      .kind = "CronJob",
      .plural = "cronjobs",
      .singular = "cronjob",
      .short_names = {"cj"},
      .categories = {"all"},
      .status = true,
      .generation = true,
      .type = &CronJob::type,
      .make = []() -> std::shared_ptr<Object> { return std::make_shared<CronJob>(); },
      .strategy = {
          .defaults = [](Object& object) { default_cron_job(cron_in(object)); },
          .prepare_create = [](Object& object) { cron_in(object).status = {}; },
          .prepare_status_update =
              [](Object& updated, const Object& old) { cron_in(updated).spec = cron_in(old).spec; },
          .validate = &validate_cron_job,
          .validate_update = [](const Object& updated,
                                const Object&) { return validate_cron_job(updated); }},
      .columns = cron_columns()};
  return kind;
}

}  // namespace ddptwin
