#include "controller/t9k/policy.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>

#include "core/hash.hpp"
#include "objects/pod_phase.hpp"

namespace ddptwin::controller::t9k {
namespace {

std::vector<int> fixed_sizes(const PyTorchTrainingJobSpec& spec) {
  std::vector<int> sizes;
  for (const PyTorchTrainingJobReplicas& group : spec.replicaSpecs)
    sizes.push_back(group.replicas.value_or(1));
  return sizes;
}

std::string_view training_name(const PodSpec& pod) {
  const auto at = training_container(pod);
  return at ? std::string_view((*pod.containers)[*at].name) : std::string_view();
}

// Of the container of that name; empty: of the first that has one.
std::optional<int> failing_code(const std::vector<ContainerStatus>& statuses,
                                std::string_view name) {
  for (const ContainerStatus& one : statuses)
    if ((name.empty() || one.name == name) && one.state.terminated &&
        one.state.terminated->exitCode != 0)
      return one.state.terminated->exitCode;
  return std::nullopt;
}

}  // namespace

bool is_torchrun(const PyTorchTrainingJobSpec& spec) {
  return spec.torchrunConfig && spec.torchrunConfig->enabled;
}

bool is_elastic(const PyTorchTrainingJobSpec& spec) {
  return spec.elastic && spec.elastic->enabled && is_torchrun(spec);
}

bool ignores_elastic(const PyTorchTrainingJobSpec& spec) {
  return spec.elastic && spec.elastic->enabled && !is_torchrun(spec);
}

int sum_of(const std::vector<int>& numbers) {
  return std::accumulate(numbers.begin(), numbers.end(), 0);
}

int default_expected(const PyTorchTrainingJobSpec& spec) {
  const int sum = sum_of(fixed_sizes(spec));
  const int least = spec.elastic->minReplicas.value_or(1);
  return std::clamp(sum, least, std::max(least, spec.elastic->maxReplicas.value_or(sum)));
}

std::vector<int> shares(int total, const std::vector<int>& weights) {
  const int sum = sum_of(weights);
  std::vector<int> shared(weights.size(), 0);
  if (sum <= 0 || weights.empty()) return shared;
  std::vector<std::pair<std::int64_t, std::size_t>> remainders;  // what each group has over
  int left = total;
  for (std::size_t i = 0; i < weights.size(); ++i) {
    const std::int64_t part = std::int64_t{total} * weights[i];
    shared[i] = static_cast<int>(part / sum);
    left -= shared[i];
    remainders.emplace_back(part % sum, i);
  }
  std::stable_sort(remainders.begin(), remainders.end(),
                   [](const auto& a, const auto& b) { return a.first > b.first; });
  for (std::size_t i = 0; i < static_cast<std::size_t>(left); ++i) ++shared[remainders[i].second];
  if (shared.front() == 0 && total > 0) {
    --*std::max_element(shared.begin(), shared.end());
    shared.front() = 1;
  }
  return shared;
}

std::vector<int> targets(const PyTorchTrainingJobSpec& spec) {
  if (!is_elastic(spec)) return fixed_sizes(spec);
  std::vector<int> weights;
  for (const PyTorchTrainingJobReplicas& group : spec.replicaSpecs)
    weights.push_back(group.scalingWeight.value_or(1));
  return shares(spec.elastic->expectedReplicas.value_or(default_expected(spec)), weights);
}

int running_needed(const PyTorchTrainingJobSpec& spec) {
  return is_elastic(spec) ? spec.elastic->minReplicas.value_or(1) : sum_of(targets(spec));
}

int gang_size(const PyTorchTrainingJobSpec& spec) { return running_needed(spec); }

// ---- names -------------------------------------------------------------------------------------

std::string suffix_of(std::string_view uid) {
  return fmt::format("{:016x}", fnv1a(uid)).substr(0, suffix_length);
}

std::string base_name(const PyTorchTrainingJob& job) {
  return fmt::format("{}-{}", job.metadata.name.view(), suffix_of(job.metadata.uid));
}

std::string replica_name(const PyTorchTrainingJob& job, std::string_view type, int index) {
  return fmt::format("{}-{}-{}", base_name(job), type, index);
}

std::size_t longest_replica_name(const PyTorchTrainingJob& job) {
  const PyTorchTrainingJobSpec& spec = *job.spec;
  std::size_t longest = 0;
  for (const PyTorchTrainingJobReplicas& group : spec.replicaSpecs) {
    const int own = group.replicas.value_or(1);
    const int most = is_elastic(spec) ? spec.elastic->maxReplicas.value_or(own) : own;
    const std::string name =
        fmt::format("{}-{}-{}-{}", job.metadata.name.view(), std::string(suffix_length, '0'),
                    group.type_, std::max(most - 1, 0));
    longest = std::max(longest, name.size());
  }
  return longest;
}

// ---- restarts ----------------------------------------------------------------------------------

bool is_retryable(std::optional<int> exit_code) {
  if (!exit_code) return retries_without_code;
  return std::find(retryable_codes.begin(), retryable_codes.end(), *exit_code) !=
         retryable_codes.end();
}

bool wants_restart(std::string_view policy, const End& end) {
  if (policy == "Always") return true;
  if (!end.failed) return false;
  if (policy == "OnFailure") return true;
  return policy == "ExitCode" && is_retryable(end.exit_code);
}

int backoff_limit(const PyTorchTrainingJobSpec& spec) {
  return spec.runPolicy.backoffLimit.value_or(training_backoff_limit);
}

std::string_view restart_policy(const PyTorchTrainingJobReplicas& replicas) {
  return replicas.restartPolicy.empty() ? training_restart_policy
                                        : std::string_view(replicas.restartPolicy);
}

std::string_view clean_up_policy(const PyTorchTrainingJobSpec& spec) {
  return spec.runPolicy.cleanUpPolicy.empty() ? training_clean_up
                                              : std::string_view(spec.runPolicy.cleanUpPolicy);
}

bool is_deleted_by_clean_up(std::string_view policy, std::string_view phase) {
  return policy == "All" || (policy == "Unfinished" && !is_terminal_phase(phase));
}

// ---- containers --------------------------------------------------------------------------------

std::optional<std::size_t> training_container(const PodSpec& pod) {
  const std::vector<Container>& containers = *pod.containers;
  for (std::size_t i = 0; i < containers.size(); ++i)
    if (containers[i].name == training_container_name) return i;
  return containers.empty() ? std::nullopt : std::optional<std::size_t>(0);
}

std::optional<int> exit_code_of(const Pod& pod) {
  const std::vector<ContainerStatus>& own = *pod.status.containerStatuses;
  if (const auto code = failing_code(own, training_name(*pod.spec))) return code;
  // In the order of the containers, whatever that of their statuses.
  for (const Container& container : pod.spec->containers)
    if (const auto code = failing_code(own, container.name)) return code;
  return failing_code(*pod.status.initContainerStatuses, {});
}

std::optional<int> exit_code_of(const TaskReplica& replica, const PodSpec& pod) {
  const auto code_of = [&replica](std::string_view name) -> std::optional<int> {
    for (const TaskContainer& one : replica.containers)
      if (one.name == name && one.exitCode.value_or(0) != 0) return one.exitCode;
    return std::nullopt;
  };
  if (const auto code = code_of(training_name(pod))) return code;
  for (const TaskContainer& one : replica.containers)
    if (const auto code = code_of(one.name)) return code;
  return std::nullopt;
}

// ---- modes -------------------------------------------------------------------------------------

bool is_paused(const PyTorchTrainingJobSpec& spec) {
  return spec.runMode && spec.runMode->pause && spec.runMode->pause->enabled;
}

bool is_debugged(const PyTorchTrainingJobSpec& spec) {
  return spec.runMode && spec.runMode->debug && spec.runMode->debug->enabled;
}

}  // namespace ddptwin::controller::t9k
