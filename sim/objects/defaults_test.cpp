#include "objects/defaults.hpp"

#include <gtest/gtest.h>

#include <boost/json.hpp>

#include "objects/codec.hpp"

namespace ddptwin::defaults_test {
namespace {

// Recorded: api/api-default-image-pull-policy.
TEST(PullPolicy, FollowsTheTag) {
  const std::string digest(48, 'a');
  const std::pair<std::string, const char*> rows[] = {
      {"busybox", "Always"},
      {"busybox:latest", "Always"},
      {"busybox:1.36", "IfNotPresent"},
      {"reg.example.com:5000/train", "Always"},
      {"reg.example.com:5000/train:v1", "IfNotPresent"},
      {"busybox@sha256:" + digest, "IfNotPresent"},
      {"busybox:latest@sha256:" + digest, "Always"},
      {"$(REGISTRY)/train", "IfNotPresent"},
      {"Upper/Case", "IfNotPresent"},
  };
  for (const auto& [image, policy] : rows) EXPECT_EQ(default_pull_policy(image), policy) << image;
}

PodSpec spec_of(const char* text) {
  auto spec = from_json<PodSpec>(boost::json::parse(text));
  EXPECT_TRUE(spec.has_value());
  return spec ? *spec : PodSpec();
}

// Recorded: api/api-default-pod-init-sidecar.
TEST(QosClass, CountsCpuAndMemoryOfAllContainers) {
  const std::pair<const char*, const char*> rows[] = {
      {R"({"containers":[{"name":"c"}]})", "BestEffort"},
      {R"({"containers":[{"name":"c","resources":{"limits":{"nvidia.com/gpu":"1"}}}]})",
       "BestEffort"},
      {R"({"containers":[{"name":"c","resources":{"limits":{"cpu":"1","memory":"1Gi"}}}]})",
       "Guaranteed"},
      {R"({"initContainers":[{"name":"i"}],)"
       R"("containers":[{"name":"c","resources":{"limits":{"cpu":"1","memory":"1Gi"}}}]})",
       "Burstable"},
      {R"({"containers":[{"name":"c","resources":{"requests":{"cpu":"1"}}}]})", "Burstable"},
      {R"({"containers":[{"name":"c","resources":{"limits":{"cpu":"0"}}}]})", "BestEffort"},
  };
  for (const auto& [text, expected] : rows) {
    Pod pod;
    pod.spec = spec_of(text);
    default_pod(pod);
    EXPECT_EQ(qos_class(*pod.spec), expected) << text;
  }
}

// Recorded: api/api-default-pod-volumes.
TEST(PodDefaults, AVolumeSaysAllOfItself) {
  Pod pod;
  pod.spec = spec_of(R"({"containers":[{"name":"c","image":"a:b"}],"volumes":[{"name":"bare"},)"
                     R"({"name":"s","secret":{"secretName":"x"}},)"
                     R"({"name":"h","hostPath":{"path":"/d"}}]})");
  default_pod(pod);
  EXPECT_EQ(to_json(pod.spec->volumes),
            boost::json::parse(R"([{"name":"bare","emptyDir":{}},)"
                               R"({"name":"s","secret":{"secretName":"x","defaultMode":420}},)"
                               R"({"name":"h","hostPath":{"path":"/d","type":""}}])"));
}

TEST(PodDefaults, OfTheHostsNetworkEveryPortIsTheHosts) {
  Pod pod;
  pod.spec = spec_of(R"({"hostNetwork":true,"containers":[{"name":"c","image":"a:b",)"
                     R"("ports":[{"containerPort":80}]}]})");
  default_pod(pod);
  EXPECT_EQ(pod.spec->containers[0].ports[0].hostPort, 80);
  EXPECT_EQ(pod.spec->containers[0].ports[0].protocol, "TCP");
}

TEST(ServiceDefaults, AHeadlessServiceWithoutASelectorServesBothFamilies) {
  const auto families = [](StringMap selector) {
    Service service;
    ServiceSpec& spec = service.spec.edit();
    spec.clusterIP = "None";
    spec.selector = std::move(selector);
    default_service(service);
    return service.spec->ipFamilies;
  };
  EXPECT_EQ(families({}), (std::vector<std::string>{"IPv4", "IPv6"}));
  EXPECT_EQ(families({{"a", "b"}}), std::vector<std::string>{"IPv4"});
}

}  // namespace
}  // namespace ddptwin::defaults_test
