// Gangs: a PodGroup of scheduler-plugins or of Volcano, and how pods say that they are of it
// (spec/trainjob.md §8).
#include "objects/pod_groups.hpp"

#include "controller/trainer/apply_values.hpp"
#include "controller/trainer/plugins.hpp"
#include "objects/codec.hpp"

namespace ddptwin::controller::trainer {
namespace {

namespace json = boost::json;

constexpr std::string_view queue_annotation = "scheduling.volcano.sh/queue-name";

bool coschedules(const Info& info) { return info.pod_group && info.pod_group->coscheduling; }
bool is_for_volcano(const Info& info) { return info.pod_group && info.pod_group->volcano; }

Quantity times(const Quantity& one, std::int32_t count) {
  return Quantity::from_nanos(one.nanos() * count, one.format());
}

// Initializers count, too, though they never run beside the training.
json::object members_of(const Info& info) {
  std::int32_t members = 0;
  ResourceList all;
  for (const PodSet& set : info.pod_sets) {
    members += set.count;
    for (const auto& [name, amount] : set.requests) {
      const auto [at, is_new] = all.emplace(name, times(amount, set.count));
      if (!is_new) at->second += times(amount, set.count);
    }
  }
  json::object resources;
  for (const auto& [name, amount] : all) resources[name] = amount.str();
  return json::object{{"minMember", members}, {"minResources", std::move(resources)}};
}

// One that is there stays as it is until the TrainJob is suspended.
bool is_to_be_built(const ObjectPtr& there, const TrainJob& job) {
  return there == nullptr || job.spec->is_suspended();
}

// The last replicated job's that names one.
std::string_view priority_class_of(Info& info) {
  std::string_view found;
  json::array* jobs = find_list(info.spec, "replicatedJobs");
  if (jobs == nullptr) return found;
  for (json::value& one : *jobs)
    if (const auto name = text_in(pod_spec_of(one.get_object()), "priorityClassName");
        !name.empty())
      found = name;
  return found;
}

}  // namespace

void enforce_coscheduling(Info& info, const TrainJob& job) {
  if (coschedules(info))
    info.pod_labels.insert_or_assign(Text(coscheduling_label), job.metadata.name);
}
void enforce_volcano(Info& info, const TrainJob& job) {
  if (is_for_volcano(info))
    info.pod_annotations.insert_or_assign(Text(volcano_annotation), job.metadata.name);
}

void build_coscheduling(Info& info, const TrainJob& job, const Existing& there, Random,
                        std::vector<Applied>& objects) {
  if (!coschedules(info) || !is_to_be_built(there.coscheduling_group, job)) return;
  constexpr std::int32_t default_timeout = 60;
  json::object spec = members_of(info);
  spec["scheduleTimeoutSeconds"] =
      info.pod_group->coscheduling->scheduleTimeoutSeconds.value_or(default_timeout);
  json::object body = new_body(CoschedulingGroup::info(), job.metadata.name.str(), job);
  body["spec"] = std::move(spec);
  objects.push_back({&CoschedulingGroup::info(), std::move(body), there.coscheduling_group});
}

void build_volcano(Info& info, const TrainJob& job, const Existing& there, Random,
                   std::vector<Applied>& objects) {
  if (!is_for_volcano(info) || !is_to_be_built(there.volcano_group, job)) return;
  json::object spec = members_of(info);
  if (const auto queue = info.annotations.find(queue_annotation); queue != info.annotations.end())
    spec["queue"] = queue->second.view();
  if (const std::string_view name = priority_class_of(info); !name.empty())
    spec["priorityClassName"] = name;
  if (const auto& topology = info.pod_group->volcano->networkTopology)
    spec["networkTopology"] = json::object{
        {"mode", topology->mode}, {"highestTierAllowed", topology->highestTierAllowed.value_or(1)}};
  json::object body = new_body(VolcanoGroup::info(), job.metadata.name.str(), job);
  body["spec"] = std::move(spec);
  objects.push_back({&VolcanoGroup::info(), std::move(body), there.volcano_group});
}

}  // namespace ddptwin::controller::trainer
