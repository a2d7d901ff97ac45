#include "controller/t9k/controller.hpp"

#include "controller/t9k/plan.hpp"
#include "controller/t9k/rules.hpp"
#include "controller/toolkit/ownership.hpp"
#include "core/numbers.hpp"
#include "objects/kinds.hpp"

namespace ddptwin::controller {
namespace {

std::uint64_t version_of(const Object& object) {
  return whole_number<std::uint64_t>(object.metadata.resourceVersion).value_or(0);
}

const OwnerReference* training_job_of(const Object& object) {
  const OwnerReference* owner = object.metadata.controller();
  const KindInfo& kind = info_of<PyTorchTrainingJob>();
  return owner != nullptr && owner->kind == kind.kind && owner->apiVersion == kind.api_version()
             ? owner
             : nullptr;
}

template <class T>
void each_own(const Cache& cache, const PyTorchTrainingJob& job,
              std::map<std::string, std::shared_ptr<const T>, std::less<>>& to) {
  const StringMap labels{{t9k::label::owner_name, job.metadata.name}};
  cache.each(T::info(), job.metadata.namespace_, labels, [&](const ObjectPtr& object) {
    if (is_controlled_by(*object, job))
      to.emplace(object->metadata.name.str(), std::static_pointer_cast<const T>(object));
  });
}

bool is_own(const Object* object, const PyTorchTrainingJob& job) {
  return object != nullptr && is_controlled_by(*object, job);
}

}  // namespace

std::vector<Watched> PyTorchTrainingJobController::watches(const KindRegistry&) const {
  return {{&PyTorchTrainingJob::info(), {}},
          {&Pod::info(), {}},
          {&Service::info(), {}},
          {&T9kPodGroup::info(), {}},
          {&TensorBoard::info(), {}}};
}

Reaction PyTorchTrainingJobController::observe(const Change& change, const Cache&,
                                               Expectations& expectations, Time) {
  const Object& object = change.object();
  if (as<PyTorchTrainingJob>(object) != nullptr) {
    const KeyParts parts = parts_of(object);
    if (!change.after) {
      const Key key = joined_key(parts);
      expectations.forget(key);
      written_.erase(key);
    }
    return Reaction::to_wake(parts);
  }
  const OwnerReference* owner = training_job_of(object);
  if (owner == nullptr) return {};
  const KeyParts parts{object.metadata.namespace_, owner->name};
  if (!change.before) expectations.lower(joined_key(parts), 1, 0);
  return Reaction::to_wake(parts);
}

Plan PyTorchTrainingJobController::plan(const Key& key, const Observed& seen, Time now) const {
  const KeyParts parts = split_key(key);
  t9k::View view;
  view.job = seen.cache.find<PyTorchTrainingJob>(parts.namespace_, parts.name);
  if (!view.job) {
    written_.erase(key);  // again: an answer may have come since it went
    return t9k::plan(view, now);
  }
  const PyTorchTrainingJob& job = *view.job;
  each_own<Pod>(seen.cache, job, view.pods);
  each_own<Service>(seen.cache, job, view.services);
  const auto group = seen.cache.find<T9kPodGroup>(parts.namespace_, parts.name);
  view.has_pod_group = is_own(group.get(), job);
  const auto board = seen.cache.find<TensorBoard>(parts.namespace_, t9k::base_name(job));
  if (is_own(board.get(), job)) view.tensorboard = board;
  view.expectation_key = key;
  view.expectations_met = seen.expectations.satisfied(key, now);
  const auto written = written_.find(key);
  view.shows_own_write = written == written_.end() || version_of(job) >= written->second;
  return t9k::plan(view, now);
}

void PyTorchTrainingJobController::accepted(const Key& key, const Step&,
                                            const api::Response& response) {
  if (response.object && as<PyTorchTrainingJob>(*response.object) != nullptr)
    written_[key] = version_of(*response.object);
}

// ---- TensorBoard -------------------------------------------------------------------------------

std::vector<Watched> TensorBoardController::watches(const KindRegistry&) const {
  return {{&TensorBoard::info(), {}}};
}

Reaction TensorBoardController::observe(const Change& change, const Cache&, Expectations&, Time) {
  return Reaction::to_wake(parts_of(change.object()));
}

Plan TensorBoardController::plan(const Key& key, const Observed& seen, Time) const {
  Plan plan;
  const KeyParts parts = split_key(key);
  const auto board = seen.cache.find<TensorBoard>(parts.namespace_, parts.name);
  if (board == nullptr || board->metadata.deletionTimestamp) return plan;
  plan.about = board;
  const bool ready = !board->spec.suspend;
  if (board->status && board->status->ready == ready) return plan;
  auto changed = std::static_pointer_cast<TensorBoard>(board->clone());
  changed->status = TensorBoardStatus{ready};
  Step& step = plan.steps.emplace_back();
  step.rule = &t9k::rules::serve_tensorboard;
  step.request = api::update(std::move(changed), "status");
  return plan;
}

}  // namespace ddptwin::controller
