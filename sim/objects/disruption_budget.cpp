#include "objects/disruption_budget.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <boost/json.hpp>
#include <charconv>

#include "objects/codec.hpp"
#include "objects/fields.hpp"
#include "objects/selector.hpp"
#include "objects/validation.hpp"

namespace ddptwin {
namespace {

PodDisruptionBudget& budget_in(Object& object) { return static_cast<PodDisruptionBudget&>(object); }
const PodDisruptionBudget& budget_in(const Object& object) {
  return static_cast<const PodDisruptionBudget&>(object);
}

std::string amount_text(const IntOrString& amount) {
  return amount.is_text ? amount.text : std::to_string(amount.number);
}
std::string shown_amount(const std::optional<IntOrString>& amount) {
  if (!amount) return "null";
  return amount->is_text ? quoted(amount->text) : std::to_string(amount->number);
}
std::string or_not_said(const std::optional<IntOrString>& amount) {
  return amount ? amount_text(*amount) : "N/A";
}

// As Go's encoder shows the server's own struct of it.
std::string shown_spec(const PodDisruptionBudgetSpec& spec) {
  return fmt::format(
      "{{\"MinAvailable\":{},\"Selector\":{},\"MaxUnavailable\":{},"
      "\"UnhealthyPodEvictionPolicy\":{}}}",
      shown_amount(spec.minAvailable),
      spec.selector ? boost::json::serialize(to_json(*spec.selector)) : "null",
      shown_amount(spec.maxUnavailable),
      spec.unhealthyPodEvictionPolicy ? quoted(*spec.unhealthyPodEvictionPolicy) : "null");
}

bool is_percentage(std::string_view text) {
  return text.size() > 1 && text.back() == '%' &&
         text.find_first_not_of("0123456789") == text.size() - 1;
}
// Of digits and a percent sign.
bool is_above_hundred(std::string_view text) {
  int number = 0;
  const auto read = std::from_chars(text.data(), text.data() + text.size(), number);
  return read.ec != std::errc() || number > 100;
}

void check_amount(ErrorList& out, const char* field, const std::optional<IntOrString>& amount) {
  if (!amount) return;
  if (!amount->is_text) {
    if (amount->number < 0)
      out.push_back(
          invalid(field, std::to_string(amount->number), "must be greater than or equal to 0"));
    return;
  }
  if (!is_percentage(amount->text))
    out.push_back(invalid(field, quoted(amount->text),
                          "a valid percent string must be a numeric string followed by an ending "
                          "'%' (e.g. '1%',  or '93%', regex used for validation is '[0-9]+%')"));
  else if (is_above_hundred(amount->text))
    out.push_back(invalid(field, quoted(amount->text), "must not be greater than 100%"));
}

ErrorList validate_budget(const Object& object) {
  static const std::vector<std::string_view> policies{"AlwaysAllow", "IfHealthyBudget"};
  const PodDisruptionBudgetSpec& spec = budget_in(object).spec;
  ErrorList out;
  if (spec.minAvailable && spec.maxUnavailable)
    out.push_back(
        invalid("spec", shown_spec(spec), "minAvailable and maxUnavailable cannot be both set"));
  check_amount(out, "spec.minAvailable", spec.minAvailable);
  check_amount(out, "spec.maxUnavailable", spec.maxUnavailable);
  const auto& policy = spec.unhealthyPodEvictionPolicy;
  if (policy && std::find(policies.begin(), policies.end(), *policy) == policies.end())
    out.push_back(not_supported("spec.unhealthyPodEvictionPolicy", quoted(*policy), policies));
  if (spec.selector)
    if (const auto matcher = LabelMatcher::from(*spec.selector); !matcher)
      out.push_back(invalid("spec.selector", boost::json::serialize(to_json(*spec.selector)),
                            matcher.error().message));
  return out;
}

std::vector<PrinterColumn> budget_columns() {
  const auto column = [](const char* name, auto cell, const char* type = "string") {
    PrinterColumn made;
    made.name = name;
    made.type = type;
    made.cell = cell;
    return made;
  };
  return {
      column("Min Available",
             [](const Object& o, Time) { return or_not_said(budget_in(o).spec.minAvailable); }),
      column("Max Unavailable",
             [](const Object& o, Time) { return or_not_said(budget_in(o).spec.maxUnavailable); }),
      column(
          "Allowed Disruptions",
          [](const Object& o, Time) {
            return std::to_string(budget_in(o).status.disruptionsAllowed);
          },
          "integer"),
      column("Age", [](const Object& o, Time now) {
        const OptionalTime& made = o.metadata.creationTimestamp;
        return made ? format_age(now - *made) : std::string("<unknown>");
      })};
}

}  // namespace

const Type& BudgetCondition::type() {
  using S = BudgetCondition;
  static const Type t =
      structure<S>("v1.Condition",
                   {F(type_, .always = true), F(status, .always = true), F(observedGeneration),
                    F(lastTransitionTime), F(reason, .always = true), F(message, .always = true)});
  return t;
}
const Type& PodDisruptionBudgetSpec::type() {
  using S = PodDisruptionBudgetSpec;
  static const Type t = structure<S>(
      "v1.PodDisruptionBudgetSpec",
      {F(minAvailable), F(selector), F(maxUnavailable), F(unhealthyPodEvictionPolicy)});
  return t;
}
const Type& PodDisruptionBudgetStatus::type() {
  using S = PodDisruptionBudgetStatus;
  static const Type t = structure<S>(
      "v1.PodDisruptionBudgetStatus",
      {F(observedGeneration), F(disruptedPods), F(disruptionsAllowed, .always = true),
       F(currentHealthy, .always = true), F(desiredHealthy, .always = true),
       F(expectedPods, .always = true), F(conditions, .merge = Merge::merge, .merge_key = "type")});
  return t;
}
const Type& PodDisruptionBudget::type() {
  using S = PodDisruptionBudget;
  static const Type t = structure<S>("v1.PodDisruptionBudget", {F(metadata), F(spec), F(status)});
  return t;
}

const KindInfo& PodDisruptionBudget::info() {
  static const KindInfo kind{
      .group = "policy",
      .version = "v1",
      .kind = "PodDisruptionBudget",
      .plural = "poddisruptionbudgets",
      .singular = "poddisruptionbudget",
      .short_names = {"pdb"},
      .status = true,
      .generation = true,
      .type = &PodDisruptionBudget::type,
      .make = []() -> std::shared_ptr<Object> { return std::make_shared<PodDisruptionBudget>(); },
      .strategy = {.prepare_create = [](Object& object) { budget_in(object).status = {}; },
                   .prepare_update =
                       [](Object& updated, const Object& old) {
                         budget_in(updated).status = budget_in(old).status;
                       },
                   .prepare_status_update =
                       [](Object& updated, const Object& old) {
                         budget_in(updated).spec = budget_in(old).spec;
                       },
                   .validate = &validate_budget,
                   .validate_update = [](const Object& updated,
                                         const Object&) { return validate_budget(updated); }},
      .columns = budget_columns()};
  return kind;
}

}  // namespace ddptwin
