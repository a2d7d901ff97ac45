#include "controller/scheduler_plugins/controller.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <boost/json.hpp>

#include "controller/scheduler_plugins/rules.hpp"
#include "objects/codec.hpp"

namespace ddptwin::controller {
namespace scheduler_plugins {
namespace {

constexpr std::string_view pending = "Pending", scheduling = "Scheduling", running = "Running",
                           failed = "Failed", finished = "Finished";

bool has_ended(const CoschedulingGroupStatus& status) {
  return status.phase == finished || status.phase == failed;
}

// All owners of the first pod, in the order of their names.
std::string owners_of(const Pod& pod) {
  std::vector<std::string> names;
  for (const OwnerReference& owner : *pod.metadata.ownerReferences)
    names.push_back(fmt::format("{}/{}", pod.metadata.namespace_.view(), owner.name.view()));
  std::sort(names.begin(), names.end());
  return fmt::format("{}", fmt::join(names, ","));
}

std::int32_t count(const std::vector<std::shared_ptr<const Pod>>& pods, std::string_view phase) {
  return static_cast<std::int32_t>(std::count_if(
      pods.begin(), pods.end(), [phase](const auto& pod) { return pod->status.phase == phase; }));
}

}  // namespace

// One step at a time: what is written brings the next look.
CoschedulingGroupStatus next_status(const CoschedulingGroup& group,
                                    const std::vector<std::shared_ptr<const Pod>>& pods) {
  CoschedulingGroupStatus next = group.status.value_or(CoschedulingGroupStatus());
  const std::int32_t least = group.spec->minMember.value_or(0);
  const bool enough = static_cast<std::int32_t>(pods.size()) >= least;
  if (next.phase.empty()) {
    next.phase = pending;
  } else if (next.phase == pending) {
    if (!enough) return next;
    next.phase = scheduling;
    if (!pods.empty() && !pods.front()->metadata.ownerReferences->empty())
      next.occupiedBy = owners_of(*pods.front());
  } else {
    next.running = count(pods, "Running");
    next.succeeded = count(pods, "Succeeded");
    next.failed = count(pods, "Failed");
    if (!enough) {
      next.phase = pending;
      return next;
    }
    next.phase = next.succeeded + next.running < least ? scheduling : running;
    if (next.failed != 0 && next.failed + next.running + next.succeeded >= least)
      next.phase = failed;
    if (next.succeeded >= least) next.phase = finished;
  }
  return next;
}

namespace rules {

std::span<const Rule* const> all() {
  static constexpr std::array rows{&group_is_gone, &group_has_ended, &write_group_status};
  return rows;
}

}  // namespace rules
}  // namespace scheduler_plugins

std::vector<Watched> CoschedulingGroupController::watches(const KindRegistry&) const {
  return {{&CoschedulingGroup::info(), {}}, {&Pod::info(), {}}};
}

Reaction CoschedulingGroupController::observe(const Change& change, const Cache&, Expectations&,
                                              Time) {
  const Object& object = change.object();
  const Pod* pod = as<Pod>(object);
  if (pod == nullptr) return Reaction::to_wake({object.metadata.namespace_, object.metadata.name});
  const Text* group = pod->metadata.label(coscheduling_label);
  if (group == nullptr || group->empty()) return {};
  return Reaction::to_wake({object.metadata.namespace_, group->view()});
}

Plan CoschedulingGroupController::plan(const Key& key, const Observed& seen, Time) const {
  namespace rules = scheduler_plugins::rules;
  const KeyParts parts = split_key(key);
  Plan plan;
  const auto group = seen.cache.find<CoschedulingGroup>(parts.namespace_, parts.name);
  if (!group) {
    plan.steps.push_back({.rule = &rules::group_is_gone});
    return plan;
  }
  plan.about = group;
  if (group->status && scheduler_plugins::has_ended(*group->status)) {
    plan.steps.push_back({.rule = &rules::group_has_ended});
    return plan;
  }
  // Upstream asks for the label alone: pods of other namespaces count, too.
  std::vector<std::shared_ptr<const Pod>> pods = seen.cache.list<Pod>("");
  std::erase_if(pods, [&](const auto& pod) {
    const Text* name = pod->metadata.label(coscheduling_label);
    return name == nullptr || name->view() != parts.name;
  });
  const CoschedulingGroupStatus next = scheduler_plugins::next_status(*group, pods);
  if (group->status && *group->status == next) return plan;
  Json status = to_json(next);
  // A number that is nothing is left out of the text, and a merge patch takes what is named only.
  for (const auto& [name, now, was] :
       {std::tuple("running", next.running, group->status ? group->status->running : 0),
        std::tuple("succeeded", next.succeeded, group->status ? group->status->succeeded : 0),
        std::tuple("failed", next.failed, group->status ? group->status->failed : 0)})
    if (now == 0 && was != 0) status.get_object()[name] = nullptr;
  plan.steps.push_back(
      {.rule = &rules::write_group_status,
       .request = api::patch(*group, api::PatchType::merge,
                             boost::json::object{{"status", std::move(status)}}, "status"),
       .tolerated = Reason::not_found});
  return plan;
}

}  // namespace ddptwin::controller
