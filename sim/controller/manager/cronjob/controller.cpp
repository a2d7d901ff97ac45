#include "controller/manager/cronjob/controller.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "controller/toolkit/ownership.hpp"
#include "objects/codec.hpp"
#include "objects/cron_schedule.hpp"
#include "objects/cronjob.hpp"

namespace ddptwin::controller {
namespace cronjob {
namespace {

constexpr std::string_view source = "kubernetes pkg/controller/cronjob";
constexpr Rule cron_job_is_gone{"cron_job_is_gone", source};
constexpr Rule job_has_ended{"job_has_ended", source};
constexpr Rule job_is_missing{"job_is_missing", source};
constexpr Rule unexpected_job{"unexpected_job", source};
constexpr Rule note_job{"note_job", source};
constexpr Rule await_schedule{"await_schedule", source};
constexpr Rule miss_schedule{"miss_schedule", source};
constexpr Rule no_schedule{"no_schedule", source};
constexpr Rule job_is_active{"job_is_active", source};
constexpr Rule replace_job{"replace_job", source};
constexpr Rule create_job{"create_job", source};
constexpr Rule remove_old_job{"remove_old_job", source};
constexpr Rule write_cron_status{"write_cron_status", source};
constexpr std::array all_rules{&cron_job_is_gone, &job_has_ended,  &job_is_missing, &unexpected_job,
                               &note_job,         &await_schedule, &miss_schedule,  &no_schedule,
                               &job_is_active,    &replace_job,    &create_job,     &remove_old_job,
                               &write_cron_status};

constexpr int missed_many = 100;
// A schedule is looked at a little after its time.
constexpr Duration after_schedule = 100ms;
const Text scheduled_at = "batch.kubernetes.io/cronjob-scheduled-timestamp";

using JobPtr = std::shared_ptr<const Job>;

// RFC 1123 with a numeric zone, as Go writes it.
std::string rfc1123(Time time) {
  namespace chrono = std::chrono;
  static constexpr std::array days{"Sun", "Mon", "Tue", "Wed", "Thu", "Fri", "Sat"};
  static constexpr std::array months{"Jan", "Feb", "Mar", "Apr", "May", "Jun",
                                     "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"};
  const chrono::sys_seconds at{chrono::floor<chrono::seconds>(time.since_epoch())};
  const auto day = chrono::floor<chrono::days>(at);
  const chrono::year_month_day date(day);
  const chrono::hh_mm_ss clock(at - day);
  return fmt::format("{}, {:02} {} {} {:02}:{:02}:{:02} +0000",
                     days[chrono::weekday(day).c_encoding()], static_cast<unsigned>(date.day()),
                     months[static_cast<unsigned>(date.month()) - 1], static_cast<int>(date.year()),
                     clock.hours().count(), clock.minutes().count(), clock.seconds().count());
}

std::optional<Time> scheduled_time_of(const Job& job) {
  const auto found = job.metadata.annotations.find(scheduled_at);
  return found == job.metadata.annotations.end() ? std::nullopt : parse_rfc3339(found->second);
}

ObjectReference reference_to(const Job& job) {
  ObjectReference reference;
  reference.kind = "Job";
  reference.apiVersion = "batch/v1";
  reference.namespace_ = job.metadata.namespace_;
  reference.name = job.metadata.name;
  reference.uid = job.metadata.uid;
  reference.resourceVersion = job.metadata.resourceVersion;
  return reference;
}

// One sync in the making.
class Pass {
 public:
  Pass(const std::shared_ptr<const CronJob>& job, std::vector<JobPtr> own, Time now)
      : job_(*job), spec_(*job->spec), own_(std::move(own)), now_(now), status_(job->status) {
    plan_.about = job;
  }
  Plan run();

 private:
  void look_at_jobs();
  void schedule();
  void start(Time scheduled);
  void remove_old_jobs();
  void remove_oldest(std::vector<JobPtr> jobs, std::optional<std::int32_t> limit);
  // Times of the schedule that have come since then.
  struct Missed {
    Time since{};
    std::optional<Time> last{};
    std::int64_t times = 0;  // about how many, where it is more than one
  };
  Missed missed(const CronSchedule& schedule, bool within_deadline) const;
  // By the clocks of the CronJob's time zone.
  std::optional<Time> next(const CronSchedule& schedule, Time after) const;
  void wait_for_next(const CronSchedule& schedule);
  void start_if_due(Time scheduled);
  bool is_listed(const Job& job) const {
    return std::any_of(status_.active.begin(), status_.active.end(),
                       [&job](const ObjectReference& one) { return one.uid == job.metadata.uid; });
  }
  Step& add(const Rule& rule) {
    Step& step = plan_.steps.emplace_back();
    step.rule = &rule;
    return step;
  }
  void tell(const Rule& rule, const char* type, const char* reason, std::string message) {
    add(rule).event = EventText{type, reason, Text(message)};
  }
  void write_status();

