// What the recordings quota-* do not show of ResourceQuota admission (spec/kubernetes.md §3.6).
#include <fmt/format.h>
#include <gtest/gtest.h>

#include "cluster/store/namespace_limits.hpp"
#include "cluster/store/store.hpp"
#include "core/virtual_loop.hpp"
#include "objects/batch_v1.hpp"
#include "objects/resource_quota.hpp"
#include "objects/volume_claims.hpp"

namespace ddptwin::quota_admission_test {
namespace {

ResourceList amounts(const std::map<std::string, std::string>& texts) {
  ResourceList list;
  for (const auto& [name, text] : texts) list.emplace(name, *Quantity::parse(text));
  return list;
}
using Amounts = std::map<std::string, std::string>;

class Quotas : public testing::Test {
 protected:
  Quotas() { add_quota_admission(store_); }

  // As the quota controller has counted it: nothing is used.
  void quota(const std::string& name, const Amounts& hard,
             const std::function<void(ResourceQuotaSpec&)>& shape = nullptr) {
    auto made = std::make_shared<ResourceQuota>();
    made->metadata.name = name;
    made->metadata.namespace_ = "default";
    made->spec.hard = amounts(hard);
    if (shape) shape(made->spec);
    const auto answer = store_.call(api::create(made), "test");
    ASSERT_TRUE(answer) << answer.error().message;
    auto counted = std::static_pointer_cast<ResourceQuota>(answer->object->clone());
    counted->status.hard = counted->spec.hard;
    for (const auto& [resource, amount] : hard) counted->status.used.edit()[resource] = Quantity();
    ASSERT_TRUE(store_.call(api::update(counted, "status"), "test"));
  }
  std::string used(const std::string& quota, const std::string& resource) {
    const auto& list = *store_.find<ResourceQuota>("default", quota)->status.used;
    return list.contains(resource) ? list.at(resource).str() : "none";
  }
  // The refusal, or nothing.
  std::string send(api::Request request) {
    const auto answer = store_.call(std::move(request), "test");
    return answer ? std::string() : answer.error().message;
  }
  std::string pod(const std::string& name, const Amounts& requests,
                  const std::function<void(Pod&)>& shape = nullptr, bool dry_run = false) {
    auto made = std::make_shared<Pod>();
    made->metadata.name = name;
    made->metadata.namespace_ = "default";
    PodSpec& spec = made->spec.edit();
    spec.terminationGracePeriodSeconds = 30;
    spec.containers = {{.name = "c", .image = "i", .resources = {.requests = amounts(requests)}}};
    if (shape) shape(*made);
    api::Request request = api::create(made);
    request.dry_run = dry_run;
    return send(std::move(request));
  }

