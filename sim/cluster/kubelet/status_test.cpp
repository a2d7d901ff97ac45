#include "cluster/kubelet/status.hpp"

#include <gtest/gtest.h>

#include "objects/codec.hpp"

namespace ddptwin::kubelet::status_test {
namespace {

const std::vector<std::string> phases{"Pending", "Running", "Succeeded", "Failed"};

PodStatus status_of(const std::string& phase, const std::string& condition) {
  PodStatus status;
  status.phase = phase;
  status.conditions = std::vector{PodCondition{.type_ = condition, .status = "True"}};
  return status;
}

// The writer leaves the merge out where it is said to change nothing.
TEST(Status, what_counts_as_merged_is_changed_by_no_merge) {
  int merged = 0, others = 0;
  for (const std::string& there : phases)
    for (const std::string& here : phases)
      for (const char* server_condition : {"Ready", "example.com/gate"})
        for (const char* own_condition : {"Ready", "example.com/gate"})
          for (const char* nominated : {"", "node-0"})
            for (const bool may_run : {false, true}) {
              PodStatus server = status_of(there, server_condition);
              if (*nominated != 0) server.rest.edit().nominatedNodeName = nominated;
              const PodStatus own = status_of(here, own_condition);
              PodStatus written = own;
              merge_for_write(server, written, may_run);
              const bool is = is_merged(server, own, may_run);
              ++(is ? merged : others);
              if (is) {
                EXPECT_TRUE(equal(written, own)) << there << " " << here << " " << may_run;
              }
            }
  EXPECT_GT(merged, 0);
  EXPECT_GT(others, 0);
}

ContainerStatus container(bool running, bool ended) {
  ContainerStatus made;
  made.name = "c";
  if (running) made.state.running.emplace();
  if (ended) made.state.terminated.emplace();
  if (!running && !ended) made.state.waiting.emplace();
  return made;
}

TEST(Status, is_final_where_an_end_would_change_nothing) {
  Pod pod;
  pod.spec.edit().initContainers = {Container{.name = "i"}};
  pod.spec.edit().containers = {Container{.name = "c"}};
  int final = 0, others = 0;
  for (const std::string& phase : phases)
    for (const int init : {0, 1, 2})
      for (const int main : {0, 1, 2}) {
        PodStatus status;
        status.phase = phase;
        status.initContainerStatuses = std::vector{container(init == 1, init == 2)};
        status.containerStatuses = std::vector{container(main == 1, main == 2)};
        PodStatus ended = status;
        make_final(pod, ended);
        EXPECT_EQ(is_final(pod, status), equal(ended, status)) << phase << init << main;
        ++(is_final(pod, status) ? final : others);
      }
  EXPECT_GT(final, 0);
  EXPECT_GT(others, 0);
}

}  // namespace
}  // namespace ddptwin::kubelet::status_test
