#include "toy_system/controller.hpp"

#include <array>

#include "controller/toolkit/ownership.hpp"
#include "toy_system/squad.hpp"

namespace ddptwin::toy {
namespace {

using controller::Change;
using controller::KeyParts;
using controller::Plan;
using controller::Reaction;
using controller::Rule;
using controller::Step;

constexpr Rule create_missing_pod{"create_missing_pod", "docs/guide/add-a-system.md"};
constexpr Rule write_phase{"write_phase", "docs/guide/add-a-system.md"};
constexpr std::array rules{&create_missing_pod, &write_phase};

std::shared_ptr<Pod> new_pod(const Squad& squad, int index) {
  auto pod = std::make_shared<Pod>();
  pod->metadata.name = squad.metadata.name.str() + "-" + std::to_string(index);
  pod->metadata.namespace_ = squad.metadata.namespace_;
  pod->metadata.labels = StringMap{{"toy.example/index", std::to_string(index)}};
  pod->metadata.ownerReferences = std::vector{controller::controller_reference(squad)};
  pod->spec = squad.spec->template_.spec;
  return pod;
}

}  // namespace

std::span<const Rule* const> squad_rules() { return rules; }

std::vector<controller::Watched> SquadController::watches(const KindRegistry&) const {
  return {{&Squad::info(), {}}, {&Pod::info(), {}}};
}

Reaction SquadController::observe(const Change& change, const controller::Cache&,
                                  controller::Expectations&, Time) {
  const Object& object = change.object();
  if (as<Squad>(object) != nullptr) return Reaction::to_wake(controller::parts_of(object));
  const OwnerReference* owner = object.metadata.controller();
  if (owner == nullptr || owner->kind != "Squad") return {};
  return Reaction::to_wake(KeyParts{object.metadata.namespace_, owner->name});
}

Plan SquadController::plan(const controller::Key& key, const controller::Observed& seen,
                           Time) const {
  Plan plan;
  const KeyParts parts = controller::split_key(key);
  const auto squad = seen.cache.find<Squad>(parts.namespace_, parts.name);
  if (squad == nullptr || squad->metadata.deletionTimestamp) return plan;
  plan.about = squad;
  const int wanted = squad->spec->replicas.value_or(1);
  int succeeded = 0, failed = 0;
  for (int index = 0; index < (forgets_the_last_ ? wanted - 1 : wanted); ++index) {
    auto pod = new_pod(*squad, index);
    const auto there = seen.cache.find<Pod>(parts.namespace_, pod->metadata.name);
    if (there == nullptr) {
      Step& step = plan.steps.emplace_back();
      step.rule = &create_missing_pod;
      step.request = api::create(std::move(pod));
      continue;
    }
    if (there->status.phase == "Succeeded") ++succeeded;
    if (there->status.phase == "Failed") ++failed;
  }
  const std::string phase = failed > 0 ? "Failed" : succeeded == wanted ? "Succeeded" : "Running";
  if (squad->status && squad->status->phase == phase) return plan;
  auto changed = std::static_pointer_cast<Squad>(squad->clone());
  changed->status = SquadStatus{phase};
  Step& step = plan.steps.emplace_back();
  step.rule = &write_phase;
  step.request = api::update(std::move(changed), "status");
  return plan;
}

}  // namespace ddptwin::toy
