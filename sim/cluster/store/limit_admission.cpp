// LimitRanger: what containers of a namespace get where they do not say, and what they may not ask
// for (spec/kubernetes.md §3.6; upstream: plugin/pkg/admission/limitranger).
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "cluster/pods/resources.hpp"
#include "cluster/store/namespace_limits.hpp"
#include "cluster/store/store.hpp"
#include "cluster/store/store_errors.hpp"
#include "objects/limit_range.hpp"
#include "objects/volume_claims.hpp"

namespace ddptwin {
namespace {

using LimitTexts = std::vector<std::string>;
using LimitAnswer = Result<std::vector<std::string>>;

const Text limit_annotation = "kubernetes.io/limit-ranger";

// By their names.
std::vector<std::shared_ptr<const LimitRange>> ranges_of(const Store& store,
                                                         const Text& namespace_) {
  std::vector<std::shared_ptr<const LimitRange>> ranges;
  for (const auto& [key, object] : store.objects(LimitRange::info()))
    if (object->metadata.namespace_ == namespace_) ranges.push_back(as<LimitRange>(object));
  return ranges;
}

// ---- what is filled in -------------------------------------------------------------------------

// Fills what is missing; the names that were, sorted.
LimitTexts fill_amounts(Cow<ResourceList>& list, const ResourceList& defaults) {
  LimitTexts filled;
  for (const auto& [name, amount] : defaults) {
    if (list.contains(name)) continue;
    list.edit()[name] = amount;
    filled.push_back(name);
  }
  return filled;
}

class Filling {
 public:
  explicit Filling(const LimitRange& range) {
    for (const LimitRangeItem& item : range.spec.limits) {
      if (item.type_ != "Container") continue;
      for (const auto& [name, amount] : item.defaultRequest) requests_[name] = amount;
      for (const auto& [name, amount] : item.default_) limits_[name] = amount;
    }
  }
  void fill_pod(Pod& pod) {
    if (requests_.empty() && limits_.empty()) return;
    PodSpec& spec = pod.spec.edit();
    for (Container& one : spec.containers.edit()) fill_one(one, "container");
    if (!spec.initContainers.empty())
      for (Container& one : spec.initContainers.edit()) fill_one(one, "init container");
    if (told_.empty()) return;
    pod.metadata.annotations.edit()[limit_annotation] =
        fmt::format("LimitRanger plugin set: {}", fmt::join(told_, "; "));
  }

 private:
  void fill_one(Container& container, std::string_view what) {
    const LimitTexts limited = fill_amounts(container.resources.limits, limits_);
    const LimitTexts asked = fill_amounts(container.resources.requests, requests_);
    tell(asked, "request", what, container.name);
    tell(limited, "limit", what, container.name);
  }
  void tell(const LimitTexts& filled, std::string_view side, std::string_view what,
            std::string_view name) {
    if (!filled.empty())
      told_.push_back(fmt::format("{} {} for {} {}", fmt::join(filled, ", "), side, what, name));
  }

  ResourceList requests_{}, limits_{};
  LimitTexts told_{};
};

LimitAnswer fill_pod(const Store& store, const AdmissionRequest& request) {
  Pod& pod = static_cast<Pod&>(*request.object);
  for (const auto& range : ranges_of(store, pod.metadata.namespace_)) Filling(*range).fill_pod(pod);
  return LimitTexts();
}

// ---- what is refused ---------------------------------------------------------------------------

// What one container, or a whole pod, asks for and is limited to.
struct Asked {
  std::string_view type;  // as the LimitRange calls it
  const ResourceList& requests;
  const ResourceList& limits;
};

class Bounds {
 public:
  Bounds(const LimitRangeItem& item, const Asked& asked, LimitTexts& wrong)
      : item_(item), asked_(asked), wrong_(wrong) {}
  void check() {
    for (const auto& [name, bound] : item_.min) check_min(name, bound);
    for (const auto& [name, bound] : item_.max) check_max(name, bound);
    for (const auto& [name, bound] : item_.maxLimitRequestRatio) check_ratio(name, bound);
  }
  // Of a claim, which has requests only.
  void check_requests() {
    for (const auto& [name, bound] : item_.min) check_min(name, bound);
    for (const auto& [name, bound] : item_.max) {
      const Quantity* request = find(asked_.requests, name);
      if (request == nullptr)
        tell("maximum", name, bound, ".  No request is specified");
      else if (bound < *request)
        tell("maximum", name, bound, ", but request is " + request->str());
    }
  }

