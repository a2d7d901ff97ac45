// The JobSet of a TrainJob: the runtime's template with what the plugins and the TrainJob say
// (spec/trainjob.md §2.5, §2.6, §4).
#include "controller/trainer/apply_values.hpp"
#include "controller/trainer/names.hpp"
#include "controller/trainer/plugins.hpp"

namespace ddptwin::controller::trainer {
namespace {

namespace json = boost::json;

void upsert_all(json::object& into, std::string_view key, const json::array& from,
                void (*upsert)(json::array&, json::object)) {
  if (from.empty()) return;
  json::array& list = list_in(into, key);
  for (const json::value& one : from) upsert(list, one.get_object());
}

void write_containers(json::object& pod, std::string_view key,
                      const std::vector<PodContainer>& from) {
  json::array* list = find_list(pod, key);
  if (list == nullptr) return;
  for (std::size_t i = 0; i < from.size() && i < list->size(); ++i) {
    json::object& container = (*list)[i].get_object();
    upsert_all(container, "env", from[i].env, &upsert_variable);
    upsert_all(container, "ports", from[i].ports, &upsert_port);
    upsert_all(container, "volumeMounts", from[i].mounts, &upsert_mount);
  }
}

void write_pod_set(json::object& replicated_job, const PodSet& set) {
  json::object& pod = pod_spec_of(replicated_job);
  upsert_all(pod, "volumes", set.volumes, &upsert_volume);
  write_containers(pod, "containers", set.containers);
  write_containers(pod, "initContainers", set.init_containers);
}

template <class Deed>
void each_container_named(json::object& replicated_job, std::string_view name, const Deed& deed) {
  json::array* containers = find_list(pod_spec_of(replicated_job), "containers");
  if (containers == nullptr) return;
  for (json::value& one : *containers)
    if (text_in(one.get_object(), "name") == name) deed(one.get_object());
}

void take_source(json::object& container, const InitializerSource& source) {
  if (source.storageUri)
    upsert_variable(list_in(container, "env"), variable("STORAGE_URI", *source.storageUri));
  for (const EnvVar& one : source.env) upsert_variable(list_in(container, "env"), applied(one));
  if (source.secretRef)
    list_in(container, "envFrom")
        .push_back(json::object{{"secretRef", json::object{{"name", source.secretRef->name}}}});
}

void initialize(json::object& replicated_job, const TrainJob& job) {
  const std::string_view step = ancestor_of(replicated_job);
  const bool of_dataset = step == dataset_initializer;
  if (!of_dataset && step != model_initializer) return;
  replicated_job["replicas"] = 1;
  if (!job.spec->initializer) return;
  const auto& source = of_dataset ? job.spec->initializer->dataset : job.spec->initializer->model;
  if (!source) return;
  each_container_named(replicated_job, step,
                       [&source](json::object& container) { take_source(container, *source); });
}

// An empty list takes away what the runtime says.
void set_words(json::object& container, std::string_view key,
               const std::vector<std::string>& words) {
  if (words.empty())
    container.erase(key);
  else
    container[key] = json::array(words.begin(), words.end());
}

void take_trainer(json::object& container, const TrainJobTrainer& trainer, const Info& info) {
  if (trainer.image) container["image"] = *trainer.image;
  if (info.command)
    set_words(container, "command", *info.command);
  else if (trainer.command)
    set_words(container, "command", *trainer.command);
  if (trainer.args) set_words(container, "args", *trainer.args);
}

void train(json::object& replicated_job, const TrainJob& job, const Info& info) {
  const bool trains = ancestor_of(replicated_job) == ancestor_trainer;
  const bool is_node_of_launcher = info.ml && info.ml->mpi &&
                                   info.ml->mpi->runLauncherAsNode.value_or(false) &&
                                   text_in(replicated_job, "name") == node;
  if (trains) replicated_job["replicas"] = 1;
  if (!job.spec->trainer || (!trains && !is_node_of_launcher)) return;
  each_container_named(replicated_job, node, [&](json::object& container) {
    if (trains) take_trainer(container, *job.spec->trainer, info);
    // Once more: these win over all others.
    for (const EnvVar& one : job.spec->trainer->env)
      upsert_variable(list_in(container, "env"), applied(one));
  });
}

void mark(json::object& metadata, std::string_view key, const StringMap& marks) {
  if (marks.empty()) return;
  json::object& map = object_in(metadata, key);
  for (const auto& [name, value] : marks) map[name.view()] = value.view();
}

// A JobSet that runs is left alone, whatever else it says.
bool is_running(const std::shared_ptr<const JobSet>& set, const TrainJob& job) {
  return set != nullptr && !job.spec->is_suspended() && !set->spec->is_suspended();
}

}  // namespace

void build_jobset(Info& info, const TrainJob& job, const Existing& there, Random,
                  std::vector<Applied>& objects) {
  if (is_running(there.set, job)) return;
  json::array* jobs = find_list(info.spec, "replicatedJobs");
  for (std::size_t i = 0; i < info.pod_sets.size(); ++i) {
    json::object& replicated_job = (*jobs)[i].get_object();
    write_pod_set(replicated_job, info.pod_sets[i]);
    initialize(replicated_job, job);
    train(replicated_job, job, info);
    json::object& pod = pod_template_of(replicated_job);
    mark(object_in(pod, "metadata"), "labels", info.pod_labels);
    mark(object_in(pod, "metadata"), "annotations", info.pod_annotations);
  }
  info.spec.erase("suspend");
  if (job.spec->suspend) info.spec["suspend"] = *job.spec->suspend;
  json::object body = new_body(JobSet::info(), job.metadata.name.str(), job);
  json::object& metadata = body["metadata"].get_object();
  mark(metadata, "labels", info.labels);
  mark(metadata, "annotations", info.annotations);
  body["spec"] = std::move(info.spec);
  objects.push_back({&JobSet::info(), std::move(body), there.set});
}

}  // namespace ddptwin::controller::trainer
