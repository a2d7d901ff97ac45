#include "scenario/judge/prospects.hpp"

#include <algorithm>

#include "scenario/systems/system.hpp"
#include "scenario/systems/workloads.hpp"

namespace ddptwin::scenario {
namespace {

bool is_pod(const KindInfo& kind) { return &kind == &Pod::info(); }

bool is_at_work(const SeenObject& seen) { return !seen.gone && !seen.ended_at; }

// Who makes pods for ever may always make others.
bool any_maker_at_work(const Observer& observer) {
  for (const JobKind& kind : job_kinds())
    for (const auto& [key, seen] : observer.objects(kind.info()))
      if (is_at_work(seen)) return true;
  for (const StandingKind& kind : standing_kinds())
    for (const auto& [key, seen] : observer.objects(kind.info()))
      if (!seen.gone) return true;
  return false;
}

// By its controllers, or by those of what they make, as Trainer makes Jobs through a JobSet.
bool makes(const System& system, const KindInfo& kind) {
  return std::any_of(system.makes.begin(), system.makes.end(), [&](KindOf made) {
    if (&made() == &kind) return true;
    const System* other = system_of_kind(made().kind, made().api_version());
    return other != nullptr && other != &system && makes(*other, kind);
  });
}

// A job of a system whose controllers make such objects, as those of JobSet make Jobs.
bool any_maker_at_work(const Observer& observer, const KindInfo& of) {
  if (is_pod(of)) return any_maker_at_work(observer);
  for (const StandingKind& kind : standing_kinds()) {
    if (kind.makes == nullptr || &kind.makes->info() != &of) continue;
    for (const auto& [key, seen] : observer.objects(kind.info()))
      if (!seen.gone) return true;
  }
  for (const System* system : systems()) {
    if (!makes(*system, of)) continue;
    for (const JobKind& kind : system->jobs)
      for (const auto& [key, seen] : observer.objects(kind.info()))
        if (is_at_work(seen)) return true;
  }
  return false;
}

// Its owner makes it again where it has ended or gone: a job that is at work, or who is no job.
bool may_be_made_again(const Observer& observer, const Object& object) {
  if (object.metadata.controller() == nullptr) return false;
  const SharedText root = observer.troubles().root_of(object.metadata);
  for (const JobKind& kind : job_kinds())
    for (const auto& [key, seen] : observer.objects(kind.info()))
      if (seen.last->metadata.uid == root) return is_at_work(seen);
  return true;
}

bool may_change(const Observer& observer, const SeenObject& seen) {
  return is_at_work(seen) || may_be_made_again(observer, *seen.last);
}

// Others of the selection than there have been.
bool may_appear(const Observer& observer, const Selection& of,
                const std::vector<const SeenObject*>& seen) {
  if (is_pod(*of.kind) && seen.empty()) return true;
  return (seen.empty() || of.name.empty()) && any_maker_at_work(observer, *of.kind);
}

// A condition of a pod may come a moment after its phase.
bool is_known(const State& state) {
  const bool of_pod = is_pod(*state.of.kind);
  if (!of_pod && job_kind(*state.of.kind) == nullptr) return false;
  return std::none_of(state.claims.begin(), state.claims.end(), [of_pod](const Claim& claim) {
    return std::holds_alternative<MatchClaim>(claim) || std::holds_alternative<EventClaim>(claim) ||
           (of_pod && std::holds_alternative<ConditionClaim>(claim));
  });
}

}  // namespace

bool may_come(const Observer& observer, const State& state) {
  const std::int64_t wanted = state.count.at_least.value_or(0);
  if (wanted <= 0 || !is_known(state)) return true;
  const auto seen = observer.select_ever(state.of);
  if (may_appear(observer, state.of, seen)) return true;
  const auto candidates = std::count_if(seen.begin(), seen.end(), [&](const SeenObject* one) {
    return may_change(observer, *one) || observer.fulfils(*one, state);
  });
  return candidates >= wanted;
}

}  // namespace ddptwin::scenario
