// What the tests of torchrun's timelines share: groups of agents that train, and the moments at
// which something is seen of them.
#pragma once

#include <gtest/gtest.h>

#include "runtime/model/torchrun/test_pods.hpp"

namespace ddptwin::torchrun {

inline constexpr int sigterm = 15, sigkill = 9, sigstop = 19;

class Timelines : public testing::Test {
 protected:
  explicit Timelines(const model::TorchProfile& torch) : pods{torch, 7} {
    pods.workload.steps = 100'000;
  }

  // One agent a pod, each with the environment of its number, until all train.
  template <class EnvironmentOf>
  void start(int count, EnvironmentOf environment_of) {
    pods.add(count);
    for (int pod = 0; pod < count; ++pod) pods.start(pod, environment_of(pod));
    trains(count);
  }
  void trains(int count) {
    for (int pod = 0; pod < count; ++pod)
      ASSERT_TRUE(pods.until([&] { return pods.printed(pod, "step 5/"); }, 60s)) << pods.log(pod);
  }
  // How long after `since` the pod's worker is started anew.
  Duration new_worker_after(int pod, Duration since, Duration limit = 120s) {
    const auto old = pods.worker(pod) == nullptr ? 0 : pods.worker(pod)->id();
    const auto found = pods.until(
        [&] { return pods.worker(pod) != nullptr && pods.worker(pod)->id() != old; }, limit);
    EXPECT_TRUE(found) << pods.log(pod);
    return found.value_or(since + limit) - since;
  }
  Duration agent_ends_after(int pod, Duration since, Duration limit = 200s) {
    EXPECT_TRUE(pods.until([&] { return pods.agent_end(pod).has_value(); }, limit))
        << pods.log(pod);
    return pods.agent_end(pod) ? pods.agent_end(pod)->at - since : limit;
  }
  int exit_code(int pod) const {
    return pods.agent_end(pod) ? pods.agent_end(pod)->status.shown() : -1;
  }
  Duration now() const { return pods.now(); }

  Pods pods;
};

inline void expect_between(Duration value, Duration least, Duration most) {
  EXPECT_GE(seconds_of(value), seconds_of(least));
  EXPECT_LE(seconds_of(value), seconds_of(most));
}

}  // namespace ddptwin::torchrun
