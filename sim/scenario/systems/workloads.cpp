#include "scenario/systems/workloads.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <boost/json/value.hpp>

#include "objects/codec.hpp"
#include "objects/kinds.hpp"
#include "scenario/systems/system.hpp"

namespace ddptwin::scenario {
namespace {

const ToldCondition* find_type(const std::vector<ToldCondition>& conditions,
                               std::string_view type) {
  const auto found =
      std::find_if(conditions.begin(), conditions.end(),
                   [type](const ToldCondition& condition) { return condition.type == type; });
  return found == conditions.end() ? nullptr : &*found;
}

Outcome outcome_of_pod(const Pod& pod) {
  if (pod.status.phase == "Succeeded") return Outcome::succeeded;
  return pod.status.phase == "Failed" ? Outcome::failed : Outcome::open;
}

void replace_first(std::string& text, std::string_view what, std::string_view by) {
  if (const std::size_t at = text.find(what); at != text.npos) text.replace(at, what.size(), by);
}

// "PyTorchJob j is failed because 1 Master replica(s) failed." says the job's name and kind once
// more: "1 Master replica failed".
std::string shortened(std::string_view message, const Object& object) {
  std::string text(message);
  const std::string name = object.metadata.name.str();
  for (const std::string& beginning :
       {fmt::format("{} {} is failed because ", object.kind().kind, name),
        fmt::format("Job {} has failed because ", name)})
    if (text.starts_with(beginning)) text.erase(0, beginning.size());
  replace_first(text, "replica(s)", text.starts_with("1 ") ? "replica" : "replicas");
  while (text.ends_with('.')) text.pop_back();
  return text;
}

std::string end_of_job(const JobKind& row, const Object& object) {
  const auto conditions = held_conditions(row, object);
  for (const std::string_view type : {row.failure, row.success}) {
    const ToldCondition* found = find_type(conditions, type);
    if (found == nullptr) continue;
    if (type == row.success || found->message.empty()) return std::string(type);
    // "PyTorchJobFailed" says no more than the kind and the type do.
    const bool tells = !found->reason.empty() && !found->reason.starts_with(object.kind().kind);
    return fmt::format("{}{}{}: {}", type, tells ? ", " : "", tells ? found->reason : "",
                       shortened(found->message, object));
  }
  std::vector<std::string_view> types;
  for (const ToldCondition& condition : conditions) types.push_back(condition.type);
  return types.empty() ? "has no condition yet" : fmt::format("{}", fmt::join(types, ", "));
}

std::string end_of_pod(const Pod& pod) {
  if (pod.status.phase.empty()) return "Pending";
  const bool ready = runs_for_ever(pod) && has_succeeded(pod);
  return ready ? "Running and Ready" : pod.status.phase.str();
}

}  // namespace

std::span<const JobKind> job_kinds() {
  static const std::vector<JobKind> kinds = [] {
    std::vector<JobKind> rows;
    for (const System* system : all_workload_rows())
      rows.insert(rows.end(), system->jobs.begin(), system->jobs.end());
    return rows;
  }();
  return kinds;
}

std::vector<ToldCondition> held_conditions(const JobKind& kind, const Object& object) {
  std::vector<ToldCondition> held = kind.conditions(object);
  std::erase_if(held, [](const ToldCondition& one) { return !one.holds(); });
  return held;
}

const JobKind* job_kind(const KindInfo& kind) {
  for (const JobKind& row : job_kinds())
    if (&row.info() == &kind) return &row;
  return nullptr;
}

std::span<const StandingKind> standing_kinds() {
  static const std::vector<StandingKind> kinds = [] {
    std::vector<StandingKind> rows;
    for (const System* system : all_workload_rows())
      rows.insert(rows.end(), system->standing.begin(), system->standing.end());
    return rows;
  }();
  return kinds;
}

const StandingKind* standing_kind(const KindInfo& kind) {
  for (const StandingKind& row : standing_kinds())
    if (&row.info() == &kind) return &row;
  return nullptr;
}

bool is_workload(const KindInfo& kind) {
  return job_kind(kind) != nullptr || standing_kind(kind) != nullptr;
}

Outcome outcome_of(const Object& object) {
  if (const Pod* pod = as<Pod>(object)) return outcome_of_pod(*pod);
  const JobKind* row = job_kind(object.kind());
  if (row == nullptr) return Outcome::open;
  const auto conditions = held_conditions(*row, object);
  if (find_type(conditions, row->failure) != nullptr) return Outcome::failed;
  return find_type(conditions, row->success) != nullptr ? Outcome::succeeded : Outcome::open;
}

bool runs_for_ever(const Object& object) {
  const Pod* pod = as<Pod>(object);
  if (pod == nullptr) return standing_kind(object.kind()) != nullptr;
  const std::string& policy = pod->spec->restartPolicy;
  return policy.empty() || policy == "Always";  // admission fills in the default
}

bool has_succeeded(const Object& object) {
  if (outcome_of(object) == Outcome::succeeded) return true;
  if (!runs_for_ever(object)) return false;
  if (const StandingKind* row = standing_kind(object.kind())) return row->stands(object);
  const PodStatus& status = as<Pod>(object)->status;
  const PodCondition* ready = status.condition("Ready");
  return status.phase == "Running" && ready != nullptr && ready->status == "True";
}

bool is_suspended(const Object& object) {
  const JobKind* row = job_kind(object.kind());
  if (row == nullptr) return false;
  const Json whole = encode(object);
  const boost::json::value* at = &whole;
  for (const std::string_view field : row->suspend) {
    const boost::json::object* members = at->if_object();
    at = members != nullptr
             ? members->if_contains(boost::json::string_view(field.data(), field.size()))
             : nullptr;
    if (at == nullptr) return false;
  }
  return at->is_bool() && at->as_bool();
}

std::string end_text(const Object& object) {
  if (const Pod* pod = as<Pod>(object)) return end_of_pod(*pod);
  if (const StandingKind* row = standing_kind(object.kind())) return row->text(object);
  const JobKind* row = job_kind(object.kind());
  return row != nullptr ? end_of_job(*row, object) : "exists";
}

}  // namespace ddptwin::scenario