  const CronJob& job_;
  const CronJobSpec& spec_;
  std::vector<JobPtr> own_;
  Time now_;
  CronJobStatus status_;
  const TimeZone* zone_ = &TimeZone::utc();
  Plan plan_{};
};

void Pass::look_at_jobs() {
  for (const JobPtr& one : own_) {
    const bool listed = is_listed(*one), finished = one->status.is_finished();
    const std::string name = one->metadata.name.str();
    const auto scheduled = scheduled_time_of(*one);
    if (!listed && scheduled && status_.lastScheduleTime < OptionalTime(*scheduled)) {
      // Made by an earlier sync: its uid is known now.
      status_.lastScheduleTime = *scheduled;
      if (!finished) status_.active.push_back(reference_to(*one));
      add(note_job).text = name;
    } else if (!listed && !finished) {
      tell(unexpected_job, "Warning", "UnexpectedJob",
           "Saw a job that the controller did not create or forgot: " + name);
    } else if (listed && finished) {
      std::erase_if(status_.active, [&one](const ObjectReference& active) {
        return active.uid == one->metadata.uid;
      });
      tell(job_has_ended, "Normal", "SawCompletedJob",
           fmt::format("Saw completed job: {}, condition: {}", name,
                       one->status.is_true("Complete") ? "Complete" : "Failed"));
    }
    if (!one->status.is_true("Complete") || !one->status.completionTime) continue;
    const Time end = *one->status.completionTime;
    if (!status_.lastSuccessfulTime || *status_.lastSuccessfulTime < end)
      status_.lastSuccessfulTime = end;
  }
  std::erase_if(status_.active, [this](const ObjectReference& active) {
    const bool there = std::any_of(own_.begin(), own_.end(), [&active](const JobPtr& one) {
      return one->metadata.uid == active.uid;
    });
    if (!there)
      tell(job_is_missing, "Normal", "MissingJob", "Active job went missing: " + active.name.str());
    return !there;
  });
}

// What has been due since the last time that counts. Of several that were missed only the last one
// matters.
Pass::Missed Pass::missed(const CronSchedule& schedule, bool within_deadline) const {
  Missed found{.since = job_.metadata.creationTimestamp.value_or(now_)};
  if (status_.lastScheduleTime) found.since = *status_.lastScheduleTime;
  if (within_deadline && spec_.startingDeadlineSeconds)
    found.since =
        std::max(found.since, now_ - std::chrono::seconds(*spec_.startingDeadlineSeconds));
  const auto first = next(schedule, found.since);
  if (!first || now_ < *first) return found;
  const auto second = next(schedule, *first);
  if (!second || now_ < *second) {
    found.last = first;
    return found;
  }
  // From near the last one on, as if all were as far from one another as the first two.
  const Duration between = *second - *first;
  found.times = (now_ - *first) / between + 1;
  for (auto at = next(schedule, *first + between * (found.times - 2)); at && *at <= now_;
       at = next(schedule, *at))
    found.last = at;
  return found;
}

std::optional<Time> Pass::next(const CronSchedule& schedule, Time after) const {
  return schedule.next(after, *zone_);
}

void Pass::wait_for_next(const CronSchedule& schedule) {
  const Missed past = missed(schedule, false);
  const Time after = past.last ? *past.last : past.times == 0 ? past.since : now_;
  if (const auto at = next(schedule, after)) plan_.requeue_after = *at + after_schedule - now_;
}

void Pass::schedule() {
  if (spec_.timeZone) {
    const TimeZone* zone = TimeZone::find(*spec_.timeZone);
    if (zone == nullptr)
      return tell(no_schedule, "Warning", "UnknownTimeZone",
                  fmt::format("invalid timeZone: \"{}\": unknown time zone {}", *spec_.timeZone,
                              *spec_.timeZone));
    zone_ = zone;
  }
  if (spec_.suspend.value_or(false)) return;
  const auto schedule = CronSchedule::parse(spec_.schedule);
  if (!schedule)
    return tell(
        no_schedule, "Warning", "UnparseableSchedule",
        fmt::format("unparseable schedule: \"{}\" : {}", spec_.schedule, schedule.error().message));
  const Missed past = missed(*schedule, true);
  if (past.last && past.times > missed_many)
    tell(miss_schedule, "Warning", "TooManyMissedTimes",
         "too many missed start times. Set or decrease .spec.startingDeadlineSeconds or check "
         "clock skew");
  if (past.last) start_if_due(*past.last);
  wait_for_next(*schedule);
  if (!past.last && plan_.requeue_after)
    add(await_schedule).text = format_go_duration(*plan_.requeue_after);
}

void Pass::start_if_due(Time scheduled) {
  if (spec_.startingDeadlineSeconds &&
      scheduled + std::chrono::seconds(*spec_.startingDeadlineSeconds) < now_)
    return tell(miss_schedule, "Warning", "MissSchedule",
                "Missed scheduled time to start a job: " + rfc1123(scheduled));
  const std::string name = job_name(job_.metadata.name, scheduled);
  const bool is_started =
      std::any_of(status_.active.begin(), status_.active.end(),
                  [&name](const ObjectReference& one) { return one.name == name; });
  if (is_started || status_.lastScheduleTime == OptionalTime(scheduled)) return;
  if (spec_.concurrencyPolicy == "Forbid" && !status_.active.empty())
    return tell(job_is_active, "Normal", "JobAlreadyActive",
                "Not starting job because prior execution is running and concurrency policy is "
                "Forbid");
  start(scheduled);
}

Step& deletes(Step& step, const Job& job) {
  step.request = api::remove(job, {.propagation = api::Propagation::background});
  step.event = EventText{"Normal", "SuccessfulDelete", job.metadata.name, "Deleted job "};
  step.tolerated = Reason::not_found;
  return step;
}

void Pass::start(Time scheduled) {
  if (spec_.concurrencyPolicy == "Replace")
    for (const JobPtr& one : own_)
      if (is_listed(*one)) {
        deletes(add(replace_job), *one);
        std::erase_if(status_.active, [&one](const ObjectReference& active) {
          return active.uid == one->metadata.uid;
        });
      }
  std::shared_ptr<Job> made = make_job(job_, scheduled);
  Step& step = add(create_job);
  step.event = EventText{"Normal", "SuccessfulCreate", made->metadata.name, "Created job "};
  // One that is there already the cache does not show yet.
  step.refusal.emplace() = {"FailedCreate", "Error creating job: ", Reason::already_exists};
  step.tolerated = Reason::already_exists;
  step.request = api::create(std::move(made));
}

void Pass::remove_oldest(std::vector<JobPtr> jobs, std::optional<std::int32_t> limit) {
  if (!limit || static_cast<std::int64_t>(jobs.size()) <= *limit) return;
  std::stable_sort(jobs.begin(), jobs.end(), [](const JobPtr& a, const JobPtr& b) {
    const auto key = [](const Job& job) {
      return std::make_tuple(!job.status.startTime.has_value(),
                             job.status.startTime.value_or(Time()), job.metadata.name.view());
    };
    return key(*a) < key(*b);
  });
  jobs.resize(jobs.size() - static_cast<std::size_t>(*limit));
  for (const JobPtr& one : jobs) deletes(add(remove_old_job), *one);
}

void Pass::remove_old_jobs() {
  std::vector<JobPtr> good, bad;
  for (const JobPtr& one : own_)
    if (one->status.is_finished()) (one->status.is_true("Complete") ? good : bad).push_back(one);
  remove_oldest(std::move(good), spec_.successfulJobsHistoryLimit);
  remove_oldest(std::move(bad), spec_.failedJobsHistoryLimit);
}

void Pass::write_status() {
  if (equal(status_, job_.status)) return;
  auto changed = std::make_shared<CronJob>(job_);
  changed->status = status_;
  add(write_cron_status).request = api::update(std::move(changed), "status");
}

Plan Pass::run() {
  remove_old_jobs();
  look_at_jobs();
  if (!job_.metadata.deletionTimestamp) schedule();
  write_status();
  return std::move(plan_);
}

}  // namespace

std::span<const Rule* const> rules() { return all_rules; }

std::string job_name(std::string_view cron_job, Time scheduled) {
  return fmt::format(
      "{}-{}", cron_job,
      std::chrono::duration_cast<std::chrono::minutes>(scheduled.since_epoch()).count());
}

std::shared_ptr<Job> make_job(const CronJob& of, Time scheduled) {
  const JobTemplateSpec& from = of.spec->jobTemplate;
  auto made = std::make_shared<Job>();
  made->metadata.name = job_name(of.metadata.name, scheduled);
  made->metadata.namespace_ = of.metadata.namespace_;
  made->metadata.labels = from.metadata.labels;
  made->metadata.annotations = from.metadata.annotations;
  made->metadata.annotations.edit()[scheduled_at] = format_rfc3339(scheduled);
  made->metadata.ownerReferences = std::vector{controller_reference(of)};
  made->spec = from.spec;
  return made;
}

}  // namespace cronjob

std::vector<Watched> CronJobController::watches(const KindRegistry&) const {
  return {{&CronJob::info(), {}}, {&Job::info(), {}}};
}

Reaction CronJobController::observe(const Change& change, const Cache& cache, Expectations&, Time) {
  const Object& object = change.object();
  if (as<CronJob>(object) != nullptr) return Reaction::to_wake(parts_of(object));
  const OwnerReference* owner = object.metadata.controller();
  if (owner == nullptr || owner->kind != "CronJob") return {};
  const ObjectPtr found = cache.find(CronJob::info(), object.metadata.namespace_, owner->name);
  if (!found || found->metadata.uid != owner->uid) return {};
  return Reaction::to_wake(parts_of(*found));
}

Plan CronJobController::plan(const Key& key, const Observed& seen, Time now) const {
  const KeyParts parts = split_key(key);
  const auto job = seen.cache.find<CronJob>(parts.namespace_, parts.name);
  if (!job) {
    Plan nothing;
    nothing.steps.emplace_back().rule = &cronjob::cron_job_is_gone;
    return nothing;
  }
  std::vector<cronjob::JobPtr> own;
  for (auto& one : seen.cache.list<Job>(parts.namespace_))
    if (is_controlled_by(*one, *job)) own.push_back(std::move(one));
  return cronjob::Pass(job, std::move(own), now).run();
}

}  // namespace ddptwin::controller
