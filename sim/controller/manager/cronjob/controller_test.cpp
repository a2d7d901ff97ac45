// Which Jobs the clock makes, and what is told of them: the controller in its host, over a store.
// Upstream: pkg/controller/cronjob/cronjob_controllerv2.go and its tests.
#include "controller/manager/cronjob/controller.hpp"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <boost/json.hpp>

#include "cluster/store/store_client.hpp"
#include "controller/host.hpp"
#include "core/virtual_loop.hpp"

namespace ddptwin::controller::cronjob::controller_test {
namespace {

using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;

Time at(const char* text) { return *parse_rfc3339(text); }

// A CronJob "nightly" of every tenth minute, and its controller, from ten seconds past one on.
struct Night {
  using Change = std::function<void(CronJobSpec&)>;

  explicit Night(const Change& change = {}, const char* begin = "2026-01-01T01:00:10Z")
      : loop(Random(3), at(begin)) {
    auto made = std::make_shared<CronJob>();
    made->metadata.name = "nightly";
    made->metadata.namespace_ = "default";
    CronJobSpec& spec = made->spec.edit();
    spec.schedule = "*/10 * * * *";
    spec.jobTemplate.metadata.labels.edit()["team"] = "vision";
    PodSpec& pod = spec.jobTemplate.spec.edit().template_.spec.edit();
    pod.restartPolicy = "Never";
    pod.containers = {{.name = "c", .image = "app:1"}};
    if (change) change(spec);
    must(api::create(made));
    host.emplace(loop, client, informers, trace, Random(7), controller);
    host->start();
    go(1s);
  }
  void go(Duration time) { loop.run_until(loop.now() + time); }
  void go_to(const char* time) { loop.run_until(at(time)); }
  ObjectPtr must(const api::Request& request) {
    auto answer = store.call(request, "test");
    EXPECT_TRUE(answer.has_value()) << (answer ? "" : answer.error().message);
    return answer ? answer->object : nullptr;
  }
  void change(const Change& change) {
    auto changed = std::static_pointer_cast<CronJob>(cron()->clone());
    change(changed->spec.edit());
    must(api::update(changed));
    go(1s);
  }
  std::shared_ptr<const CronJob> cron() const { return store.find<CronJob>("default", "nightly"); }
  std::shared_ptr<const Job> job(const std::string& time) const {
    return store.find<Job>("default", cronjob::job_name("nightly", at(time.c_str())));
  }
  // As the Job controller would have written it.
  void end(const char* time, const char* how) {
    auto ended = std::static_pointer_cast<Job>(job(time)->clone());
    ended->status.startTime = loop.now() - 1s;
    BatchJobCondition condition;
    condition.type_ = how;
    condition.status = "True";
    ended->status.conditions.push_back(condition);
    if (std::string_view(how) == "Complete") ended->status.completionTime = loop.now();
    must(api::update(ended, "status"));
    go(1s);
  }
  void end_of(const std::string& clock, const char* how) {
    end(("2026-01-01T" + clock + ":00Z").c_str(), how);
  }
  // Of the day, by the times that their names tell: "01:10".
  std::vector<std::string> jobs() const {
    std::vector<std::string> found;
    for (const auto& [key, object] : store.objects(Job::info())) {
      const std::string_view name = object->metadata.name.view();
      const std::string minutes(name.substr(name.rfind('-') + 1));
      const Time time{std::chrono::minutes(std::stoll(minutes))};
      EXPECT_EQ(object->metadata.annotations
                    .find(Text("batch.kubernetes.io/cronjob-scheduled-timestamp"))
                    ->second,
                format_rfc3339(time));
      found.push_back(format_rfc3339(time).substr(11, 5));
    }
    return found;
  }
  std::vector<std::string> active() const {
    std::vector<std::string> names;
    for (const ObjectReference& one : cron()->status.active) names.push_back(one.name.str());
    return names;
  }
  // "Reason: message", each once, in no order that means anything.
  std::vector<std::string> events() const {
    std::vector<std::string> all;
    for (const auto& [key, object] : store.objects(Event::info())) {
      const auto& event = static_cast<const Event&>(*object);
      EXPECT_EQ(event.rest->source.component, "cronjob-controller");
      all.push_back(
          fmt::format("{} {}: {}", event.type_.view(), event.reason.view(), event.message.view()));
    }
    return all;
  }

