#include "cluster/store/pod_security.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <boost/json.hpp>
#include <charconv>
#include <map>

#include "cluster/store/admission.hpp"
#include "cluster/store/pod_security_checks.hpp"
#include "cluster/store/store.hpp"
#include "cluster/store/store_errors.hpp"
#include "objects/apps_v1.hpp"
#include "objects/batch_v1.hpp"
#include "objects/codec.hpp"
#include "objects/core_v1.hpp"
#include "objects/validation.hpp"

namespace ddptwin {
namespace {

using pod_security::Finding;
using pod_security::Level;
using pod_security::plural;
using Texts = std::vector<std::string>;

// ---- what a namespace says
// -----------------------------------------------------------------------

struct LevelVersion {
  Level level = Level::privileged;
  std::string version = "latest";
  bool operator==(const LevelVersion&) const = default;
};

constexpr std::array<std::string_view, 3> level_names{"privileged", "baseline", "restricted"};
constexpr std::string_view label_prefix = "pod-security.kubernetes.io/";

std::string text(const LevelVersion& of) {
  return fmt::format("{}:{}", level_names[static_cast<std::size_t>(of.level)], of.version);
}

// The x of v1.x; of "latest" one above all.
std::optional<int> minor_of(std::string_view version) {
  constexpr int newest = 1000;
  if (version == "latest") return newest;
  int minor = 0;
  if (!version.starts_with("v1.")) return std::nullopt;
  const auto [end, error] =
      std::from_chars(version.data() + 3, version.data() + version.size(), minor);
  if (error != std::errc() || end != version.data() + version.size()) return std::nullopt;
  return minor;
}

struct Policy {
  LevelVersion enforce{}, warn{};
  ErrorList problems{};
};

Policy policy_of(const Object& namespace_) {
  Policy policy;
  const auto label = [&](std::string_view name) {
    return namespace_.metadata.label(fmt::format("{}{}", label_prefix, name));
  };
  const auto refuse = [&](std::string_view name, const Text& value, std::string why) {
    policy.problems.push_back(invalid(fmt::format("metadata.labels[{}{}]", label_prefix, name),
                                      quoted(value), std::move(why)));
  };
  const auto read_level = [&](std::string_view mode, LevelVersion& to, Level otherwise) {
    const Text* value = label(mode);
    if (value == nullptr) return false;
    const auto known = std::find(level_names.begin(), level_names.end(), std::string_view(*value));
    if (known == level_names.end()) {
      refuse(mode, *value, fmt::format("must be one of {}", fmt::join(level_names, ", ")));
      to.level = otherwise;
      return false;
    }
    to.level = static_cast<Level>(known - level_names.begin());
    return true;
  };
  const auto read_version = [&](std::string_view mode, LevelVersion& to) {
    const std::string name = fmt::format("{}-version", mode);
    const Text* value = label(name);
    if (value == nullptr) return false;
    if (minor_of(*value))
      to.version = value->str();
    else
      refuse(name, *value, "must be \"latest\" or \"v1.x\"");
    return true;
  };
  const bool enforces = read_level("enforce", policy.enforce, Level::restricted);
  read_version("enforce", policy.enforce);
  LevelVersion audit;
  read_level("audit", audit, Level::privileged);
  read_version("audit", audit);
  const bool warns = label("warn") != nullptr;
  read_level("warn", policy.warn, Level::privileged);
  const bool has_version = read_version("warn", policy.warn);
  // Who enforces and says nothing of warnings is warned of what will be refused.
  if (enforces && !warns && policy.enforce.level > policy.warn.level) {
    policy.warn.level = policy.enforce.level;
    if (!has_version) policy.warn.version = policy.enforce.version;
  }
  return policy;
}

std::vector<Finding> findings(const LevelVersion& policy, const Json& spec) {
  return pod_security::findings(policy.level, minor_of(policy.version).value_or(0), spec);
}

// `verb`: "violates" or "would violate".
std::string sentence(std::string_view verb, const LevelVersion& policy,
                     const std::vector<Finding>& found) {
  Texts told;
  for (const Finding& one : found) told.push_back(fmt::format("{} ({})", one.reason, one.detail));
  return fmt::format("{} PodSecurity {}: {}", verb, quoted(text(policy)), fmt::join(told, ", "));
}

// ---- the plugin
// ----------------------------------------------------------------------------------

using Warnings = Texts;

Json spec_of(const Object& pod) { return encode(pod).as_object()["spec"]; }

// Images are all of a pod that may change and that a check could look at; containers may be added.
bool is_significant(const Pod& now, const Pod& before) {
  const auto differ = [](const std::vector<Container>& a, const std::vector<Container>& b) {
    return !std::equal(a.begin(), a.end(), b.begin(), b.end(),
                       [](const Container& x, const Container& y) { return x.image == y.image; });
  };
  return differ(now.spec->containers, before.spec->containers) ||
         differ(now.spec->initContainers, before.spec->initContainers) ||
         now.spec->rest->ephemeralContainers != before.spec->rest->ephemeralContainers;
}

std::optional<Policy> policy_for(const Store& store, const Object& object) {
  const auto namespace_ = store.find<Namespace>({}, object.metadata.namespace_);
  if (namespace_ == nullptr) return std::nullopt;
  Policy policy = policy_of(*namespace_);
  if (policy.enforce.level == Level::privileged && policy.warn.level == Level::privileged)
    return std::nullopt;
  return policy;
}

Warnings warnings_of(const LevelVersion& policy, const Json& spec) {
  const auto found = findings(policy, spec);
  if (found.empty()) return {};
  return {sentence("would violate", policy, found)};
}

Result<Warnings> check_pod(const Store& store, const AdmissionRequest& request) {
  static constexpr std::array<std::string_view, 3> looked_at{"", "ephemeralcontainers", "resize"};
  if (std::find(looked_at.begin(), looked_at.end(), request.subresource) == looked_at.end())
    return Warnings();
  const auto policy = policy_for(store, *request.object);
  if (!policy) return Warnings();
  const Pod& pod = static_cast<const Pod&>(*request.object);
  if (request.old != nullptr && !is_significant(pod, static_cast<const Pod&>(*request.old)))
    return Warnings();
  const Json spec = spec_of(pod);
  if (const auto found = findings(policy->enforce, spec); !found.empty())
    return fail(forbidden_error(request.kind, pod.metadata.name,
                                sentence("violates", policy->enforce, found)));
  return warnings_of(policy->warn, spec);
}

// What makes pods later is let in with a warning.
Result<Warnings> check_template(const Store& store, const AdmissionRequest& request) {
  if (!request.subresource.empty()) return Warnings();
  const auto policy = policy_for(store, *request.object);
  if (!policy || policy->warn.level == Level::privileged) return Warnings();
  const Json whole = encode(*request.object);
  const Json* spec = pod_security::part_of(whole, {"spec", "template", "spec"});
  if (spec == nullptr)
    spec = pod_security::part_of(whole, {"spec", "jobTemplate", "spec", "template", "spec"});
  return spec != nullptr ? warnings_of(policy->warn, *spec) : Warnings();
}

// The pods that are there already, by what is wrong with them.
Warnings warnings_of_pods(const Store& store, const Object& namespace_,
                          const LevelVersion& policy) {
  std::map<std::string, Texts> by_reasons;
  for (const auto& [key, object] : store.objects(Pod::info())) {
    if (object->metadata.namespace_ != namespace_.metadata.name) continue;
    Texts reasons;
    for (const Finding& one : findings(policy, spec_of(*object))) reasons.emplace_back(one.reason);
    if (!reasons.empty())
      by_reasons[fmt::format("{}", fmt::join(reasons, ", "))].push_back(
          object->metadata.name.str());
  }
  if (by_reasons.empty()) return {};
  Warnings told;
  for (auto& [reasons, names] : by_reasons) {
    const std::size_t others = names.size() - 1;
    std::string who = *std::min_element(names.begin(), names.end());
    if (others > 0) who += fmt::format(" (and {} other {})", others, plural("pod", "pods", others));
    told.push_back(fmt::format("{}: {}", who, reasons));
  }
  std::sort(told.begin(), told.end());
  told.insert(
      told.begin(),
      fmt::format("existing pods in namespace {} violate the new PodSecurity enforce level {}",
                  quoted(namespace_.metadata.name), quoted(text(policy))));
  return told;
}

bool same(const ErrorList& a, const ErrorList& b) { return summary_of(a) == summary_of(b); }

Result<Warnings> check_namespace(const Store& store, const AdmissionRequest& request) {
  if (!request.subresource.empty()) return Warnings();
  Policy policy = policy_of(*request.object);
  const Policy before = request.old != nullptr ? policy_of(*request.old) : Policy();
  if (!policy.problems.empty() && !same(policy.problems, before.problems))
    return fail(
        invalid_error(request.kind, request.object->metadata.name, std::move(policy.problems)));
  const bool relaxed = policy.enforce.version == before.enforce.version &&
                       policy.enforce.level <= before.enforce.level;
  if (request.old == nullptr || policy.enforce.level == Level::privileged || relaxed)
    return Warnings();
  return warnings_of_pods(store, *request.object, policy.enforce);
}

}  // namespace

void add_pod_security(Store& store) {
  using Look = Result<Warnings> (*)(const Store&, const AdmissionRequest&);
  const auto add = [&store](const KindInfo& kind, Look look) {
    for (const api::Verb verb : {api::Verb::create, api::Verb::update})
      store.add_admission(
          AdmissionPhase::validating,
          [&store, look](const AdmissionRequest& request) { return look(store, request); }, &kind,
          verb);
  };
  add(Pod::info(), &check_pod);
  for (const char* kind : {"Job", "CronJob"})
    if (const KindInfo* known = store.kinds().find("batch/v1", kind)) add(*known, &check_template);
  if (const KindInfo* known = store.kinds().find("apps/v1", "StatefulSet"))
    add(*known, &check_template);
  add(Namespace::info(), &check_namespace);
}

}  // namespace ddptwin
