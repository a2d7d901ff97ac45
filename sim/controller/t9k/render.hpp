// What a PyTorchTrainingJob makes: pods, headless Services, a PodGroup, a TensorBoard
// (spec/t9k.md §3, §4).
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "controller/t9k/policy.hpp"
#include "objects/t9k_scheduling.hpp"

namespace ddptwin::controller::t9k {

inline constexpr std::int32_t master_port = 23456;                    // PROPOSED (G8)
inline constexpr std::string_view master_port_name = "pytorch-port";  // PROPOSED (G7)
inline const std::vector<std::string> debug_command{"sleep", "inf"};  // §12

// A place among a job's replicas.
struct Place {
  std::size_t group = 0;  // of spec.replicaSpecs
  int index = 0;
  bool is_master() const { return group == 0 && index == 0; }
};

// `resumed`: the job has been paused before (§11).
std::shared_ptr<Pod> pod_of(const PyTorchTrainingJob& job, Place place, bool resumed);
std::shared_ptr<Service> service_of(const PyTorchTrainingJob& job, Place place);
std::shared_ptr<T9kPodGroup> pod_group_of(const PyTorchTrainingJob& job);
std::shared_ptr<TensorBoard> tensorboard_of(const PyTorchTrainingJob& job);

// torchrun's arguments, the training's own behind them. PROPOSED (G11).
std::vector<std::string> torchrun_arguments(const PyTorchTrainingJobSpec& spec,
                                            const PyTorchTrainingJobReplicas& group,
                                            const std::vector<std::string>& training);

// With T9k's scheduler; null: with the cluster's own.
const T9kSchedulerChoice* t9k_scheduler(const PyTorchTrainingJobSpec& spec);

}  // namespace ddptwin::controller::t9k
