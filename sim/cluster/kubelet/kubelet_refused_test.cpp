// What the API server refuses of a status is tried again at the status manager's next tick
// (upstream, syncBatch every 10 s from its start), the read before a write as the write itself.
#include <gtest/gtest.h>

#include "cluster/kubelet/kubelet_test_fixture.hpp"

namespace ddptwin::kubelet::kubelet_refused_test {
namespace {

using api::Verb;

TEST_F(KubeletTest, a_refused_read_is_tried_again_as_a_refused_write_is) {
  for (const Verb verb : {Verb::get, Verb::patch}) {
    const std::string name = verb == Verb::get ? "g" : "p";
    add_pod(name, one, "{rig/exit.c: 0 after 3}");
    pass(2s);
    ASSERT_EQ(pod(name)->status.phase, "Running");
    between_.refusals[verb] = 1000;  // what comes to be told meanwhile is refused as well
    const Duration elapsed = loop_.now() - began;
    const Duration tick = (elapsed / 10s + 1) * 10s;
    ASSERT_GT(tick - elapsed, 2s);  // it ends before the tick
    pass_until(tick - 1ms);
    EXPECT_LT(between_.refusals[verb], 1000);
    EXPECT_EQ(pod(name)->status.phase, "Running");
    between_.refusals[verb] = 0;
    pass_until(tick + 20ms);
    EXPECT_EQ(pod(name)->status.phase, "Succeeded");
    pass_until(tick + 3s);
  }
}

// All is written of it, so that nothing but the refusal says that something is left to do.
TEST_F(KubeletTest, a_pod_goes_whose_deletion_was_refused_and_then_the_read_before_it) {
  for (const Verb again : {Verb::get, Verb::remove}) {
    add_pod("p", std::string("terminationGracePeriodSeconds: 1, ") + one);
    pass_until((loop_.now() - began) / 10s * 10s + 12s);
    between_.refusals[Verb::remove] = 1;
    remove("p");
    const Duration tick = ((loop_.now() - began) / 10s + 1) * 10s;
    pass_until(tick - 1ms);
    ASSERT_EQ(between_.refusals[Verb::remove], 0);
    ASSERT_NE(pod("p"), nullptr);
    between_.refusals[again] = 1;
    pass_until(tick + 1s);
    ASSERT_EQ(between_.refusals[again], 0);
    ASSERT_NE(pod("p"), nullptr);
    pass_until(tick + 10s - 1ms);
    EXPECT_NE(pod("p"), nullptr);
    pass_until(tick + 10s + 20ms);
    EXPECT_EQ(pod("p"), nullptr);
  }
}

}  // namespace
}  // namespace ddptwin::kubelet::kubelet_refused_test
