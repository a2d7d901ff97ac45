#include "controller/manager/disruption/controller.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <boost/json.hpp>

#include "cluster/pods/budgets.hpp"
#include "controller/manager/go_text.hpp"
#include "objects/codec.hpp"
#include "objects/scale.hpp"

namespace ddptwin::controller {
namespace disruption {
namespace {

constexpr std::string_view source = "spec/kubernetes.md §3.6";
constexpr Rule no_pods{"no_pods", source};
constexpr Rule unmanaged_pods{"unmanaged_pods", source};
constexpr Rule scale_is_unknown{"scale_is_unknown", source};
constexpr Rule write_budget_status{"write_budget_status", source};
constexpr Rule pod_under_two_budgets{"pod_under_two_budgets", source};
constexpr std::array all_rules{&no_pods, &unmanaged_pods, &scale_is_unknown, &write_budget_status,
                               &pod_under_two_budgets};

// So long an evicted pod may go on before it is taken for one that stays.
constexpr Duration deletion_timeout = 2min;

using BudgetPtr = std::shared_ptr<const PodDisruptionBudget>;
using PodPtr = std::shared_ptr<const Pod>;

// How many that is of so many, rounded up (upstream: GetScaledValueFromIntOrPercent).
std::int32_t scaled(const IntOrString& amount, std::int32_t of) {
  if (!amount.is_text) return amount.number;
  std::int64_t percent = 0;
  for (const char c : amount.text)
    if (c >= '0' && c <= '9') percent = percent * 10 + (c - '0');
  return static_cast<std::int32_t>((percent * of + 99) / 100);
}

const KindInfo* kind_of(const OwnerReference& owner) {
  for (const KindInfo* kind : built_in_kinds())
    if (owner.kind == kind->kind && owner.apiVersion == kind->api_version()) return kind;
  return nullptr;
}

// One sync in the making.
class Pass {
 public:
  Pass(const BudgetPtr& budget, const Cache& cache, Time now)
      : budget_(budget), cache_(cache), now_(now) {
    plan_.about = budget;
    for (const auto& pod : cache.list<Pod>(budget->metadata.namespace_))
      if (is_about(*budget, *pod)) pods_.push_back(pod);
  }
  Plan run();

 private:
  using Status = PodDisruptionBudgetStatus;

  void tell(const Rule& rule, const char* type, const char* reason, const std::string& message) {
    Step& step = plan_.steps.emplace_back();
    step.rule = &rule;
    step.event = EventText{type, reason, Text(message)};
  }
  Result<std::int32_t> scale_of_owner(const Pod& pod, const OwnerReference& owner) const;
  Result<std::int32_t> expected_scale();
  Result<Status> counted();
  Status::Disrupted disrupted();
  std::int32_t healthy(const Status::Disrupted& gone) const;
  void write(const std::shared_ptr<PodDisruptionBudget>& to);
  void give_up(const Error& error);

