// The autoscaler's controller in its host, over a store (upstream: pkg/controller/podautoscaler).
#include "controller/manager/pod_autoscaler/controller.hpp"

#include <fmt/format.h>
#include <gmock/gmock.h>

#include <boost/json.hpp>

#include "controller/host.hpp"
#include "controller/manager/manager_test_fixture.hpp"
#include "objects/apps_v1.hpp"
#include "objects/codec.hpp"

namespace ddptwin::controller::pod_autoscaler::controller_test {
namespace {

using ::testing::Contains;
using ::testing::HasSubstr;
using ::testing::Not;

constexpr const char* half_of_cpu =
    R"([{"type": "Resource", "resource": {"name": "cpu", "target":
        {"type": "Utilization", "averageUtilization": 50}}}])";

// A StatefulSet "s" whose pods ask for 100m of cpu, and an autoscaler "h" of it.
struct Scaled : manager_test::ManagerWorld {
  pod_autoscaler::MetricsApi metrics{};
  PodAutoscalerController controller{metrics};
  ControllerHost host{loop, client, informers, trace, Random(7), controller};

  Scaled() { host.start(); }
  void target(std::int32_t replicas) {
    auto set = std::make_shared<StatefulSet>();
    set->metadata.name = "s";
    set->metadata.namespace_ = "default";
    set->spec.edit().replicas = replicas;
    set->spec.edit().selector.emplace().matchLabels = StringMap{{"app", "x"}};
    set->spec.edit().template_.metadata.labels.edit()["app"] = "x";
    set->spec.edit().template_.spec.edit().containers = {{.name = "c", .image = "i"}};
    must(api::create(set));
    for (std::int32_t i = 0; i < replicas; ++i) pod(i);
  }
  void pod(std::int32_t number, const char* phase = "Running", const char* request = "100m") {
    auto made = std::make_shared<Pod>();
    made->metadata.name = fmt::format("s-{}", number);
    made->metadata.namespace_ = "default";
    made->metadata.labels.edit()["app"] = "x";
    PodSpec& spec = made->spec.edit();
    spec.nodeName = "n";
    spec.terminationGracePeriodSeconds = 0;
    spec.containers = {{.name = "c", .image = "i"}};
    if (request != nullptr)
      spec.containers.edit()[0].resources.requests.edit()["cpu"] = *Quantity::parse(request);
    auto stored = std::static_pointer_cast<Pod>(must(api::create(made))->clone());
    stored->status.phase = phase;
    stored->status.rest.edit().startTime = manager_test::start - 1h;
    PodCondition& ready = stored->status.conditions.edit().emplace_back();
    ready.type_ = "Ready";
    ready.status = std::string_view(phase) == "Running" ? "True" : "False";
    ready.lastTransitionTime = manager_test::start - 50min;
    must(api::update(stored, "status"));
  }
  void autoscaler(const char* of_metrics = half_of_cpu, const char* behavior = nullptr,
                  const char* kind = "StatefulSet", const char* name = "h") {
    auto made = std::make_shared<HorizontalPodAutoscaler>();
    made->metadata.name = name;
    made->metadata.namespace_ = "default";
    made->spec.scaleTargetRef = {kind, "s", "apps/v1"};
    made->spec.minReplicas = 1;
    made->spec.maxReplicas = 10;
    made->spec.metrics = RawJson(boost::json::parse(of_metrics));
    if (behavior != nullptr) made->spec.behavior = RawJson(boost::json::parse(behavior));
    must(api::create(made));
  }
  // Each of its pods uses so much from now on.
  void measure(const char* resource, const char* amount) {
    Measured row;
    row.of = [](const Object& object) { return as<Pod>(object) != nullptr; };
    row.resources.emplace(resource, *Quantity::parse(amount));
    metrics.measure(std::move(row));
  }
  void look() { run(pod_autoscaler::sync_period + 1s); }

