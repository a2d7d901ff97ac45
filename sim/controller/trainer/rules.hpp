// Every rule of the TrainJob controller, by name (spec/trainjob.md §2, §7, §10.1).
#pragma once

#include <array>
#include <span>

#include "controller/controller.hpp"

namespace ddptwin::controller::trainer::rules {

inline constexpr Rule job_is_gone{"job_is_gone", "spec/trainjob.md §2.1 step 1"};
inline constexpr Rule managed_elsewhere{"managed_elsewhere", "spec/trainjob.md §2.1 step 1"};
inline constexpr Rule runtime_is_unknown{"runtime_is_unknown", "spec/trainjob.md §2.1 step 3"};
inline constexpr Rule resources_failed{"resources_failed", "spec/trainjob.md §2.1 step 3"};
inline constexpr Rule take_snapshot{"take_snapshot", "spec/trainjob.md §2.2"};
inline constexpr Rule apply_secret{"apply_secret", "spec/trainjob.md §3.11"};
inline constexpr Rule apply_hostfile{"apply_hostfile", "spec/trainjob.md §3.11"};
inline constexpr Rule apply_status_server{"apply_status_server", "spec/trainjob.md §4.5"};
inline constexpr Rule apply_pod_group{"apply_pod_group", "spec/trainjob.md §8"};
// What plugins put into containers (spec/trainjob.md §3.4, §3.8 to §3.11, §4.4).
inline constexpr std::array variables{
    VariableRow{"PET_NNODES", "plugin torch: spec.trainer.numNodes, or numNodes of the runtime"},
    VariableRow{"PET_NPROC_PER_NODE",
                "plugin torch: spec.trainer.numProcPerNode, or the CPUs of a node; auto where it "
                "has GPUs"},
    VariableRow{"PET_NODE_RANK", "plugin torch: the pod's index in its Job"},
    VariableRow{"PET_MASTER_ADDR", "plugin torch: the name of node 0"},
    VariableRow{"PET_MASTER_PORT", "plugin torch: always 29500"},
    VariableRow{"JAX_NUM_PROCESSES", "plugin jax: the number of nodes"},
    VariableRow{"JAX_PROCESS_ID", "plugin jax: the pod's index in its Job"},
    VariableRow{"JAX_COORDINATOR_ADDRESS", "plugin jax: the name of node 0, and port 29500"},
    VariableRow{"DMLC_TRACKER_URI", "plugin xgboost: the name of node 0"},
    VariableRow{"DMLC_TRACKER_PORT", "plugin xgboost: always 29500"},
    VariableRow{"DMLC_TASK_ID", "plugin xgboost: the pod's index in its Job"},
    VariableRow{"DMLC_NUM_WORKER", "plugin xgboost: nodes times processes of each"},
    VariableRow{"OMPI_MCA_orte_default_hostfile", "plugin mpi: where the hostfile is mounted"},
    VariableRow{"OMPI_MCA_orte_keep_fqdn_hostnames", "plugin mpi: always true"},
    VariableRow{"OMPI_MCA_orte_set_default_slots", "plugin mpi: processes of a node"},
    VariableRow{"OMPI_MCA_plm_rsh_args", "plugin mpi: always the same"},
    VariableRow{"STORAGE_URI", "spec.initializer: storageUri"},
    VariableRow{"KUBEFLOW_TRAINER_SERVER_URL",
                "gate TrainJobStatus: where the training may report how far it is"},
    VariableRow{"KUBEFLOW_TRAINER_SERVER_CA_CERT", "gate TrainJobStatus: always the same"},
    VariableRow{"KUBEFLOW_TRAINER_SERVER_TOKEN", "gate TrainJobStatus: always the same"},
};
inline constexpr Rule make_jobset{"make_jobset", "spec/trainjob.md §2.6", variables};
inline constexpr Rule apply_jobset{"apply_jobset", "spec/trainjob.md §2.6", variables};
inline constexpr Rule await_jobset{"await_jobset", "spec/trainjob.md §7.3"};
inline constexpr Rule deadline_is_over{"deadline_is_over", "spec/trainjob.md §7.4"};
inline constexpr Rule await_deadline{"await_deadline", "spec/trainjob.md §7.4"};
inline constexpr Rule write_status{"write_status", "spec/trainjob.md §7"};

// In their order in this file.
std::span<const Rule* const> all();

}  // namespace ddptwin::controller::trainer::rules
