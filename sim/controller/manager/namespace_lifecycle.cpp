#include "controller/manager/namespace_lifecycle.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "objects/pod_phase.hpp"

namespace ddptwin {
namespace {

constexpr Duration first_look = 5s;
constexpr std::int64_t finalizer_estimate = 15;  // seconds that an object with finalizers may need
constexpr Duration first_finalize_retry = 5ms,
                   last_finalize_retry = 60s;  // upstream nsControllerRateLimiter
constexpr std::string_view finalizer = "kubernetes";

bool holds(const Namespace& space) {
  const auto& all = space.spec.finalizers;
  return std::find(all.begin(), all.end(), finalizer) != all.end();
}

struct ConditionText {
  std::string_view type, reason, message;
};

// As long as nothing is wrong.
constexpr std::array fine{
    ConditionText{"NamespaceDeletionDiscoveryFailure", "ResourcesDiscovered",
                  "All resources successfully discovered"},
    ConditionText{"NamespaceDeletionGroupVersionParsingFailure", "ParsedGroupVersions",
                  "All legacy kube types successfully parsed"},
    ConditionText{"NamespaceDeletionContentFailure", "ContentDeleted",
                  "All content successfully deleted, may be waiting on finalization"},
    ConditionText{"NamespaceContentRemaining", "ContentRemoved",
                  "All content successfully removed"},
    ConditionText{"NamespaceFinalizersRemaining", "ContentHasNoFinalizers",
                  "All content-preserving finalizers finished"},
};

struct Finding {
  std::string reason{};
  std::string message{};
};

void set_condition(std::vector<Condition>& conditions, const ConditionText& text,
                   const Finding& wrong, Time now) {
  auto at = std::find_if(conditions.begin(), conditions.end(),
                         [&](const Condition& c) { return c.type_ == text.type; });
  if (at == conditions.end()) at = conditions.insert(conditions.end(), Condition{});
  const std::string status = wrong.reason.empty() ? "False" : "True";
  if (at->status != status) at->lastTransitionTime = now.floor_seconds();
  at->type_ = std::string(text.type);
  at->status = status;
  at->reason = wrong.reason.empty() ? std::string(text.reason) : wrong.reason;
  at->message = wrong.reason.empty() ? std::string(text.message) : wrong.message;
}

}  // namespace

struct NamespaceLifecycle::Look {
  std::shared_ptr<Namespace> space;
  std::vector<const KindInfo*> kinds;  // pods first; what is done is taken from the front
  bool pods_left = false;
  std::int64_t grace = 0;     // seconds that the pods may still need
  std::int64_t estimate = 0;  // seconds until the rest may be gone
  std::vector<std::string> errors{};
  std::map<std::string, std::size_t> remaining{};   // by "configmaps." or "jobs.batch"
  std::map<std::string, std::size_t> finalizers{};  // by name
};

NamespaceLifecycle::NamespaceLifecycle(Loop& loop, api::ApiClient& client,
                                       api::SharedInformers& informers)
    : loop_(loop), client_(client), lane_(loop.new_lane()), part_(client, informers) {
  part_.hear(Namespace::info(), [this](const ObjectPtr& before, const ObjectPtr& after) {
    on_namespace(before, after);
  });
}

NamespaceLifecycle::~NamespaceLifecycle() = default;

void NamespaceLifecycle::start() { part_.begin(); }

void NamespaceLifecycle::crash() {
  part_.end();
  next_.clear();
  failures_.clear();
}

std::vector<std::string> NamespaceLifecycle::remembered() const {
  std::vector<std::string> names;
  for (const auto& [name, next] : next_) names.push_back(name);
  for (const auto& [name, failures] : failures_) names.push_back(name);
  return names;
}

void NamespaceLifecycle::on_namespace(const ObjectPtr& before, const ObjectPtr& after) {
  if (after == nullptr) {
    next_.erase(before->metadata.name.str());
    failures_.erase(before->metadata.name.str());
    return;
  }
  if (after->metadata.deletionTimestamp) schedule(after->metadata.name.str(), first_look);
}

void NamespaceLifecycle::schedule(const std::string& name, Duration delay) {
  Next& next = next_[name];
  const Time at = loop_.now() + delay;
  if (next.timer.pending() && next.at <= at) return;
  next = {at, loop_.after(lane_, delay, [this, name] { begin(name); })};
}

void NamespaceLifecycle::retry(const std::string& name) {
  const int failures = std::min(failures_[name]++, 20);
  schedule(name, std::min<Duration>(first_finalize_retry * (1LL << failures), last_finalize_retry));
}

void NamespaceLifecycle::begin(const std::string& name) {
  part_.call(api::get(Namespace::info(), {}, name), [this, name](Result<api::Response> answer) {
    if (!answer) {
      if (answer.error().reason != Reason::not_found) retry(name);
      return;
    }
    auto look = std::make_shared<Look>();
    look->space = std::static_pointer_cast<Namespace>(answer->object->clone());
    if (!look->space->metadata.deletionTimestamp || !holds(*look->space)) return;
    look->kinds.push_back(&Pod::info());
    for (const KindInfo* kind : client_.kinds().all())
      if (kind->namespaced && kind != &Pod::info()) look->kinds.push_back(kind);
    estimate_grace(look);
  });
}

// The longest grace of the pods that have not ended; none once the namespace has been going for
// that long.
void NamespaceLifecycle::estimate_grace(const LookPtr& look) {
  const ObjectMeta& space = look->space->metadata;
  part_.call(api::list(Pod::info(), space.name), [this, look](const Result<api::Response>& answer) {
    if (!answer) {
      look->errors.push_back(answer.error().message);
      look->kinds.erase(look->kinds.begin());
      return empty_next(look);
    }
    for (const ObjectPtr& object : answer->items) {
      const auto& pod = static_cast<const Pod&>(*object);
      if (is_terminal_phase(pod.status.phase)) continue;
      look->grace = std::max(look->grace, pod.spec->terminationGracePeriodSeconds.value_or(0));
    }
    const Duration since = loop_.now() - *look->space->metadata.deletionTimestamp;
    if (since >= std::chrono::seconds(look->grace)) look->grace = 0;
    empty_next(look);
  });
}

void NamespaceLifecycle::empty_next(const LookPtr& look) {
  if (look->kinds.empty() || look->pods_left) return conclude(look);
  const KindInfo& kind = *look->kinds.front();
  look->kinds.erase(look->kinds.begin());
  api::Request request;
  request.verb = api::Verb::remove_collection;
  request.target = {&kind, look->space->metadata.name, {}, {}};
  request.remove.edit().propagation = api::Propagation::background;
  part_.call(std::move(request), [this, look, &kind](const Result<api::Response>& answer) {
    if (answer) return count_rest(look, kind);
    look->errors.push_back(answer.error().message);
    if (&kind == &Pod::info()) look->estimate = std::max(look->estimate, look->grace);
    empty_next(look);
  });
}

// What is still there, and how long it may need. Of pods no condition tells.
void NamespaceLifecycle::count_rest(const LookPtr& look, const KindInfo& kind) {
  const Text& space = look->space->metadata.name;
  part_.call(api::list(kind, space),
             [this, look, &kind, &space](const Result<api::Response>& answer) {
               const bool pods = &kind == &Pod::info();
               std::int64_t estimate = pods ? look->grace : 0;
               if (!answer) {
                 look->errors.push_back(answer.error().message);
                 look->estimate = std::max(look->estimate, estimate);
                 return empty_next(look);
               }
               if (answer->items.empty()) return empty_next(look);
               look->pods_left = pods;
               bool held = false;
               for (const ObjectPtr& object : answer->items) {
                 for (const std::string& name : object->metadata.finalizers) {
                   if (!pods) ++look->finalizers[name];
                   held = true;
                 }
               }
               if (!pods)
                 look->remaining[kind.group.empty() ? kind.plural + "." : kind.resource()] =
                     answer->items.size();
               if (estimate == 0 && held) estimate = finalizer_estimate;
               if (estimate == 0)
                 look->errors.push_back(fmt::format(
                     "unexpected items still remain in namespace: {} for gvr: {}/{}, Resource={}",
                     space, kind.group, kind.version, kind.plural));
               look->estimate = std::max(look->estimate, estimate);
               empty_next(look);
             });
}

void NamespaceLifecycle::conclude(const LookPtr& look) {
  std::map<std::string_view, Finding> wrong;
  const auto list = [](const std::map<std::string, std::size_t>& counts, std::string_view format) {
    std::vector<std::string> parts;
    for (const auto& [name, count] : counts)
      parts.push_back(fmt::format(fmt::runtime(format), name, count));
    return fmt::format("{}", fmt::join(parts, ", "));
  };
  if (!look->remaining.empty())
    wrong["NamespaceContentRemaining"] = {
        "SomeResourcesRemain",
        "Some resources are remaining: " + list(look->remaining, "{} has {} resource instances")};
  if (!look->finalizers.empty())
    wrong["NamespaceFinalizersRemaining"] = {
        "SomeFinalizersRemain", "Some content in the namespace has finalizers remaining: " +
                                    list(look->finalizers, "{} in {} resource instances")};
  if (!look->errors.empty()) {
    std::vector<std::string> errors = look->errors;
    std::sort(errors.begin(), errors.end());
    wrong["NamespaceDeletionContentFailure"] = {
        "ContentDeletionFailed",
        fmt::format("Failed to delete all resource types, {} remaining: {}", errors.size(),
                    fmt::join(errors, ", "))};
  }
  for (const ConditionText& text : fine)
    set_condition(look->space->status.conditions, text, wrong[text.type], loop_.now());
  look->space->metadata.resourceVersion = {};
  part_.call(api::update(look->space, "status"), [this, look](const Result<api::Response>&) {
    const std::string name = look->space->metadata.name.str();
    if (!look->errors.empty()) return retry(name);
    if (look->estimate > 0) return schedule(name, std::chrono::seconds(look->estimate / 2 + 1));
    finalize(look);
  });
}

void NamespaceLifecycle::finalize(const LookPtr& look) {
  auto space = std::static_pointer_cast<Namespace>(look->space->clone());
  std::erase(space->spec.finalizers, finalizer);
  part_.call(api::update(space, "finalize"), [this, look](const Result<api::Response>& answer) {
    if (!answer && answer.error().reason != Reason::not_found)
      retry(look->space->metadata.name.str());
  });
}

}  // namespace ddptwin