  std::shared_ptr<const HorizontalPodAutoscaler> now(const char* name = "h") const {
    return store.find<HorizontalPodAutoscaler>("default", name);
  }
  std::int32_t replicas() const {
    return store.find<StatefulSet>("default", "s")->spec->replicas.value_or(-1);
  }
  // "True ReadyForNewScale: recommended size matches current size"
  std::string condition(std::string_view type, const char* name = "h") const {
    for (const Condition& one : now(name)->status.conditions)
      if (one.type_ == type) return fmt::format("{} {}: {}", one.status, one.reason, one.message);
    return "none";
  }
  std::vector<std::string> events() const {
    std::vector<std::string> told;
    for (const auto& [key, object] : store.objects(Event::info())) {
      const auto& event = static_cast<const Event&>(*object);
      told.push_back(fmt::format("{} {}: {}", event.type_, event.reason, event.message));
    }
    return told;
  }
};

TEST(PodAutoscaler, without_a_metrics_server_it_says_so) {
  Scaled cluster;
  cluster.target(2);
  cluster.autoscaler();
  cluster.run(14s);
  EXPECT_TRUE(cluster.now()->status.conditions.empty());
  cluster.run(2s);
  const std::string why =
      "failed to get cpu utilization: unable to get metrics for resource cpu: unable to fetch "
      "metrics from resource metrics API: the server could not find the requested resource (get "
      "pods.metrics.k8s.io)";
  EXPECT_EQ(
      cluster.condition("ScalingActive"),
      "False FailedGetResourceMetric: the HPA was unable to compute the replica count: " + why);
  EXPECT_EQ(cluster.condition("AbleToScale"),
            "True SucceededGetScale: the HPA controller was able to get the target's current "
            "scale");
  EXPECT_EQ(cluster.condition("ScalingLimited"), "none");
  EXPECT_THAT(cluster.events(), Contains("Warning FailedGetResourceMetric: " + why));
  EXPECT_THAT(cluster.events(),
              Contains("Warning FailedComputeMetricsReplicas: invalid metrics (1 invalid out of "
                       "1), first error is: failed to get cpu resource metric value: " +
                       why));
  EXPECT_EQ(cluster.now()->status.currentReplicas, 2);
  EXPECT_EQ(cluster.replicas(), 2);
}

TEST(PodAutoscaler, follows_the_cpu_up_at_most_to_twice_at_once) {
  Scaled cluster;
  cluster.target(3);
  cluster.autoscaler();
  cluster.measure("cpu", "200m");
  cluster.look();
  EXPECT_EQ(cluster.replicas(), 6);
  EXPECT_EQ(cluster.condition("ScalingLimited"),
            "True ScaleUpLimit: the desired replica count is increasing faster than the maximum "
            "scale rate");
  EXPECT_EQ(cluster.condition("AbleToScale"),
            "True SucceededRescale: the HPA controller was able to update the target scale to 6");
  EXPECT_THAT(cluster.condition("ScalingActive"),
              HasSubstr("from cpu resource utilization (percentage of request)"));
  EXPECT_THAT(cluster.events(),
              Contains("Normal SuccessfulRescale: New size: 6; reason: cpu resource utilization "
                       "(percentage of request) above target"));
  const auto& status = cluster.now()->status;
  EXPECT_EQ(status.currentReplicas, 3);
  EXPECT_EQ(status.desiredReplicas, 6);
  EXPECT_TRUE(status.lastScaleTime.has_value());
  EXPECT_EQ(*status.currentMetrics.get(),
            boost::json::parse(R"([{"type": "Resource", "resource": {"name": "cpu", "current":
                {"averageUtilization": 200, "averageValue": "200m"}}}])"));
}

TEST(PodAutoscaler, is_content_within_a_tenth) {
  Scaled cluster;
  cluster.target(3);
  cluster.autoscaler();
  cluster.measure("cpu", "55m");
  cluster.look();
  EXPECT_EQ(cluster.replicas(), 3);
  EXPECT_EQ(cluster.condition("AbleToScale"),
            "True ReadyForNewScale: recommended size matches current size");
  EXPECT_EQ(cluster.condition("ScalingLimited"),
            "False DesiredWithinRange: the desired count is within the acceptable range");
  cluster.measure("cpu", "56m");
  cluster.look();
  EXPECT_EQ(cluster.replicas(), 4);
}