 private:
  static const Quantity* find(const ResourceList& list, std::string_view name) {
    const auto found = list.find(name);
    return found == list.end() ? nullptr : &found->second;
  }
  void tell(std::string_view bound_name, std::string_view name, const Quantity& bound,
            std::string_view but) {
    wrong_.push_back(
        fmt::format("{} {} usage per {} is {}{}", bound_name, name, asked_.type, bound.str(), but));
  }
  void check_min(const std::string& name, const Quantity& bound) {
    const Quantity *request = find(asked_.requests, name), *limit = find(asked_.limits, name);
    if (request == nullptr)
      tell("minimum", name, bound, ".  No request is specified");
    else if (*request < bound)
      tell("minimum", name, bound, ", but request is " + request->str());
    else if (limit != nullptr && *limit < bound)
      tell("minimum", name, bound, ", but limit is " + limit->str());
  }
  void check_max(const std::string& name, const Quantity& bound) {
    const Quantity *request = find(asked_.requests, name), *limit = find(asked_.limits, name);
    if (limit == nullptr)
      tell("maximum", name, bound, ".  No limit is specified");
    else if (bound < *limit)
      tell("maximum", name, bound, ", but limit is " + limit->str());
    else if (request != nullptr && bound < *request)
      tell("maximum", name, bound, ", but request is " + request->str());
  }
  void check_ratio(const std::string& name, const Quantity& bound) {
    const auto say = [&](std::string_view but) {
      wrong_.push_back(fmt::format("{} max limit to request ratio per {} is {}, but {}", name,
                                   asked_.type, bound.str(), but));
    };
    const Quantity *request = find(asked_.requests, name), *limit = find(asked_.limits, name);
    if (request == nullptr || request->zero())
      return say("no request is specified or request is 0");
    if (limit == nullptr || limit->zero()) return say("no limit is specified or limit is 0");
    const double ratio =
        static_cast<double>(limit->milli_value()) / static_cast<double>(request->milli_value());
    if (ratio * 1000 > static_cast<double>(bound.milli_value()))
      say(fmt::format("provided ratio is {:f}", ratio));
  }

  const LimitRangeItem& item_;
  const Asked& asked_;
  LimitTexts& wrong_;
};

void check_pod_bounds(const LimitRange& range, const Pod& pod, LimitTexts& wrong) {
  const PodSpec& spec = *pod.spec;
  for (const LimitRangeItem& item : range.spec.limits) {
    if (item.type_ == "Container")
      for (const auto* list : {&spec.containers, &spec.initContainers})
        for (const Container& one : *list)
          Bounds(item, {item.type_, one.resources.requests, one.resources.limits}, wrong).check();
    if (item.type_ != "Pod") continue;
    const auto requests = kubelet::pod_requests(spec), limits = kubelet::pod_limits(spec);
    Bounds(item, {item.type_, *requests, *limits}, wrong).check();
  }
}

void check_claim_bounds(const LimitRange& range, const PersistentVolumeClaim& claim,
                        LimitTexts& wrong) {
  const ResourceList none;
  for (const LimitRangeItem& item : range.spec.limits)
    if (item.type_ == "PersistentVolumeClaim")
      Bounds(item, {item.type_, claim.spec.resources.requests, none}, wrong).check_requests();
}

LimitAnswer check_bounds(const Store& store, const AdmissionRequest& request) {
  if (!request.subresource.empty()) return LimitTexts();
  const Object& object = *request.object;
  for (const auto& range : ranges_of(store, object.metadata.namespace_)) {
    LimitTexts wrong;
    if (const Pod* pod = as<Pod>(object)) check_pod_bounds(*range, *pod, wrong);
    if (const auto* claim = as<PersistentVolumeClaim>(object))
      check_claim_bounds(*range, *claim, wrong);
    // The same is said once.
    LimitTexts told;
    for (std::string& one : wrong)
      if (std::find(told.begin(), told.end(), one) == told.end()) told.push_back(std::move(one));
    if (told.empty()) continue;
    return fail(forbidden_error(
        request.kind, object.metadata.name,
        told.size() == 1 ? told.front() : fmt::format("[{}]", fmt::join(told, ", "))));
  }
  return LimitTexts();
}

}  // namespace

void add_limit_admission(Store& store) {
  store.add_admission(
      AdmissionPhase::mutating, [&store](const auto& request) { return fill_pod(store, request); },
      &Pod::info(), api::Verb::create);
  const AdmissionHook check = [&store](const auto& request) {
    return check_bounds(store, request);
  };
  store.add_admission(AdmissionPhase::validating, check, &Pod::info(), api::Verb::create);
  store.add_admission(AdmissionPhase::validating, check, &PersistentVolumeClaim::info(),
                      api::Verb::create);
  store.add_admission(AdmissionPhase::validating, check, &PersistentVolumeClaim::info(),
                      api::Verb::update);
}

}  // namespace ddptwin
