// What the TrainJob controller promises of its TrainJobs (spec/trainjob.md §7, §10.1, §11.10).
#include <fmt/format.h>

#include <array>

#include "objects/trainjob.hpp"
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

bool finished_makes_nothing(const Sight& sight, Verdicts& verdicts) {
  if (!is_of_trainjob(sight) || !sight.job->finished()) return false;
  if (sight.record->rule == "make_jobset")
    verdicts.violated(sight.job->text(),
                      fmt::format("{} has ended, and a JobSet is made for it", sight.job->text()));
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

// Of the container that torchrun runs in; null: it has none.
const EnvVar* variable_of_node(const Pod& pod, std::string_view name) {
  for (const Container& container : *pod.spec->containers) {
    if (container.name != "node") continue;
    for (const EnvVar& variable : container.env)
      if (variable.name == name) return &variable;
  }
  return nullptr;
}

bool nodes_are_counted_right(const Sight& sight, Verdicts& verdicts) {
  if (trainjob_of(sight) == nullptr || sight.record->kind != RecordKind::object_added ||
      sight.pod->type < 0)
    return false;
  const EnvVar* nodes = variable_of_node(*sight.pod->last, "PET_NNODES");
  const Workload::Group* group = sight.job->spec_of(sight.pod->type);
  if (nodes == nullptr || group == nullptr) return false;
  if (nodes->value != std::to_string(group->wanted))
    verdicts.violated(
        name_of(*sight.pod->last),
        fmt::format("{} is told of {} nodes, and {} has {}", name_of(*sight.pod->last),
                    nodes->value, sight.job->text(), group->wanted));
  return true;
}

constexpr std::uint32_t about_trainjobs = topics(Topic::job);

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
                 "", false, topics(Topic::rule), &finished_makes_nothing, nullptr, nullptr},
    InvariantRow{"trainjob-names-its-set", "I02",
                 "The JobSet of a TrainJob has its name and namespace.", "So there is one at most.",
                 "", false, about_trainjobs, &one_set_of_its_name, nullptr, nullptr},
    InvariantRow{"trainjob-leaves-running-sets", "I03",
                 "Trainer changes no JobSet that runs and goes on running.",
                 "It suspends and resumes one, and applies a suspended one again.", "", false,
                 about_trainjobs, &running_set_is_left_alone, nullptr, nullptr},
    InvariantRow{"trainjob-counts-nodes", "I04",
                 "PET_NNODES in a pod of a TrainJob is the number of pods that its nodes' Job "
                 "wants.",
                 "torchrun waits for as many; where another number is told it waits for ever, or "
                 "begins without some.",
                 "", false, topics(Topic::pod), &nodes_are_counted_right, nullptr, nullptr},
};

}  // namespace

std::span<const InvariantRow> trainjob_invariants() { return trainjob_rows; }

}  // namespace ddptwin::scenario