TEST(PodAutoscaler, is_content_within_what_its_behavior_tolerates) {
  Scaled cluster;
  cluster.target(4);
  cluster.autoscaler(half_of_cpu, R"({"scaleUp": {"tolerance": "0.5"},
      "scaleDown": {"tolerance": "0", "stabilizationWindowSeconds": 0}})");
  cluster.measure("cpu", "75m");
  cluster.look();
  EXPECT_EQ(cluster.replicas(), 4);
  cluster.measure("cpu", "37m");  // three quarters of the target less a little
  cluster.look();
  EXPECT_EQ(cluster.replicas(), 3);
}

// Upstream: FailedRescale, then the status; what was desired before stays.
TEST(PodAutoscaler, tells_when_its_scale_is_refused_and_tries_again) {
  Scaled cluster;
  cluster.target(2);
  cluster.autoscaler();
  cluster.client.subresource = "scale";
  cluster.client.refusals[&StatefulSet::info()] = 1;
  cluster.measure("cpu", "100m");
  cluster.look();
  EXPECT_EQ(cluster.replicas(), 2);
  EXPECT_EQ(cluster.condition("AbleToScale"),
            "False FailedUpdateScale: the HPA controller was unable to update the target scale: "
            "the object has been modified");
  EXPECT_EQ(cluster.now()->status.currentReplicas, 2);
  EXPECT_EQ(cluster.now()->status.desiredReplicas, 0);
  EXPECT_FALSE(cluster.now()->status.lastScaleTime.has_value());
  EXPECT_THAT(cluster.events(),
              Contains("Warning FailedRescale: New size: 4; reason: cpu resource utilization "
                       "(percentage of request) above target; error: the object has been "
                       "modified"));
  cluster.look();
  EXPECT_EQ(cluster.replicas(), 4);
  EXPECT_THAT(cluster.condition("AbleToScale"), HasSubstr("True SucceededRescale"));
}

TEST(PodAutoscaler, goes_down_once_five_minutes_have_asked_for_it) {
  Scaled cluster;
  cluster.target(4);
  cluster.autoscaler();
  cluster.measure("cpu", "50m");
  cluster.look();
  cluster.measure("cpu", "10m");
  cluster.look();
  EXPECT_EQ(cluster.replicas(), 4);
  EXPECT_THAT(cluster.condition("AbleToScale"), HasSubstr("ScaleDownStabilized"));
  cluster.run(4min);
  EXPECT_EQ(cluster.replicas(), 4);
  cluster.run(90s);
  EXPECT_EQ(cluster.replicas(), 1);
  EXPECT_THAT(cluster.events(),
              Contains("Normal SuccessfulRescale: New size: 1; reason: All metrics below target"));
}

TEST(PodAutoscaler, takes_no_more_at_once_than_its_behavior_says) {
  Scaled cluster;
  cluster.target(4);
  cluster.autoscaler(half_of_cpu, R"({"scaleDown": {"stabilizationWindowSeconds": 0,
      "policies": [{"type": "Pods", "value": 1, "periodSeconds": 60}]}})");
  EXPECT_EQ(
      boost::json::serialize(*cluster.now()->spec.behavior.get()),
      R"({"scaleDown":{"selectPolicy":"Max","policies":[{"type":"Pods","value":1,)"
      R"("periodSeconds":60}],"stabilizationWindowSeconds":0},"scaleUp":)"
      R"({"stabilizationWindowSeconds":0,"selectPolicy":"Max","policies":[{"type":"Pods",)"
      R"("value":4,"periodSeconds":15},{"type":"Percent","value":100,"periodSeconds":15}]}})");
  cluster.measure("cpu", "10m");
  cluster.look();
  EXPECT_EQ(cluster.replicas(), 3);
  EXPECT_THAT(cluster.condition("ScalingLimited"), HasSubstr("True ScaleDownLimit"));
  cluster.run(45s);
  EXPECT_EQ(cluster.replicas(), 3);
  cluster.run(15s);
  EXPECT_EQ(cluster.replicas(), 2);
}

TEST(PodAutoscaler, with_scaling_disabled_by_its_behavior_stays) {
  Scaled cluster;
  cluster.target(3);
  cluster.autoscaler(half_of_cpu, R"({"scaleUp": {"selectPolicy": "Disabled"}})");
  cluster.measure("cpu", "200m");
  cluster.run(2min);
  EXPECT_EQ(cluster.replicas(), 3);
}

