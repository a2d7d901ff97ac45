#include "controller/manager/statefulset/plan.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "controller/manager/statefulset/pods.hpp"
#include "controller/manager/statefulset/rules.hpp"
#include "controller/toolkit/ownership.hpp"
#include "objects/selector.hpp"

namespace ddptwin::controller::statefulset {
namespace {

using PodPtr = std::shared_ptr<const Pod>;

// What is done to a pod, as events say it (upstream's recordPodEvent).
struct Verb {
  std::string_view word, success, failure;
};
constexpr Verb create{"Create", "SuccessfulCreate", "FailedCreate"};
constexpr Verb remove{"Delete", "SuccessfulDelete", "FailedDelete"};
constexpr Verb update{"Update", "SuccessfulUpdate", "FailedUpdate"};

// One ordinal in range: its pod, or the one that is to be made.
struct Replica {
  std::int64_t ordinal = 0;
  PodPtr pod{};
  bool exists = false;
};

// One reconcile in the making.
class Pass {
 public:
  Pass(const View& seen, Time now) : seen_(seen), set_(*seen.set), now_(now) {
    plan_.about = seen.set;
  }
  Plan run();

 private:
  // What a part of the pass found: whether the rest of it waits.
  enum class Next : std::uint8_t { go_on, stop };

  std::vector<RevisionPtr> own_revisions();
  std::vector<PodPtr> own_pods();
  void count(const std::vector<PodPtr>& pods);
  void partition(const std::vector<PodPtr>& pods);
  void update_set();
  Next process_replica(const Replica& replica);
  Next create_pod(const Replica& replica);
  Next create_claims(const Pod& pod);
  void restore(const Pod& pod);
  void hand_on_claims(const Pod& pod);
  bool claims_match(const Pod& pod) const;
  Next process_condemned(const PodPtr& pod);
  void roll_out();
  void trim(const std::vector<RevisionPtr>& own, const std::vector<PodPtr>& pods);
  void write_status();

  std::vector<PodClaim> claims_of(const Pod& pod) const;
  bool needs_current(std::int64_t ordinal) const;
  bool in_order() const { return !is_parallel(set_); }
  void note(const Rule& rule, std::string_view text) { add(rule).text = text; }
  Step& add(const Rule& rule);
  // With the events of its success and failure.
  Step& add(const Rule& rule, const Verb& verb, const Pod& pod, api::Request request);
  void wait(const Rule& rule, const Pod& pod) { note(rule, pod.metadata.name.view()); }
  void fail_with(Error error);

