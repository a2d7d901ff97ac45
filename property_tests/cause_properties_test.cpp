// In worlds of several jobs in which anything happens at any time, what a record about a pod names
// as its cause is about that pod, its owners, its node, what it uses, or what somebody did.
#include "cause_judge.hpp"
#include "property.hpp"
#include "world_plan.hpp"

namespace ddptwin::property::cause_properties_test {
namespace {

constexpr int world_cost = 4;

TEST(CauseProperties, EachIsAboutWhatItCauses) {
  holds(
      [] {
        const WorldPlan plan = *world_plan().as("world");
        CauseJudge causes;  // outlives the run
        ClusterRun run(plan.seed, plan.profile, plan.faults);
        run.world().trace().add_sink([&](const Record& record) { causes.on_record(record); });
        for (const WorldEvent& event : plan.events) apply(run, plan, event);
        run.heal();
        run.rest(1h);
        if (!causes.wrong().empty()) RC_FAIL(causes.wrong());
      },
      world_cost);
}

// The judge itself: what it was made for it finds.
TEST(CauseProperties, ACauseOfAnotherPodIsFound) {
  CauseJudge causes;
  const auto told = [&](std::uint64_t id, std::uint64_t cause, const std::string& subject,
                        const std::string& text) {
    Record record;
    record.id = id;
    record.cause = cause;
    record.kind = RecordKind::container;
    record.subject = subject;
    record.text = text;
    causes.on_record(record);
  };
  told(1, 0, "default/a/main", "started");
  told(2, 1, "default/a/main", "exited");
  EXPECT_EQ(causes.wrong(), "");
  told(3, 2, "default/ab/main", "started");
  EXPECT_NE(causes.wrong(), "");
  EXPECT_EQ(causes.judged(), 2u);
}

}  // namespace
}  // namespace ddptwin::property::cause_properties_test