TEST(PodAutoscaler, pods_that_are_pending_use_nothing_yet) {
  Scaled cluster;
  cluster.target(2);
  cluster.pod(2, "Pending");
  cluster.autoscaler();
  // Two at 150 % would be three times as many; with the third at 0 % it is twice three.
  cluster.measure("cpu", "150m");
  cluster.look();
  EXPECT_EQ(cluster.replicas(), 4);  // 6, at most max(2 * 2, 4)
  EXPECT_THAT(cluster.condition("ScalingLimited"), HasSubstr("True ScaleUpLimit"));
}

TEST(PodAutoscaler, a_pod_that_asks_for_no_cpu_has_no_utilization) {
  Scaled cluster;
  cluster.target(1);
  cluster.pod(1, "Running", nullptr);
  cluster.autoscaler();
  cluster.measure("cpu", "100m");
  cluster.look();
  EXPECT_THAT(cluster.condition("ScalingActive"),
              HasSubstr("failed to get cpu utilization: missing request for cpu in container c of "
                        "Pod s-1"));
}

TEST(PodAutoscaler, keeps_its_bounds_without_looking_at_metrics) {
  Scaled cluster;
  cluster.target(12);
  cluster.autoscaler();
  cluster.look();
  EXPECT_EQ(cluster.replicas(), 10);
  EXPECT_THAT(cluster.events(),
              Contains("Normal SuccessfulRescale: New size: 10; reason: Current number of "
                       "replicas above Spec.MaxReplicas"));
}

TEST(PodAutoscaler, of_nothing_there_is_nothing_to_scale) {
  Scaled cluster;
  cluster.target(0);
  cluster.autoscaler();
  cluster.look();
  EXPECT_EQ(cluster.condition("ScalingActive"),
            "False ScalingDisabled: scaling is disabled since the replica count of the target is "
            "zero");
}

TEST(PodAutoscaler, tells_why_its_target_has_no_scale) {
  Scaled cluster;
  cluster.autoscaler();
  cluster.autoscaler(half_of_cpu, nullptr, "Deployments", "unknown");
  cluster.look();
  const std::string unable =
      "False FailedGetScale: the HPA controller was unable to get the target's current scale: ";
  EXPECT_EQ(cluster.condition("AbleToScale"), unable + "statefulsets.apps \"s\" not found");
  EXPECT_EQ(cluster.condition("AbleToScale", "unknown"),
            unable + "no matches for kind \"Deployments\" in group \"apps\"");
  EXPECT_THAT(cluster.events(),
              Contains("Warning FailedGetScale: statefulsets.apps \"s\" not found"));
}

TEST(PodAutoscaler, two_of_the_same_pods_do_nothing) {
  Scaled cluster;
  cluster.target(2);
  cluster.autoscaler();
  cluster.autoscaler(half_of_cpu, nullptr, "StatefulSet", "other");
  cluster.measure("cpu", "200m");
  cluster.look();
  EXPECT_THAT(cluster.condition("ScalingActive", "other"),
              HasSubstr("AmbiguousSelector: pods by selector app=x are controlled by multiple "
                        "HPAs: [{h default} {other default}]"));
}

