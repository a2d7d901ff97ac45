#include "objects/validation_autoscaling.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "objects/json_members.hpp"

namespace ddptwin {
namespace {

namespace json = boost::json;

constexpr std::int64_t longest_policy_period = 1800;
constexpr std::int64_t longest_window = 3600;

// Upstream path.IsValidPathSegmentName.
void must_be_segment(ErrorList& out, const FieldPath& path, std::string_view name) {
  if (name == "." || name == "..") {
    out.push_back(invalid(path, quoted(name), fmt::format("may not be '{}'", name)));
    return;
  }
  for (const char forbidden_one : {'/', '%'})
    if (name.find(forbidden_one) != std::string_view::npos)
      out.push_back(
          invalid(path, quoted(name), fmt::format("may not contain '{}'", forbidden_one)));
}

void must_be_named(ErrorList& out, const FieldPath& path, std::string_view name,
                   std::string_view detail) {
  if (name.empty())
    out.push_back(required(path, detail));
  else
    must_be_segment(out, path, name);
}

void check_reference(ErrorList& out, const FieldPath& here, const CrossVersionObjectReference& to,
                     bool needs_group) {
  must_be_named(out, here.field("kind"), to.kind, {});
  must_be_named(out, here.field("name"), to.name, {});
  const auto slashes = std::count(to.apiVersion.begin(), to.apiVersion.end(), '/');
  const FieldPath version = here.field("apiVersion");
  if (slashes > 1)
    out.push_back(invalid(version, quoted(to.apiVersion),
                          "unexpected GroupVersion string: " + to.apiVersion));
  else if (needs_group && (slashes == 0 || to.apiVersion.front() == '/'))
    out.push_back(invalid(version, quoted(to.apiVersion), "apiVersion must specify API group"));
}

// ---- metrics -----------------------------------------------------------------------------------

void check_target(ErrorList& out, const FieldPath& here, const json::object& target) {
  const std::string type = text_of(target, "type");
  if (type.empty())
    out.push_back(required(here.field("type"), "must specify a metric target type"));
  if (type != "Utilization" && type != "Value" && type != "AverageValue")
    out.push_back(invalid(here.field("type"), quoted(type),
                          "must be either Utilization, Value, or AverageValue"));
  for (const std::string_view name : {"value", "averageValue"})
    if (const auto value = quantity_of(target, name); value && *value <= Quantity())
      out.push_back(invalid(here.field(name), quoted(value->str()), "must be positive"));
  if (const auto percent = integer_of(target, "averageUtilization"); percent && *percent < 1)
    out.push_back(invalid(here.field("averageUtilization"), std::to_string(*percent),
                          "must be greater than 0"));
}

void check_metric_name(ErrorList& out, const FieldPath& here, const json::object& source) {
  const FieldPath metric = here.field("metric");
  must_be_named(out, metric.field("name"), text_of(map_or_empty(source, "metric"), "name"),
                "must specify a metric name");
}

// Of what pods have: the value itself, or its part of what they request.
void check_resource(ErrorList& out, const FieldPath& here, const json::object& source) {
  if (text_of(source, "name").empty())
    out.push_back(required(here.field("name"), "must specify a resource name"));
  const json::object wanted = map_or_empty(source, "target");
  const FieldPath target = here.field("target");
  check_target(out, target, wanted);
  const bool is_percent = member_of(wanted, "averageUtilization") != nullptr;
  const bool is_value = member_of(wanted, "averageValue") != nullptr;
  if (!is_percent && !is_value)
    out.push_back(required(target.field("averageUtilization"),
                           "must set either a target raw value or a target utilization"));
  if (is_percent && is_value)
    out.push_back(forbidden(target.field("averageValue"),
                            "may not set both a target raw value and a target utilization"));
}

void check_container_resource(ErrorList& out, const FieldPath& here, const json::object& source) {
  const std::string container = text_of(source, "container");
  const FieldPath named = here.field("container");
  ErrorList of_resource;
  check_resource(of_resource, here, source);
  // The container is asked about between the name and the target.
  const auto name_ends = std::find_if(
      of_resource.begin(), of_resource.end(),
      [name = here.field("name").text()](const ErrorCause& one) { return one.field != name; });
  out.insert(out.end(), of_resource.begin(), name_ends);
  if (container.empty())
    out.push_back(required(named, "must specify a container"));
  else
    for (const std::string& problem : dns_label_problems(container))
      out.push_back(invalid(named, quoted(container), problem));
  out.insert(out.end(), name_ends, of_resource.end());
}

void check_pods(ErrorList& out, const FieldPath& here, const json::object& source) {
  const json::object wanted = map_or_empty(source, "target");
  const FieldPath target = here.field("target");
  check_metric_name(out, here, source);
  check_target(out, target, wanted);
  if (member_of(wanted, "averageValue") == nullptr)
    out.push_back(
        required(target.field("averageValue"), "must specify a positive target averageValue"));
}

void check_object(ErrorList& out, const FieldPath& here, const json::object& source) {
  const json::object about = map_or_empty(source, "describedObject");
  const json::object wanted = map_or_empty(source, "target");
  const FieldPath target = here.field("target");
  check_reference(out, here.field("describedObject"),
                  {text_of(about, "kind"), text_of(about, "name"), text_of(about, "apiVersion")},
                  false);
  check_metric_name(out, here, source);
  check_target(out, target, wanted);
  if (member_of(wanted, "value") == nullptr && member_of(wanted, "averageValue") == nullptr)
    out.push_back(
        required(target.field("averageValue"), "must set either a target value or averageValue"));
}

void check_external(ErrorList& out, const FieldPath& here, const json::object& source) {
  const json::object wanted = map_or_empty(source, "target");
  const FieldPath target = here.field("target");
  check_metric_name(out, here, source);
  check_target(out, target, wanted);
  const bool is_total = member_of(wanted, "value") != nullptr;
  const bool is_each = member_of(wanted, "averageValue") != nullptr;
  if (!is_total && !is_each)
    out.push_back(required(target.field("averageValue"),
                           "must set either a target value for metric or a per-pod target"));
  if (is_total && is_each)
    out.push_back(forbidden(target.field("value"),
                            "may not set both a target value for metric and a per-pod target"));
}

struct SourceRow {
  std::string_view type, member;
  void (*check)(ErrorList& out, const FieldPath& here, const json::object& source);
};
// In upstream's order: of several sources the first is looked at.
constexpr std::array metric_sources{
    SourceRow{"Object", "object", &check_object},
    SourceRow{"External", "external", &check_external},
    SourceRow{"Pods", "pods", &check_pods},
    SourceRow{"Resource", "resource", &check_resource},
    SourceRow{"ContainerResource", "containerResource", &check_container_resource},
};

void check_metric(ErrorList& out, const FieldPath& here, const json::object& metric) {
  static const std::vector<std::string_view> types{"ContainerResource", "External", "Object",
                                                   "Pods", "Resource"};
  const std::string type = text_of(metric, "type");
  const bool is_known = std::find(types.begin(), types.end(), type) != types.end();
  if (type.empty())
    out.push_back(required(here.field("type"), "must specify a metric source type"));
  if (!is_known) out.push_back(not_supported(here.field("type"), quoted(type), types));
  std::vector<const SourceRow*> present;
  for (const SourceRow& row : metric_sources) {
    const json::object* source = map_of(metric, row.member);
    if (source == nullptr) continue;
    present.push_back(&row);
    if (present.size() == 1) row.check(out, here.field(row.member), *source);
  }
  for (const SourceRow& row : metric_sources)
    if (row.type == type && map_of(metric, row.member) == nullptr)
      out.push_back(required(here.field(row.member),
                             "must populate information for the given metric source"));
  if (present.size() < 2) return;
  for (const SourceRow* row : present)
    if (row->type != type)
      out.push_back(
          forbidden(here.field(row->member), "must populate the given metric source only"));
}

// ---- behavior ----------------------------------------------------------------------------------

void check_policy(ErrorList& out, const FieldPath& here, const json::object& policy) {
  static const std::vector<std::string_view> types{"Percent", "Pods"};
  const std::string type = text_of(policy, "type");
  if (type != "Pods" && type != "Percent")
    out.push_back(not_supported(here.field("type"), quoted(type), types));
  const std::int64_t value = integer_of(policy, "value").value_or(0);
  const std::int64_t period = integer_of(policy, "periodSeconds").value_or(0);
  if (value <= 0)
    out.push_back(invalid(here.field("value"), std::to_string(value), "must be greater than zero"));
  if (period <= 0)
    out.push_back(
        invalid(here.field("periodSeconds"), std::to_string(period), "must be greater than zero"));
  if (period > longest_policy_period)
    out.push_back(invalid(here.field("periodSeconds"), std::to_string(period),
                          fmt::format("must be less than or equal to {}", longest_policy_period)));
}

// `rules` with the defaults in them, which a list of no policies has not.
void check_rules(ErrorList& out, const FieldPath& here, const json::object& rules) {
  static const std::vector<std::string_view> selections{"Disabled", "Max", "Min"};
  const FieldPath window = here.field("stabilizationWindowSeconds");
  if (const auto seconds = integer_of(rules, "stabilizationWindowSeconds")) {
    if (*seconds < 0)
      out.push_back(
          invalid(window, std::to_string(*seconds), "must be greater than or equal to zero"));
    if (*seconds > longest_window)
      out.push_back(invalid(window, std::to_string(*seconds),
                            fmt::format("must be less than or equal to {}", longest_window)));
  }
  const std::string select = text_of(rules, "selectPolicy");
  if (member_of(rules, "selectPolicy") != nullptr &&
      std::find(selections.begin(), selections.end(), select) == selections.end())
    out.push_back(not_supported(here.field("selectPolicy"), quoted(select), selections));
  const FieldPath policies = here.field("policies");
  const Json* list = member_of(rules, "policies");
  if (list == nullptr || !list->is_array() || list->get_array().empty()) {
    out.push_back(required(policies, "must specify at least one Policy"));
  } else {
    const json::array& rows = list->get_array();
    for (std::size_t i = 0; i < rows.size(); ++i)
      check_policy(out, policies.item(i),
                   rows[i].is_object() ? rows[i].get_object() : json::object());
  }
  if (const auto tolerated = quantity_of(rules, "tolerance"); tolerated && *tolerated < Quantity())
    out.push_back(invalid(here.field("tolerance"), quoted(tolerated->str()),
                          "must be greater than or equal to 0"));
}

ErrorList validate_spec(const HorizontalPodAutoscalerSpec& spec, std::int32_t least_min,
                        bool needs_group) {
  ErrorList out;
  const FieldPath here("spec");
  if (spec.minReplicas && *spec.minReplicas < least_min)
    out.push_back(invalid(here.field("minReplicas"), std::to_string(*spec.minReplicas),
                          fmt::format("must be greater than or equal to {}", least_min)));
  if (spec.maxReplicas < 1)
    out.push_back(invalid(here.field("maxReplicas"), std::to_string(spec.maxReplicas),
                          "must be greater than 0"));
  if (spec.minReplicas && spec.maxReplicas < *spec.minReplicas)
    out.push_back(invalid(here.field("maxReplicas"), std::to_string(spec.maxReplicas),
                          "must be greater than or equal to `minReplicas`"));
  check_reference(out, here.field("scaleTargetRef"), spec.scaleTargetRef, needs_group);
  const FieldPath metrics = here.field("metrics");
  bool counts_others = false;
  if (const Json* list = spec.metrics.get(); list != nullptr && list->is_array())
    for (std::size_t i = 0; i < list->get_array().size(); ++i) {
      const Json& one = list->get_array()[i];
      const json::object metric = one.is_object() ? one.get_object() : json::object();
      check_metric(out, metrics.item(i), metric);
      const std::string type = text_of(metric, "type");
      counts_others = counts_others || type == "Object" || type == "External";
    }
  if (spec.minReplicas == 0 && !counts_others)
    out.push_back(forbidden(metrics,
                            "must specify at least one Object or External metric to support "
                            "scaling to zero replicas"));
  const FieldPath behavior = here.field("behavior");
  if (const Json* written = spec.behavior.get(); written != nullptr && written->is_object())
    for (const std::string_view name : {"scaleUp", "scaleDown"})
      if (const json::object* rules = map_of(written->get_object(), name))
        check_rules(out, behavior.field(name), *rules);
  return out;
}

// The only kind of the core group that has a scale.
bool is_grouped(const CrossVersionObjectReference& target) {
  return target.kind != "ReplicationController";
}

const HorizontalPodAutoscalerSpec& spec_of(const Object& object) {
  return static_cast<const HorizontalPodAutoscaler&>(object).spec;
}

}  // namespace

ErrorList validate_autoscaler(const Object& object) {
  const HorizontalPodAutoscalerSpec& spec = spec_of(object);
  return validate_spec(spec, 1, is_grouped(spec.scaleTargetRef));
}

ErrorList validate_autoscaler_update(const Object& updated, const Object& old) {
  const HorizontalPodAutoscalerSpec& before = spec_of(old);
  const HorizontalPodAutoscalerSpec& spec = spec_of(updated);
  const bool is_same = before.scaleTargetRef.apiVersion == spec.scaleTargetRef.apiVersion;
  return validate_spec(spec, before.minReplicas == 0 ? 0 : 1,
                       !is_same && is_grouped(spec.scaleTargetRef));
}

}  // namespace ddptwin
