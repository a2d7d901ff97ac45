// What the recordings quota-* do not show of the quota controller: the controller in its host, over
// a store. Upstream: pkg/controller/resourcequota and pkg/quota/v1.
#include "objects/resource_quota.hpp"

#include <gtest/gtest.h>

#include "cluster/store/namespace_limits.hpp"
#include "controller/host.hpp"
#include "controller/manager/manager_test_fixture.hpp"
#include "controller/manager/resource_quota/controller.hpp"

namespace ddptwin::controller::resource_quota_test {
namespace {

using Amounts = std::map<std::string, std::string>;

struct Counted : manager_test::ManagerWorld {
  ResourceQuotaController controller{};
  std::optional<ControllerHost> host{};

  explicit Counted(bool admission = true) {
    if (admission) add_quota_admission(store);
    host.emplace(loop, direct, informers, trace, Random(7), controller);
    host->start();
    run(1s);
  }
  void quota(const Amounts& hard, const std::vector<std::string>& scopes = {}) {
    auto made = std::make_shared<ResourceQuota>();
    made->metadata.name = "q";
    made->metadata.namespace_ = "default";
    made->spec.scopes = scopes;
    for (const auto& [name, text] : hard) made->spec.hard.edit()[name] = *Quantity::parse(text);
    must(api::create(made));
    run(1s);
  }
  std::shared_ptr<Pod> pod(const std::string& name, const char* cpu) {
    auto made = std::make_shared<Pod>();
    made->metadata.name = name;
    made->metadata.namespace_ = "default";
    PodSpec& spec = made->spec.edit();
    spec.nodeName = "n";
    spec.terminationGracePeriodSeconds = 30;
    Container container{.name = "c", .image = "i"};
    container.resources.requests.edit()["cpu"] = *Quantity::parse(cpu);
    spec.containers = {std::move(container)};
    const ObjectPtr created = must(api::create(made));
    run(1s);
    return created ? std::static_pointer_cast<Pod>(created->clone()) : nullptr;
  }
  std::string used(const std::string& resource) const {
    const auto quota = store.find<ResourceQuota>("default", "q");
    const auto found = quota->status.used.find(resource);
    return found == quota->status.used.end() ? "none" : found->second.str();
  }
};

TEST(ResourceQuotaController, counts_what_was_there_before_the_quota) {
  Counted cluster;
  cluster.pod("a", "2");
  cluster.quota({{"requests.cpu", "1"}, {"count/pods", "9"}, {"example.com/unknown", "1"}});
  EXPECT_EQ(cluster.used("requests.cpu"), "2");
  EXPECT_EQ(cluster.used("count/pods"), "1");
  EXPECT_EQ(cluster.used("example.com/unknown"), "none");
}

TEST(ResourceQuotaController, a_pod_that_has_ended_is_counted_among_objects_only) {
  Counted cluster;
  cluster.quota({{"pods", "5"}, {"count/pods", "5"}});
  const auto pod = cluster.pod("a", "1");
  EXPECT_EQ(cluster.used("pods"), "1");
  pod->status.phase = "Failed";
  cluster.must(api::update(pod, "status"));
  cluster.run(1s);
  EXPECT_EQ(cluster.used("pods"), "0");
  EXPECT_EQ(cluster.used("count/pods"), "1");
}

// Admission counts what then is not made: until somebody looks at the whole.
TEST(ResourceQuotaController, a_miscount_lasts_five_minutes) {
  Counted cluster;
  cluster.quota({{"pods", "5"}});
  cluster.pod("a", "1");
  const auto twice =
      cluster.store.call(api::create(std::make_shared<Pod>([] {
                           Pod made;
                           made.metadata.name = "a";
                           made.metadata.namespace_ = "default";
                           made.spec.edit().containers = {{.name = "c", .image = "i"}};
                           return made;
                         }())),
                         "test");
  ASSERT_FALSE(twice);
  EXPECT_EQ(twice.error().reason, Reason::already_exists);
  EXPECT_EQ(cluster.used("pods"), "2");
  cluster.run(4min);
  EXPECT_EQ(cluster.used("pods"), "2");
  cluster.run(90s);
  EXPECT_EQ(cluster.used("pods"), "1");
}

// A pod whose node is lost hangs for ever: it makes room once its grace is over, twice as upstream
// counts it.
TEST(ResourceQuotaController, a_pod_stuck_in_its_end_makes_room) {
  Counted cluster;
  cluster.quota({{"pods", "5"}});
  const auto pod = cluster.pod("a", "1");
  cluster.must(api::remove(*pod));
  cluster.run(40s);
  EXPECT_EQ(cluster.used("pods"), "1");
  cluster.run(6min);
  EXPECT_EQ(cluster.used("pods"), "0");
}

TEST(ResourceQuotaController, counts_only_what_is_in_its_scopes) {
  Counted cluster;
  cluster.pod("a", "1");
  cluster.quota({{"pods", "5"}}, {"BestEffort"});
  EXPECT_EQ(cluster.used("pods"), "0");
}

}  // namespace
}  // namespace ddptwin::controller::resource_quota_test
