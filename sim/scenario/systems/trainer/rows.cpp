// What the TrainJob controller promises of its TrainJobs (spec/trainjob.md §7, §10.1, §11.10).
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <optional>

#include "core/concat.hpp"
#include "core/numbers.hpp"
#include "objects/trainjob.hpp"
#include "objects/yaml.hpp"
#include "scenario/systems/actors.hpp"
#include "scenario/systems/trainer/parts.hpp"

namespace ddptwin::scenario {
namespace {

using namespace invariants;

// Records of the JobSet that a TrainJob made, and of its pods, are about the JobSet.
bool is_of_trainjob(const Sight& sight) {
  return sight.job != nullptr && sight.job->reader == &trainjob_reader;
}
// The TrainJob that made the record's workload; null: none did.
const JobFacts* trainjob_of(const Sight& sight) {
  return sight.job == nullptr ? nullptr : sight.facts.maker_of(*sight.job->last);
}

std::string_view told_by_trainjob(const Object& object, std::string_view type) {
  const auto& status = as<TrainJob>(object)->status;
  if (!status) return {};
  for (const JobSetCondition& one : status->conditions)
    if (one.type_ == type) return one.status;
  return {};
}

bool complete_stays(const Sight& sight, Verdicts& verdicts) {
  if (!is_of_trainjob(sight) || !is_change(sight)) return false;
  if (told_by_trainjob(*sight.record->before, "Complete") != "True") return false;
  if (told_by_trainjob(*sight.record->after, "Complete") != "True")
    verdicts.violated(sight.job->text(),
                      fmt::format("{} was Complete, and is not any more", sight.job->text()));
  return true;
}

bool trainjob_resumes_after_pause(const Sight& sight, Verdicts& verdicts) {
  if (!is_of_trainjob(sight) || !is_change(sight)) return false;
  if (told_by_trainjob(*sight.record->after, "Suspended") != "False") return false;
  if (told_by_trainjob(*sight.record->before, "Suspended").empty())
    verdicts.violated(
        sight.job->text(),
        fmt::format("{} says that it was resumed, and never said Suspended", sight.job->text()));
  return true;
}

// The record is about a JobSet of a TrainJob.
bool is_about_its_set(const Sight& sight) {
  return trainjob_of(sight) != nullptr && sight.record->after != nullptr &&
         as<JobSet>(*sight.record->after) != nullptr;
}

bool one_set_of_its_name(const Sight& sight, Verdicts& verdicts) {
  if (!is_about_its_set(sight)) return false;
  const JobFacts& job = *trainjob_of(sight);
  const ObjectMeta& set = sight.record->after->metadata;
  if (set.name != job.last->metadata.name || set.namespace_ != job.last->metadata.namespace_)
    verdicts.violated(sight.job->text(), fmt::format("{} is of {} and has another name",
                                                     sight.job->text(), job.text()));
  return true;
}

bool finished_makes_nothing(const Sight& sight, Verdicts& verdicts) {
  if (!is_about_its_set(sight) || sight.record->kind != RecordKind::object_added) return false;
  const JobFacts& job = *trainjob_of(sight);
  if (job.finished())
    verdicts.violated(job.text(),
                      fmt::format("{} has ended, and a JobSet is made for it", job.text()));
  return true;
}

// At rest, a TrainJob and the one JobSet that it has; null: another number of them.
const JobFacts* set_at_rest(const Sight& sight) {
  if (!is_of_trainjob(sight) || !has_settled(sight) || sight.facts.disturbed()) return nullptr;
  return sight.job->made.size() == 1 ? sight.job->made.front() : nullptr;
}

bool suspension_is_handed_on(const Sight& sight, Verdicts& verdicts) {
  const JobFacts* set = set_at_rest(sight);
  if (set == nullptr || sight.job->finished()) return false;
  if (set->suspended() != sight.job->suspended())
    verdicts.violated(sight.job->text(),
                      fmt::format("{} is {}to be suspended, and {} is {}", sight.job->text(),
                                  sight.job->suspended() ? "" : "not ", set->text(),
                                  set->suspended() ? "" : "not"));
  return true;
}

const JobSetCondition* condition_told(const Object& object, std::string_view type) {
  const auto& status = as<TrainJob>(object)->status;
  if (!status) return nullptr;
  for (const JobSetCondition& one : status->conditions)
    if (one.type_ == type) return &one;
  return nullptr;
}

// Failures that no JobSet tells of.
constexpr std::array<std::string_view, 2> own_failures{"DeadlineExceeded",
                                                       "TrainingRuntimeNotSupported"};

bool ends_as_its_set(const Sight& sight, Verdicts& verdicts) {
  if (!is_of_trainjob(sight)) return false;
  const bool succeeded = now_succeeded(sight), failed = now_failed(sight);
  if (!succeeded && !failed) return false;
  const JobFacts& job = *sight.job;
  const std::string_view end = succeeded ? "Complete" : "Failed";
  const JobSetCondition* told = condition_told(*job.last, end);
  const bool of_its_own =
      failed && told != nullptr &&
      std::find(own_failures.begin(), own_failures.end(), told->reason) != own_failures.end();
  if (of_its_own) return true;
  if (succeeded ? !job.made_succeeded : !job.made_failed)
    verdicts.violated(job.text(),
                      fmt::format("{} is {}, and no JobSet of it was", job.text(), end));
  return true;
}

bool counters_are_handed_on(const Sight& sight, Verdicts& verdicts) {
  const JobFacts* set = set_at_rest(sight);
  if (set == nullptr) return false;
  const auto& status = as<TrainJob>(*sight.job->last)->status;
  const auto& of_set = as<JobSet>(*set->last)->status;
  // Trainer v2.0 tells of none.
  if (!status || status->jobsStatus.empty() || !of_set) return false;
  for (const ReplicatedJobStatus& one : of_set->replicatedJobsStatus) {
    const auto told =
        std::find_if(status->jobsStatus.begin(), status->jobsStatus.end(),
                     [&one](const TrainJobJobStatus& job) { return job.name == one.name; });
    const auto numbers = [](const auto& of) {
      return std::array{of.ready, of.succeeded, of.failed, of.active, of.suspended};
    };
    if (told == status->jobsStatus.end() || numbers(*told) != numbers(one))
      verdicts.violated(sight.job->text(),
                        fmt::format("{} tells otherwise of the Jobs of {} than {}",
                                    sight.job->text(), one.name, set->text()));
  }
  return true;
}

bool deadline_ends_its_set(const Sight& sight, Verdicts& verdicts) {
  if (!is_of_trainjob(sight) || !has_settled(sight) || sight.facts.disturbed()) return false;
  const JobSetCondition* failed = condition_told(*sight.job->last, "Failed");
  if (failed == nullptr || failed->status != "True" || failed->reason != own_failures.front())
    return false;
  for (const JobFacts* set : sight.job->made)
    if (!set->last->metadata.deletionTimestamp)
      verdicts.violated(sight.job->text(),
                        fmt::format("{} has exceeded its deadline, and {} is still there",
                                    sight.job->text(), set->text()));
  return true;
}

bool suspends(const Object& object) { return as<JobSet>(object)->spec->suspend.value_or(false); }

bool running_set_is_left_alone(const Sight& sight, Verdicts& verdicts) {
  if (!is_about_its_set(sight) || !is_change(sight) || sight.record->actor != trainer_actor)
    return false;
  const Object &was = *sight.record->before, &is = *sight.record->after;
  if (was.metadata.generation == is.metadata.generation) return false;
  if (!suspends(was) && !suspends(is))
    verdicts.violated(sight.job->text(),
                      fmt::format("{} ran, and was changed by Trainer", sight.job->text()));
  return true;
}

// Of the container that torchrun runs in, the last of that name; null: it has none.
const EnvVar* variable_of_node(const Pod& pod, std::string_view name) {
  const EnvVar* found = nullptr;
  for (const Container& container : *pod.spec->containers)
    if (container.name == "node")
      for (const EnvVar& variable : container.env)
        if (variable.name == name) found = &variable;
  return found;
}

// What the runtime says, by the snapshot that the TrainJob has of it (from v2.3 on); null: it has
// none.
Json runtime_of(const JobFacts& job) {
  const std::string name = concat({job.last->metadata.name, "-runtime-snapshot"});
  for (const ObjectPtr& one : job.things) {
    const ConfigMap* map = as<ConfigMap>(*one);
    if (map == nullptr || map->metadata.name != name) continue;
    const auto text = map->data->find("runtime");
    if (text == map->data->end()) continue;
    const auto documents = parse_yaml(text->second, "runtime");
    if (documents && !documents->empty()) return documents->front().value;
  }
  return nullptr;
}

// Null: it has no such member.
const Json* member_of(const Json* value, std::string_view name) {
  const auto* object = value == nullptr ? nullptr : value->if_object();
  return object == nullptr ? nullptr : object->if_contains(name);
}

// How many nodes it is to have (spec/trainjob.md §2.5, §3.2); nothing: nobody says so here.
std::optional<std::int64_t> nodes_asked_for(const JobFacts& job) {
  const auto& trainer = as<TrainJob>(*job.last)->spec->trainer;
  if (trainer && trainer->numNodes) return *trainer->numNodes;
  const Json runtime = runtime_of(job);
  const Json* policy = member_of(member_of(&runtime, "spec"), "mlPolicy");
  if (policy == nullptr || !policy->is_object()) return std::nullopt;
  const Json* nodes = member_of(policy, "numNodes");
  return nodes != nullptr && nodes->is_int64() ? nodes->get_int64() : 1;
}

// Plugin torch puts all of them, or none; by its user a pod may have any.
bool is_torch_node(const Pod& pod) {
  const EnvVar* rank = variable_of_node(pod, "PET_NODE_RANK");
  return rank != nullptr && rank->valueFrom && variable_of_node(pod, "PET_MASTER_ADDR") != nullptr;
}

bool nodes_are_counted_right(const Sight& sight, Verdicts& verdicts) {
  const JobFacts* job = trainjob_of(sight);
  if (job == nullptr || sight.record->kind != RecordKind::object_added || sight.pod->type < 0)
    return false;
  const Pod& pod = *sight.pod->last;
  const EnvVar* nodes = variable_of_node(pod, "PET_NNODES");
  const Workload::Group* group = sight.job->spec_of(sight.pod->type);
  if (nodes == nullptr || group == nullptr || !is_torch_node(pod)) return false;
  const auto told = whole_number<std::int64_t>(nodes->value);
  if (!told) return false;  // "1:4"
  if (*told != group->wanted)
    verdicts.violated(name_of(pod),
                      fmt::format("{} is told of {} nodes, and {} has {}", name_of(pod), *told,
                                  sight.job->text(), group->wanted));
  const auto asked = nodes_asked_for(*job);
  if (asked && *told != *asked)
    verdicts.violated(name_of(pod), fmt::format("{} is told of {} nodes, and {} asks for {}",
                                                name_of(pod), *told, job->text(), *asked));
  return true;
}

constexpr std::uint32_t about_trainjobs = topics(Topic::job), only_at_rest = 0;

constexpr std::array trainjob_rows{
    InvariantRow{"trainjob-complete-stays", "I09", "A TrainJob that is Complete stays so.",
                 "Its JobSet may go: its status stays as it is.", "", false, about_trainjobs,
                 &complete_stays, nullptr, nullptr},
    InvariantRow{"trainjob-resumes-after-suspension", "I16",
                 "A TrainJob says Suspended False only after Suspended True.",
                 "What was never suspended has no such condition.", "", false, about_trainjobs,
                 &trainjob_resumes_after_pause, nullptr, nullptr},
    InvariantRow{"trainjob-finished-makes-nothing", "spec/trainjob.md §2.1",
                 "No JobSet is made for a TrainJob that has ended.",
                 "Trainer v2.1 to v2.3 break it: a TrainJob whose JobSet goes (by "
                 "ttlSecondsAfterFinished, or by hand) gets another one and runs again; v2.1 a "
                 "Complete one too, v2.2 and v2.3 a failed one.",
                 "kubeflow/trainer#2981, #3737", false, about_trainjobs, &finished_makes_nothing,
                 nullptr, nullptr},
    InvariantRow{"trainjob-names-its-set", "I02",
                 "The JobSet of a TrainJob has its name and namespace.", "So there is one at most.",
                 "", false, about_trainjobs, &one_set_of_its_name, nullptr, nullptr},
    InvariantRow{"trainjob-leaves-running-sets", "I03",
                 "Trainer changes no JobSet that runs and goes on running.",
                 "It suspends and resumes one, and applies a suspended one again.", "", false,
                 about_trainjobs, &running_set_is_left_alone, nullptr, nullptr},
    InvariantRow{"trainjob-counts-nodes", "I04",
                 "PET_NNODES in a pod of a TrainJob is the number of nodes that it asks for, and "
                 "that its Job has.",
                 "trainer.numNodes, or else the runtime's mlPolicy. torchrun waits for as many: "
                 "where another number is told it waits for ever, or begins without some.",
                 "", false, topics(Topic::pod), &nodes_are_counted_right, nullptr, nullptr},
    InvariantRow{"trainjob-hands-on-suspension", "I13",
                 "At rest the JobSet of a TrainJob is suspended where the TrainJob is, and only "
                 "there.",
                 "Of a TrainJob that has not ended.", "", false, only_at_rest, nullptr,
                 &suspension_is_handed_on, nullptr},
    InvariantRow{"trainjob-ends-as-its-set", "I09",
                 "A TrainJob is Complete only where its JobSet is, and Failed only where that is.",
                 "Or for DeadlineExceeded and TrainingRuntimeNotSupported, which are its own.", "",
                 false, about_trainjobs, &ends_as_its_set, nullptr, nullptr},
    InvariantRow{"trainjob-tells-its-jobs", "I11",
                 "At rest a TrainJob's jobsStatus is what its JobSet tells of its Jobs.",
                 "By name, all five numbers. Trainer v2.0 has none.", "", false, only_at_rest,
                 nullptr, &counters_are_handed_on, nullptr},
    InvariantRow{
        "trainjob-deadline-ends-its-set", "spec/trainjob.md §7.4",
        "At rest a TrainJob that exceeded its deadline has no JobSet.",
        "Whatever crashed between the failure and the deletion: pods that train on may end "
        "well, and then it has both ends.",
        "", false, only_at_rest, nullptr, &deadline_ends_its_set, nullptr},
};

}  // namespace

std::span<const InvariantRow> trainjob_invariants() { return trainjob_rows; }

}  // namespace ddptwin::scenario
