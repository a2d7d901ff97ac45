// What the recordings pdb-* and api-eviction-budget do not show of the disruption controller: the
// controller in its host, over a store. Upstream: pkg/controller/disruption.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "controller/host.hpp"
#include "controller/manager/disruption/controller.hpp"
#include "controller/manager/manager_test_fixture.hpp"
#include "controller/toolkit/ownership.hpp"
#include "objects/apps_v1.hpp"
#include "objects/batch_v1.hpp"
#include "objects/disruption_budget.hpp"

namespace ddptwin::controller::disruption_test {
namespace {

struct Guarded : manager_test::ManagerWorld {
  DisruptionController controller{};
  std::optional<ControllerHost> host{};

  Guarded() {
    host.emplace(loop, direct, informers, trace, Random(7), controller);
    host->start();
    run(1s);
  }
  void budget(const std::function<void(PodDisruptionBudgetSpec&)>& shape) {
    auto made = std::make_shared<PodDisruptionBudget>();
    made->metadata.name = "b";
    made->metadata.namespace_ = "default";
    made->spec.selector.emplace().matchLabels = StringMap{{"app", "x"}};
    shape(made->spec);
    must(api::create(made));
    run(1s);
  }
  void pod(const std::string& name, const Object* owner = nullptr, bool ready = true) {
    auto made = std::make_shared<Pod>();
    made->metadata.name = name;
    made->metadata.namespace_ = "default";
    made->metadata.labels.edit()["app"] = "x";
    if (owner != nullptr)
      made->metadata.ownerReferences.edit().push_back(controller_reference(*owner));
    PodSpec& spec = made->spec.edit();
    spec.nodeName = "n";
    spec.terminationGracePeriodSeconds = 30;
    spec.containers = {{.name = "c", .image = "i"}};
    auto stored = std::static_pointer_cast<Pod>(must(api::create(made))->clone());
    stored->status.phase = "Running";
    PodCondition& condition = stored->status.conditions.edit().emplace_back();
    condition.type_ = "Ready";
    condition.status = ready ? "True" : "False";
    must(api::update(stored, "status"));
    run(1s);
  }
  ObjectPtr stateful_set(const std::string& name, std::int32_t replicas) {
    auto made = std::make_shared<StatefulSet>();
    made->metadata.name = name;
    made->metadata.namespace_ = "default";
    made->spec.edit().replicas = replicas;
    made->spec.edit().selector.emplace().matchLabels = StringMap{{"app", "x"}};
    made->spec.edit().template_.metadata.labels.edit()["app"] = "x";
    made->spec.edit().template_.spec.edit().containers = {{.name = "c", .image = "i"}};
    const ObjectPtr stored = must(api::create(made));
    run(1s);
    return stored;
  }
  std::shared_ptr<const PodDisruptionBudget> now() const {
    return store.find<PodDisruptionBudget>("default", "b");
  }
  // "allowed healthy/desired of expected"
  std::string status() const {
    const auto& status = now()->status;
    return fmt::format("{} {}/{} of {}", status.disruptionsAllowed, status.currentHealthy,
                       status.desiredHealthy, status.expectedPods);
  }
  bool told(std::string_view reason) const {
    for (const auto& [key, object] : store.objects(Event::info()))
      if (static_cast<const Event&>(*object).reason == reason) return true;
    return false;
  }
};

IntOrString percent(const char* text) { return {0, text, true}; }
IntOrString number(std::int32_t value) { return {value, {}, false}; }

TEST(DisruptionController, of_several_owners_the_scales_are_summed) {
  Guarded cluster;
  const ObjectPtr a = cluster.stateful_set("a", 3), b = cluster.stateful_set("b", 2);
  cluster.pod("a-0", a.get());
  cluster.pod("a-1", a.get());
  cluster.pod("b-0", b.get());
  cluster.budget([](auto& spec) { spec.minAvailable = percent("50%"); });
  EXPECT_EQ(cluster.status(), "0 3/3 of 5");
  cluster.pod("b-1", b.get());
  EXPECT_EQ(cluster.status(), "1 4/3 of 5");
}

// Upstream tells it of each sight of such a pod (recheck), and keeps nothing of it.
TEST(DisruptionController, a_pod_under_two_budgets_is_told_of_and_not_remembered) {
  Guarded cluster;
  DoubleBudgetController doubles;
  ControllerHost host(cluster.loop, cluster.direct, cluster.informers, cluster.trace, Random(8),
                      doubles);
  host.start();
  for (const char* name : {"b", "c"}) {
    auto made = std::make_shared<PodDisruptionBudget>();
    made->metadata.name = name;
    made->metadata.namespace_ = "default";
    made->spec.selector.emplace().matchLabels = StringMap{{"app", "x"}};
    made->spec.minAvailable = number(1);
    cluster.must(api::create(made));
  }
  cluster.run(1s);
  cluster.pod("p");
  EXPECT_TRUE(cluster.told("MultiplePodDisruptionBudgets"));
  EXPECT_TRUE(host.remembered().empty());
}

TEST(DisruptionController, no_more_can_be_down_than_there_are) {
  Guarded cluster;
  const ObjectPtr set = cluster.stateful_set("a", 2);
  cluster.pod("a-0", set.get());
  cluster.budget([](auto& spec) { spec.maxUnavailable = number(7); });
  EXPECT_EQ(cluster.status(), "1 1/0 of 2");
}

// A Job has no scale: nobody may go as long as it cannot be said how many there should be.
TEST(DisruptionController, an_owner_without_a_scale_forbids_all) {
  Guarded cluster;
  auto job = std::make_shared<Job>();
  job->metadata.name = "j";
  job->metadata.namespace_ = "default";
  job->spec.edit().template_.spec.edit().restartPolicy = "Never";
  job->spec.edit().template_.spec.edit().containers = {{.name = "c", .image = "i"}};
  const ObjectPtr stored = cluster.must(api::create(job));
  cluster.pod("j-0", stored.get());
  cluster.budget([](auto& spec) { spec.maxUnavailable = number(1); });
  EXPECT_TRUE(cluster.told("CalculateExpectedPodCountFailed"));
  ASSERT_EQ(cluster.now()->status.conditions.size(), 1U);
  EXPECT_EQ(cluster.now()->status.conditions[0].reason, "SyncFailed");
  EXPECT_EQ(cluster.now()->status.conditions[0].message,
            "jobs.batch does not implement the scale subresource");
}

TEST(DisruptionController, an_evicted_pod_that_goes_on_counts_again_after_two_minutes) {
  Guarded cluster;
  cluster.pod("p");
  cluster.pod("q");
  cluster.budget([](auto& spec) { spec.minAvailable = number(1); });
  EXPECT_EQ(cluster.status(), "1 2/1 of 2");
  // As an eviction does whose deletion is then refused.
  auto evicted = std::make_shared<PodDisruptionBudget>(*cluster.now());
  evicted->status.disruptionsAllowed = 0;
  evicted->status.disruptedPods["p"] = cluster.loop.now().floor_seconds();
  cluster.must(api::update(evicted, "status"));
  cluster.run(1s);
  EXPECT_EQ(cluster.status(), "0 1/1 of 2");
  cluster.run(110s);
  EXPECT_EQ(cluster.status(), "0 1/1 of 2");
  cluster.run(15s);
  EXPECT_EQ(cluster.status(), "1 2/1 of 2");
  EXPECT_TRUE(cluster.now()->status.disruptedPods.empty());
}

TEST(DisruptionController, an_empty_selector_is_about_all_and_none_about_nobody) {
  Guarded cluster;
  cluster.pod("p");
  cluster.budget([](auto& spec) {
    spec.minAvailable = number(0);
    spec.selector.emplace() = {};
  });
  EXPECT_EQ(cluster.status(), "1 1/0 of 1");
  auto changed = std::make_shared<PodDisruptionBudget>(*cluster.now());
  changed->spec.selector.reset();
  cluster.must(api::update(changed));
  cluster.run(1s);
  EXPECT_EQ(cluster.status(), "0 0/0 of 0");
  EXPECT_TRUE(cluster.told("NoPods"));
}

}  // namespace
}  // namespace ddptwin::controller::disruption_test
