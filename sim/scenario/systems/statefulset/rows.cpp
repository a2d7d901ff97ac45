// What the StatefulSet controller promises of its pods, and what follows from
// it for a training in them that takes its rank from its name
// (spec/statefulset-platform.md §9). That one ordinal has one pod (H-INV-4) is
// no-duplicates of all workloads; that a name resolves to its pod (H-INV-6) the
// DNS' own tests show, and that a training is reached again after faults
// (H-INV-8) explore.
#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "core/numbers.hpp"
#include "scenario/systems/statefulset/parts.hpp"

namespace ddptwin::scenario {
namespace {

using namespace invariants;

constexpr std::array<std::string_view, 4> shared_variables{"SVC_NAME", "POD_NUMS", "POD_PORT",
                                                           "POD_NAMESPACE"};

const StatefulSet& set_of(const Sight& sight) { return *as<StatefulSet>(*sight.job->last); }

// The last of that name counts; null: its first container has none.
const EnvVar* variable_of(const Pod& pod, std::string_view name) {
  const EnvVar* found = nullptr;
  if (pod.spec->containers.empty()) return found;
  for (const EnvVar& one : pod.spec->containers.front().env)
    if (one.name == name) found = &one;
  return found;
}

// What the start script takes for the rank: what is behind the last dash.
std::optional<std::int64_t> ordinal_of(const Pod& pod) {
  const std::string_view name = pod.metadata.name.view();
  const std::size_t dash = name.rfind('-');
  return dash == name.npos ? std::nullopt : whole_number<std::int64_t>(name.substr(dash + 1));
}

// Of a set whose ordinals begin at 0, and a pod that was told as many as there
// are to be.
bool ranks_fit(const Sight& sight, Verdicts& verdicts) {
  if (!is_new_pod(sight)) return false;
  const EnvVar* told = variable_of(*sight.pod->last, "POD_NUMS");
  const auto nums = told == nullptr ? std::nullopt : whole_number<std::int64_t>(told->value);
  const Workload::Group& group = sight.job->traits.groups.front();
  if (!nums || group.first != 0 || *nums != group.wanted) return false;
  const Pod& pod = *sight.pod->last;
  const auto rank = ordinal_of(pod);
  if (!rank || *rank < 0 || *rank >= *nums)
    verdicts.violated(name_of(pod), fmt::format("{} was told of {} pods, and its name gives it no "
                                                "rank among them",
                                                name_of(pod), *nums));
  return true;
}

bool is_same_value(const EnvVar* a, const EnvVar* b) {
  if (a == nullptr || b == nullptr) return a == b;
  return a->value == b->value && a->valueFrom.has_value() == b->valueFrom.has_value();
}

bool one_revision_is_told_alike(const Sight& sight, Verdicts& verdicts) {
  if (!is_new_pod(sight)) return false;
  constexpr std::string_view revision = "controller-revision-hash";
  const Pod& pod = *sight.pod->last;
  const Text* own = pod.metadata.label(revision);
  bool any = false;
  for (const PodFacts* other : sight.job->pods) {
    const Text* its = other->last->metadata.label(revision);
    if (other == sight.pod || own == nullptr || its == nullptr || *its != *own) continue;
    any = true;
    for (const std::string_view name : shared_variables)
      if (!is_same_value(variable_of(pod, name), variable_of(*other->last, name))) {
        verdicts.violated(name_of(pod), fmt::format("{} and {} are of one revision, and their {} "
                                                    "differ",
                                                    name_of(pod), name_of(*other->last), name));
        return true;
      }
  }
  return any;
}

bool names_are_of_their_place(const Sight& sight, Verdicts& verdicts) {
  if (!is_new_pod(sight)) return false;
  const Pod& pod = *sight.pod->last;
  const StatefulSet& set = set_of(sight);
  const std::string wanted =
      fmt::format("{}-{}", set.metadata.name, index_of(pod.metadata, *sight.job->reader));
  if (pod.metadata.name.view() != wanted)
    verdicts.violated(name_of(pod),
                      fmt::format("{} stands where {} belongs", name_of(pod), wanted));
  else if (pod.spec->rest->hostname != wanted || pod.spec->rest->subdomain != set.spec->serviceName)
    verdicts.violated(
        name_of(pod),
        fmt::format("{} is {}.{} in the DNS, and not {}.{}", name_of(pod), pod.spec->rest->hostname,
                    pod.spec->rest->subdomain, wanted, set.spec->serviceName));
  return true;
}

// A cache may show a pod that has just gone, and one as Ready that no longer
// is: each has been.
bool made_in_order(const Sight& sight, Verdicts& verdicts) {
  if (!is_new_pod(sight) || set_of(sight).spec->podManagementPolicy == "Parallel") return false;
  const auto& replicas = sight.job->type(sight.pod->type).replicas;
  for (int lower = 0; lower < sight.pod->index; ++lower) {
    const ReplicaFacts& before = replicas[static_cast<std::size_t>(lower)];
    const bool was_ready = before.pods.empty() ? before.created > 0 : before.pods.back()->was_ready;
    if (was_ready) continue;
    verdicts.violated(name_of(*sight.pod->last),
                      fmt::format("{} is made before the pod {} places below it has been Ready",
                                  name_of(*sight.pod->last), sight.pod->index - lower));
    return true;
  }
  return true;
}

// Before anything has ended, gone or changed: who joins late still joins the
// first.
bool one_group_undisturbed(const Sight& sight, Verdicts& verdicts) {
  if (sight.job == nullptr || sight.line->kind != WorkerLine::Kind::joined) return false;
  const JobFacts& job = *sight.job;
  const auto& replicas = job.type(0).replicas;
  const bool is_new = job.restarts + job.followed == 0 && job.worlds.size() == 1 &&
                      job.last->metadata.generation <= 1 && !sight.facts.was_disturbed() &&
                      std::all_of(replicas.begin(), replicas.end(),
                                  [](const ReplicaFacts& one) { return one.created <= 1; });
  // The next life of a container joins before its pod's status tells of it.
  const auto has_ended_once = [](const PodFacts* pod) {
    return std::any_of(pod->containers.begin(), pod->containers.end(),
                       [](const auto& container) { return container.starts > 1; });
  };
  if (!is_new || std::any_of(job.pods.begin(), job.pods.end(), has_ended_once)) return false;
  if (job.group.generation > 1)
    verdicts.violated(job.text(), fmt::format("the ranks of {} form a group of {} beside another, "
                                              "though nothing has gone wrong",
                                              job.text(), job.group.world));
  return true;
}

bool environment_stays(const Sight& sight, Verdicts& verdicts) {
  if (!is_change(sight) || sight.pod == nullptr || sight.pod->type < 0) return false;
  const auto& before = static_cast<const Pod&>(*sight.record->before).spec;
  const auto& after = sight.pod->last->spec;
  if (before.same_as(after) || before->containers.same_as(after->containers)) return true;
  for (std::size_t i = 0; i < after->containers.size(); ++i) {
    const auto& env = after->containers[i].env;
    const bool same =
        i < before->containers.size() &&
        std::equal(env.begin(), env.end(), before->containers[i].env.begin(),
                   before->containers[i].env.end(), [](const EnvVar& a, const EnvVar& b) {
                     return a.name == b.name && is_same_value(&a, &b);
                   });
    if (same) continue;
    verdicts.violated(name_of(*sight.pod->last),
                      fmt::format("the environment of {}/{} changes while the pod lives",
                                  name_of(*sight.pod->last), after->containers[i].name));
  }
  return true;
}

constexpr std::uint32_t after_pods = topics(Topic::pod);

constexpr std::array set_promises{
    InvariantRow{"set-ranks-fit", "H-INV-1",
                 "The ranks that a set's pods take from their names are within "
                 "its world.",
                 "Of a set whose ordinals begin at 0 and a pod whose POD_NUMS "
                 "is the number of "
                 "replicas that the set asks for now: what is behind the last "
                 "dash of its name is "
                 "at least 0 and below that.",
                 "", false, after_pods, &ranks_fit, nullptr, nullptr},
    InvariantRow{"set-told-alike", "H-INV-2",
                 "Pods of one revision are told of the same rendezvous.",
                 "SVC_NAME, POD_NUMS, POD_PORT and POD_NAMESPACE are alike in "
                 "all of them, so that "
                 "they work out one MASTER_ADDR, MASTER_PORT and WORLD_SIZE.",
                 "", false, after_pods, &one_revision_is_told_alike, nullptr, nullptr},
    InvariantRow{"set-names-stay", "H-INV-3",
                 "A set's pod has the name and the host name of its ordinal.",
                 "Whoever is made anew in its place is SET-ORDINAL again, in "
                 "the DNS below the "
                 "set's serviceName.",
                 "", false, after_pods, &names_are_of_their_place, nullptr, nullptr},
    InvariantRow{"set-made-in-order", "H-INV-5",
                 "Under OrderedReady a pod is made when all below it have been Ready.",
                 "Whether they still are a cache need not know; a pod that never was "
                 "Ready holds "
                 "up those behind it.",
                 "", false, after_pods, &made_in_order, nullptr, nullptr},
    InvariantRow{"set-one-group", "H-INV-7",
                 "Where nothing goes wrong the ranks of a set form one process group.",
                 "As long as no container has ended, no pod was made anew, the set's "
                 "spec is as it "
                 "was made and nothing is kept broken on purpose.",
                 "", false, topics(Topic::log), &one_group_undisturbed, nullptr, nullptr},
    InvariantRow{"set-environment-stays", "H-INV-9",
                 "The environment of a pod is the same all its life.",
                 "A new number of pods reaches new pods alone.", "", false, after_pods,
                 &environment_stays, nullptr, nullptr},
};

}  // namespace

std::span<const InvariantRow> statefulset_invariants() { return set_promises; }

}  // namespace ddptwin::scenario