  VirtualLoop loop;
  Trace trace{loop};
  KindRegistry kinds{};
  Store store{loop, Random(5), trace, kinds};
  StoreClient client{loop, store, "kube-controller-manager"};
  api::SharedInformers informers{loop, client};
  CronJobController controller{};
  std::optional<ControllerHost> host{};
};

const std::string first = "nightly-29453830";  // 2026-01-01T01:10Z in minutes since 1970

TEST(CronJob, makes_a_job_whenever_the_schedule_says_so) {
  Night night;
  EXPECT_THAT(night.jobs(), IsEmpty());
  night.go_to("2026-01-01T01:10:02Z");
  ASSERT_THAT(night.jobs(), ElementsAre("01:10"));
  EXPECT_THAT(night.active(), ElementsAre(first));
  EXPECT_EQ(night.cron()->status.lastScheduleTime, OptionalTime(at("2026-01-01T01:10:00Z")));
  EXPECT_FALSE(night.cron()->status.lastSuccessfulTime);
  EXPECT_THAT(night.events(), ElementsAre("Normal SuccessfulCreate: Created job " + first));
  const auto job = night.job("2026-01-01T01:10:00Z");
  EXPECT_EQ(job->metadata.labels.find(Text("team"))->second, "vision");
  EXPECT_EQ(job->metadata.controller()->kind, "CronJob");

  night.go(1min);
  night.end_of("01:10", "Complete");
  EXPECT_THAT(night.active(), IsEmpty());
  EXPECT_EQ(night.cron()->status.lastSuccessfulTime,
            night.job("2026-01-01T01:10:00Z")->status.completionTime);
  EXPECT_THAT(night.events(), Contains("Normal SawCompletedJob: Saw completed job: " + first +
                                       ", condition: Complete"));
  night.go_to("2026-01-01T01:31:00Z");
  EXPECT_THAT(night.jobs(), ElementsAre("01:10", "01:20", "01:30"));
}

TEST(CronJob, a_time_zone_shifts_the_schedule) {
  Night night([](CronJobSpec& spec) {
    spec.schedule = "30 6 * * *";
    spec.timeZone = "Asia/Kolkata";  // half past five before UTC
  });
  night.go_to("2026-01-02T00:59:50Z");
  EXPECT_THAT(night.jobs(), IsEmpty());
  night.go_to("2026-01-02T01:00:10Z");
  EXPECT_THAT(night.jobs(), ElementsAre("01:00"));
}

// Two that are at work when a third is due: what each policy makes of them.
TEST(CronJob, the_policy_says_what_becomes_of_jobs_that_are_at_work) {
  const auto after_three = [](const char* policy) {
    Night night([&](CronJobSpec& spec) { spec.concurrencyPolicy = policy; });
    night.go_to("2026-01-01T01:30:05Z");
    return std::pair{night.jobs(), night.events()};
  };
  EXPECT_THAT(after_three("Allow").first, ElementsAre("01:10", "01:20", "01:30"));
  const auto [kept, forbidden] = after_three("Forbid");
  EXPECT_THAT(kept, ElementsAre("01:10"));
  EXPECT_THAT(forbidden,
              Contains("Normal JobAlreadyActive: Not starting job because prior execution is "
                       "running and concurrency policy is Forbid"));
  const auto [last, replaced] = after_three("Replace");
  EXPECT_THAT(last, ElementsAre("01:30"));
  EXPECT_THAT(replaced, Contains("Normal SuccessfulDelete: Deleted job " + first));
}

// What it forbade is made up for as soon as the way is free: it has not been scheduled since.
TEST(CronJob, what_was_forbidden_comes_when_the_other_has_ended) {
  Night night([](CronJobSpec& spec) { spec.concurrencyPolicy = "Forbid"; });
  night.go_to("2026-01-01T01:25:00Z");
  night.end_of("01:10", "Complete");
  EXPECT_THAT(night.jobs(), ElementsAre("01:10", "01:20"));
}

TEST(CronJob, a_deadline_gives_up_what_comes_too_late) {
  Night night([](CronJobSpec& spec) {
    spec.concurrencyPolicy = "Forbid";
    spec.startingDeadlineSeconds = 60;
  });
  night.go_to("2026-01-01T01:25:00Z");
  night.end_of("01:10", "Complete");
  EXPECT_THAT(night.jobs(), ElementsAre("01:10"));  // that of 01:20 is five minutes late
  night.go_to("2026-01-01T01:30:05Z");
  EXPECT_THAT(night.jobs(), ElementsAre("01:10", "01:30"));
}

TEST(CronJob, while_it_is_suspended_none_is_made_and_then_the_last_one_that_was_missed) {
  Night night([](CronJobSpec& spec) { spec.suspend = true; });
  night.go_to("2026-01-01T01:35:00Z");
  EXPECT_THAT(night.jobs(), IsEmpty());
  night.change([](CronJobSpec& spec) { spec.suspend = false; });
  EXPECT_THAT(night.jobs(), ElementsAre("01:30"));
  night.go_to("2026-01-01T01:40:05Z");
  EXPECT_THAT(night.jobs(), ElementsAre("01:30", "01:40"));
}

TEST(CronJob, more_than_a_hundred_missed_are_told_and_the_last_is_made) {
  const std::string told =
      "Warning TooManyMissedTimes: too many missed start times. Set or decrease "
      ".spec.startingDeadlineSeconds or check clock skew";
  const auto missed = [](std::optional<std::int64_t> deadline, const char* until) {
    Night night([&](CronJobSpec& spec) {
      spec.schedule = "* * * * *";
      spec.suspend = true;
      spec.startingDeadlineSeconds = deadline;
    });
    night.go_to(until);
    night.change([](CronJobSpec& spec) { spec.suspend = false; });
    EXPECT_EQ(night.jobs().size(), 1u);
    return night.events();
  };
  EXPECT_THAT(missed(std::nullopt, "2026-01-01T02:40:30Z"), Not(Contains(told)));  // 100
  EXPECT_THAT(missed(std::nullopt, "2026-01-01T02:41:30Z"), Contains(told));
  EXPECT_THAT(missed(200, "2026-01-01T02:41:30Z"), Not(Contains(told)));  // what is older is out
}

TEST(CronJob, keeps_as_many_that_have_ended_as_its_limits_say) {
  Night night([](CronJobSpec& spec) {
    spec.successfulJobsHistoryLimit = 1;
    spec.failedJobsHistoryLimit = 2;
  });
  const std::pair<const char*, const char*> ends[] = {{"01:10", "Failed"},   {"01:20", "Complete"},
                                                      {"01:30", "Failed"},   {"01:40", "Complete"},
                                                      {"01:50", "Complete"}, {"02:00", "Failed"}};
  for (const auto& [time, how] : ends) {
    night.go_to(fmt::format("2026-01-01T{}:30Z", time).c_str());
    night.end_of(time, how);
  }
  night.go(10s);
  EXPECT_THAT(night.jobs(), ElementsAre("01:30", "01:50", "02:00"));
  EXPECT_THAT(night.events(), Contains("Normal SuccessfulDelete: Deleted job " + first));
  EXPECT_THAT(night.events(), Contains(HasSubstr("condition: Failed")));
}

TEST(CronJob, tells_of_jobs_that_it_did_not_make_or_that_went_missing) {
  Night night;
  night.go_to("2026-01-01T01:10:05Z");
  auto other =
      std::static_pointer_cast<Job>(cronjob::make_job(*night.cron(), at("2026-01-01T01:05:00Z")));
  other->metadata.name = "by-hand";
  other->metadata.annotations = {};
  night.must(api::create(other));
  night.must(api::remove(*night.job("2026-01-01T01:10:00Z"),
                         {.propagation = api::Propagation::background}));
  night.go(2s);
  EXPECT_THAT(night.active(), IsEmpty());
  EXPECT_THAT(night.events(), Contains("Warning UnexpectedJob: Saw a job that the controller did "
                                       "not create or forgot: by-hand"));
  EXPECT_THAT(night.events(), Contains("Normal MissingJob: Active job went missing: " + first));
}

// Between the Job and the status that tells of it: it is found by its name and its annotation.
TEST(CronJob, after_a_crash_no_second_job_of_one_time_is_made) {
  for (int millis = 90; millis <= 130; millis += 2) {
    Night night;
    night.loop.run_until(at("2026-01-01T01:10:00Z") + std::chrono::milliseconds(millis));
    night.host->crash();
    night.go(5s);
    night.host->start();
    night.go(5s);
    EXPECT_THAT(night.jobs(), ElementsAre("01:10"));
    EXPECT_THAT(night.active(), ElementsAre(first));
  }
}

// What the API refuses of it, each by field and words.
TEST(CronJob, the_api_refuses_what_can_never_run) {
  const struct {
    Night::Change change;
    const char* message;
  } rows[] = {
      {[](CronJobSpec& s) { s.schedule = "* * *"; },
       "spec.schedule: Invalid value: \"* * *\": expected exactly 5 fields, found 3: [* * *]"},
      {[](CronJobSpec& s) { s.schedule = "TZ=UTC 0 * * * *"; },
       "cannot use TZ or CRON_TZ in schedule, use timeZone field instead"},
      {[](CronJobSpec& s) { s.timeZone = "Mars/Olympus"; }, "spec.timeZone: Invalid value"},
      {[](CronJobSpec& s) { s.concurrencyPolicy = "Queue"; },
       "spec.concurrencyPolicy: Unsupported value: \"Queue\""},
      {[](CronJobSpec& s) { s.startingDeadlineSeconds = -1; },
       "spec.startingDeadlineSeconds: Invalid value: -1: must be greater than or equal to 0"},
      {[](CronJobSpec& s) { s.jobTemplate.spec.edit().backoffLimit = -1; },
       "spec.jobTemplate.spec.backoffLimit: Invalid value: -1"},
      {[](CronJobSpec& s) {
         s.jobTemplate.spec.edit().template_.spec.edit().restartPolicy = "Always";
       },
       "spec.jobTemplate.spec.template.spec.restartPolicy"},
  };
  Night night;
  for (const auto& row : rows) {
    auto changed = std::static_pointer_cast<CronJob>(night.cron()->clone());
    row.change(changed->spec.edit());
    const auto answer = night.store.call(api::update(changed), "test");
    ASSERT_FALSE(answer.has_value()) << row.message;
    EXPECT_THAT(answer.error().message, HasSubstr(row.message));
  }
}

}  // namespace
}  // namespace ddptwin::controller::cronjob::controller_test
