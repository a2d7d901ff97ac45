#include "cluster/pods/disruption.hpp"

#include <gtest/gtest.h>

#include "core/virtual_start.hpp"

namespace ddptwin::disruption_test {
namespace {

using namespace std::chrono_literals;

PodCondition condition(std::string type, std::string status) {
  PodCondition made;
  made.type_ = std::move(type);
  made.status = std::move(status);
  return made;
}

TEST(Disruption, stands_behind_the_others_and_says_who_and_when) {
  Pod pod;
  pod.metadata.generation = 3;
  pod.status.conditions.edit() = {condition("Ready", "True")};
  EXPECT_TRUE(mark_disrupted(pod, disruption_of(pod, virtual_start + 1500ms, "Who", "why")));
  ASSERT_EQ(pod.status.conditions->size(), 2U);
  const PodCondition& said = pod.status.conditions->back();
  EXPECT_EQ(said.type_, "DisruptionTarget");
  EXPECT_EQ(said.status, "True");
  EXPECT_EQ(said.reason, "Who");
  EXPECT_EQ(said.message, "why");
  EXPECT_EQ(said.observedGeneration, 3);
  EXPECT_EQ(said.lastTransitionTime, virtual_start + 1s);
}

TEST(Disruption, the_same_again_is_no_change) {
  Pod pod;
  EXPECT_TRUE(mark_disrupted(pod, disruption_of(pod, virtual_start, "Who", "why")));
  const Pod before = pod;
  EXPECT_FALSE(mark_disrupted(pod, disruption_of(pod, virtual_start + 1h, "Who", "why")));
  EXPECT_EQ(*pod.status.conditions, *before.status.conditions);
}

TEST(Disruption, another_keeps_its_place_and_since_when_it_is_true) {
  Pod pod;
  pod.status.conditions.edit() = {condition("DisruptionTarget", "False"),
                                  condition("Ready", "True")};
  EXPECT_TRUE(mark_disrupted(pod, disruption_of(pod, virtual_start + 1s, "A", "a")));
  EXPECT_TRUE(mark_disrupted(pod, disruption_of(pod, virtual_start + 2s, "B", "b")));
  ASSERT_EQ(pod.status.conditions->size(), 2U);
  const PodCondition& said = pod.status.conditions->front();
  EXPECT_EQ(said.reason, "B");
  EXPECT_EQ(said.lastTransitionTime, virtual_start + 1s);
}

}  // namespace
}  // namespace ddptwin::disruption_test
