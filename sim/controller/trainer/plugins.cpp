#include "controller/trainer/plugins.hpp"

#include <fmt/format.h>

#include <array>

#include "controller/toolkit/ownership.hpp"
#include "controller/trainer/apply_values.hpp"
#include "controller/trainer/names.hpp"
#include "objects/codec.hpp"

namespace ddptwin::controller::trainer {
namespace {

namespace json = boost::json;

// The JobSet comes last: what it refuses keeps nothing else from being made.
constexpr std::array all_plugins{
    Plugin{.name = "Torch", .enforce_ml = &enforce_torch},
    Plugin{.name = "PlainML", .enforce_ml = &enforce_plain},
    Plugin{.name = "MPI", .enforce_ml = &enforce_mpi, .build = &build_mpi},
    Plugin{.name = "JAX", .enforce_ml = &enforce_jax},
    Plugin{.name = "XGBoost", .enforce_ml = &enforce_xgboost},
    Plugin{.name = "CoScheduling",
           .enforce_pod_group = &enforce_coscheduling,
           .build = &build_coscheduling},
    Plugin{.name = "Volcano", .enforce_pod_group = &enforce_volcano, .build = &build_volcano},
    Plugin{.name = "TrainJobStatus",
           .enforce_ml = &enforce_status_server,
           .build = &build_status_server},
    Plugin{.name = "JobSet", .build = &build_jobset},
};

// Phase 4: the names of the pods, of every replica.
void name_endpoints(Info& info, const TrainJob& job) {
  const std::string_view name = job.metadata.name.view();
  std::string_view subdomain = name;
  const json::value* network = info.spec.if_contains("network");
  if (network != nullptr && network->is_object() && network->get_object().contains("subdomain"))
    subdomain = text_in(network->get_object(), "subdomain");
  json::array* jobs = find_list(info.spec, "replicatedJobs");
  for (std::size_t i = 0; i < info.pod_sets.size(); ++i) {
    PodSet& set = info.pod_sets[i];
    const json::value* said = (*jobs)[i].get_object().if_contains("replicas");
    const std::int64_t replicas = said == nullptr ? 1 : said->to_number<std::int64_t>();
    for (std::int64_t replica = 0; replica < replicas; ++replica)
      for (std::int32_t pod = 0; pod < set.count; ++pod)
        set.endpoints.push_back(
            fmt::format("{}-{}-{}-{}.{}", name, set.name, replica, pod, subdomain));
  }
}

// Phase 5: as many pods at once as there are to be at all.
void sync_counts(Info& info) {
  json::array* jobs = find_list(info.spec, "replicatedJobs");
  for (std::size_t i = 0; i < info.pod_sets.size(); ++i) {
    json::object& spec = object_in(object_in((*jobs)[i].get_object(), "template"), "spec");
    spec["parallelism"] = info.pod_sets[i].count;
    spec["completions"] = info.pod_sets[i].count;
  }
}

}  // namespace

std::span<const Plugin> plugins() { return all_plugins; }

Status run_plugins(Info& info, const TrainJob& job) {
  // Upstream's plugin is not here: as plain pods they would come to another end.
  if (info.ml && info.ml->flux)
    return fail(Reason::bad_input,
                "mlPolicy.flux: this twin has no plugin flux, and makes nothing of such a runtime");
  for (const Plugin& plugin : all_plugins)
    if (plugin.enforce_ml != nullptr) TRY_VOID(plugin.enforce_ml(info, job));
  for (const Plugin& plugin : all_plugins)
    if (plugin.enforce_pod_group != nullptr) plugin.enforce_pod_group(info, job);
  name_endpoints(info, job);
  sync_counts(info);
  return {};
}

std::vector<Applied> build(Info info, const TrainJob& job, const Existing& there, Random random) {
  std::vector<Applied> objects;
  for (const Plugin& plugin : all_plugins)
    if (plugin.build != nullptr) plugin.build(info, job, there, random.split(plugin.name), objects);
  return objects;
}

json::object new_body(const KindInfo& kind, std::string name, const TrainJob& job) {
  return json::object{
      {"apiVersion", kind.api_version()},
      {"kind", kind.kind},
      {"metadata",
       json::object{{"name", name},
                    {"namespace", job.metadata.namespace_.view()},
                    {"ownerReferences", json::array{to_json(controller_reference(job))}}}}};
}

void take_nodes(Info& info, const TrainJob& job) {
  PodSet* set = info.trainer();
  if (set != nullptr && job.spec->trainer && job.spec->trainer->numNodes)
    set->count = *job.spec->trainer->numNodes;
}

PodContainer* container_of_trainer(Info& info, const TrainJob& job) {
  return job.spec->trainer ? info.trainer_container() : nullptr;
}

void take_variables(PodContainer& container, const TrainJob& job) {
  for (const EnvVar& one : job.spec->trainer->env) upsert_variable(container.env, applied(one));
}

std::string master_of(const TrainJob& job) {
  const std::string_view name = job.metadata.name.view();
  return fmt::format("{}-{}-0-0.{}", name, node, name);
}

void add_trainer_port(PodContainer& container) {
  upsert_port(container.ports, json::object{{"containerPort", trainer_port}});
}

}  // namespace ddptwin::controller::trainer
