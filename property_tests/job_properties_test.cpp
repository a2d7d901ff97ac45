// Whole runs of random jobs under random faults: safety at every record, repeatability, and an end.
#include <algorithm>
#include <set>

#include "job_run.hpp"
#include "property.hpp"

namespace ddptwin::property::job_properties_test {
namespace {

constexpr int run_cost = 10;           // a run costs that many cheap cases
constexpr Duration afterwards = 2min;  // longer than any deadline or TTL that is generated

void require_safe(const JobRun& run) {
  if (run.violations().empty()) return;
  RC_FAIL(run.violations().front() + " (seen in " + std::to_string(run.lines().size()) +
          " records)");
}

std::string value_in(const Pod& pod, std::string_view name) {
  std::string value;
  for (const EnvVar& variable : pod.spec->containers.front().env)
    if (variable.name == name) value = variable.value;
  return value;
}

TEST(JobProperties, SafetyHoldsAfterEveryRecord) {
  holds(
      [] {
        const RunPlan plan = *run_plan().as("run");
        JobRun run(plan);
        RC_PRE(run.create());
        run.rest(5s);
        for (const Event& event : plan.events) {
          run.apply(event);
          require_safe(run);
        }
        run.rest(afterwards);
        require_safe(run);
      },
      run_cost);
}

TEST(JobProperties, NothingOfADeletedJobStays) {
  holds(
      [] {
        const RunPlan plan = *run_plan().as("run");
        JobRun run(plan);
        RC_PRE(run.create());
        for (const Event& event : plan.events) run.apply(event);
        run.remove_job();
        run.rest(afterwards);
        RC_ASSERT(run.pods().empty());
        RC_ASSERT(run.services().empty());
        require_safe(run);
      },
      2 * run_cost);
}

TEST(JobProperties, TheSameSeedIsTheSameTrace) {
  holds(
      [] {
        const RunPlan plan = *run_plan().as("run");
        const auto lines = [&] {
          JobRun run(plan);
          RC_PRE(run.create());
          for (const Event& event : plan.events) run.apply(event);
          return run.lines();
        };
        const auto first = lines(), second = lines();
        const auto [a, b] = std::mismatch(first.begin(), first.end(), second.begin(), second.end());
        RC_ASSERT(a == first.end() && b == second.end());
      },
      2 * run_cost);
}

TEST(JobProperties, PodsOfAMasterJobFindTheirMastersService) {
  holds(
      [] {
        RunPlan plan = *run_plan().as("run");
        plan.shape.master = true;
        plan.shape.active_deadline_seconds = 0;
        JobRun run(plan);
        RC_PRE(run.create());
        run.rest(10s);
        const auto pods = run.pods();
        RC_PRE(!pods.empty());  // v1.7 crashes on some jobs
        RC_ASSERT(static_cast<int>(pods.size()) == 1 + plan.shape.workers);
        std::set<std::string> services, ranks, wanted;
        for (const ObjectPtr& service : run.services())
          services.insert(service->metadata.name.str());
        for (const auto& pod : pods) {
          RC_ASSERT(services.contains(value_in(*pod, "MASTER_ADDR")));
          RC_ASSERT(services.contains(pod->metadata.name.str()));
          RC_ASSERT(pod->status.phase == "Running");
          wanted.insert(std::to_string(wanted.size()));
          ranks.insert(value_in(*pod, "RANK"));
        }
        RC_ASSERT(ranks == wanted);
      },
      2 * run_cost);
}

}  // namespace
}  // namespace ddptwin::property::job_properties_test
