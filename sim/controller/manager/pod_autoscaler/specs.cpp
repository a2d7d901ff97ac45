#include "controller/manager/pod_autoscaler/specs.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "controller/manager/go_text.hpp"
#include "objects/codec.hpp"
#include "objects/json_members.hpp"

namespace ddptwin::controller::pod_autoscaler {
namespace {

namespace json = boost::json;

std::optional<std::int64_t> thousandths_of(const json::object& from, std::string_view name) {
  const auto found = quantity_of(from, name);
  return found ? std::optional(found->milli_value()) : std::nullopt;
}
std::string shown(std::int64_t thousandths) { return Quantity::milli(thousandths).str(); }

std::string selector_text(const json::object& metric) {
  const Json* written = member_of(metric, "selector");
  if (written == nullptr) return "nil";
  const auto selector = from_json<LabelSelector>(*written);
  return selector ? go_text(*selector) : "nil";
}

using Answer = tl::expected<MetricAnswer, MetricFailure>;
// What is wrong: the text of the event, and what is put before it for the whole.
tl::unexpected<MetricFailure> failed(std::string_view reason, const std::string& told,
                                     const std::string& before) {
  return tl::make_unexpected(MetricFailure{std::string(reason), told, before + ": " + told});
}

Json identifier(const json::object& metric) {
  json::object named{{"name", text_of(metric, "name")}};
  if (const Json* selector = metric.if_contains("selector"); selector != nullptr)
    named["selector"] = *selector;
  return named;
}

Json status_of(std::string_view type, std::string_view member, json::object body) {
  return json::object{{"type", type}, {member, std::move(body)}};
}

// ---- Resource and ContainerResource ------------------------------------------------------------

struct ResourceWords {
  std::string_view type, member, failure, utilization;
};
constexpr ResourceWords of_pod{"Resource", "resource", "FailedGetResourceMetric",
                               "{} resource utilization (percentage of request)"};
constexpr ResourceWords of_container{"ContainerResource", "containerResource",
                                     "FailedGetContainerResourceMetric",
                                     "{} container resource utilization (percentage of request)"};

Answer ask_resource(const ResourceWords& words, const json::object& spec, const Target& target,
                    const MetricsView& view) {
  const std::string resource = text_of(spec, "name"), container = text_of(spec, "container");
  const json::object wanted = map_or_empty(spec, "target");
  const std::string before =
      container.empty() ? fmt::format("failed to get {} resource metric value", resource)
                        : fmt::format("failed to get {} container metric value", container);
  json::object body{{"name", resource}};
  if (!container.empty()) body["container"] = container;
  if (const auto value = thousandths_of(wanted, "averageValue")) {
    const auto found = by_usage(target, view.metrics, resource, container, *value, view.now);
    if (!found)
      return failed(words.failure,
                    fmt::format("failed to get {} usage: {}", resource, found.error().message),
                    before);
    body["current"] = json::object{{"averageValue", shown(found->value)}};
    return MetricAnswer{*found, resource + " resource",
                        status_of(words.type, words.member, std::move(body))};
  }
  const Json* percent = wanted.if_contains("averageUtilization");
  if (percent == nullptr || !percent->is_int64() || percent->get_int64() <= 0)
    return failed(words.failure,
                  "invalid resource metric source: neither an average utilization target nor an "
                  "average value (usage) target was set",
                  before);
  const auto found = by_utilization(target, view.metrics, resource, container,
                                    static_cast<std::int32_t>(percent->get_int64()), view.now);
  if (!found)
    return failed(words.failure,
                  fmt::format("failed to get {} utilization: {}", resource, found.error().message),
                  before);
  body["current"] = json::object{{"averageUtilization", found->utilization.value_or(0)},
                                 {"averageValue", shown(found->value)}};
  return MetricAnswer{*found, fmt::format(fmt::runtime(words.utilization), resource),
                      status_of(words.type, words.member, std::move(body))};
}

// ---- Pods --------------------------------------------------------------------------------------

Answer ask_pods(const json::object& spec, const Target& target, const MetricsView& view) {
  const json::object metric = map_or_empty(spec, "metric");
  const std::string name = text_of(metric, "name");
  const auto wanted = thousandths_of(map_or_empty(spec, "target"), "averageValue").value_or(1);
  const auto found = by_pod_metric(target, view.metrics, name, wanted, view.now);
  if (!found)
    return failed("FailedGetPodsMetric", found.error().message, "failed to get pods metric value");
  return MetricAnswer{
      *found, "pods metric " + name,
      status_of("Pods", "pods",
                {{"metric", identifier(metric)},
                 {"current", json::object{{"averageValue", shown(found->value)}}}})};
}

// ---- Object ------------------------------------------------------------------------------------

Answer ask_object(const json::object& spec, const Target& target, const MetricsView& view) {
  constexpr std::string_view reason = "FailedGetObjectMetric";
  const std::string before = "failed to get object metric value";
  const json::object metric = map_or_empty(spec, "metric");
  const json::object about = map_or_empty(spec, "describedObject");
  const json::object wanted = map_or_empty(spec, "target");
  const std::string name = text_of(metric, "name");
  const CrossVersionObjectReference object{text_of(about, "kind"), text_of(about, "name"),
                                           text_of(about, "apiVersion")};
  const auto total = thousandths_of(wanted, "value"), each = thousandths_of(wanted, "averageValue");
  const bool is_total = text_of(wanted, "type") == "Value" && total;
  if (!is_total && !each)
    return failed(reason,
                  "invalid object metric source: neither a value target nor an average value "
                  "target was set",
                  before);
  const ObjectPtr described = view.find(object);
  const std::string plural = described ? described->kind().resource() : object.kind;
  const auto value = view.metrics.of_object(described.get(), plural, object.name, name);
  // Upstream's own arguments are in this order.
  if (!value)
    return failed(reason,
                  fmt::format("unable to get metric {}: {} on {} {}/{}", name, object.kind,
                              view.namespace_, object.name, value.error().message),
                  is_total ? before : before + ": failed to get " + name + " object metric");
  const auto found = is_total ? by_value(target, *value, *total)
                              : Result<Proposal>(by_average(target, *value, *each));
  if (!found) return failed(reason, found.error().message, before);
  json::object body{
      {"metric", identifier(metric)},
      {"current", json::object{{is_total ? "value" : "averageValue", shown(found->value)}}}};
  if (is_total)
    body["describedObject"] = about;
  else
    body["describedObject"] = json::object{{"kind", ""}, {"name", ""}};
  return MetricAnswer{*found,
                      is_total ? fmt::format("{} metric {}", object.kind, name)
                               : fmt::format("external metric {}({})", name, selector_text(metric)),
                      status_of("Object", "object", std::move(body))};
}

// ---- External ----------------------------------------------------------------------------------

Answer ask_external(const json::object& spec, const Target& target, const MetricsView& view) {
  constexpr std::string_view reason = "FailedGetExternalMetric";
  const json::object metric = map_or_empty(spec, "metric");
  const json::object wanted = map_or_empty(spec, "target");
  const std::string name = text_of(metric, "name");
  const std::string before = fmt::format("failed to get {} external metric value", name);
  const auto each = thousandths_of(wanted, "averageValue"), total = thousandths_of(wanted, "value");
  if (!each && !total)
    return failed(reason,
                  "invalid external metric source: neither a value target nor an average value "
                  "target was set",
                  before);
  const std::string inner = each ? fmt::format("failed to get {} external metric", name)
                                 : fmt::format("failed to get external metric {}", name);
  const auto value = view.metrics.of_nothing(name);
  if (!value)
    return failed(reason,
                  fmt::format("unable to get external metric {}/{}/{}: {}", view.namespace_, name,
                              selector_text(metric), value.error().message),
                  before + ": " + inner);
  const auto found =
      each ? Result<Proposal>(by_average(target, *value, *each)) : by_value(target, *value, *total);
  if (!found) return failed(reason, found.error().message, before + ": " + inner);
  return MetricAnswer{
      *found, fmt::format("external metric {}({})", name, selector_text(metric)),
      status_of(
          "External", "external",
          {{"metric", identifier(metric)},
           {"current", json::object{{each ? "averageValue" : "value", shown(found->value)}}}})};
}

struct MetricRow {
  std::string_view type, member;
  Answer (*ask)(const json::object& spec, const Target& target, const MetricsView& view);
};
constexpr std::array metric_rows{
    MetricRow{"Resource", "resource",
              [](const json::object& spec, const Target& target, const MetricsView& view) {
                return ask_resource(of_pod, spec, target, view);
              }},
    MetricRow{"ContainerResource", "containerResource",
              [](const json::object& spec, const Target& target, const MetricsView& view) {
                return ask_resource(of_container, spec, target, view);
              }},
    MetricRow{"Pods", "pods", &ask_pods},
    MetricRow{"Object", "object", &ask_object},
    MetricRow{"External", "external", &ask_external},
};

}  // namespace

Answer ask(const Json& metric, const Target& target, const MetricsView& view) {
  const json::object spec = metric.is_object() ? metric.get_object() : json::object();
  const std::string type = text_of(spec, "type");
  for (const MetricRow& row : metric_rows)
    if (row.type == type) return row.ask(map_or_empty(spec, row.member), target, view);
  const std::string told = fmt::format("unknown metric source type \"{}\"", type);
  return tl::make_unexpected(MetricFailure{"InvalidMetricSourceType", told, told});
}

}  // namespace ddptwin::controller::pod_autoscaler
