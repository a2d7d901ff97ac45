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
inline constexpr Rule apply_pod_group{"apply_pod_group", "spec/trainjob.md §8"};
// What is put into the containers of the trainer's nodes, of initializers and of a launcher
// (spec/trainjob.md §3).
inline constexpr std::array variables{
    VariableRow{"PET_NNODES", "numNodes of the trainer, or of the runtime"},
    VariableRow{"PET_NPROC_PER_NODE", "numProcPerNode, or what the node's resources come to"},
    VariableRow{"PET_NODE_RANK", "the pod's index in its Job"},
    VariableRow{"PET_MASTER_ADDR", "the first node's name in the DNS"},
    VariableRow{"PET_MASTER_PORT", "the trainer's port"},
    VariableRow{"STORAGE_URI", "storageUri of the initializer"},
    VariableRow{"OMPI_MCA_orte_default_hostfile", "where the hostfile is mounted"},
    VariableRow{"OMPI_MCA_orte_keep_fqdn_hostnames", "mpi of the runtime"},
    VariableRow{"OMPI_MCA_orte_set_default_slots", "numProcPerNode of the runtime's mpi"},
    VariableRow{"OMPI_MCA_plm_rsh_args", "mpi of the runtime"},
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
