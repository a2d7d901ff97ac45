#include "controller/volcano/controller.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <boost/json.hpp>

#include "controller/volcano/rules.hpp"

namespace ddptwin::controller {
namespace {

namespace rules = volcano::rules;
namespace json = boost::json;

constexpr std::string_view scheduler = "volcano";
constexpr std::string_view queue_annotation = "scheduling.volcano.sh/queue-name";

// The pods of one controller share it.
std::string group_name(const Pod& pod) {
  const OwnerReference* owner = pod.metadata.controller();
  return fmt::format("podgroup-{}", owner != nullptr ? owner->uid.view() : pod.metadata.uid.view());
}

// Of all containers, those that are there from the start; limits where nothing is requested.
ResourceList needs_of(const Pod& pod) {
  ResourceList sum;
  for (const Container& container : pod.spec->containers) {
    ResourceList one = container.resources.requests;
    for (const auto& [name, amount] : container.resources.limits) one.emplace(name, amount);
    for (const auto& [name, amount] : one) sum[name] += amount;
  }
  return sum;
}

std::shared_ptr<VolcanoGroup> group_of(const Pod& pod) {
  auto group = std::make_shared<VolcanoGroup>();
  group->metadata.name = group_name(pod);
  group->metadata.namespace_ = pod.metadata.namespace_;
  if (pod.metadata.controller() != nullptr)
    group->metadata.ownerReferences = *pod.metadata.ownerReferences;
  else
    group->metadata.ownerReferences = std::vector{OwnerReference{.apiVersion = "v1",
                                                                 .kind = "Pod",
                                                                 .name = pod.metadata.name,
                                                                 .uid = pod.metadata.uid,
                                                                 .controller = true,
                                                                 .blockOwnerDeletion = true}};
  VolcanoGroupSpec spec;
  spec.minMember = 1;
  spec.minResources = needs_of(pod);
  spec.priorityClassName = pod.spec->rest->priorityClassName;
  const auto queue = pod.metadata.annotations->find(queue_annotation);
  if (queue != pod.metadata.annotations->end()) spec.queue = queue->second.str();
  group->spec = std::move(spec);
  return group;
}

}  // namespace

namespace volcano::rules {

std::span<const Rule* const> all() {
  static constexpr std::array rows{&pod_is_gone, &pod_has_group, &create_group_of_pod,
                                   &name_group_on_pod};
  return rows;
}

}  // namespace volcano::rules

std::vector<Watched> VolcanoGroupController::watches(const KindRegistry&) const {
  return {{&Pod::info(), {}}, {&VolcanoGroup::info(), {}}};
}

Reaction VolcanoGroupController::observe(const Change& change, const Cache&, Expectations&, Time) {
  const Pod* pod = as<Pod>(change.object());
  if (pod == nullptr || change.before || pod->spec->rest->schedulerName != scheduler) return {};
  return Reaction::to_wake({pod->metadata.namespace_, pod->metadata.name});
}

Plan VolcanoGroupController::plan(const Key& key, const Observed& seen, Time) const {
  const KeyParts parts = split_key(key);
  Plan plan;
  const auto pod = seen.cache.find<Pod>(parts.namespace_, parts.name);
  if (!pod) {
    plan.steps.push_back({.rule = &rules::pod_is_gone});
    return plan;
  }
  plan.about = pod;
  if (pod->metadata.annotations->contains(volcano_annotation)) {
    plan.steps.push_back({.rule = &rules::pod_has_group});
    return plan;
  }
  const std::string name = group_name(*pod);
  if (seen.cache.find<VolcanoGroup>(parts.namespace_, name) == nullptr)
    plan.steps.push_back({.rule = &rules::create_group_of_pod,
                          .request = api::create(group_of(*pod)),
                          .tolerated = Reason::already_exists});
  plan.steps.push_back(
      {.rule = &rules::name_group_on_pod,
       .request = api::patch(
           *pod, api::PatchType::strategic,
           json::object{{"metadata",
                         json::object{{"annotations", json::object{{volcano_annotation, name}}}}}}),
       .tolerated = Reason::not_found});
  return plan;
}

}  // namespace ddptwin::controller
