// What a PodGroup of scheduling.x-k8s.io says after what it said.
#include "controller/scheduler_plugins/controller.hpp"

#include <gmock/gmock.h>

namespace ddptwin::controller::scheduler_plugins::controller_test {
namespace {

CoschedulingGroup group_in(const std::string& phase, int least = 3) {
  CoschedulingGroup group;
  CoschedulingGroupSpec spec;
  spec.minMember = least;
  group.spec = std::move(spec);
  if (!phase.empty()) group.status = CoschedulingGroupStatus{.phase = phase};
  return group;
}
std::vector<std::shared_ptr<const Pod>> pods(const std::vector<std::string>& phases) {
  std::vector<std::shared_ptr<const Pod>> made;
  for (const std::string& phase : phases) {
    auto pod = std::make_shared<Pod>();
    pod->metadata.namespace_ = "ml";
    pod->metadata.ownerReferences =
        std::vector{OwnerReference{.name = "z"}, OwnerReference{.name = "a"}};
    pod->status.phase = phase;
    made.push_back(std::move(pod));
  }
  return made;
}
std::string after(const std::string& phase, const std::vector<std::string>& phases) {
  return next_status(group_in(phase), pods(phases)).phase;
}

TEST(CoschedulingGroupStatusTest, goes_a_step_at_a_time) {
  EXPECT_EQ(after("", {"Running", "Running", "Running"}), "Pending");
  EXPECT_EQ(after("Pending", {"Running", "Running"}), "Pending");
  EXPECT_EQ(after("Pending", {"Pending", "Pending", "Pending"}), "Scheduling");
  EXPECT_EQ(after("Scheduling", {"Running", "Pending", "Running"}), "Scheduling");
  EXPECT_EQ(after("Scheduling", {"Running", "Succeeded", "Running"}), "Running");
  EXPECT_EQ(after("Running", {"Running", "Running", "Pending"}), "Scheduling");
  EXPECT_EQ(after("Running", {"Running", "Running"}), "Pending");
  EXPECT_EQ(after("Running", {"Succeeded", "Succeeded", "Succeeded"}), "Finished");
  EXPECT_EQ(after("Running", {"Running", "Failed", "Running"}), "Failed");
  EXPECT_EQ(after("Running", {"Pending", "Failed", "Running"}), "Scheduling");
}

TEST(CoschedulingGroupStatusTest, counts_and_names_who_has_it) {
  const CoschedulingGroupStatus first =
      next_status(group_in("Pending"), pods({"Running", "Running", "Failed"}));
  EXPECT_EQ(first.occupiedBy, "ml/a,ml/z");
  EXPECT_EQ(first.running, 0) << "the next look counts";
  const CoschedulingGroupStatus next =
      next_status(group_in("Scheduling"), pods({"Running", "Succeeded", "Pending", "Failed"}));
  EXPECT_EQ(next.running, 1);
  EXPECT_EQ(next.succeeded, 1);
  EXPECT_EQ(next.failed, 1);
}

}  // namespace
}  // namespace ddptwin::controller::scheduler_plugins::controller_test