struct OtherMetric {
  const char* name;
  const char* metric;
  const char* kind;  // whose value it is; empty: nothing's
  const char* failure;
  std::int32_t replicas;
  const char* reason;
};
class OtherMetrics : public ::testing::TestWithParam<OtherMetric> {};
TEST_P(OtherMetrics, are_asked_for_and_gone_by) {
  const OtherMetric& row = GetParam();
  Scaled cluster;
  cluster.target(2);
  cluster.autoscaler(row.metric);
  cluster.look();
  EXPECT_THAT(cluster.condition("ScalingActive"), HasSubstr(row.failure));
  Measured measured;
  if (*row.kind != '\0')
    measured.of = [kind = std::string(row.kind)](const Object& object) {
      return object.kind().kind == kind;
    };
  measured.values.emplace("queue", *Quantity::parse("30"));
  cluster.metrics.measure(std::move(measured));
  cluster.look();
  EXPECT_EQ(cluster.replicas(), row.replicas);
  EXPECT_THAT(
      cluster.events(),
      Contains(fmt::format("Normal SuccessfulRescale: New size: {}; reason: {} above target",
                           row.replicas, row.reason)));
}
INSTANTIATE_TEST_SUITE_P(
    of, OtherMetrics,
    ::testing::Values(
        OtherMetric{"pods",
                    R"([{"type": "Pods", "pods": {"metric": {"name": "queue"}, "target":
                        {"type": "AverageValue", "averageValue": "20"}}}])",
                    "Pod",
                    "FailedGetPodsMetric: the HPA was unable to compute the replica count: unable "
                    "to get metric queue: unable to fetch metrics from custom metrics API: no "
                    "custom metrics API (custom.metrics.k8s.io) registered",
                    3, "pods metric queue"},
        OtherMetric{"object",
                    R"([{"type": "Object", "object": {"metric": {"name": "queue"},
                        "describedObject": {"kind": "StatefulSet", "name": "s", "apiVersion":
                        "apps/v1"}, "target": {"type": "Value", "value": "20"}}}])",
                    "StatefulSet", "FailedGetObjectMetric", 3, "StatefulSet metric queue"},
        OtherMetric{"external",
                    R"([{"type": "External", "external": {"metric": {"name": "queue"}, "target":
                        {"type": "AverageValue", "averageValue": "10"}}}])",
                    "",
                    "FailedGetExternalMetric: the HPA was unable to compute the replica count: "
                    "unable to get external metric default/queue/nil: unable to fetch metrics from "
                    "external metrics API: the server could not find the requested resource (get "
                    "queue.external.metrics.k8s.io)",
                    3, "external metric queue(nil)"},
        OtherMetric{"external_in_all",
                    R"([{"type": "External", "external": {"metric": {"name": "queue"}, "target":
                        {"type": "Value", "value": "20"}}}])",
                    "", "FailedGetExternalMetric", 3, "external metric queue(nil)"}),
    [](const auto& row) { return std::string(row.param.name); });

// As long as one metric cannot be had, another adds pods and takes none.
TEST(PodAutoscaler, with_a_metric_missing_takes_nothing_away) {
  const std::string both = std::string(half_of_cpu).substr(0, std::string(half_of_cpu).size() - 1) +
                           R"(, {"type": "External", "external": {"metric": {"name": "queue"},
                              "target": {"type": "AverageValue", "averageValue": "10"}}}])";
  Scaled cluster;
  cluster.target(3);
  cluster.autoscaler(both.c_str());
  cluster.measure("cpu", "10m");
  cluster.run(10min);
  EXPECT_EQ(cluster.replicas(), 3);
  EXPECT_THAT(cluster.condition("ScalingActive"), HasSubstr("False FailedGetExternalMetric"));
  cluster.measure("cpu", "100m");
  cluster.look();
  EXPECT_EQ(cluster.replicas(), 6);
}

TEST(PodAutoscaler, a_container_is_measured_alone) {
  Scaled cluster;
  cluster.target(2);
  cluster.autoscaler(R"([{"type": "ContainerResource", "containerResource": {"name": "memory",
      "container": "other", "target": {"type": "AverageValue", "averageValue": "1Mi"}}}])");
  cluster.measure("memory", "5Mi");
  cluster.look();
  EXPECT_THAT(cluster.condition("ScalingActive"),
              HasSubstr("False FailedGetContainerResourceMetric: the HPA was unable to compute the "
                        "replica count: failed to get memory usage: unable to get metrics for "
                        "resource memory: failed to get container metrics: container other not "
                        "present in metrics for pod default/s-0"));
}

TEST(PodAutoscaler, forgets_what_is_gone_and_everything_in_a_crash) {
  Scaled cluster;
  cluster.target(2);
  cluster.autoscaler();
  cluster.look();
  EXPECT_EQ(cluster.controller.remembered(), std::vector<Key>{"default/h"});
  cluster.host.crash();
  EXPECT_TRUE(cluster.controller.remembered().empty());
  cluster.host.start();
  cluster.look();
  EXPECT_FALSE(cluster.controller.remembered().empty());
  cluster.must(api::remove(*cluster.now()));
  cluster.look();
  EXPECT_TRUE(cluster.controller.remembered().empty());
}

}  // namespace
}  // namespace ddptwin::controller::pod_autoscaler::controller_test
