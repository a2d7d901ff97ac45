// What the recordings api-eviction* and pdb-* do not show of evictions (spec/kubernetes.md §1.18
// and §3.6).
#include <gtest/gtest.h>

#include <boost/json.hpp>

#include "cluster/store/store.hpp"
#include "core/virtual_loop.hpp"
#include "objects/core_v1.hpp"
#include "objects/disruption_budget.hpp"

namespace ddptwin::store_eviction_test {
namespace {

struct Allowance {
  std::int32_t allowed = 0, healthy = 0, desired = 0;
};

class Evictions : public testing::Test {
 protected:
  void pod(const std::string& name, bool ready) {
    auto made = std::make_shared<Pod>();
    made->metadata.name = name;
    made->metadata.namespace_ = "default";
    made->metadata.labels.edit()["app"] = "x";
    PodSpec& spec = made->spec.edit();
    spec.nodeName = "n";
    spec.terminationGracePeriodSeconds = 30;
    spec.containers = {{.name = "c", .image = "i"}};
    const auto created = store_.call(api::create(made), "test");
    ASSERT_TRUE(created) << created.error().message;
    auto running = std::static_pointer_cast<Pod>(created->object->clone());
    running->status.phase = "Running";
    PodCondition& condition = running->status.conditions.edit().emplace_back();
    condition.type_ = "Ready";
    condition.status = ready ? "True" : "False";
    ASSERT_TRUE(store_.call(api::update(running, "status"), "test"));
  }
  // As the disruption controller has counted it.
  void budget(Allowance allowance, const std::function<void(PodDisruptionBudget&)>& shape = {}) {
    auto made = std::make_shared<PodDisruptionBudget>();
    made->metadata.name = "b";
    made->metadata.namespace_ = "default";
    made->spec.minAvailable = IntOrString{1, {}, false};
    made->spec.selector.emplace().matchLabels = StringMap{{"app", "x"}};
    if (shape) shape(*made);
    const auto created = store_.call(api::create(made), "test");
    ASSERT_TRUE(created) << created.error().message;
    auto counted = std::static_pointer_cast<PodDisruptionBudget>(created->object->clone());
    counted->status = {.observedGeneration = made->status.observedGeneration,
                       .disruptionsAllowed = allowance.allowed,
                       .currentHealthy = allowance.healthy,
                       .desiredHealthy = allowance.desired,
                       .expectedPods = 2};
    if (counted->status.observedGeneration == 0) counted->status.observedGeneration = 1;
    ASSERT_TRUE(store_.call(api::update(counted, "status"), "test"));
  }
  Result<api::Response> evict(const std::string& name, bool dry_run = false) {
    api::Request request = api::evict(*store_.find<Pod>("default", name), {});
    request.dry_run = dry_run;
    return store_.call(std::move(request), "test");
  }
  std::shared_ptr<const PodDisruptionBudget> budget() {
    return store_.find<PodDisruptionBudget>("default", "b");
  }

  VirtualLoop loop_{Random(1), Time{std::chrono::hours(24)}};
  Trace trace_{loop_};
  KindRegistry kinds_;
  Store store_{loop_, Random(7), trace_, kinds_, Store::Options()};
};

TEST_F(Evictions, one_that_is_granted_is_off_the_budget_at_once) {
  pod("p", true);
  pod("q", true);
  budget({.allowed = 1, .healthy = 2, .desired = 1});
  ASSERT_TRUE(evict("p", true));
  EXPECT_EQ(budget()->status.disruptionsAllowed, 1);  // a dry run
  ASSERT_TRUE(evict("p"));
  EXPECT_EQ(budget()->status.disruptionsAllowed, 0);
  EXPECT_TRUE(budget()->status.disruptedPods.contains("p"));
  EXPECT_EQ(budget()->status.conditions.at(0).reason, "InsufficientPods");
  const auto refused = evict("q");
  ASSERT_FALSE(refused);
  EXPECT_EQ(http_code(refused.error().reason), 429);
}

TEST_F(Evictions, a_budget_that_was_changed_has_to_be_counted_first) {
  pod("p", true);
  budget({.allowed = 1, .healthy = 2, .desired = 1});
  auto changed = std::make_shared<PodDisruptionBudget>(*budget());
  changed->spec.minAvailable = IntOrString{2, {}, false};
  ASSERT_TRUE(store_.call(api::update(changed), "test"));
  const auto refused = evict("p");
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().details->causes.at(0).message,
            "The disruption budget b is still being processed by the server.");
  EXPECT_EQ(refused.error().details->retry_after_seconds, 10);
}

TEST_F(Evictions, an_unready_pod_goes_where_the_budget_is_met_or_says_so) {
  pod("p", false);
  budget({.allowed = 0, .healthy = 0, .desired = 1});
  EXPECT_FALSE(evict("p"));
  auto changed = std::make_shared<PodDisruptionBudget>(*budget());
  changed->spec.unhealthyPodEvictionPolicy = "AlwaysAllow";
  ASSERT_TRUE(store_.call(api::update(changed), "test"));
  EXPECT_TRUE(evict("p"));
  EXPECT_TRUE(budget()->status.disruptedPods.empty());
}

TEST_F(Evictions, a_budget_whose_count_has_failed_says_why) {
  pod("p", true);
  budget({.allowed = 0, .healthy = 0, .desired = 0});
  auto failed = std::make_shared<PodDisruptionBudget>(*budget());
  failed->status.conditions = {{.type_ = "DisruptionAllowed",
                                .status = "False",
                                .reason = "SyncFailed",
                                .message = "jobs.batch does not implement the scale subresource"}};
  ASSERT_TRUE(store_.call(api::update(failed, "status"), "test"));
  const auto refused = evict("p");
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().details->causes.at(0).message,
            "The disruption budget b does not allow evicting pods currently because it failed "
            "sync: jobs.batch does not implement the scale subresource");
}

TEST_F(Evictions, an_empty_selector_guards_nobody) {
  pod("p", true);
  budget({.allowed = 0, .healthy = 1, .desired = 1},
         [](PodDisruptionBudget& made) { made.spec.selector.emplace() = {}; });
  EXPECT_TRUE(evict("p"));
}

TEST_F(Evictions, a_percentage_is_one) {
  const auto refusal = [&](const char* text) {
    auto made = std::make_shared<PodDisruptionBudget>();
    made->metadata.name = "c";
    made->metadata.namespace_ = "default";
    made->spec.maxUnavailable = IntOrString{0, text, true};
    const auto answer = store_.call(api::create(made), "test");
    return answer ? std::string() : answer.error().message;
  };
  EXPECT_NE(refusal("half").find("spec.maxUnavailable: Invalid value: \"half\": a valid percent "
                                 "string must be a numeric string followed by an ending '%'"),
            std::string::npos);
  EXPECT_NE(refusal("101%").find("must not be greater than 100%"), std::string::npos);
  EXPECT_EQ(refusal("100%"), "");
}

}  // namespace
}  // namespace ddptwin::store_eviction_test
