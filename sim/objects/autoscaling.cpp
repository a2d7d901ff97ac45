#include "objects/autoscaling.hpp"

#include <boost/json.hpp>

#include "objects/codec.hpp"
#include "objects/fields.hpp"
#include "objects/kinds.hpp"
#include "objects/validation_autoscaling.hpp"

namespace ddptwin {
namespace {

namespace json = boost::json;

// The percentage of a metric `Resource cpu Utilization`, or null.
const Json* cpu_utilization(const Json& metric) {
  const json::object* resource = nullptr;
  if (metric.is_object())
    if (const Json* found = metric.get_object().if_contains("resource");
        found != nullptr && found->is_object())
      resource = &found->get_object();
  if (resource == nullptr) return nullptr;
  const Json* name = resource->if_contains("name");
  const Json* target = resource->if_contains("target");
  if (name == nullptr || *name != "cpu" || target == nullptr || !target->is_object())
    return nullptr;
  return target->get_object().if_contains("averageUtilization");
}

Json policy(std::string_view type, std::int32_t value) {
  return json::object{{"type", type}, {"value", value}, {"periodSeconds", 15}};
}

// What is written stays; a whole list of policies is one thing (pkg/apis/autoscaling/v2
// GenerateHPAScaleUpRules, GenerateHPAScaleDownRules).
void fill_rules(json::object& behavior, std::string_view name, json::object rules) {
  if (const Json* written = behavior.if_contains(name); written != nullptr && written->is_object())
    for (const auto& [key, value] : written->get_object())
      if (!value.is_null()) rules.insert_or_assign(key, value);
  behavior.insert_or_assign(name, std::move(rules));
}

void fill_behavior(RawJson& behavior) {
  const Json* written = behavior.get();
  if (written == nullptr || !written->is_object()) return;
  json::object filled = written->get_object();
  fill_rules(filled, "scaleUp",
             {{"stabilizationWindowSeconds", 0},
              {"selectPolicy", "Max"},
              {"policies", json::array{policy("Pods", 4), policy("Percent", 100)}}});
  fill_rules(filled, "scaleDown",
             {{"selectPolicy", "Max"}, {"policies", json::array{policy("Percent", 100)}}});
  behavior = RawJson(std::move(filled));
}

void set_defaults(Object& object) {
  auto& spec = static_cast<HorizontalPodAutoscaler&>(object).spec;
  if (!spec.minReplicas) spec.minReplicas = 1;
  fill_behavior(spec.behavior);
  const Json* metrics = spec.metrics.get();
  if (metrics != nullptr && metrics->is_array() && !metrics->get_array().empty()) return;
  const json::object target{{"type", "Utilization"}, {"averageUtilization", 80}};
  const json::object cpu{{"type", "Resource"},
                         {"resource", json::object{{"name", "cpu"}, {"target", target}}}};
  spec.metrics = RawJson(json::array{cpu});
}

void drop_status(Object& object) {
  static_cast<HorizontalPodAutoscaler&>(object).status = HorizontalPodAutoscalerStatus{};
}
void keep_status(Object& updated, const Object& old) {
  static_cast<HorizontalPodAutoscaler&>(updated).status =
      static_cast<const HorizontalPodAutoscaler&>(old).status;
}
void keep_spec(Object& updated, const Object& old) {
  static_cast<HorizontalPodAutoscaler&>(updated).spec =
      static_cast<const HorizontalPodAutoscaler&>(old).spec;
}

}  // namespace

const Type& CrossVersionObjectReference::type() {
  using S = CrossVersionObjectReference;
  static const Type t =
      structure<S>("v2.CrossVersionObjectReference",
                   {F(kind, .always = true), F(name, .always = true), F(apiVersion)});
  return t;
}
const Type& HorizontalPodAutoscalerSpec::type() {
  using S = HorizontalPodAutoscalerSpec;
  static const Type t = structure<S>(
      "v2.HorizontalPodAutoscalerSpec",
      {F(scaleTargetRef), F(minReplicas), F(maxReplicas, .always = true), F(metrics), F(behavior)});
  return t;
}
const Type& HorizontalPodAutoscalerStatus::type() {
  using S = HorizontalPodAutoscalerStatus;
  static const Type t =
      structure<S>("v2.HorizontalPodAutoscalerStatus",
                   {F(observedGeneration), F(lastScaleTime), F(currentReplicas),
                    F(desiredReplicas, .always = true), F(currentMetrics, .always = true),
                    F(conditions, .merge = Merge::merge, .merge_key = "type")});
  return t;
}
const Type& HorizontalPodAutoscaler::type() {
  using S = HorizontalPodAutoscaler;
  static const Type t =
      structure<S>("v2.HorizontalPodAutoscaler", {F(metadata), F(spec), F(status)});
  return t;
}

const KindInfo& HorizontalPodAutoscaler::info() {
  static const KindInfo kind{.group = "autoscaling",
                             .version = "v2",
                             .kind = "HorizontalPodAutoscaler",
                             .plural = "horizontalpodautoscalers",
                             .singular = "horizontalpodautoscaler",
                             .short_names = {"hpa"},
                             .categories = {"all"},
                             .status = true,
                             .type = &HorizontalPodAutoscaler::type,
                             .make = []() -> std::shared_ptr<Object> {
                               return std::make_shared<HorizontalPodAutoscaler>();
                             },
                             .strategy = {.defaults = &set_defaults,
                                          .prepare_create = &drop_status,
                                          .prepare_update = &keep_status,
                                          .prepare_status_update = &keep_spec,
                                          .validate = &validate_autoscaler,
                                          .validate_update = &validate_autoscaler_update}};
  return kind;
}

Json to_autoscaling_v1(const HorizontalPodAutoscaler& autoscaler) {
  Json whole = encode(autoscaler);
  json::object& object = whole.get_object();
  object["apiVersion"] = "autoscaling/v1";
  json::object& spec = object["spec"].get_object();
  json::array others;
  if (const Json* metrics = autoscaler.spec.metrics.get();
      metrics != nullptr && metrics->is_array())
    for (const Json& metric : metrics->get_array()) {
      if (const Json* percent = cpu_utilization(metric); percent != nullptr)
        spec["targetCPUUtilizationPercentage"] = *percent;
      else
        others.push_back(metric);
    }
  spec.erase("metrics");
  spec.erase("behavior");
  if (!others.empty()) {
    json::object& metadata = object["metadata"].get_object();
    json::object& annotations = metadata.contains("annotations")
                                    ? metadata["annotations"].get_object()
                                    : metadata["annotations"].emplace_object();
    annotations["autoscaling.alpha.kubernetes.io/metrics"] = json::serialize(others);
  }
  json::object& status = object["status"].get_object();
  status.erase("currentMetrics");
  status["currentReplicas"] = autoscaler.status.currentReplicas;
  return whole;
}

}  // namespace ddptwin
