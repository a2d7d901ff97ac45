#include "controller/manager/job/pods.hpp"

#include <algorithm>
#include <charconv>
#include <set>
#include <tuple>

#include "objects/finalizers.hpp"
#include "objects/pod_phase.hpp"

namespace ddptwin::controller::job {
namespace {

std::optional<int> number_in(const Pod& pod, const Text& key) {
  const auto found = pod.metadata.annotations.find(key);
  if (found == pod.metadata.annotations.end()) return std::nullopt;
  const std::string_view text = found->second;
  int value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size() || value < 0) return std::nullopt;
  return value;
}

bool has_sidecar(const Pod& pod, std::string_view name) {
  return std::any_of(pod.spec->initContainers.begin(), pod.spec->initContainers.end(),
                     [name](const Container& one) { return one.name == name && is_sidecar(one); });
}

// Sidecars end after the others. Nothing: some container has not ended, or does not say when.
std::optional<Time> last_container_end(const Pod& pod) {
  std::optional<Time> last;
  const auto take = [&last](const ContainerStatus& status) {
    const auto& ended = status.state.terminated;
    if (!ended || !ended->finishedAt) return false;
    last = std::max(last.value_or(*ended->finishedAt), Time(*ended->finishedAt));
    return true;
  };
  for (const ContainerStatus& status : pod.status.containerStatuses)
    if (!take(status)) return std::nullopt;
  for (const ContainerStatus& status : pod.status.initContainerStatuses)
    if (has_sidecar(pod, status.name) && !take(status)) return std::nullopt;
  return last;
}

// What counts when one of two must go: who has done less goes first
// (upstream's ActivePods, of Job without the ranks of ReplicaSets).
auto worth(const Pod& pod) {
  const PodCondition* ready = pod.status.condition("Ready");
  std::int64_t restarts = 0;
  for (const ContainerStatus& status : pod.status.containerStatuses)
    restarts = std::max<std::int64_t>(restarts, status.restartCount);
  const int phase = pod.status.phase == "Pending" ? 0 : pod.status.phase == "Running" ? 2 : 1;
  const Duration since_ready =  // who has been ready for longer stays
      is_ready(pod) && ready->lastTransitionTime ? -ready->lastTransitionTime->since_epoch()
                                                 : Duration::min();
  const Duration since_creation = pod.metadata.creationTimestamp
                                      ? -pod.metadata.creationTimestamp->since_epoch()
                                      : Duration::min();
  return std::tuple(!pod.spec->nodeName.empty(), phase, is_ready(pod), since_ready, -restarts,
                    since_creation);
}

}  // namespace

std::optional<int> index_of(const Pod& pod) { return number_in(pod, annotation::completion_index); }

std::optional<int> valid_index(const Pod& pod, const JobSpec& job) {
  const auto index = index_of(pod);
  return index && *index < job.completions.value_or(0) ? index : std::nullopt;
}

bool is_tracked(const Pod& pod) { return has_finalizer(pod, job_tracking_finalizer); }

bool is_active(const Pod& pod) {
  return !is_terminal_phase(pod.status.phase) && !pod.metadata.deletionTimestamp;
}

bool is_ending(const Pod& pod) {
  return !is_terminal_phase(pod.status.phase) && pod.metadata.deletionTimestamp.has_value();
}

bool is_ready(const Pod& pod) {
  const PodCondition* ready = pod.status.condition("Ready");
  return ready != nullptr && ready->status == "True";
}

bool replaces_ended_only(const JobSpec& job) {
  return job.podReplacementPolicy == "Failed" || job.podFailurePolicy.has_value();
}

bool has_failed(const Pod& pod, const JobSpec& job) {
  if (pod.status.phase == "Failed") return true;
  if (replaces_ended_only(job)) return false;
  return pod.metadata.deletionTimestamp.has_value() && pod.status.phase != "Succeeded";
}

Time finish_time(const Pod& pod) {
  if (const auto end = last_container_end(pod)) return *end;
  if (const PodCondition* ready = pod.status.condition("Ready");
      ready != nullptr && ready->status == "False" && ready->lastTransitionTime)
    return *ready->lastTransitionTime;
  if (pod.metadata.deletionTimestamp) {
    const std::int64_t grace = pod.metadata.deletionGracePeriodSeconds.value_or(0);
    return *pod.metadata.deletionTimestamp - std::chrono::seconds(grace);
  }
  return pod.metadata.creationTimestamp.value_or(Time());
}

std::int64_t restarts_in(const Pod& pod) {
  if (pod.status.phase != "Running" && pod.status.phase != "Pending") return 0;
  std::int64_t sum = 0;
  for (const auto* statuses : {&pod.status.initContainerStatuses, &pod.status.containerStatuses})
    for (const ContainerStatus& status : *statuses) sum += status.restartCount;
  return sum;
}

std::vector<PodPtr> surplus(const JobSpec& job, const std::vector<PodPtr>& active,
                            std::size_t count) {
  std::vector<PodPtr> kept, going;
  std::vector<PodPtr> sorted = active;
  std::stable_sort(sorted.begin(), sorted.end(),
                   [](const PodPtr& a, const PodPtr& b) { return worth(*a) < worth(*b); });
  if (job.is_indexed()) {
    // Of several with one index the worthiest stays.
    std::set<int> taken;
    for (auto pod = sorted.rbegin(); pod != sorted.rend(); ++pod) {
      const auto index = valid_index(**pod, job);
      if (index && taken.insert(*index).second)
        kept.push_back(*pod);
      else
        going.push_back(*pod);
    }
    std::reverse(kept.begin(), kept.end());
    std::reverse(going.begin(), going.end());
  } else {
    kept = std::move(sorted);
  }
  if (going.size() >= count) return going;
  const std::size_t more = count - going.size();
  for (std::size_t i = 0; i < more && i < kept.size(); ++i) going.push_back(kept[i]);
  return going;
}

int failures_before(const Pod& pod) {
  return number_in(pod, annotation::failure_count).value_or(0);
}
int ignored_failures_before(const Pod& pod) {
  return number_in(pod, annotation::ignored_failure_count).value_or(0);
}

}  // namespace ddptwin::controller::job