  VirtualLoop loop_{Random(1), Time{std::chrono::hours(24)}};
  Trace trace_{loop_};
  KindRegistry kinds_;
  Store store_{loop_, Random(7), trace_, kinds_, Store::Options()};
};

TEST_F(Quotas, what_one_of_two_refuses_none_counts) {
  quota("a", {{"pods", "5"}});
  quota("b", {{"requests.cpu", "1"}});
  EXPECT_EQ(pod("p", {{"cpu", "2"}}),
            "pods \"p\" is forbidden: exceeded quota: b, requested: requests.cpu=2, used: "
            "requests.cpu=0, limited: requests.cpu=1");
  EXPECT_EQ(used("a", "pods"), "0");
  EXPECT_EQ(pod("p", {{"cpu", "1"}}), "");
  EXPECT_EQ(used("a", "pods"), "1");
  EXPECT_EQ(used("b", "requests.cpu"), "1");
}

TEST_F(Quotas, a_dry_run_is_judged_and_counts_nothing) {
  quota("a", {{"pods", "1"}});
  EXPECT_EQ(pod("p", {}, nullptr, true), "");
  EXPECT_EQ(used("a", "pods"), "0");
  EXPECT_EQ(pod("p", {}), "");
  EXPECT_NE(pod("q", {}, nullptr, true), "");
}

TEST_F(Quotas, one_that_nobody_has_counted_yet_limits_nothing) {
  auto made = std::make_shared<ResourceQuota>();
  made->metadata.name = "a";
  made->metadata.namespace_ = "default";
  made->spec.hard = amounts({{"pods", "0"}});
  ASSERT_TRUE(store_.call(api::create(made), "test"));
  EXPECT_EQ(pod("p", {}), "");
  auto counted = std::make_shared<ResourceQuota>(*store_.find<ResourceQuota>("default", "a"));
  counted->status.hard = counted->spec.hard;
  ASSERT_TRUE(store_.call(api::update(counted, "status"), "test"));
  EXPECT_EQ(pod("q", {}), "pods \"q\" is forbidden: status unknown for quota: a, resources: pods");
}

TEST_F(Quotas, cpu_and_memory_must_be_said_of_every_container_and_gpus_need_not) {
  quota("a", {{"limits.memory", "9Gi"}, {"requests.cpu", "9"}, {"requests.nvidia.com/gpu", "8"}});
  const auto two = [](Pod& made) {
    PodSpec& spec = made.spec.edit();
    spec.containers.edit().push_back({.name = "b", .image = "i"});
    spec.initContainers = {{.name = "a", .image = "i"}};
  };
  EXPECT_EQ(pod("p", {{"cpu", "1"}}, two),
            "pods \"p\" is forbidden: failed quota: a: must specify limits.memory for: a,b,c; "
            "requests.cpu for: a,b");
}

TEST_F(Quotas, what_a_runtime_class_adds_is_taken_too) {
  quota("a", {{"requests.cpu", "2"}});
  EXPECT_EQ(pod("p", {{"cpu", "1"}},
                [](Pod& made) {
                  made.spec.edit().overhead = amounts({{"cpu", "250m"}});
                }),
            "");
  EXPECT_EQ(used("a", "requests.cpu"), "1250m");
}

TEST_F(Quotas, a_scope_selector_goes_by_the_priority_class) {
  quota("high", {{"pods", "1"}}, [](ResourceQuotaSpec& spec) {
    spec.scopeSelector.emplace().matchExpressions = {
        {"PriorityClass", "In", {"system-node-critical"}}};
  });
  quota("rest", {{"pods", "1"}}, [](ResourceQuotaSpec& spec) {
    spec.scopeSelector.emplace().matchExpressions = {
        {"PriorityClass", "NotIn", {"system-node-critical"}}};
  });
  const auto critical = [](Pod& made) {
    set(made.spec.edit().rest, &PodSpec::Rest::priorityClassName,
        std::string("system-node-critical"));
  };
  EXPECT_EQ(pod("a", {}, critical), "");
  EXPECT_EQ(used("high", "pods"), "1");
  EXPECT_EQ(used("rest", "pods"), "0");
  EXPECT_EQ(pod("b", {}), "");
  EXPECT_NE(pod("c", {}, critical), "");
  EXPECT_EQ(used("rest", "pods"), "1");
}

TEST_F(Quotas, an_update_takes_what_it_asks_for_more) {
  quota("a", {{"services.nodeports", "2"}, {"requests.storage", "10Gi"}, {"count/pods", "9"}});
  auto service = std::make_shared<Service>();
  service->metadata.name = "s";
  service->metadata.namespace_ = "default";
  ServiceSpec& spec = service->spec.edit();
  spec.ports = {{.name = "a", .port = 1}, {.name = "b", .port = 2}, {.name = "c", .port = 3}};
  spec.selector = StringMap{{"a", "b"}};
  const auto made = store_.call(api::create(service), "test");
  ASSERT_TRUE(made) << made.error().message;
  const auto of_ports = [&](std::size_t count) {
    auto changed = std::static_pointer_cast<Service>(store_.find<Service>("default", "s")->clone());
    changed->spec.edit().type_ = "NodePort";
    changed->spec.edit().ports.resize(count);
    return send(api::update(changed));
  };
  EXPECT_EQ(of_ports(3),
            "services \"s\" is forbidden: exceeded quota: a, requested: services.nodeports=3, "
            "used: services.nodeports=0, limited: services.nodeports=2");
  EXPECT_EQ(of_ports(2), "");
  EXPECT_EQ(used("a", "services.nodeports"), "2");
  EXPECT_EQ(of_ports(1), "");
  EXPECT_EQ(used("a", "services.nodeports"), "2");  // given back by the controller

  auto claim = std::make_shared<PersistentVolumeClaim>();
  claim->metadata.name = "c";
  claim->metadata.namespace_ = "default";
  claim->spec.accessModes = {"ReadWriteOnce"};
  claim->spec.resources.requests = amounts({{"storage", "4Gi"}});
  EXPECT_EQ(send(api::create(claim)), "");
  EXPECT_EQ(used("a", "requests.storage"), "4Gi");
}

TEST_F(Quotas, a_quota_says_what_exists_and_keeps_whom_it_counts) {
  const auto refusal = [&](const Amounts& hard, std::vector<std::string> scopes) {
    auto made = std::make_shared<ResourceQuota>();
    made->metadata.name = "q";
    made->metadata.namespace_ = "default";
    made->spec.hard = amounts(hard);
    made->spec.scopes = std::move(scopes);
    return send(api::create(made));
  };
  EXPECT_EQ(refusal({{"gpus", "1"}}, {}),
            "ResourceQuota \"q\" is invalid: [spec.hard[gpus]: Invalid value: \"gpus\": must be a "
            "standard resource type or fully qualified, spec.hard[gpus]: Invalid value: \"gpus\": "
            "must be a standard resource for quota]");
  EXPECT_NE(refusal({{"pods", "500m"}}, {}).find("must be an integer"), std::string::npos);
  EXPECT_NE(refusal({{"requests.cpu", "1"}}, {"BestEffort"})
                .find("unsupported scope applied to resource"),
            std::string::npos);
  EXPECT_NE(refusal({{"pods", "1"}}, {"BestEffort", "NotBestEffort"}).find("conflicting scopes"),
            std::string::npos);
  EXPECT_EQ(refusal({{"pods", "1"}, {"requests.nvidia.com/gpu", "8"}}, {"Terminating"}), "");
  auto changed = std::make_shared<ResourceQuota>(*store_.find<ResourceQuota>("default", "q"));
  changed->spec.scopes.clear();
  EXPECT_NE(send(api::update(changed)).find("spec.scopes: Invalid value: []: field is immutable"),
            std::string::npos);
}

}  // namespace
}  // namespace ddptwin::quota_admission_test