  const View& seen_;
  const StatefulSet& set_;
  Time now_;
  Plan plan_{};
  Revisions revisions_{};
  StatefulSet current_{}, updated_{};  // the set as these two revisions say
  StatefulSetStatus status_{};
  std::vector<Replica> replicas_{};
  std::vector<PodPtr> condemned_{};  // from the highest ordinal down
  PodPtr first_unhealthy_{};         // of the existing ones, the lowest; in range goes first
};

Step& Pass::add(const Rule& rule) {
  Step& step = plan_.steps.emplace_back();
  step.rule = &rule;
  return step;
}

std::string told(const Verb& verb, const Pod& pod, const StatefulSet& set) {
  return fmt::format("{} Pod {} in StatefulSet {}", verb.word, pod.metadata.name.view(),
                     set.metadata.name.view());
}

Step& Pass::add(const Rule& rule, const Verb& verb, const Pod& pod, api::Request request) {
  Step& step = add(rule);
  step.request = std::move(request);
  const std::string what = told(verb, pod, set_);
  step.event = EventText{"Normal", verb.success, what + " successful"};
  step.refusal.emplace() = {Text(verb.failure), what + " failed error: ", {}};
  return step;
}

void Pass::fail_with(Error error) { plan_.error = std::move(error); }

bool Pass::needs_current(std::int64_t ordinal) const {
  const StatefulSetUpdateStrategy& strategy = set_.spec->updateStrategy;
  if (strategy.type_ != "RollingUpdate") return false;
  const std::int64_t kept = strategy.rollingUpdate ? strategy.rollingUpdate->partition.value_or(0)
                                                   : set_.status.currentReplicas;
  return ordinal < start_ordinal(set_) + kept;
}

// ---- what is the set's ---------------------------------------------------------------------

std::vector<RevisionPtr> Pass::own_revisions() {
  Claimed claimed =
      claim(seen_.revisions, {.owner = set_,
                              .matches = [this](const Object& o) { return is_selected(set_, o); },
                              .adopt = &rules::adopt_revision,
                              .release = nullptr});
  for (Step& step : claimed.steps) plan_.steps.push_back(std::move(step));
  std::vector<RevisionPtr> own;
  for (const ObjectPtr& object : claimed.own)
    if (is_selected(set_, *object)) own.push_back(as<ControllerRevision>(object));
  sort_by_number(own);
  return own;
}

std::vector<PodPtr> Pass::own_pods() {
  const auto is_member = [this](const Object& object) {
    const auto place = place_of(object.metadata.name);
    return place && place->set == set_.metadata.name && is_selected(set_, object);
  };
  Claimed claimed = claim(seen_.pods, {.owner = set_,
                                       .matches = is_member,
                                       .adopt = &rules::adopt_pod,
                                       .release = &rules::release_pod});
  for (Step& step : claimed.steps) plan_.steps.push_back(std::move(step));
  std::vector<PodPtr> own;
  for (const ObjectPtr& object : claimed.own) own.push_back(as<Pod>(object));
  return own;
}

// Terminating pods are no replicas of any revision, but ready as long as they are.
void Pass::count(const std::vector<PodPtr>& pods) {
  for (const PodPtr& pod : pods) {
    ++status_.replicas;
    if (is_ready(*pod)) {
      ++status_.readyReplicas;
      if (is_available(*pod, set_.spec->minReadySeconds, now_)) ++status_.availableReplicas;
    }
    if (is_terminating(*pod)) continue;
    const std::string_view revision = revision_of(*pod);
    if (revision == revisions_.current->metadata.name) ++status_.currentReplicas;
    if (revision == revisions_.update->metadata.name) ++status_.updatedReplicas;
  }
}

void Pass::partition(const std::vector<PodPtr>& pods) {
  const int replicas = replica_count(set_), start = start_ordinal(set_);
  for (int i = 0; i < replicas; ++i) replicas_.push_back({.ordinal = start + i});
  for (const PodPtr& pod : pods) {
    const std::int64_t ordinal = place_of(pod->metadata.name)->ordinal;
    if (!in_range(set_, ordinal)) {
      condemned_.push_back(pod);
      continue;
    }
    Replica& replica = replicas_[static_cast<std::size_t>(ordinal - start)];
    replica.pod = pod;
    replica.exists = true;
  }
  std::sort(condemned_.begin(), condemned_.end(), [](const PodPtr& a, const PodPtr& b) {
    return place_of(a->metadata.name)->ordinal > place_of(b->metadata.name)->ordinal;
  });
  for (Replica& replica : replicas_) {
    if (!replica.exists)
      replica.pod = needs_current(replica.ordinal)
                        ? new_pod(current_, replica.ordinal, revisions_.current->metadata.name)
                        : new_pod(updated_, replica.ordinal, revisions_.update->metadata.name);
    if (!first_unhealthy_ && !is_healthy(*replica.pod)) first_unhealthy_ = replica.pod;
  }
  for (auto pod = condemned_.rbegin(); pod != condemned_.rend() && !first_unhealthy_; ++pod)
    if (!is_healthy(**pod)) first_unhealthy_ = *pod;
}

// ---- claims --------------------------------------------------------------------------------

std::vector<PodClaim> Pass::claims_of(const Pod& pod) const {
  std::vector<PodClaim> claims;
  const std::int64_t ordinal = place_of(pod.metadata.name)->ordinal;
  for (const ClaimTemplate& wanted : set_.spec->volumeClaimTemplates) {
    PodClaim claim{claim_name(set_, wanted, ordinal), &wanted, {}};
    claim.present = seen_.claim(claim.name);
    claims.push_back(std::move(claim));
  }
  return claims;
}

// Those that are not there. One that is on its way out holds its pod up.
Pass::Next Pass::create_claims(const Pod& pod) {
  std::vector<std::string> leaving;
  for (const PodClaim& claim : claims_of(pod)) {
    if (claim.present) {
      if (claim.present->metadata.deletionTimestamp)
        leaving.push_back(fmt::format("pvc {} is being deleted", claim.name));
      continue;
    }
    Step& step = add(rules::create_claim);
    step.request = api::create(new_claim(set_, claim));
    const std::string_view name = pod.metadata.name, set = set_.metadata.name;
    step.event = EventText{
        "Normal", create.success,
        fmt::format("Create Claim {} Pod {} in StatefulSet {} success", claim.name, name, set)};
    step.refusal.emplace() = {Text(create.failure),
                              fmt::format("{} failed error: failed to create PVC {}: ",
                                          told(create, pod, set_), claim.name),
                              {}};
    step.tolerated = Reason::already_exists;  // made before, and the cache does not show it yet
    step.refusal.edit().untold = Reason::already_exists;
  }
  if (leaving.empty()) return Next::go_on;
  const std::string why = fmt::format("{}", fmt::join(leaving, ", "));
  Step& step = add(rules::claim_is_being_deleted);
  step.text = why;
  step.event =
      EventText{"Warning", create.failure, told(create, pod, set_) + " failed error: " + why};
  fail_with(Error{.reason = Reason::conflict, .message = why});
  return Next::stop;
}

bool Pass::claims_match(const Pod& pod) const {
  const auto claims = claims_of(pod);
  return std::all_of(claims.begin(), claims.end(), [&](const PodClaim& claim) {
    return !claim.present || owners_match(*claim.present, set_, pod);
  });
}

void Pass::hand_on_claims(const Pod& pod) {
  for (const PodClaim& claim : claims_of(pod)) {
    if (!claim.present || owners_match(*claim.present, set_, pod)) continue;
    Step& step = add(rules::hand_on_claim);
    step.request = api::update(with_owners(*claim.present, set_, pod));
    step.refusal.emplace() = {
        Text(update.failure),
        fmt::format("{} failed error: could not update claim {} for delete policy ownerRefs: ",
                    told(update, pod, set_), claim.name),
        Reason::conflict};
  }
}

// ---- replicas ------------------------------------------------------------------------------

Pass::Next Pass::create_pod(const Replica& replica) {
  const Pod& pod = *replica.pod;
  for (const PodClaim& claim : claims_of(pod))
    if (claim.present && is_stale(*claim.present, pod)) {
      note(rules::await_stale_claim, claim.name);
      return Next::stop;
    }
  if (create_claims(pod) == Next::stop) return Next::stop;
  Step& step = add(rules::create_pod, create, pod, api::create(replica.pod));
  // Somebody has the name: it is tried again without a word.
  step.refusal.edit().untold = Reason::already_exists;
  hand_on_claims(pod);
  return in_order() ? Next::stop : Next::go_on;
}

void Pass::restore(const Pod& pod) {
  auto restored = std::make_shared<Pod>(pod);
  if (!identity_matches(set_, pod)) restore_identity(set_, *restored);
  if (!storage_matches(set_, pod)) {
    restore_storage(set_, *restored);
    if (create_claims(pod) == Next::stop) return;
  }
  hand_on_claims(pod);
  Step& step = add(rules::restore_identity, update, *restored, api::update(restored));
  step.refusal.edit().untold = Reason::conflict;  // upstream reads it again and goes on
}

Pass::Next Pass::process_replica(const Replica& replica) {
  const Pod& pod = *replica.pod;
  if (!replica.exists) return create_pod(replica);
  if (is_finished(pod)) {
    if (!is_terminating(pod)) add(rules::replace_finished_pod, remove, pod, api::remove(pod));
    return Next::stop;  // in any order: the next pass makes it anew
  }
  if (pod.status.phase == "Pending" && create_claims(pod) == Next::stop) return Next::stop;
  if (in_order()) {
    if (is_terminating(pod)) {
      wait(rules::await_termination, pod);
      return Next::stop;
    }
    if (!is_available(pod, set_.spec->minReadySeconds, now_)) {
      wait(rules::await_ready, pod);
      return Next::stop;
    }
  }
  if (!identity_matches(set_, pod) || !storage_matches(set_, pod) || !claims_match(pod))
    restore(pod);
  return plan_.error ? Next::stop : Next::go_on;
}

// Precondition: in range nobody is waited for.
Pass::Next Pass::process_condemned(const PodPtr& pod) {
  if (is_terminating(*pod)) {
    if (in_order()) wait(rules::await_termination, *pod);
    return in_order() ? Next::stop : Next::go_on;
  }
  if (in_order() && !is_available(*pod, set_.spec->minReadySeconds, now_) &&
      pod != first_unhealthy_) {
    wait(rules::await_ready, *first_unhealthy_);
    return Next::stop;
  }
  add(rules::scale_down_pod, remove, *pod, api::remove(*pod));
  return in_order() ? Next::stop : Next::go_on;
}

// One pod at a time, from the highest down; who is updated must be well before the next.
void Pass::roll_out() {
  const StatefulSetUpdateStrategy& strategy = set_.spec->updateStrategy;
  if (strategy.type_ == "OnDelete") return;
  const std::int64_t kept =
      strategy.rollingUpdate ? strategy.rollingUpdate->partition.value_or(0) : 0;
  for (auto target = static_cast<std::int64_t>(replicas_.size()) - 1; target >= kept; --target) {
    const Pod& pod = *replicas_[static_cast<std::size_t>(target)].pod;
    if (revision_of(pod) != revisions_.update->metadata.name && !is_terminating(pod)) {
      Step& step = add(rules::update_pod, remove, pod, api::remove(pod));
      step.tolerated = Reason::not_found;
      --status_.currentReplicas;
      return;
    }
    if (is_terminating(pod) || !is_available(pod, set_.spec->minReadySeconds, now_))
      return wait(rules::await_updated_pod, pod);
  }
}

void Pass::update_set() {
  if (set_.metadata.deletionTimestamp) return note(rules::set_is_being_deleted, "its status only");
  for (const Replica& replica : replicas_)
    if (process_replica(replica) == Next::stop && (in_order() || plan_.error)) return;
  // A finished pod, or a claim that is waited for, holds up no other under Parallel.
  for (const PodPtr& pod : condemned_) hand_on_claims(*pod);
  for (const PodPtr& pod : condemned_)
    if (process_condemned(pod) == Next::stop) return;
  roll_out();
}

// ---- the end of a pass ---------------------------------------------------------------------

void Pass::write_status() {
  const int wanted = replica_count(set_);
  const bool completes = set_.spec->updateStrategy.type_ == "RollingUpdate" &&
                         status_.updatedReplicas == wanted && status_.readyReplicas == wanted &&
                         status_.replicas == wanted;
  if (completes) {
    status_.currentReplicas = status_.updatedReplicas;
    status_.currentRevision = status_.updateRevision;
  }
  if (status_ == set_.status) return;
  auto changed = std::make_shared<StatefulSet>(set_);
  changed->status = status_;
  add(rules::write_status).request = api::update(std::move(changed), "status");
}

void Pass::trim(const std::vector<RevisionPtr>& own, const std::vector<PodPtr>& pods) {
  std::vector<std::string_view> live{revisions_.current->metadata.name,
                                     revisions_.update->metadata.name};
  for (const PodPtr& pod : pods) live.push_back(revision_of(*pod));
  for (Step& step : trim_history(set_, own, live)) plan_.steps.push_back(std::move(step));
}

Plan Pass::run() {
  const std::vector<RevisionPtr> own = own_revisions();
  const std::vector<PodPtr> pods = own_pods();
  revisions_ = revisions_of(set_, own);
  for (auto& [revision, as] :
       {std::pair{&revisions_.current, &current_}, std::pair{&revisions_.update, &updated_}}) {
    auto applied = as_of(set_, **revision);
    if (!applied) {
      fail_with(applied.error());
      return std::move(plan_);
    }
    *as = std::move(*applied);
  }
  if (revisions_.step) plan_.steps.push_back(std::move(*revisions_.step));
  status_.observedGeneration = set_.metadata.generation;
  status_.currentRevision = revisions_.current->metadata.name.str();
  status_.updateRevision = revisions_.update->metadata.name.str();
  status_.collisionCount = revisions_.collision_count;
  status_.conditions = set_.status.conditions;
  count(pods);
  partition(pods);
  const std::size_t begin = plan_.steps.size();
  update_set();
  // Whatever of it is refused, the status is written, and the refusal stands.
  const std::size_t end = plan_.steps.size();
  write_status();
  if (end < plan_.steps.size())
    for (std::size_t i = begin; i < end; ++i) {
      Step& step = plan_.steps[i];
      if (!step.request) continue;
      step.instead.emplace() = {plan_.steps[end]};
      step.instead_fails = true;
    }
  if (!plan_.error) trim(own, pods);
  if (!plan_.error)
    for (const PodPtr& pod : pods)
      if (const auto due = available_at(*pod, set_.spec->minReadySeconds, now_)) {
        // The real clock has always moved on a little.
        const Duration left = *due - now_ + std::chrono::milliseconds(1);
        if (!plan_.requeue_after || left < *plan_.requeue_after) plan_.requeue_after = left;
      }
  return std::move(plan_);
}

}  // namespace

bool is_selected(const StatefulSet& set, const Object& object) {
  if (!set.spec->selector) return false;
  const auto matcher = LabelMatcher::from(*set.spec->selector);
  return matcher && !matcher->empty() && matcher->matches(object.metadata.labels);
}

Plan plan(const View& seen, Time now) {
  if (seen.set) return Pass(seen, now).run();
  Plan nothing;
  Step& step = nothing.steps.emplace_back();
  step.rule = &rules::set_is_gone;
  return nothing;
}

}  // namespace ddptwin::controller::statefulset
