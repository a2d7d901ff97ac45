// Words of Trainer's that several files name (spec/trainjob.md §2, §4.3).
#pragma once

#include <cstdint>
#include <string_view>

namespace ddptwin::controller::trainer {

// Values of the label trainer.kubeflow.org/trainjob-ancestor-step, and the containers' names of the
// initializers.
inline constexpr std::string_view ancestor_trainer = "trainer";
inline constexpr std::string_view dataset_initializer = "dataset-initializer";
inline constexpr std::string_view model_initializer = "model-initializer";

// The training's container, and the replicated job of the same name.
inline constexpr std::string_view node = "node";
inline constexpr std::string_view launcher = "launcher";

inline constexpr std::int32_t trainer_port = 29500;

inline constexpr std::string_view snapshot_suffix = "-runtime-snapshot";
inline constexpr std::string_view snapshot_key = "runtime";
inline constexpr std::string_view ssh_secret_suffix = "-mpi-ssh-auth";
inline constexpr std::string_view hostfile_suffix = "-mpi-hostfile";
inline constexpr std::string_view status_server_suffix = "-tls-config";

inline constexpr std::string_view completion_index_path =
    "metadata.annotations['batch.kubernetes.io/job-completion-index']";

// Who it is to server-side apply.
inline constexpr std::string_view field_manager = "trainer";

}  // namespace ddptwin::controller::trainer
