// What the recordings limitrange-* do not show of LimitRanger (spec/kubernetes.md §3.6).
#include <gtest/gtest.h>

#include "cluster/store/namespace_limits.hpp"
#include "cluster/store/store.hpp"
#include "core/virtual_loop.hpp"
#include "objects/core_v1.hpp"
#include "objects/limit_range.hpp"
#include "objects/volume_claims.hpp"

namespace ddptwin::limit_admission_test {
namespace {

using Amounts = std::map<std::string, std::string>;
ResourceList amounts(const Amounts& texts) {
  ResourceList list;
  for (const auto& [name, text] : texts) list.emplace(name, *Quantity::parse(text));
  return list;
}

class Limits : public testing::Test {
 protected:
  Limits() { add_limit_admission(store_); }

  std::string send(api::Request request) {
    const auto answer = store_.call(std::move(request), "test");
    return answer ? std::string() : answer.error().message;
  }
  std::string range(const std::string& name, LimitRangeItem item) {
    auto made = std::make_shared<LimitRange>();
    made->metadata.name = name;
    made->metadata.namespace_ = "default";
    made->spec.limits.push_back(std::move(item));
    return send(api::create(made));
  }
  std::string pod(const std::string& name, const Amounts& requests, const Amounts& limits) {
    auto made = std::make_shared<Pod>();
    made->metadata.name = name;
    made->metadata.namespace_ = "default";
    PodSpec& spec = made->spec.edit();
    spec.terminationGracePeriodSeconds = 30;
    spec.containers = {{.name = "c",
                        .image = "i",
                        .resources = {.limits = amounts(limits), .requests = amounts(requests)}}};
    return send(api::create(made));
  }

  VirtualLoop loop_{Random(1), Time{std::chrono::hours(24)}};
  Trace trace_{loop_};
  KindRegistry kinds_;
  Store store_{loop_, Random(7), trace_, kinds_, Store::Options()};
};

TEST_F(Limits, bounds_of_a_pod_ask_for_what_nobody_says) {
  ASSERT_EQ(range("r", {.type_ = "Pod",
                        .max = amounts({{"memory", "1Gi"}}),
                        .min = amounts({{"cpu", "1"}}),
                        .maxLimitRequestRatio = amounts({{"cpu", "2"}})}),
            "");
  EXPECT_EQ(pod("p", {}, {}),
            "pods \"p\" is forbidden: [minimum cpu usage per Pod is 1.  No request is specified, "
            "maximum memory usage per Pod is 1Gi.  No limit is specified, cpu max limit to request "
            "ratio per Pod is 2, but no request is specified or request is 0]");
  EXPECT_EQ(pod("p", {{"cpu", "1"}}, {{"memory", "1Gi"}}),
            "pods \"p\" is forbidden: cpu max limit to request ratio per Pod is 2, but no limit is "
            "specified or limit is 0");
  EXPECT_EQ(pod("p", {{"cpu", "1"}}, {{"cpu", "2"}, {"memory", "1Gi"}}), "");
}

TEST_F(Limits, of_two_ranges_the_first_fills_in_and_each_refuses) {
  ASSERT_EQ(range("a", {.type_ = "Container", .default_ = amounts({{"cpu", "2"}})}), "");
  ASSERT_EQ(range("b", {.type_ = "Container", .max = amounts({{"cpu", "1"}})}), "");
  EXPECT_EQ(pod("p", {}, {}),
            "pods \"p\" is forbidden: maximum cpu usage per Container is 1, but limit is 2");
  EXPECT_EQ(pod("p", {}, {{"cpu", "1"}}), "");
}

TEST_F(Limits, a_claim_has_bounds_of_its_own) {
  ASSERT_EQ(range("r", {.type_ = "PersistentVolumeClaim",
                        .max = amounts({{"storage", "2Gi"}}),
                        .min = amounts({{"storage", "1Gi"}})}),
            "");
  const auto claim = [&](const char* storage) {
    auto made = std::make_shared<PersistentVolumeClaim>();
    made->metadata.name = "c";
    made->metadata.namespace_ = "default";
    made->spec.accessModes = {"ReadWriteOnce"};
    made->spec.resources.requests = amounts({{"storage", storage}});
    return send(api::create(made));
  };
  EXPECT_EQ(claim("3Gi"),
            "persistentvolumeclaims \"c\" is forbidden: maximum storage usage per "
            "PersistentVolumeClaim is 2Gi, but request is 3Gi");
  EXPECT_EQ(claim("500Mi"),
            "persistentvolumeclaims \"c\" is forbidden: minimum storage usage per "
            "PersistentVolumeClaim is 1Gi, but request is 500Mi");
  EXPECT_EQ(claim("2Gi"), "");
  EXPECT_EQ(pod("p", {}, {}), "");
}

TEST_F(Limits, a_range_must_hold_together) {
  EXPECT_EQ(range("r", {.type_ = "Pod", .default_ = amounts({{"cpu", "1"}})}),
            "LimitRange \"r\" is invalid: spec.limits[0].default: Forbidden: may not be specified "
            "when `type` is 'Pod'");
  EXPECT_EQ(range("r", {.type_ = "PersistentVolumeClaim"}),
            "LimitRange \"r\" is invalid: spec.limits[0].limits: Required value: either minimum or "
            "maximum storage value is required, but neither was provided");
  EXPECT_EQ(range("r", {.type_ = "Container",
                        .max = amounts({{"cpu", "2"}}),
                        .min = amounts({{"cpu", "1"}}),
                        .maxLimitRequestRatio = amounts({{"cpu", "3"}})}),
            "LimitRange \"r\" is invalid: spec.limits[0].maxLimitRequestRatio[cpu]: Invalid value: "
            "\"3\": ratio 3 is greater than max/min = 2.000000");
}

}  // namespace
}  // namespace ddptwin::limit_admission_test
