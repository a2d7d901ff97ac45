// Names, labels and small facts that several rules share (spec/pytorchjob.md §1, §3.1).
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "objects/pytorchjob.hpp"

namespace ddptwin::controller::pytorchjob {

inline constexpr std::string_view controller_name = "pytorchjob-controller";
inline constexpr std::string_view container_name = "pytorch";
inline constexpr std::string_view port_name = "pytorchjob-port";
inline constexpr std::int32_t default_port = 23456;

inline constexpr std::string_view master_type = "Master";
inline constexpr std::string_view worker_type = "Worker";

namespace label {
inline constexpr std::string_view operator_name = "training.kubeflow.org/operator-name";
inline constexpr std::string_view job_name = "training.kubeflow.org/job-name";
inline constexpr std::string_view replica_type = "training.kubeflow.org/replica-type";
inline constexpr std::string_view replica_index = "training.kubeflow.org/replica-index";
inline constexpr std::string_view job_role = "training.kubeflow.org/job-role";
}  // namespace label

std::string lower(std::string_view text);
// <job>-<type>-<index>, with every `/` made `-`.
std::string replica_name(std::string_view job, std::string_view type, int index);
// The label's index; nothing when it is missing or no number.
std::optional<int> replica_index(const ObjectMeta& metadata);
// The keys of an expectation: "namespace/name/type/pods", ".../services".
std::string expectation_key(std::string_view job_key, std::string_view type, std::string_view what);
// What all replicas of a type are called by.
struct ReplicaNames {
  std::string type;           // as the specification says it: Master
  std::string label;          // the label's value: master
  Cow<std::string> pods_key;  // of their expectations
  Cow<std::string> services_key;
  Cow<std::string> selector;  // of the status
};
// The one owner reference of all that a job makes.
OwnerReference owner_of(const PyTorchJob& job);

const ReplicaSpecs& replica_specs(const PyTorchJob& job);
const ReplicaSpec* replica_spec(const PyTorchJob& job, std::string_view type);
bool has_master(const PyTorchJob& job);
bool is_suspended(const PyTorchJob& job);
// Sum over all types; a type without a number counts one, as after defaulting.
int total_replicas(const PyTorchJob& job);
// containerPort of the port `pytorchjob-port` in the container `pytorch`.
std::optional<std::int32_t> job_port(const ReplicaSpec& spec);

// 128 and above, and "no status", are worth another try (§4.3).
bool is_retryable(int exit_code);

}  // namespace ddptwin::controller::pytorchjob
