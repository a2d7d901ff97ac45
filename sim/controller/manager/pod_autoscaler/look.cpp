#include "controller/manager/pod_autoscaler/look.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <boost/json.hpp>

#include "objects/codec.hpp"
#include "objects/selector.hpp"

namespace ddptwin::controller::pod_autoscaler {

namespace json = boost::json;

namespace looks {
constexpr std::string_view source = "pkg/controller/podautoscaler/horizontal.go";
const Rule scale_is_unknown{"scale_is_unknown", source};
const Rule metric_failed{"metric_failed", source};
const Rule no_metric_works{"no_metric_works", source};
const Rule scale_target{"scale_target", source};
const Rule write_status{"write_autoscaler_status", source};
}  // namespace looks

namespace {

constexpr std::string_view able = "AbleToScale", active = "ScalingActive",
                           limited = "ScalingLimited";

using Autoscaler = std::shared_ptr<const HorizontalPodAutoscaler>;

void set_condition(HorizontalPodAutoscalerStatus& status, Time now, std::string_view type,
                   bool is_true, std::string_view reason, std::string message) {
  auto& all = status.conditions;
  auto at = std::find_if(all.begin(), all.end(), [type](const auto& c) { return c.type_ == type; });
  if (at == all.end()) {
    at = all.insert(all.end(), Condition{});
    at->type_ = std::string(type);
  }
  const std::string_view said = is_true ? "True" : "False";
  if (at->status != said) at->lastTransitionTime = now.floor_seconds();
  at->status = std::string(said);
  at->reason = std::string(reason);
  at->message = std::move(message);
}

void write(std::vector<Step>& to, const Autoscaler& about, HorizontalPodAutoscalerStatus status) {
  if (equal(status, about->status)) return;
  auto next = std::make_shared<HorizontalPodAutoscaler>(*about);
  next->status = std::move(status);
  Step& step = to.emplace_back();
  step.rule = &looks::write_status;
  step.request = api::update(next, "status");
  step.refusal = Refusal{.reason = "FailedUpdateStatus", .message = {}};
}

Tolerances tolerances_of(const HorizontalPodAutoscaler& autoscaler) {
  Tolerances made;
  if (const auto behavior = Behavior::of(autoscaler)) {
    made.down = behavior->down.tolerance.value_or(made.down);
    made.up = behavior->up.tolerance.value_or(made.up);
  }
  return made;
}

}  // namespace

Look::Look(std::shared_ptr<const HorizontalPodAutoscaler> about, const Cache& cache,
           const MetricsApi& metrics, Memories& memories, Time now)
    : about_(std::move(about)),
      cache_(cache),
      metrics_(metrics),
      memories_(memories),
      now_(now),
      key_(key_of(about_->metadata)),
      status_(about_->status) {
  plan_.about = about_;
}

void Look::tell(const Rule& rule, std::string_view type, std::string_view reason,
                const std::string& message) {
  Step& step = plan_.steps.emplace_back();
  step.rule = &rule;
  step.event = EventText{type, Text(reason), Text(message)};
}

void Look::set(std::string_view type, bool is_true, std::string_view reason, std::string message) {
  set_condition(status_, now_, type, is_true, reason, std::move(message));
}

const KindInfo* Look::kind_of(const CrossVersionObjectReference& object) const {
  const std::string_view version = object.apiVersion;
  const std::size_t slash = version.find('/');
  const std::string_view group =
      slash == std::string_view::npos ? std::string_view() : version.substr(0, slash);
  for (const KindInfo* kind : cache_.kinds())
    if (kind->group == group && kind->kind == object.kind) return kind;
  return nullptr;
}

ObjectPtr Look::described(const CrossVersionObjectReference& object) const {
  const KindInfo* kind = kind_of(object);
  return kind == nullptr ? nullptr : cache_.find(*kind, about_->metadata.namespace_, object.name);
}

Result<Scale> Look::find_scale() {
  const CrossVersionObjectReference& target = about_->spec.scaleTargetRef;
  const KindInfo* kind = kind_of(target);
  if (kind == nullptr) {
    const std::size_t slash = target.apiVersion.find('/');
    return fail(Reason::not_found,
                fmt::format("no matches for kind \"{}\" in group \"{}\"", target.kind,
                            slash == std::string::npos ? "" : target.apiVersion.substr(0, slash)));
  }
  if (!kind->scale)
    return fail(Reason::not_found, "the server could not find the requested resource");
  object_ = cache_.find(*kind, about_->metadata.namespace_, target.name);
  if (object_ == nullptr)
    return fail(Reason::not_found,
                fmt::format("{} \"{}\" not found", kind->resource(), target.name));
  Scale scale = scale_of(*object_);
  if (kind->custom && !scale.replicas)
    return fail(
        Reason::internal_error,
        fmt::format("Internal error occurred: the spec replicas field \"{}\" does not exist",
                    kind->scale->spec_replicas));
  return scale;
}

// Those whose targets have any of these pods, as Go shows a list of their keys; empty: it is alone.
std::string Look::others_of(const Pods& pods) const {
  std::vector<std::string> names;
  for (const auto& [key, memory] : memories_) {
    const KeyParts parts = split_key(key);
    if (parts.namespace_ != about_->metadata.namespace_ || memory.selector.empty()) continue;
    const auto matcher = LabelMatcher::parse(memory.selector);
    if (matcher && std::any_of(pods.begin(), pods.end(), [&](const auto& pod) {
          return matcher->matches(*pod->metadata.labels);
        }))
      names.push_back(fmt::format("{{{} {}}}", parts.name, parts.namespace_));
  }
  return names.size() < 2 ? std::string() : fmt::format("[{}]", fmt::join(names, " "));
}

std::optional<Target> Look::target_of(const Scale& scale) {
  const auto refuse = [&](std::string_view event, std::string_view reason,
                          const std::string& message, std::string condition) {
    tell(looks::metric_failed, "Warning", event, message);
    set(active, false, reason, std::move(condition));
    give_up(message);
    return std::nullopt;
  };
  if (scale.selector.empty())
    return refuse("SelectorRequired", "InvalidSelector", "selector is required",
                  "the HPA target's scale is missing a selector");
  const auto matcher = LabelMatcher::parse(scale.selector);
  if (!matcher) {
    const std::string message =
        "couldn't convert selector into a corresponding internal selector object: " +
        matcher.error().message;
    return refuse("InvalidSelector", "InvalidSelector", message, message);
  }
  memories_[key_].selector = scale.selector;
  Target target{.replicas = scale.replicas.value_or(0),
                .replicas_now = scale.replicas_now,
                .tolerances = tolerances_of(*about_)};
  for (auto& pod : cache_.list<Pod>(about_->metadata.namespace_))
    if (matcher->matches(*pod->metadata.labels)) target.pods.push_back(std::move(pod));
  if (const std::string others = others_of(target.pods); !others.empty()) {
    const std::string message = fmt::format(
        "pods by selector {} are controlled by multiple HPAs: {}", scale.selector, others);
    return refuse("AmbiguousSelector", "AmbiguousSelector", message, message);
  }
  return target;
}

void Look::give_up(const std::string& error) {
  write_status();
  tell(looks::no_metric_works, "Warning", "FailedComputeMetricsReplicas", error);
}

// The most that a metric asks for. As long as one cannot be had, nothing is taken away.
std::optional<Look::Wish> Look::wish(const Scale& scale) {
  const auto target = target_of(scale);
  if (!target) return std::nullopt;
  const MetricsView view{metrics_, [this](const auto& object) { return described(object); },
                         about_->metadata.namespace_, now_};
  const Json* written = about_->spec.metrics.get();
  const json::array metrics =
      written != nullptr && written->is_array() ? written->get_array() : json::array();
  Wish most;
  json::array statuses;
  std::size_t failures = 0;
  std::optional<MetricFailure> first;
  for (const Json& metric : metrics) {
    auto answer = ask(metric, *target, view);
    if (!answer) {
      tell(looks::metric_failed, "Warning", answer.error().reason, answer.error().told);
      statuses.push_back(json::object{{"type", ""}});
      if (failures++ == 0) first = std::move(answer.error());
      continue;
    }
    statuses.push_back(std::move(answer->status));
    if (most.replicas == 0 || answer->proposal.replicas > most.replicas)
      most = {answer->proposal.replicas, std::move(answer->name)};
  }
  status_.currentMetrics = RawJson(statuses);
  if (failures >= metrics.size() || (failures > 0 && most.replicas < target->replicas)) {
    if (first) {
      set(active, false, first->reason,
          "the HPA was unable to compute the replica count: " + first->told);
      give_up(fmt::format("invalid metrics ({} invalid out of {}), first error is: {}", failures,
                          metrics.size(), first->whole));
    }
    return std::nullopt;
  }
  set(active, true, "ValidMetricFound",
      "the HPA was able to successfully calculate a replica count from " + most.metric);
  return most;
}

void Look::write_scale(const Scale& scale, std::int32_t replicas, const std::string& reason) {
  scaling_.emplace(scale.replicas.value_or(0), replicas);
  Step& step = plan_.steps.emplace_back();
  step.rule = &looks::scale_target;
  api::Request& request = step.request.emplace();
  request.verb = api::Verb::update;
  request.target = {&object_->kind(), object_->metadata.namespace_, object_->metadata.name,
                    "scale"};
  request.body = RawJson(scale_body(*object_, replicas));
  const std::string said = fmt::format("New size: {}; reason: {}", replicas, reason);
  step.event = EventText{"Normal", "SuccessfulRescale", Text(said)};
  step.refusal = Refusal{.reason = "FailedRescale", .message = said + "; error: "};
  // Nothing is desired then but what was.
  Status kept = status_;
  kept.desiredReplicas = about_->status.desiredReplicas;
  step.instead_for.emplace() = [about = about_, kept = std::move(kept),
                                now = now_](const Error& refusal) {
    Status status = kept;
    set_condition(status, now, able, false, "FailedUpdateScale",
                  "the HPA controller was unable to update the target scale: " + refusal.message);
    std::vector<Step> instead;
    write(instead, about, std::move(status));
    return instead;
  };
  step.instead_fails = true;
}

void Look::write_status() { write(plan_.steps, about_, status_); }

Plan Look::run() && {
  plan_.requeue_after = sync_period;
  const auto scale = find_scale();
  if (!scale) {
    tell(looks::scale_is_unknown, "Warning", "FailedGetScale", scale.error().message);
    set(able, false, "FailedGetScale",
        "the HPA controller was unable to get the target's current scale: " +
            scale.error().message);
    write_status();
    return std::move(plan_);
  }
  set(able, true, "SucceededGetScale",
      "the HPA controller was able to get the target's current scale");
  const std::int32_t before = scale->replicas.value_or(0);
  Memory& memory = memories_[key_];
  if (memory.recommendations.empty()) memory.recommendations.push_back({before, now_});
  const Bounds bounds{about_->spec.minReplicas.value_or(1), about_->spec.maxReplicas};
  status_.currentReplicas = before;
  status_.currentMetrics = RawJson();
  std::int32_t after = before;
  std::string reason;
  if (before == 0 && bounds.least != 0) {
    set(active, false, "ScalingDisabled",
        "scaling is disabled since the replica count of the target is zero");
  } else if (before > bounds.most) {
    reason = "Current number of replicas above Spec.MaxReplicas";
    after = bounds.most;
  } else if (before < bounds.least) {
    reason = "Current number of replicas below Spec.MinReplicas";
    after = bounds.least;
  } else {
    const auto wanted = wish(*scale);
    if (!wanted) return std::move(plan_);
    if (wanted->replicas > before) reason = wanted->metric + " above target";
    if (wanted->replicas < before) reason = "All metrics below target";
    const Verdict verdict =
        judge(memory, Behavior::of(*about_), before, wanted->replicas, bounds, now_);
    set(able, true, verdict.able.reason, std::string(verdict.able.message));
    set(limited, verdict.is_limited, verdict.limited.reason, std::string(verdict.limited.message));
    after = verdict.replicas;
  }
  status_.desiredReplicas = after;
  if (after == before) {
    write_status();
    return std::move(plan_);
  }
  write_scale(*scale, after, reason);
  set(able, true, "SucceededRescale",
      fmt::format("the HPA controller was able to update the target scale to {}", after));
  status_.lastScaleTime = now_.floor_seconds();
  write_status();
  return std::move(plan_);
}

}  // namespace ddptwin::controller::pod_autoscaler
