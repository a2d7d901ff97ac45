#include "controller/trainer/info.hpp"

#include <algorithm>
#include <map>

#include "cluster/pods/resources.hpp"
#include "controller/trainer/apply_values.hpp"
#include "controller/trainer/names.hpp"
#include "objects/codec.hpp"
#include "objects/patch.hpp"

namespace ddptwin::controller::trainer {
namespace {

namespace json = boost::json;

// ---- labels and patches ------------------------------------------------------------------------

void overlay(StringMap& on, const StringMap& with) {
  for (const auto& [key, value] : with) on.insert_or_assign(key, value);
}

const JobSetTemplatePatch* template_of(const RuntimePatch& patch) {
  const auto& spec = patch.trainingRuntimeSpec;
  return spec && spec->template_ ? &*spec->template_ : nullptr;
}

void take_metadata(Info& info, const TrainJob& job, const JobSetTemplateSpec& from) {
  info.labels = *from.metadata.labels;
  info.annotations = *from.metadata.annotations;
  if (job.spec->labels) overlay(info.labels, *job.spec->labels);
  if (job.spec->annotations) overlay(info.annotations, *job.spec->annotations);
  for (const RuntimePatch& patch : job.spec->runtimePatches) {
    const JobSetTemplatePatch* part = template_of(patch);
    if (part == nullptr || !part->metadata) continue;
    overlay(info.labels, *part->metadata->labels);
    overlay(info.annotations, *part->metadata->annotations);
  }
}

// A patch that names a replicated job that there is not makes one, and the first of all.
Result<JobSetSpec> with_patch(const JobSetSpec& spec, const JobSetSpecPatch& patch) {
  TRY(const Json merged, apply_strategic_patch(JobSetSpec::type(), to_json(spec), to_json(patch)));
  return from_json<JobSetSpec>(merged);
}

// v2.0 and v2.1: each of the target jobs, or all where none is named.
JobSetSpecPatch patch_of_targets(const std::vector<NamedItem>& targets, const JobSetSpec& spec,
                                 const PodTemplatePatch& pod) {
  JobSetSpecPatch patch;
  for (const ReplicatedJob& one : spec.replicatedJobs) {
    const bool meant = targets.empty() ||
                       std::any_of(targets.begin(), targets.end(), [&one](const NamedItem& target) {
                         return target.name == one.name;
                       });
    if (!meant) continue;
    ReplicatedJobPatch& job = patch.replicatedJobs.emplace_back();
    job.name = one.name;
    job.template_.emplace().spec.emplace().template_ = pod;
  }
  return patch;
}

std::vector<JobSetSpecPatch> patches_of(const TrainJob& job, const JobSetSpec& spec) {
  std::vector<JobSetSpecPatch> patches;
  for (const PodSpecOverride& one : job.spec->podSpecOverrides)
    patches.push_back(patch_of_targets(one.targetJobs, spec, {{}, one.patch}));
  for (const PodTemplateOverride& one : job.spec->podTemplateOverrides)
    patches.push_back(patch_of_targets(one.targetJobs, spec, {one.metadata, one.spec}));
  for (const RuntimePatch& one : job.spec->runtimePatches)
    if (const JobSetTemplatePatch* part = template_of(one); part != nullptr && part->spec)
      patches.push_back(*part->spec);
  return patches;
}

Result<JobSetSpec> patched_spec(const TrainJob& job, const JobSetSpec& from) {
  std::map<std::string, std::size_t, std::less<>> places;
  for (const ReplicatedJob& one : from.replicatedJobs) places.emplace(one.name, places.size());
  JobSetSpec spec = from;
  for (const JobSetSpecPatch& patch : patches_of(job, from)) {
    TRY(spec, with_patch(spec, patch));
  }
  const auto place_of = [&places](const ReplicatedJob& one) {
    const auto found = places.find(one.name);
    return found == places.end() ? 0 : found->second;
  };
  std::stable_sort(spec.replicatedJobs.begin(), spec.replicatedJobs.end(),
                   [&](const auto& a, const auto& b) { return place_of(a) < place_of(b); });
  return spec;
}

// ---- resources ---------------------------------------------------------------------------------

ResourceRequirements merged(const ResourceRequirements& base, const ResourceRequirements& said,
                            const Profile& profile) {
  ResourceRequirements out;
  if (!profile.merges_resources) {
    out.limits = said.limits;
    out.requests = said.requests;
    return out;
  }
  out.limits = base.limits;
  out.requests = base.requests;
  for (const auto& [name, amount] : *said.limits) out.limits.edit().insert_or_assign(name, amount);
  for (const auto& [name, amount] : *said.requests)
    out.requests.edit().insert_or_assign(name, amount);
  return out;
}

bool is_launcher_and_node(const std::optional<MLPolicy>& ml) {
  return ml && ml->mpi && ml->mpi->runLauncherAsNode.value_or(false);
}

void give_resources(const TrainJob& job, const std::optional<MLPolicy>& ml, JobSetSpec& spec,
                    const Profile& profile) {
  const auto& trainer = job.spec->trainer;
  if (!ml || !trainer || !trainer->resourcesPerNode) return;
  for (ReplicatedJob& one : spec.replicatedJobs) {
    const Text* ancestor = one.template_.metadata.label(ancestor_step_label);
    const bool trains = ancestor != nullptr && *ancestor == ancestor_trainer;
    if (!trains && !(is_launcher_and_node(ml) && one.name == node)) continue;
    auto& containers = one.template_.spec.edit().template_.spec.edit().containers.edit();
    const auto at = std::find_if(containers.begin(), containers.end(),
                                 [](const Container& container) { return container.name == node; });
    if (at != containers.end())
      at->resources = merged(at->resources, *trainer->resourcesPerNode, profile);
  }
}

// ---- pod sets ----------------------------------------------------------------------------------

json::array list_of(json::object& from, std::string_view key) {
  const json::array* list = find_list(from, key);
  return list == nullptr ? json::array() : *list;
}

std::vector<PodContainer> containers_of(json::object& pod, std::string_view key) {
  std::vector<PodContainer> found;
  json::array* list = find_list(pod, key);
  if (list == nullptr) return found;
  for (json::value& one : *list) {
    json::object& container = one.get_object();
    found.push_back({std::string(text_in(container, "name")), list_of(container, "env"),
                     list_of(container, "ports"), list_of(container, "volumeMounts")});
  }
  return found;
}

PodSet pod_set_of(const ReplicatedJob& from, json::object& applied, const Info& info) {
  PodSet set;
  set.name = from.name;
  const JobSpec& job = *from.template_.spec;
  set.count = job.parallelism.value_or(1);
  if (const Text* ancestor = from.template_.metadata.label(ancestor_step_label)) {
    set.ancestor = ancestor->str();
    if (*ancestor == ancestor_trainer && info.ml) set.count = info.ml->numNodes.value_or(1);
  }
  set.count = std::max(set.count, 1);
  json::object& pod = pod_spec_of(applied);
  set.volumes = list_of(pod, "volumes");
  set.init_containers = containers_of(pod, "initContainers");
  set.containers = containers_of(pod, "containers");
  set.requests = *kubelet::pod_requests(*job.template_.spec);
  return set;
}

}  // namespace

json::object& pod_template_of(json::object& replicated_job) {
  return object_in(object_in(object_in(replicated_job, "template"), "spec"), "template");
}
json::object& pod_spec_of(json::object& replicated_job) {
  return object_in(pod_template_of(replicated_job), "spec");
}

std::string_view ancestor_of(const json::object& replicated_job) {
  const json::value* at = replicated_job.if_contains("template");
  for (const std::string_view key : {"metadata", "labels"}) {
    if (at == nullptr || !at->is_object()) return {};
    at = at->get_object().if_contains(key);
  }
  return at != nullptr && at->is_object() ? text_in(at->get_object(), ancestor_step_label)
                                          : std::string_view();
}

PodSet* Info::trainer() {
  for (PodSet& set : pod_sets)
    if (set.ancestor == ancestor_trainer) return &set;
  return nullptr;
}
PodSet* Info::named(std::string_view pod_set) {
  for (PodSet& set : pod_sets)
    if (set.name == pod_set) return &set;
  return nullptr;
}
PodContainer* Info::trainer_container() {
  PodSet* set = trainer();
  if (set == nullptr) return nullptr;
  for (PodContainer& container : set->containers)
    if (container.name == node) return &container;
  return nullptr;
}
PodContainer* Info::container(std::string_view pod_set, std::string_view name) {
  PodSet* set = named(pod_set);
  if (set == nullptr) return nullptr;
  for (auto* containers : {&set->containers, &set->init_containers})
    for (PodContainer& one : *containers)
      if (one.name == name) return &one;
  return nullptr;
}

Result<Info> assemble(const TrainJob& job, const TrainingRuntimeSpec& runtime,
                      const Profile& profile) {
  Info info;
  info.ml = runtime.mlPolicy;
  info.pod_group = runtime.podGroupPolicy;
  info.counts_own_amounts = profile.counts_own_amounts;
  info.serves_status = profile.serves_status;
  take_metadata(info, job, runtime.template_);
  TRY(JobSetSpec spec, patched_spec(job, runtime.template_.spec));
  const JobSetSpec of_runtime = profile.groups_ask_for_nodes ? JobSetSpec() : spec;
  give_resources(job, info.ml, spec, profile);
  info.spec = to_json(spec).as_object();
  for (std::size_t i = 0; i < spec.replicatedJobs.size(); ++i)
    info.pod_sets.push_back(pod_set_of(spec.replicatedJobs[i],
                                       list_in(info.spec, "replicatedJobs")[i].get_object(), info));
  for (std::size_t i = 0; i < of_runtime.replicatedJobs.size(); ++i)
    info.pod_sets[i].requests =
        *kubelet::pod_requests(*of_runtime.replicatedJobs[i].template_.spec->template_.spec);
  return info;
}

ResourceRequirements resources_per_node(const Info& info, const TrainJob& job) {
  const auto& trainer = job.spec->trainer;
  if (trainer && trainer->resourcesPerNode) return *trainer->resourcesPerNode;
  json::object spec = info.spec;
  json::array* jobs = find_list(spec, "replicatedJobs");
  if (jobs == nullptr) return {};
  for (json::value& one : *jobs) {
    json::object& replicated_job = one.get_object();
    if (text_in(replicated_job, "name") != node && ancestor_of(replicated_job) != ancestor_trainer)
      continue;
    json::array* containers = find_list(pod_spec_of(replicated_job), "containers");
    if (containers == nullptr) continue;
    for (const json::value& container : *containers)
      if (text_in(container.get_object(), "name") == node) {
        const json::value* resources = container.get_object().if_contains("resources");
        if (resources == nullptr) continue;
        return from_json<ResourceRequirements>(*resources).value_or(ResourceRequirements());
      }
  }
  return {};
}

namespace {

// Of several the first by its name; upstream takes any.
std::int64_t gpus_in(const ResourceList& amounts) {
  for (const auto& [name, amount] : amounts) {
    std::string lower = name;
    std::transform(lower.begin(), lower.end(), lower.begin(), [](char c) {
      return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
    });
    if (lower.find("gpu") != lower.npos) return amount.value();
  }
  return 0;
}
std::int64_t cpus_in(const ResourceList& amounts) {
  const auto found = amounts.find("cpu");
  return found == amounts.end() ? 0 : found->second.value();
}

}  // namespace

std::int64_t gpus_of(const ResourceRequirements& resources) {
  const std::int64_t requested = gpus_in(*resources.requests);
  return requested != 0 ? requested : std::max<std::int64_t>(gpus_in(*resources.limits), 0);
}
std::int64_t cpus_of(const ResourceRequirements& resources) {
  const std::int64_t requested = cpus_in(*resources.requests);
  return requested != 0 ? requested : cpus_in(*resources.limits);
}

}  // namespace ddptwin::controller::trainer