  BudgetPtr budget_;
  const Cache& cache_;
  Time now_;
  std::vector<PodPtr> pods_{};
  bool some_unmanaged_ = false;
  Plan plan_{};
};

Result<std::int32_t> Pass::scale_of_owner(const Pod& pod, const OwnerReference& owner) const {
  const KindInfo* kind = kind_of(owner);
  if (kind == nullptr)
    return fail(Reason::not_found, fmt::format("no matches for kind \"{}\" in version \"{}\"",
                                               owner.kind, owner.apiVersion));
  if (!kind->scale)
    return fail(Reason::invalid,
                fmt::format("{} does not implement the scale subresource", kind->resource()));
  const ObjectPtr found = cache_.find(*kind, pod.metadata.namespace_, owner.name);
  if (found == nullptr || found->metadata.uid != owner.uid)
    return fail(Reason::not_found,
                fmt::format("found no controllers for pod \"{}\"", pod.metadata.name));
  return scale_of(*found).replicas.value_or(0);
}

// The sum over whoever made the pods.
Result<std::int32_t> Pass::expected_scale() {
  std::map<std::string, std::int32_t> scales;
  for (const PodPtr& pod : pods_) {
    const OwnerReference* owner = pod->metadata.controller();
    if (owner == nullptr) {
      some_unmanaged_ = true;
      continue;
    }
    if (scales.contains(owner->uid.str())) continue;
    TRY(const std::int32_t scale, scale_of_owner(*pod, *owner));
    scales.emplace(owner->uid.str(), scale);
  }
  std::int32_t sum = 0;
  for (const auto& [uid, scale] : scales) sum += scale;
  return sum;
}

// Who was evicted and is not seen to end yet.
Pass::Status::Disrupted Pass::disrupted() {
  Status::Disrupted still;
  for (const PodPtr& pod : pods_) {
    const auto found = budget_->status.disruptedPods.find(pod->metadata.name.view());
    if (pod->metadata.deletionTimestamp || found == budget_->status.disruptedPods.end()) continue;
    const Time until = found->second + deletion_timeout;
    if (until < now_) continue;
    still.insert(*found);
    const Duration left = until - now_ + Duration(1);
    plan_.requeue_after = std::min(plan_.requeue_after.value_or(left), left);
  }
  return still;
}

std::int32_t Pass::healthy(const Status::Disrupted& gone) const {
  return static_cast<std::int32_t>(
      std::count_if(pods_.begin(), pods_.end(), [&](const PodPtr& pod) {
        return !pod->metadata.deletionTimestamp && !gone.contains(pod->metadata.name.view()) &&
               is_pod_ready(*pod);
      }));
}

Result<Pass::Status> Pass::counted() {
  const PodDisruptionBudgetSpec& spec = budget_->spec;
  Status status = budget_->status;
  status.expectedPods = 0;
  status.desiredHealthy = 0;
  if (spec.maxUnavailable) {
    TRY(status.expectedPods, expected_scale());
    status.desiredHealthy =
        std::max(0, status.expectedPods - scaled(*spec.maxUnavailable, status.expectedPods));
  } else if (spec.minAvailable) {
    status.expectedPods = static_cast<std::int32_t>(pods_.size());
    if (spec.minAvailable->is_text) {
      TRY(status.expectedPods, expected_scale());
    }
    status.desiredHealthy = scaled(*spec.minAvailable, status.expectedPods);
  }
  status.disruptedPods = disrupted();
  status.currentHealthy = healthy(status.disruptedPods);
  // Of no pods none may go: the first to come would not have been counted.
  status.disruptionsAllowed =
      status.expectedPods <= 0 ? 0 : std::max(0, status.currentHealthy - status.desiredHealthy);
  status.observedGeneration = budget_->metadata.generation;
  return status;
}

void Pass::write(const std::shared_ptr<PodDisruptionBudget>& to) {
  Step& step = plan_.steps.emplace_back();
  step.rule = &write_budget_status;
  step.request = api::update(to, "status");
}

// As long as it cannot be said how many there should be none may go.
void Pass::give_up(const Error& error) {
  tell(scale_is_unknown, "Warning", "CalculateExpectedPodCountFailed",
       "Failed to calculate the number of expected pods: " + error.message);
  auto failed = std::make_shared<PodDisruptionBudget>(*budget_);
  failed->status.disruptionsAllowed = 0;
  set_condition(*failed,
                {.type_ = std::string(disruption_allowed),
                 .status = "False",
                 .observedGeneration = failed->status.observedGeneration,
                 .reason = std::string(sync_failed),
                 .message = error.message},
                now_);
  write(failed);
}

Plan Pass::run() {
  if (pods_.empty()) tell(no_pods, "Normal", "NoPods", "No matching pods found");
  auto status = counted();
  if (!status) {
    give_up(status.error());
    return std::move(plan_);
  }
  if (some_unmanaged_)
    tell(unmanaged_pods, "Warning", "UnmanagedPods",
         fmt::format("Pods selected by this PodDisruptionBudget (selector: {}) were found to be "
                     "unmanaged. As a result, the status of the PDB cannot be calculated "
                     "correctly, which may result in undefined behavior. To account for these "
                     "pods please set \".spec.minAvailable\" field of the PDB to an integer value.",
                     budget_->spec.selector ? go_text(*budget_->spec.selector) : "nil"));
  auto after = std::make_shared<PodDisruptionBudget>(*budget_);
  after->status = std::move(*status);
  if (equal(type_of<Status>(), &after->status, &budget_->status) &&
      is_told_whether_allowed(*budget_))
    return std::move(plan_);
  tell_whether_allowed(*after, now_);
  write(after);
  return std::move(plan_);
}

// The budgets that the pod is under, by their names.
std::vector<BudgetPtr> budgets_of(const Pod& pod, const Cache& cache) {
  std::vector<BudgetPtr> budgets;
  for (auto& budget : cache.list<PodDisruptionBudget>(pod.metadata.namespace_))
    if (is_about(*budget, pod)) budgets.push_back(std::move(budget));
  return budgets;
}

}  // namespace

std::span<const Rule* const> rules() { return all_rules; }

}  // namespace disruption

// Beside budgets and pods whoever may own pods and has a scale.
std::vector<Watched> DisruptionController::watches(const KindRegistry& kinds) const {
  std::vector<Watched> watched{{&PodDisruptionBudget::info(), {}}, {&Pod::info(), {}}};
  for (const KindInfo* kind : kinds.all())
    if (kind->scale) watched.push_back({kind, {}});
  return watched;
}

Reaction DisruptionController::observe(const Change& change, const Cache& cache, Expectations&,
                                       Time) {
  const Object& object = change.object();
  if (&object.kind() == &PodDisruptionBudget::info()) return Reaction::to_wake(parts_of(object));
  const Pod* pod = as<Pod>(object);
  if (pod == nullptr) return {};
  const auto budgets = disruption::budgets_of(*pod, cache);
  return budgets.empty() ? Reaction() : Reaction::to_wake(parts_of(*budgets.front()));
}

Plan DisruptionController::plan(const Key& key, const Observed& seen, Time now) const {
  const KeyParts parts = split_key(key);
  const auto budget = seen.cache.find<PodDisruptionBudget>(parts.namespace_, parts.name);
  return budget ? disruption::Pass(budget, seen.cache, now).run() : Plan();
}

std::vector<Watched> DoubleBudgetController::watches(const KindRegistry&) const {
  return {{&PodDisruptionBudget::info(), {}}, {&Pod::info(), {}}};
}

Reaction DoubleBudgetController::observe(const Change& change, const Cache& cache, Expectations&,
                                         Time) {
  const Pod* pod = as<Pod>(change.object());
  if (pod == nullptr) return {};
  const auto budgets = disruption::budgets_of(*pod, cache);
  if (budgets.size() < 2) return {};
  seen_.insert_or_assign(key_of(pod->metadata), Seen{change.after ? change.after : change.before,
                                                     budgets.front()->metadata.name.str()});
  return Reaction::to_wake(parts_of(*pod));
}

Plan DoubleBudgetController::plan(const Key& key, const Observed&, Time) const {
  Plan plan;
  const auto found = seen_.find(key);
  if (found == seen_.end()) return plan;
  const auto [pod, counted_for] = std::move(found->second);
  seen_.erase(found);
  plan.about = pod;
  Step& step = plan.steps.emplace_back();
  step.rule = &disruption::pod_under_two_budgets;
  step.event = EventText{
      "Warning", "MultiplePodDisruptionBudgets",
      Text(fmt::format(
          "Pod \"{}\"/\"{}\" matches multiple PodDisruptionBudgets.  Chose \"{}\" arbitrarily.",
          pod->metadata.namespace_, pod->metadata.name, counted_for))};
  return plan;
}

}  // namespace ddptwin::controller
