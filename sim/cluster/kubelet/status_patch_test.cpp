#include "cluster/kubelet/status_patch.hpp"

#include <gtest/gtest.h>

#include <boost/json.hpp>

namespace ddptwin::kubelet::status_patch_test {
namespace {

PodCondition condition(std::string type, std::string status) {
  PodCondition made;
  made.type_ = std::move(type);
  made.status = std::move(status);
  return made;
}

TEST(StatusPatch, equal_statuses_change_nothing) {
  PodStatus status;
  status.phase = "Running";
  EXPECT_EQ(status_patch("u", status, status),
            boost::json::parse(R"({"metadata": {"uid": "u"}, "status": {}})"));
}

TEST(StatusPatch, names_only_what_differs_and_the_order_of_conditions) {
  PodStatus before;
  before.phase = "Pending";
  before.rest.edit().hostIP = "10.0.0.1";
  before.conditions = {condition("Ready", "False"), condition("PodScheduled", "True")};
  PodStatus after = before;
  after.phase = "Running";
  after.conditions.edit()[0].status = "True";
  const Json patch = status_patch("u", before, after);
  EXPECT_EQ(patch, boost::json::parse(R"({
    "metadata": {"uid": "u"},
    "status": {
      "phase": "Running",
      "conditions": [{"type": "Ready", "status": "True"}],
      "$setElementOrder/conditions": [{"type": "Ready"}, {"type": "PodScheduled"}]
    }})"));
}

TEST(StatusPatch, an_address_that_is_gone_is_deleted) {
  PodStatus before, after;
  before.rest.edit().podIP = "10.1.0.1";
  before.rest.edit().podIPs = {IpEntry{"10.1.0.1"}};
  after.rest.edit().podIP = "10.1.0.2";
  after.rest.edit().podIPs = {IpEntry{"10.1.0.2"}};
  const Json patch = status_patch("u", before, after);
  EXPECT_EQ(patch.at("status"), boost::json::parse(R"({
    "podIP": "10.1.0.2",
    "podIPs": [{"ip": "10.1.0.2"}, {"$patch": "delete", "ip": "10.1.0.1"}],
    "$setElementOrder/podIPs": [{"ip": "10.1.0.2"}]
    })"));
  const Json removed = status_patch("u", before, PodStatus{});
  EXPECT_EQ(removed.at("status"), boost::json::parse(R"({"podIP": null, "podIPs": null})"));
}

}  // namespace
}  // namespace ddptwin::kubelet::status_patch_test
