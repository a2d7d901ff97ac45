#include "cluster/pods/resources.hpp"

#include <gtest/gtest.h>

#include <boost/json.hpp>

#include "cluster/kubelet/spec_facts.hpp"
#include "cluster/kubelet/test_cluster.hpp"

namespace ddptwin::kubelet::resources_test {
namespace {

TEST(Cpu, SharesAndQuotaKeepToTheirLimits) {
  const std::tuple<std::int64_t, std::int64_t, std::int64_t> rows[] = {
      // milli CPU, shares, quota
      {0, 2, 0},
      {1, 2, 1000},
      {250, 256, 25000},
      {1500, 1536, 150000},
      {1000000, 262144, 100000000},
  };
  for (const auto& [milli, shares, quota] : rows) {
    EXPECT_EQ(cpu_shares(milli), shares) << milli;
    EXPECT_EQ(cpu_quota(milli), quota) << milli;
  }
}

const std::string both =
    "resources: {limits: {cpu: 1, memory: 1Gi}, requests: {cpu: 1, memory: 1Gi}}";

TEST(Qos, FollowsCpuAndMemoryOfAllContainers) {
  const std::tuple<std::string, std::string, QosClass> rows[] = {
      {"", "", QosClass::best_effort},
      {"resources: {limits: {nvidia.com/gpu: 1}}", "", QosClass::best_effort},
      {"resources: {requests: {cpu: 0}}", "", QosClass::best_effort},
      {both, "", QosClass::guaranteed},
      {"resources: {requests: {cpu: 1}}", "", QosClass::burstable},
      {"resources: {limits: {cpu: 1}, requests: {cpu: 1}}", "", QosClass::burstable},
      {"resources: {limits: {cpu: 2, memory: 1Gi}, requests: {cpu: 1, memory: 1Gi}}", "",
       QosClass::burstable},
      {both, "initContainers: [{name: i, image: b}]", QosClass::burstable},
      {both, "initContainers: [{name: i, image: b, " + both + "}]", QosClass::guaranteed},
  };
  for (const auto& [container, spec, want] : rows) {
    const TestCluster cluster(pod_yaml(container, spec));
    EXPECT_EQ(to_string(qos_class(*cluster.context().pod->spec)), to_string(want))
        << container << " " << spec;
  }
}

TEST(KnownFacts, AreThoseOfTheLastSpecificationWhereNothingTheyShowDiffers) {
  const TestCluster cluster(pod_yaml(both));
  const Cow<PodSpec> first = cluster.context().pod->spec;
  KnownFacts known;
  const auto facts = known.of(first);
  const auto of = [&](const std::function<void(Container&)>& change) {
    Cow<PodSpec> next = first;
    change(next.edit().containers.edit().front());
    return known.of(next);
  };
  EXPECT_EQ(of([](Container& c) { c.env = {{.name = "RANK", .value = "1"}}; }), facts);
  const auto mounted =
      of([](Container& c) { c.volumeMounts = {{.name = "v", .mountPath = "/v"}}; });
  EXPECT_FALSE(mounted->containers.front().volume_mounts.absent());
  const auto ruled =
      of([](Container& c) { c.restartPolicyRules = {{.action = "RestartAllContainers"}}; });
  EXPECT_TRUE(ruled->restart_all_rule);
  EXPECT_TRUE(ruled->containers.front().volume_mounts.absent());
  EXPECT_EQ(of([](Container& c) { c.resources.limits.edit().clear(); })->qos_class, "Burstable");
  EXPECT_EQ(known.of(first)->qos_class, "Guaranteed");
}

TEST(OomScore, SparesGuaranteedPodsAndThoseThatAskForMuch) {
  const std::tuple<std::string, std::string, std::int64_t> rows[] = {
      {"", "", 1000},
      {both, "", -997},
      {"", "priority: 2000001000", -997},
      {"resources: {requests: {memory: 128Gi}}", "", 500},
      {"resources: {requests: {memory: 1}}", "", 999},
      {"resources: {requests: {memory: 256Gi}}", "", 3},
  };
  for (const auto& [container, spec, want] : rows) {
    const TestCluster cluster(pod_yaml(container, spec));
    const PodContext context = cluster.context();
    EXPECT_EQ(oom_score_adj(*context.pod->spec, context.node.get(), cluster.container()), want)
        << container << spec;
  }
}

TEST(OomScore, ASidecarIsSparedAsTheContainersItServes) {
  const TestCluster cluster(pod_yaml(
      "resources: {requests: {memory: 128Gi}}",
      "initContainers: [{name: s, image: b, restartPolicy: Always}, {name: i, image: b}]"));
  const PodContext context = cluster.context();
  EXPECT_EQ(
      oom_score_adj(*context.pod->spec, context.node.get(), context.pod->spec->initContainers[0]),
      500);
  EXPECT_EQ(
      oom_score_adj(*context.pod->spec, context.node.get(), context.pod->spec->initContainers[1]),
      999);
}

TEST(PodTotals, TakeTheLargestOfInitStepsAndContainersWithSidecarsBesideThem) {
  const auto of = [](int cpu) {
    return "resources: {requests: {cpu: " + std::to_string(cpu) + "}}";
  };
  const std::string c = "{name: i, image: b, " + of(4) + "}";
  const std::string sidecar = "{name: s, image: b, restartPolicy: Always, " + of(2) + "}";
  const std::tuple<std::string, std::int64_t> rows[] = {
      {"initContainers: []", 1},
      {"initContainers: [" + c + "]", 4},
      {"initContainers: [" + sidecar + "]", 3},
      {"initContainers: [" + sidecar + ", " + c + "]", 6},
      {"initContainers: [" + c + ", " + sidecar + "]", 4},
      {"resources: {requests: {cpu: 7}}", 7},
  };
  for (const auto& [spec, want] : rows) {
    const TestCluster cluster(pod_yaml(of(1), spec));
    EXPECT_EQ(pod_requests(*cluster.context().pod->spec).at("cpu").value(), want) << spec;
  }
}

TEST(LinuxResources, LimitsOfThePodCountWhereTheContainerHasNone) {
  const TestCluster cluster(pod_yaml("", "resources: {limits: {cpu: 2, memory: 1Gi}}"));
  const PodContext context = cluster.context();
  const RawJson linux =
      container_resources(*context.pod->spec, context.node.get(), cluster.container());
  EXPECT_EQ(linux.get()->at("cpuQuota").as_string(), "200000");
  EXPECT_EQ(linux.get()->at("memoryLimitInBytes").as_string(), "1073741824");
  EXPECT_EQ(memory_limit(*cluster.context().pod->spec, cluster.container()), 1073741824);
}

TEST(LinuxResources, ALimitAloneStandsForTheRequest) {
  const TestCluster cluster(pod_yaml("resources: {limits: {cpu: 500m}}"));
  const PodContext context = cluster.context();
  const RawJson linux =
      container_resources(*context.pod->spec, context.node.get(), cluster.container());
  EXPECT_EQ(linux.get()->at("cpuShares").as_string(), "512");
}

}  // namespace
}  // namespace ddptwin::kubelet::resources_test
