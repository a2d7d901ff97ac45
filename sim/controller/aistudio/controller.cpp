#include "controller/aistudio/controller.hpp"

#include "controller/aistudio/plan.hpp"
#include "controller/toolkit/ownership.hpp"
#include "core/numbers.hpp"
#include "objects/kinds.hpp"

namespace ddptwin::controller {
namespace {

std::uint64_t version_of_task(const Object& object) {
  return whole_number<std::uint64_t>(object.metadata.resourceVersion).value_or(0);
}

const OwnerReference* task_of(const Object& object) {
  const OwnerReference* owner = object.metadata.controller();
  const KindInfo& kind = info_of<DDPTask>();
  return owner != nullptr && owner->kind == kind.kind && owner->apiVersion == kind.api_version()
             ? owner
             : nullptr;
}

template <class T>
void each_of_task(const Cache& cache, const DDPTask& task,
                  std::map<std::string, std::shared_ptr<const T>, std::less<>>& to) {
  const StringMap labels{{aistudio::label::task, task.metadata.name}};
  cache.each(T::info(), task.metadata.namespace_, labels, [&](const ObjectPtr& object) {
    if (is_controlled_by(*object, task))
      to.emplace(object->metadata.name.str(), std::static_pointer_cast<const T>(object));
  });
}

}  // namespace

std::vector<Watched> DDPTaskController::watches(const KindRegistry&) const {
  return {{&DDPTask::info(), {}}, {&Pod::info(), {}}, {&Service::info(), {}}};
}

Reaction DDPTaskController::observe(const Change& change, const Cache&, Expectations& expectations,
                                    Time) {
  const Object& object = change.object();
  if (as<DDPTask>(object) != nullptr) {
    const KeyParts parts = parts_of(object);
    if (!change.after) {
      const Key key = joined_key(parts);
      expectations.forget(key);
      written_.erase(key);
    }
    return Reaction::to_wake(parts);
  }
  const OwnerReference* owner = task_of(object);
  if (owner == nullptr) return {};
  const KeyParts parts{object.metadata.namespace_, owner->name};
  if (!change.before) expectations.lower(joined_key(parts), 1, 0);
  return Reaction::to_wake(parts);
}

Plan DDPTaskController::plan(const Key& key, const Observed& seen, Time now) const {
  const KeyParts parts = split_key(key);
  aistudio::View view;
  view.task = seen.cache.find<DDPTask>(parts.namespace_, parts.name);
  if (!view.task) {
    written_.erase(key);  // again: an answer may have come since it went
    return aistudio::plan(view, now);
  }
  each_of_task<Pod>(seen.cache, *view.task, view.pods);
  each_of_task<Service>(seen.cache, *view.task, view.services);
  view.expectation_key = key;
  view.expectations_met = seen.expectations.satisfied(key, now);
  const auto written = written_.find(key);
  view.shows_own_write =
      written == written_.end() || version_of_task(*view.task) >= written->second;
  return aistudio::plan(view, now);
}

void DDPTaskController::accepted(const Key& key, const Step&, const api::Response& response) {
  if (response.object && as<DDPTask>(*response.object) != nullptr)
    written_[key] = version_of_task(*response.object);
}

}  // namespace ddptwin::controller
