// Worlds of several jobs in which anything happens at any time: what upstream keeps is kept after
// every record; and once nothing goes wrong any more, every job comes to its end. Safety first,
// then liveness (design.md section 6).
#include <algorithm>
#include <boost/json.hpp>

#include "controller/expectations.hpp"
#include "memory_laws.hpp"
#include "objects/discovery_v1.hpp"
#include "property.hpp"
#include "world_plan.hpp"

namespace ddptwin::property::world_properties_test {
namespace {

constexpr int world_cost = 4;
// Longer than any back-off that has grown meanwhile: 1000 s of a work queue, 300 s of a container.
constexpr Duration afterwards = 1h;

void require_safe(ClusterRun& run) {
  const std::string violation = run.first_violation();
  if (!violation.empty()) RC_FAIL(violation);
}

// What a call was to make that timed out is expected for five minutes; when they are over, nothing
// of the job wakes its operator (spec/pytorchjob.md §4.1).
bool may_have_to_be_woken(const WorldPlan& plan) {
  return std::any_of(
      plan.faults.faults.begin(), plan.faults.faults.end(),
      [](const scenario::Fault& one) { return one.kind == scenario::FaultKind::api_timeout; });
}

// From now on every container that trains ends well after three seconds.
void let_all_end(ClusterRun& run, const WorldPlan& plan) {
  for (const JobName& name : job_names()) {
    run.patch_job(boost::json::object{{"spec", {{"runPolicy", {{"suspend", false}}}}}}, name);
    for (int i = 0; i < 12; ++i)
      for (const char* type : {"-master-", "-worker-"})
        run.script(name.name + type + std::to_string(i), "exit.pytorch", "0 after 3",
                   name.namespace_);
  }
  for (int round = 0; round < 3; ++round) {
    run.rest(20s);
    for (const JobName& name : job_names())
      for (const auto& [pod_name, pod] : run.pods(name)) run.exit(pod_name, 0, name.namespace_);
  }
  if (may_have_to_be_woken(plan)) {
    run.rest(controller::Expectations::timeout);
    for (const JobName& name : job_names())
      run.patch_job(boost::json::object{{"metadata", {{"annotations", {{"woken", "true"}}}}}},
                    name);
  }
  run.rest(afterwards);
}

TEST(WorldProperties, SafeWhileAnythingHappensAndAtItsEndAfterwards) {
  holds(
      [] {
        const WorldPlan plan = *world_plan().as("world");
        ClusterRun run(plan.seed, plan.profile, plan.faults);
        for (const WorldEvent& event : plan.events) {
          apply(run, plan, event);
          require_safe(run);
        }
        run.heal();
        let_all_end(run, plan);
        require_safe(run);
        for (std::size_t i = 0; i < job_names().size(); ++i) {
          const auto job = run.job(job_names()[i]);
          if (!job || may_never_end(plan, plan.shapes[i])) continue;
          RC_LOG() << job_names()[i].namespace_ << "/" << job_names()[i].name << ":";
          for (const std::string& type : run.conditions(true, job_names()[i]))
            RC_LOG() << " " << type;
          for (const auto& [name, pod] : run.pods(job_names()[i]))
            RC_LOG() << "; " << name << " " << pod->status.phase;
          RC_LOG() << "\n";
          const auto conditions = run.conditions(true, job_names()[i]);
          RC_ASSERT(conditions.contains("Succeeded") || conditions.contains("Failed"));
        }
        require_no_memory_of_what_is_gone(run.world());
        require_crashes_to_forget(run.world());
      },
      world_cost);
}

TEST(WorldProperties, NothingOfDeletedJobsStays) {
  holds(
      [] {
        const WorldPlan plan = *world_plan().as("world");
        ClusterRun run(plan.seed, plan.profile, plan.faults);
        for (const WorldEvent& event : plan.events) apply(run, plan, event);
        for (const JobName& name : job_names())
          if (const auto job = run.job(name)) run.remove(*job);
        run.heal();
        run.rest(afterwards);
        require_safe(run);
        for (const JobName& name : job_names()) {
          RC_ASSERT(run.job(name) == nullptr);
          RC_ASSERT(run.pods(name).empty());
          RC_ASSERT(run.services(name).empty());
        }
        // Endpoints go with their services: only the API server's own are left.
        for (const KindInfo* kind : {&Endpoints::info(), &EndpointSlice::info()})
          for (const ObjectPtr& object : run.world().objects(*kind, ""))
            RC_ASSERT(object->metadata.name.starts_with("kubernetes"));
        require_no_memory_of_what_is_gone(run.world());
        require_crashes_to_forget(run.world());
      },
      2 * world_cost);
}

}  // namespace
}  // namespace ddptwin::property::world_properties_test
