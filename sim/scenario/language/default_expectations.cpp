#include "scenario/language/default_expectations.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <boost/json/value.hpp>
#include <optional>

#include "objects/core_v1.hpp"
#include "objects/kinds.hpp"
#include "objects/selector.hpp"
#include "scenario/systems/status_words.hpp"
#include "scenario/systems/workloads.hpp"

namespace ddptwin::scenario {
namespace {

// A pod that crashes over and over is Running and Ready for a moment each time.
constexpr Duration stays_ready = std::chrono::seconds(10);

// What is to come of one object, as far as the steps go.
struct Due {
  ObjectPtr object{};
  bool suspended = false;
};

bool is_due(const Object& object) {
  if (object.metadata.name.empty()) return false;
  if (is_workload(object.kind())) return true;
  return as<Pod>(object) != nullptr && object.metadata.controller() == nullptr;
}

bool is_same(const Object& one, const Object& other) {
  return &one.kind() == &other.kind() && one.metadata.name == other.metadata.name &&
         one.metadata.namespace_ == other.metadata.namespace_;
}

bool selects(const Selection& of, const Object& object) {
  const ObjectMeta& metadata = object.metadata;
  if (of.kind == &Namespace::info()) return metadata.namespace_ == of.name;
  if (of.kind != &object.kind()) return false;
  const auto labels = LabelMatcher::parse(of.label_selector);
  return (of.namespace_.empty() || metadata.namespace_ == of.namespace_) &&
         (of.name.empty() || metadata.name == of.name) && labels &&
         labels->matches(*metadata.labels);
}

// What a patch says of the field that suspends a job, if it says anything.
std::optional<bool> suspends(const Patch& patch, const JobKind& kind) {
  const boost::json::value* at = patch.body.get();
  if (at == nullptr) return std::nullopt;
  std::string pointer;
  for (const std::string_view field : kind.suspend) pointer += fmt::format("/{}", field);
  if (const auto* operations = at->if_array()) {  // a JSON patch
    std::optional<bool> said;
    for (const boost::json::value& operation : *operations) {
      const auto* members = operation.if_object();
      const auto* path = members != nullptr ? members->if_contains("path") : nullptr;
      const auto* value = members != nullptr ? members->if_contains("value") : nullptr;
      if (path == nullptr || !path->is_string() || std::string_view(path->as_string()) != pointer)
        continue;
      said = value != nullptr && value->is_bool() && value->as_bool();
    }
    return said;
  }
  for (const std::string_view field : kind.suspend) {
    const auto* members = at->if_object();
    at = members != nullptr
             ? members->if_contains(boost::json::string_view(field.data(), field.size()))
             : nullptr;
    if (at == nullptr) return std::nullopt;
  }
  return at->is_bool() && at->as_bool();
}

class Dues {
 public:
  void apply(const std::vector<Manifest>& manifests) {
    for (const Manifest& manifest : manifests) {
      if (!is_due(*manifest.object)) continue;
      const auto known = std::find_if(dues_.begin(), dues_.end(), [&](const Due& due) {
        return is_same(*due.object, *manifest.object);
      });
      const Due due{manifest.object, is_suspended(*manifest.object)};
      if (known == dues_.end())
        dues_.push_back(due);
      else
        *known = due;
    }
  }
  void remove(const Selection& of) {
    dues_.erase(std::remove_if(dues_.begin(), dues_.end(),
                               [&](const Due& due) { return selects(of, *due.object); }),
                dues_.end());
  }
  void patch(const Patch& patch) {
    for (Due& due : dues_) {
      const JobKind* kind = job_kind(due.object->kind());
      if (kind == nullptr || !selects(patch.of, *due.object)) continue;
      due.suspended = suspends(patch, *kind).value_or(due.suspended);
    }
  }
  const std::vector<Due>& all() const { return dues_; }

 private:
  std::vector<Due> dues_{};
};

void take(const Step& step, Dues& dues) {
  if (step.refused) return;
  if (const auto* apply = std::get_if<Apply>(&step.action)) dues.apply(apply->manifests);
  if (const auto* remove = std::get_if<Delete>(&step.action)) dues.remove(remove->of);
  if (const auto* evict = std::get_if<Evict>(&step.action)) dues.remove(evict->of);
  if (const auto* patch = std::get_if<Patch>(&step.action)) dues.patch(*patch);
}

Expectation expectation_of(const Object& object, Quantifier quantifier, Claim claim,
                           std::string_view claimed, std::string_view name) {
  Expectation made;
  made.quantifier = quantifier;
  made.state.of = {&object.kind(), object.metadata.namespace_.str(), object.metadata.name.str(),
                   ""};
  made.state.claims.push_back(std::move(claim));
  const std::string of = made.state.of.text();
  made.state.text = fmt::format("{{of: {}, {}}}", of, claimed);
  made.text = fmt::format("{} {}", to_string(quantifier), made.state.text);
  made.name = fmt::format("{} {}", of, name);
  return made;
}

void add_expectations(const Due& due, std::vector<Expectation>& to) {
  const Object& object = *due.object;
  const JobKind* kind = job_kind(object.kind());
  if (kind != nullptr && due.suspended) {
    ConditionClaim claim;
    claim.type = kind->suspended;
    to.push_back(expectation_of(object, Quantifier::eventually, claim,
                                fmt::format("condition: {}", kind->suspended), "is suspended"));
  } else if (const StatusWords& words = status_words(object.kind()); words.is_expected) {
    const std::string_view good = words.good;
    // That its pods are Ready says nothing of what they are for.
    to.push_back(expectation_of(object, Quantifier::eventually, PhaseClaim{std::string(good)},
                                fmt::format("phase: {}", good), fmt::format("becomes {}", good)));
  } else if (runs_for_ever(object)) {
    constexpr std::string_view claimed = "succeeded: true";
    const StandingKind* standing = standing_kind(object.kind());
    const std::string_view wanted = standing == nullptr ? "Running and Ready" : standing->good;
    to.push_back(expectation_of(object, Quantifier::eventually, SucceededClaim{}, claimed,
                                fmt::format("becomes {}", wanted)));
    to.back().lasting = stays_ready;
    to.back().text += fmt::format(" for {}", format_go_duration(stays_ready));
    to.push_back(expectation_of(object, Quantifier::finally, SucceededClaim{}, claimed,
                                fmt::format("is {} at the end", wanted)));
  } else {
    to.push_back(expectation_of(object, Quantifier::eventually, SucceededClaim{}, "succeeded: true",
                                "succeeds"));
  }
}

}  // namespace

bool says_an_end(const Scenario& scenario) {
  if (scenario.invariants.violated.contains("progress")) return true;  // it is to stand still
  return std::any_of(scenario.expectations.begin(), scenario.expectations.end(),
                     [](const Expectation& one) {
                       return one.within || one.quantifier == Quantifier::eventually ||
                              one.quantifier == Quantifier::finally;
                     });
}

std::vector<Expectation> default_expectations(const Scenario& scenario) {
  Dues dues;
  dues.apply(scenario.manifests);
  for (const Step& step : scenario.steps) take(step, dues);
  std::vector<Expectation> made;
  for (const Due& due : dues.all()) add_expectations(due, made);
  return made;
}

}  // namespace ddptwin::scenario
