// Whom the device manager of a node gives what (upstream cm/devicemanager/manager.go).
#include "cluster/kubelet/devices.hpp"

#include <gmock/gmock.h>

#include <set>

#include "cluster/kubelet/kubelet_test_fixture.hpp"
#include "cluster/kubelet/test_cluster.hpp"

namespace ddptwin::kubelet::devices_test {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

class DevicesTest : public testing::Test {
 protected:
  DevicesTest() { capacity(4); }

  void capacity(std::int64_t count) {
    node_.status.capacity.edit()["nvidia.com/gpu"] = Quantity::of(count);
  }
  std::string container(const std::string& name, int gpus, const std::string& more = "") {
    return "{name: " + name + ", image: i" + more +
           ", resources: {limits: {nvidia.com/gpu: " + std::to_string(gpus) + "}}}";
  }
  // What the verdict says, or nothing.
  std::string ask(const std::string& uid, const std::string& spec) {
    TestCluster cluster("{apiVersion: v1, kind: Pod, metadata: {name: " + uid + ", uid: " + uid +
                        ", namespace: default}, spec: {" + spec + "}}");
    const auto verdict =
        devices_.allocate(*cluster.context().pod, node_,
                          [&](std::string_view one) { return !over_.contains(std::string(one)); });
    return verdict ? verdict->reason + ": " + verdict->message : "";
  }
  std::string ask(const std::string& uid, int gpus) {
    return ask(uid, "containers: [" + container("c", gpus) + "]");
  }

  Devices devices_{"n"};
  Node node_{};
  std::set<std::string> over_{};
};

TEST_F(DevicesTest, no_two_pods_hold_one) {
  EXPECT_EQ(ask("a", 2), "");
  EXPECT_EQ(ask("b", 1), "");
  EXPECT_THAT(devices_.held("a", "c"), ElementsAre(0, 1));
  EXPECT_THAT(devices_.held("b", "c"), ElementsAre(2));
  EXPECT_EQ(
      ask("d", 2),
      "UnexpectedAdmissionError: Allocate failed due to requested number of devices unavailable "
      "for nvidia.com/gpu. Requested: 2, Available: 1, which is unexpected");
  EXPECT_THAT(devices_.held("d", "c"), IsEmpty());
  EXPECT_EQ(ask("e", 1), "");
}

TEST_F(DevicesTest, who_runs_nothing_any_more_gives_its_own_back_once_another_asks) {
  EXPECT_EQ(ask("a", 4), "");
  over_.insert("a");
  EXPECT_EQ(ask("b", 3), "");
  EXPECT_THAT(devices_.held("b", "c"), ElementsAre(0, 1, 2));
  devices_.release("b");
  EXPECT_EQ(ask("d", 4), "");
}

TEST_F(DevicesTest, what_an_init_container_holds_goes_on_to_the_others_a_sidecars_does_not) {
  EXPECT_EQ(ask("a", "initContainers: [" + container("once", 2) + ", " +
                         container("side", 1, ", restartPolicy: Always") + "], containers: [" +
                         container("c", 1) + ", " + container("d", 2) + "]"),
            "");
  EXPECT_THAT(devices_.held("a", "once"), ElementsAre(0, 1));
  EXPECT_THAT(devices_.held("a", "side"), ElementsAre(0));
  EXPECT_THAT(devices_.held("a", "c"), ElementsAre(1));
  EXPECT_THAT(devices_.held("a", "d"), ElementsAre(2, 3));
}

TEST_F(DevicesTest, a_node_without_any_gives_none_and_refuses_nobody_for_them) {
  capacity(0);
  EXPECT_EQ(ask("a", 1), "");
  EXPECT_THAT(devices_.held("a", "c"), IsEmpty());
}

TEST_F(DevicesTest, their_uuids_are_the_nodes_own) {
  EXPECT_EQ(devices_.uuid(0), Devices("n").uuid(0));
  EXPECT_THAT(devices_.uuid(0),
              testing::MatchesRegex("GPU-[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}"));
  const std::set<std::string> all{devices_.uuid(0), devices_.uuid(1), Devices("m").uuid(0)};
  EXPECT_EQ(all.size(), 3U);
}

}  // namespace
}  // namespace ddptwin::kubelet::devices_test
