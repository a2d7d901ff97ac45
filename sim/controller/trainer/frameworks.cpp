// The frameworks beside torch and MPI: none, JAX and XGBoost (spec/trainjob.md §3.12).
#include <fmt/format.h>

#include <algorithm>

#include "controller/trainer/apply_values.hpp"
#include "controller/trainer/names.hpp"
#include "controller/trainer/plugins.hpp"

namespace ddptwin::controller::trainer {

// XGBoost's too, which says nothing of the TrainJob's variables.
Status enforce_plain(Info& info, const TrainJob& job) {
  if (info.ml && (info.ml->torch || info.ml->mpi || info.ml->jax)) return {};
  take_nodes(info, job);
  if (PodContainer* container = container_of_trainer(info, job)) take_variables(*container, job);
  return {};
}

Status enforce_jax(Info& info, const TrainJob& job) {
  if (!info.ml || !info.ml->jax) return {};
  take_nodes(info, job);
  PodContainer* container = container_of_trainer(info, job);
  if (container == nullptr) return {};
  upsert_variable(container->env,
                  variable("JAX_NUM_PROCESSES", std::to_string(info.trainer()->count)));
  upsert_variable(container->env, variable_of_field("JAX_PROCESS_ID", completion_index_path));
  upsert_variable(container->env, variable("JAX_COORDINATOR_ADDRESS",
                                           fmt::format("{}:{}", master_of(job), trainer_port)));
  add_trainer_port(*container);
  return {};
}

// A worker for each GPU, or one on a node without.
Status enforce_xgboost(Info& info, const TrainJob& job) {
  if (!info.ml || !info.ml->xgboost || info.trainer() == nullptr) return {};
  take_nodes(info, job);
  PodContainer* container = container_of_trainer(info, job);
  if (container == nullptr) return {};
  const std::int64_t gpus = gpus_of(resources_per_node(info, job));
  const std::int64_t workers = info.trainer()->count * std::max<std::int64_t>(gpus, 1);
  upsert_variable(container->env, variable("DMLC_TRACKER_URI", master_of(job)));
  upsert_variable(container->env, variable("DMLC_TRACKER_PORT", std::to_string(trainer_port)));
  upsert_variable(container->env, variable_of_field("DMLC_TASK_ID", completion_index_path));
  upsert_variable(container->env, variable("DMLC_NUM_WORKER", std::to_string(workers)));
  add_trainer_port(*container);
  return {};
}

}  // namespace ddptwin::controller::trainer
