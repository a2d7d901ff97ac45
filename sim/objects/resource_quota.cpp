#include "objects/resource_quota.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>

#include "objects/fields.hpp"
#include "objects/validation.hpp"

namespace ddptwin {
namespace {

// Names without a domain that a quota may limit (upstream: helper.IsStandardQuotaResourceName).
// Those of the first part may also be asked of a scope.
constexpr std::array<std::string_view, 10> quota_pod_resources{"pods",
                                                               "cpu",
                                                               "memory",
                                                               "ephemeral-storage",
                                                               "requests.cpu",
                                                               "limits.cpu",
                                                               "limits.memory",
                                                               "requests.memory",
                                                               "requests.ephemeral-storage",
                                                               "limits.ephemeral-storage"};
constexpr std::array<std::string_view, 9> quota_object_resources{
    "resourcequotas",         "services",   "replicationcontrollers", "secrets",
    "persistentvolumeclaims", "configmaps", "services.nodeports",     "services.loadbalancers",
    "requests.storage"};
constexpr std::array<std::string_view, 6> quota_scopes{
    "Terminating",   "NotTerminating", "BestEffort",
    "NotBestEffort", "PriorityClass",  "CrossNamespacePodAffinity"};
constexpr std::array<std::array<std::string_view, 2>, 2> opposite_scopes{
    {{"BestEffort", "NotBestEffort"}, {"Terminating", "NotTerminating"}}};

template <std::size_t n>
bool is_named_in(const std::array<std::string_view, n>& names, std::string_view name) {
  return std::find(names.begin(), names.end(), name) != names.end();
}
bool is_pod_resource(std::string_view name) {
  return is_named_in(quota_pod_resources, name) || name.starts_with("hugepages-") ||
         name.starts_with("requests.hugepages-");
}
bool is_standard_for_quota(std::string_view name) {
  return is_pod_resource(name) || is_named_in(quota_object_resources, name);
}
// Of amounts of these a part of one is none.
bool is_whole_number(std::string_view name) {
  return name == "pods" ||
         (is_named_in(quota_object_resources, name) && name != "requests.storage");
}

std::string shown_list(const std::vector<std::string>& texts) {
  std::vector<std::string> shown;
  for (const std::string& text : texts) shown.push_back(quoted(text));
  return fmt::format("[{}]", fmt::join(shown, ","));
}

void check_quota_resource(ErrorList& out, const FieldPath& path, const std::string& name,
                          const Quantity& amount) {
  const std::string at = path.key(name);
  for (const std::string& problem : qualified_name_problems(name))
    out.push_back(invalid(at, quoted(name), problem));
  if (name.find('/') == std::string::npos && !is_standard_for_quota(name)) {
    out.push_back(invalid(at, quoted(name), "must be a standard resource type or fully qualified"));
    out.push_back(invalid(at, quoted(name), "must be a standard resource for quota"));
  }
  if (amount < Quantity())
    out.push_back(invalid(at, quoted(amount.str()), "must be greater than or equal to 0"));
  if (is_whole_number(name) && amount.milli_value() % 1000 != 0)
    out.push_back(invalid(at, quoted(amount.str()), "must be an integer"));
}

bool scope_allows(std::string_view scope, std::string_view resource) {
  return scope == "BestEffort" ? resource == "pods" : is_pod_resource(resource);
}

// Of the scopes in the list and of those of the selector alike, in their own words.
struct ScopeWords {
  std::string field;
  std::string shown;
};
void check_scopes(ErrorList& out, const ResourceQuotaSpec& spec, const ScopeWords& words,
                  const std::vector<std::string>& scopes) {
  for (const std::string& scope : scopes) {
    if (!is_named_in(quota_scopes, scope))
      out.push_back(invalid(words.field, words.shown, "unsupported scope"));
    for (const auto& [name, amount] : *spec.hard)
      if (is_standard_for_quota(name) && !scope_allows(scope, name))
        out.push_back(invalid(words.field, words.shown, "unsupported scope applied to resource"));
  }
  for (const auto& pair : opposite_scopes)
    if (std::all_of(pair.begin(), pair.end(), [&](std::string_view one) {
          return std::find(scopes.begin(), scopes.end(), one) != scopes.end();
        }))
      out.push_back(invalid(words.field, words.shown, "conflicting scopes"));
}

void check_scope_selector(ErrorList& out, const ScopeSelector& selector) {
  const FieldPath spec("spec");
  const FieldPath whole = spec.field("scopeSelector"), list = whole.field("matchExpressions");
  for (const ScopedResourceSelectorRequirement& one : selector.matchExpressions) {
    const bool takes_values = one.operator_ == "In" || one.operator_ == "NotIn";
    if (!takes_values && one.operator_ != "Exists" && one.operator_ != "DoesNotExist")
      out.push_back(
          invalid(list.field("operator"), quoted(one.operator_), "not a valid selector operator"));
    else if (one.scopeName != "PriorityClass" && one.operator_ != "Exists")
      out.push_back(invalid(list.field("operator"), quoted(one.operator_),
                            "must be 'Exist' when scope is any of ResourceQuotaScopeTerminating, "
                            "ResourceQuotaScopeNotTerminating, ResourceQuotaScopeBestEffort, "
                            "ResourceQuotaScopeNotBestEffort or "
                            "ResourceQuotaScopeCrossNamespacePodAffinity"));
    if (takes_values && one.values.empty())
      out.push_back(required(list.field("values"),
                             "must be at least one value when `operator` is 'In' or 'NotIn' for "
                             "scope selector"));
    if (!takes_values && !one.values.empty())
      out.push_back(invalid(list.field("values"), shown_list(one.values),
                            "must be no value when `operator` is 'Exists' or 'DoesNotExist' for "
                            "scope selector"));
  }
}

ResourceQuota& quota_in(Object& object) { return static_cast<ResourceQuota&>(object); }
const ResourceQuota& quota_in(const Object& object) {
  return static_cast<const ResourceQuota&>(object);
}

ErrorList validate_quota(const Object& object) {
  const ResourceQuotaSpec& spec = quota_in(object).spec;
  const FieldPath root("spec");
  const FieldPath hard = root.field("hard");
  ErrorList out;
  for (const auto& [name, amount] : *spec.hard) check_quota_resource(out, hard, name, amount);
  check_scopes(out, spec, {"spec.scopes", shown_list(spec.scopes)}, spec.scopes);
  if (spec.scopeSelector) {
    std::vector<std::string> named;
    for (const auto& one : spec.scopeSelector->matchExpressions) named.push_back(one.scopeName);
    check_scopes(out, spec, {"spec.scopeSelector.matchExpressions.scopeName", shown_list(named)},
                 named);
    check_scope_selector(out, *spec.scopeSelector);
  }
  return out;
}

// Which objects it counts is said once.
ErrorList validate_quota_update(const Object& updated, const Object& old) {
  ErrorList out = validate_quota(updated);
  auto now = quota_in(updated).spec.scopes, then = quota_in(old).spec.scopes;
  std::sort(now.begin(), now.end());
  std::sort(then.begin(), then.end());
  if (now != then)
    out.push_back(
        invalid("spec.scopes", shown_list(quota_in(updated).spec.scopes), "field is immutable"));
  return out;
}

// "requests.cpu: 1/3, pods: 2/4", of the limits or of all else.
std::string amounts_cell(const ResourceQuota& quota, bool of_limits) {
  std::vector<std::string> amounts;
  for (const auto& [name, hard] : *quota.status.hard) {
    if (name.starts_with("limits") != of_limits) continue;
    const auto used = quota.status.used.find(name);
    amounts.push_back(fmt::format(
        "{}: {}/{}", name, used == quota.status.used.end() ? "0" : used->second.str(), hard.str()));
  }
  return fmt::format("{}", fmt::join(amounts, ", "));
}

std::vector<PrinterColumn> quota_columns() {
  PrinterColumn request, limit, age;
  request.name = "Request";
  limit.name = "Limit";
  age.name = "Age";
  request.type = limit.type = age.type = "string";
  request.cell = [](const Object& o, Time) { return amounts_cell(quota_in(o), false); };
  limit.cell = [](const Object& o, Time) { return amounts_cell(quota_in(o), true); };
  age.cell = [](const Object& o, Time now) {
    const OptionalTime& made = o.metadata.creationTimestamp;
    return made ? format_age(now - *made) : std::string("<unknown>");
  };
  return {std::move(request), std::move(limit), std::move(age)};
}

}  // namespace

std::vector<ScopedResourceSelectorRequirement> scopes_of(const ResourceQuota& quota) {
  std::vector<ScopedResourceSelectorRequirement> asked;
  for (const std::string& scope : quota.spec.scopes) asked.push_back({scope, "Exists", {}});
  if (quota.spec.scopeSelector)
    asked.insert(asked.end(), quota.spec.scopeSelector->matchExpressions.begin(),
                 quota.spec.scopeSelector->matchExpressions.end());
  return asked;
}

const Type& ScopedResourceSelectorRequirement::type() {
  using S = ScopedResourceSelectorRequirement;
  static const Type t = structure<S>(
      "v1.ScopedResourceSelectorRequirement",
      {F(scopeName, .always = true), F(operator_, .always = true), F(values, .atomic = true)});
  return t;
}
const Type& ScopeSelector::type() {
  using S = ScopeSelector;
  static const Type t = structure<S>("v1.ScopeSelector", {F(matchExpressions, .atomic = true)});
  return t;
}
const Type& ResourceQuotaSpec::type() {
  using S = ResourceQuotaSpec;
  static const Type t =
      structure<S>("v1.ResourceQuotaSpec", {F(hard), F(scopes, .atomic = true), F(scopeSelector)});
  return t;
}
const Type& ResourceQuotaStatus::type() {
  using S = ResourceQuotaStatus;
  static const Type t = structure<S>("v1.ResourceQuotaStatus", {F(hard), F(used)});
  return t;
}
const Type& ResourceQuota::type() {
  using S = ResourceQuota;
  static const Type t = structure<S>("v1.ResourceQuota", {F(metadata), F(spec), F(status)});
  return t;
}

const KindInfo& ResourceQuota::info() {
  static const KindInfo kind{
      .version = "v1",
      .kind = "ResourceQuota",
      .plural = "resourcequotas",
      .singular = "resourcequota",
      .short_names = {"quota"},
      .status = true,
      .type = &ResourceQuota::type,
      .make = []() -> std::shared_ptr<Object> { return std::make_shared<ResourceQuota>(); },
      .strategy = {.prepare_create = [](Object& object) { quota_in(object).status = {}; },
                   .prepare_update =
                       [](Object& updated, const Object& old) {
                         quota_in(updated).status = quota_in(old).status;
                       },
                   .prepare_status_update =
                       [](Object& updated, const Object& old) {
                         quota_in(updated).spec = quota_in(old).spec;
                       },
                   .validate = &validate_quota,
                   .validate_update = &validate_quota_update},
      .columns = quota_columns()};
  return kind;
}

}  // namespace ddptwin
