#include "cluster/kubelet/lifecycle.hpp"

#include <gtest/gtest.h>

#include <set>

namespace ddptwin::kubelet::lifecycle_test {
namespace {

// Its shape is proved when it is compiled (lifecycle.hpp).
TEST(Lifecycle, every_stage_can_be_reached) {
  std::set<PodStage> reached{PodStage::fresh};
  for (std::size_t i = 0; i < pod_stages.size(); ++i)
    for (const PodTransition& row : pod_transitions)
      if (reached.contains(row.from)) reached.insert(row.to);
  for (const PodStage stage : pod_stages) EXPECT_TRUE(reached.contains(stage)) << to_string(stage);
}

TEST(Lifecycle, a_started_pod_ends_only_after_its_containers_have_stopped) {
  for (const PodTransition& row : pod_transitions) {
    if (row.to != PodStage::ended || row.from == PodStage::ended) continue;
    EXPECT_EQ(row.from, PodStage::ending);
    EXPECT_EQ(row.on, PodEvent::stopped);
  }
}

TEST(Lifecycle, names_are_those_of_the_rows) {
  EXPECT_EQ(to_string(PodStage::finished), "finished");
  EXPECT_EQ(to_string(PodEvent::cleaned), "cleaned");
  EXPECT_EQ(find_transition(PodStage::fresh, PodEvent::rejected)->reason, "Rejected");
  EXPECT_EQ(find_transition(PodStage::finished, PodEvent::admitted), nullptr);
}

}  // namespace
}  // namespace ddptwin::kubelet::lifecycle_test
