#include "objects/validation_autoscaling.hpp"

#include <gtest/gtest.h>

#include <boost/json.hpp>

#include "objects/codec.hpp"

namespace ddptwin::validation_autoscaling_test {
namespace {

using Lines = std::vector<std::string>;

// As the store takes it in: with its defaults.
HorizontalPodAutoscaler autoscaler_of(const std::string& spec) {
  HorizontalPodAutoscaler made;
  auto read = from_json<HorizontalPodAutoscalerSpec>(boost::json::parse(spec));
  EXPECT_TRUE(read.has_value()) << spec;
  if (read) made.spec = std::move(*read);
  HorizontalPodAutoscaler::info().strategy.defaults(made);
  return made;
}
Lines lines_of(const ErrorList& causes) {
  Lines out;
  for (const ErrorCause& cause : causes) out.push_back(cause.field + ": " + cause.message);
  return out;
}
std::string with(const std::string& more) {
  return R"({"scaleTargetRef": {"kind": "StatefulSet", "name": "s", "apiVersion": "apps/v1"},)" +
         more + "}";
}
std::string metric(const std::string& text) {
  return with(R"("maxReplicas": 3, "metrics": [)" + text + "]");
}
std::string behavior(const std::string& text) {
  return with(R"("maxReplicas": 3, "behavior": )" + text);
}

TEST(AutoscalerValidation, says_it_in_the_servers_words) {
  const std::pair<std::string, Lines> rows[] = {
      {with(R"("maxReplicas": 3)"), {}},
      {with(R"("minReplicas": 0, "maxReplicas": 0)"),
       {"spec.minReplicas: Invalid value: 0: must be greater than or equal to 1",
        "spec.maxReplicas: Invalid value: 0: must be greater than 0",
        "spec.metrics: Forbidden: must specify at least one Object or External metric to support "
        "scaling to zero replicas"}},
      {with(R"("minReplicas": 4, "maxReplicas": 3)"),
       {"spec.maxReplicas: Invalid value: 3: must be greater than or equal to `minReplicas`"}},
      {R"({"scaleTargetRef": {}, "maxReplicas": 1})",
       {"spec.scaleTargetRef.kind: Required value", "spec.scaleTargetRef.name: Required value",
        "spec.scaleTargetRef.apiVersion: Invalid value: \"\": apiVersion must specify API group"}},
      {R"({"scaleTargetRef": {"kind": "A/B", "name": "..", "apiVersion": "a/b/c"},)"
       R"("maxReplicas": 1})",
       {"spec.scaleTargetRef.kind: Invalid value: \"A/B\": may not contain '/'",
        "spec.scaleTargetRef.name: Invalid value: \"..\": may not be '..'",
        "spec.scaleTargetRef.apiVersion: Invalid value: \"a/b/c\": unexpected GroupVersion string: "
        "a/b/c"}},
      {R"({"scaleTargetRef": {"kind": "ReplicationController", "name": "r", "apiVersion": "v1"},)"
       R"("maxReplicas": 1})",
       {}},
      {metric(R"({"type": "Cpu"})"),
       {"spec.metrics[0].type: Unsupported value: \"Cpu\": supported values: "
        "\"ContainerResource\", \"External\", \"Object\", \"Pods\", \"Resource\""}},
      {metric(R"({"type": "Resource", "resource": {"name": "cpu", "target": {"type": "Utilization",
                  "averageUtilization": 0, "averageValue": "0"}}})"),
       {"spec.metrics[0].resource.target.averageValue: Invalid value: \"0\": must be positive",
        "spec.metrics[0].resource.target.averageUtilization: Invalid value: 0: must be greater "
        "than 0",
        "spec.metrics[0].resource.target.averageValue: Forbidden: may not set both a target raw "
        "value and a target utilization"}},
      {metric(R"({"type": "Resource", "resource": {"target": {"type": "Some"}}})"),
       {"spec.metrics[0].resource.name: Required value: must specify a resource name",
        "spec.metrics[0].resource.target.type: Invalid value: \"Some\": must be either "
        "Utilization, Value, or AverageValue",
        "spec.metrics[0].resource.target.averageUtilization: Required value: must set either a "
        "target raw value or a target utilization"}},
      {metric(R"({"type": "ContainerResource", "containerResource": {"target": {"type": "Value",
                  "averageValue": "1"}}})"),
       {"spec.metrics[0].containerResource.name: Required value: must specify a resource name",
        "spec.metrics[0].containerResource.container: Required value: must specify a container"}},
      {metric(R"({"type": "Pods", "pods": {"metric": {}, "target": {"type": "Value"}}})"),
       {"spec.metrics[0].pods.metric.name: Required value: must specify a metric name",
        "spec.metrics[0].pods.target.averageValue: Required value: must specify a positive target "
        "averageValue"}},
      {metric(R"({"type": "Object", "object": {"describedObject": {"kind": "Service", "name": "s",
                  "apiVersion": "v1"}, "metric": {"name": "q"}, "target": {"type": "Value"}}})"),
       {"spec.metrics[0].object.target.averageValue: Required value: must set either a target "
        "value or averageValue"}},
      {metric(R"({"type": "External", "external": {"metric": {"name": "q"}, "target":
                  {"type": "Value", "value": "1", "averageValue": "1"}}})"),
       {"spec.metrics[0].external.target.value: Forbidden: may not set both a target value for "
        "metric and a per-pod target"}},
      {metric(R"({"type": "Pods", "resource": {"name": "cpu", "target": {"type": "Utilization",
                  "averageUtilization": 5}}})"),
       {"spec.metrics[0].pods: Required value: must populate information for the given metric "
        "source"}},
      {metric(R"({"type": "Resource", "resource": {"name": "cpu", "target": {"type": "Utilization",
                  "averageUtilization": 5}}, "external": {"metric": {"name": "q"}, "target":
                  {"type": "Value", "value": "1"}}})"),
       {"spec.metrics[0].external: Forbidden: must populate the given metric source only"}},
      {behavior(R"({"scaleUp": {}, "scaleDown": {}})"), {}},
      {behavior(R"({"scaleUp": {"stabilizationWindowSeconds": 3601, "selectPolicy": "Most",
                    "policies": [], "tolerance": "-1"}})"),
       {"spec.behavior.scaleUp.stabilizationWindowSeconds: Invalid value: 3601: must be less than "
        "or equal to 3600",
        "spec.behavior.scaleUp.selectPolicy: Unsupported value: \"Most\": supported values: "
        "\"Disabled\", \"Max\", \"Min\"",
        "spec.behavior.scaleUp.policies: Required value: must specify at least one Policy",
        "spec.behavior.scaleUp.tolerance: Invalid value: \"-1\": must be greater than or equal to "
        "0"}},
      {behavior(R"({"scaleDown": {"policies": [{"type": "Half", "periodSeconds": 1801},
                    {"type": "Pods", "value": 1}]}})"),
       {"spec.behavior.scaleDown.policies[0].type: Unsupported value: \"Half\": supported values: "
        "\"Percent\", \"Pods\"",
        "spec.behavior.scaleDown.policies[0].value: Invalid value: 0: must be greater than zero",
        "spec.behavior.scaleDown.policies[0].periodSeconds: Invalid value: 1801: must be less than "
        "or equal to 1800",
        "spec.behavior.scaleDown.policies[1].periodSeconds: Invalid value: 0: must be greater than "
        "zero"}},
  };
  for (const auto& [spec, expected] : rows)
    EXPECT_EQ(lines_of(validate_autoscaler(autoscaler_of(spec))), expected) << spec;
}

TEST(AutoscalerValidation, an_update_may_keep_what_was) {
  const auto old = autoscaler_of(R"({"scaleTargetRef": {"kind": "StatefulSet", "name": "s"},
      "minReplicas": 0, "maxReplicas": 1, "metrics": [{"type": "External", "external": {"metric":
      {"name": "q"}, "target": {"type": "Value", "value": "1"}}}]})");
  EXPECT_EQ(validate_autoscaler(old).size(), 2U);
  EXPECT_TRUE(validate_autoscaler_update(old, old).empty());
  HorizontalPodAutoscaler other = old;
  other.spec.scaleTargetRef.apiVersion = "v1";
  EXPECT_EQ(lines_of(validate_autoscaler_update(other, old)),
            (Lines{"spec.scaleTargetRef.apiVersion: Invalid value: \"v1\": apiVersion must specify "
                   "API group"}));
}

}  // namespace
}  // namespace ddptwin::validation_autoscaling_test
