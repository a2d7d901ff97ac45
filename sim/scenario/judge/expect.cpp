#include "scenario/judge/expect.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "scenario/judge/prospects.hpp"
#include "scenario/judge/why.hpp"

namespace ddptwin::scenario {
namespace {

// What decides each quantifier: the first value of its state that does, and what holds at the bound
// if none came. `finally` looks only then.
struct QuantifierRow {
  std::optional<bool> deciding;  // this value of the state decides at once
  Verdict decided;               // to this
  Verdict at_bound;              // the verdict where it never came
};
constexpr std::array rows{
    QuantifierRow{true, Verdict::held, Verdict::failed},          // eventually
    QuantifierRow{false, Verdict::failed, Verdict::held},         // always
    QuantifierRow{true, Verdict::failed, Verdict::held},          // never
    QuantifierRow{std::nullopt, Verdict::open, Verdict::failed},  // finally
};
const QuantifierRow& row_of(const Expectation& expectation) {
  return rows[static_cast<std::size_t>(expectation.quantifier)];
}

constexpr std::array<std::string_view, 4> failures{"it did not become so", "it was not so",
                                                   "it was so", "it is not so at the end"};

}  // namespace

std::string_view to_string(Verdict verdict) {
  constexpr std::array<std::string_view, 3> names{"open", "held", "failed"};
  return names[static_cast<std::size_t>(verdict)];
}

Expectations::Expectations(const std::vector<Expectation>& expectations, const Observer& observer)
    : observer_(observer) {
  for (const Expectation& expectation : expectations) {
    ExpectationResult result;
    result.expectation = &expectation;
    results_.push_back(std::move(result));
  }
  watched_.resize(results_.size());
}

void Expectations::start(Time now) {
  for (std::size_t i = 0; i < results_.size(); ++i) {
    if (results_[i].expectation->since.empty()) watched_[i].started = now;
  }
}

void Expectations::step_ended(const std::string& name, Time now) {
  for (std::size_t i = 0; i < results_.size(); ++i) {
    if (!name.empty() && results_[i].expectation->since == name) watched_[i].started = now;
  }
}

bool Expectations::look(std::size_t index) {
  const State& state = results_[index].expectation->state;
  Watched& watched = watched_[index];
  const std::uint64_t stamp = observer_.stamp(state);
  if (watched.stamp != stamp) {
    watched.value = observer_.holds(state);
    watched.stamp = stamp;
  }
  return watched.value;
}

std::optional<Time> Expectations::bound(std::size_t index) const {
  const auto& within = results_[index].expectation->within;
  if (!watched_[index].started || !within) return std::nullopt;
  return *watched_[index].started + *within;
}

std::optional<Time> Expectations::lasts_until(std::size_t index) const {
  const auto& since = watched_[index].true_since;
  if (!since) return std::nullopt;
  return *since + *results_[index].expectation->lasting;
}

void Expectations::judge_one(std::size_t index, Time now, bool over) {
  ExpectationResult& result = results_[index];
  const Expectation& expectation = *result.expectation;
  const QuantifierRow& row = row_of(expectation);
  if (result.verdict != Verdict::open) return;
  if (!watched_[index].started) {
    if (!over) return;
    result.verdict = Verdict::failed;
    result.detail = fmt::format("the step {} never ended", expectation.since);
    return;
  }
  const auto end = bound(index);
  const bool late = end && now > *end;
  if (row.deciding && !late && decides(index, look(index) == *row.deciding, now)) {
    result.verdict = row.decided;
  } else if (!row.deciding) {
    if (over) result.verdict = look(index) ? Verdict::held : Verdict::failed;
  } else if (over || (end && now >= *end)) {
    result.verdict = row.at_bound;
  }
  if (result.verdict == Verdict::failed) tell_failure(result);
  tell_of_nothing(result);
}

// A state that has to last decides once it has.
bool Expectations::decides(std::size_t index, bool value, Time now) {
  const auto& lasting = results_[index].expectation->lasting;
  if (!lasting) return value;
  std::optional<Time>& since = watched_[index].true_since;
  if (!value) since.reset();
  if (value && !since) since = now;
  return since && now >= *since + *lasting;
}

void Expectations::tell_failure(ExpectationResult& result) const {
  const Expectation& expectation = *result.expectation;
  const bool early = expectation.quantifier == Quantifier::always && expectation.since.empty() &&
                     !observer_.ever(expectation.state.of);
  Why found = why(observer_, expectation.state.of);
  result.detail = fmt::format(
      "{}: {}{}{}", failures[static_cast<std::size_t>(expectation.quantifier)],
      observer_.describe(expectation.state.of),
      early ? "; where it comes later, `since` names a step after which it has to hold" : "",
      found.line.empty() ? "" : "; " + found.line);
  result.why = std::move(found.text);
}

// What is said of an object that is never there says nothing: a misspelt name, most likely. That
// there is none may be meant.
void Expectations::tell_of_nothing(ExpectationResult& result) const {
  const State& state = result.expectation->state;
  if (result.verdict != Verdict::held || state.claims.empty() || observer_.ever(state.of)) return;
  result.detail = fmt::format("it says nothing: {}", observer_.describe(state.of));
}

std::vector<const ExpectationResult*> Expectations::judge_all(Time now, bool over) {
  std::vector<const ExpectationResult*> decided;
  for (std::size_t i = 0; i < results_.size(); ++i) {
    if (results_[i].verdict != Verdict::open) continue;
    judge_one(i, now, over);
    if (results_[i].verdict == Verdict::open) continue;
    results_[i].decided_at = now;
    results_[i].record = observer_.latest(results_[i].expectation->state);
    decided.push_back(&results_[i]);
  }
  return decided;
}

std::vector<const ExpectationResult*> Expectations::give_up(Time now) {
  std::vector<const ExpectationResult*> decided;
  if (given_up_ == observer_.ends()) return decided;
  given_up_ = observer_.ends();
  patient_until_.reset();
  for (std::size_t i = 0; i < results_.size(); ++i) {
    ExpectationResult& result = results_[i];
    const bool awaits = result.verdict == Verdict::open && watched_[i].started &&
                        result.expectation->quantifier == Quantifier::eventually;
    if (!awaits || watched_[i].true_since || may_come(observer_, result.expectation->state))
      continue;
    if (const auto until = told_until(observer_, result.expectation->state.of, now)) {
      patient_until_ = until;
      given_up_.reset();
      continue;
    }
    result.verdict = Verdict::failed;
    result.decided_at = now;
    result.record = observer_.latest(result.expectation->state);
    tell_failure(result);
    decided.push_back(&result);
  }
  return decided;
}

void Expectations::leave_open() {
  for (ExpectationResult& result : results_) {
    if (result.verdict != Verdict::open) continue;
    Why found = why(observer_, result.expectation->state.of);
    result.detail = fmt::format("the run was interrupted: {}{}",
                                observer_.describe(result.expectation->state.of),
                                found.line.empty() ? "" : "; " + found.line);
    result.why = std::move(found.text);
  }
}

// `always` and `never` without a bound last as long as the others need.
bool Expectations::waiting() const {
  return std::any_of(results_.begin(), results_.end(), [](const ExpectationResult& result) {
    const Quantifier quantifier = result.expectation->quantifier;
    return result.verdict == Verdict::open &&
           (quantifier == Quantifier::eventually ||
            (quantifier != Quantifier::finally && result.expectation->within));
  });
}

std::optional<Time> Expectations::deadline() const {
  std::optional<Time> first = patient_until_;
  for (std::size_t i = 0; i < results_.size(); ++i) {
    if (results_[i].verdict != Verdict::open) continue;
    for (const auto& end : {bound(i), lasts_until(i)})
      if (end && (!first || *end < *first)) first = end;
  }
  return first;
}

}  // namespace ddptwin::scenario
