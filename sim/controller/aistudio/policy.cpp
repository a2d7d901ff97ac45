#include "controller/aistudio/policy.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "core/hash.hpp"

namespace ddptwin::controller::aistudio {

std::string task_stem(const DDPTask& task) {
  // As the platform's own look: jo-da4r6pellvvq4tmz. Two hashes, for one has 64 bits and the name
  // takes 80.
  constexpr std::string_view digits = "abcdefghijklmnopqrstuvwxyz234567";
  constexpr std::size_t each = 8;
  // Of the name, so that a scenario can name a pod before there is one.
  const std::string whole =
      fmt::format("{}/{}", task.metadata.namespace_.view(), task.metadata.name.view());
  std::string text = "jo-";
  for (std::uint64_t hash : {fnv1a(whole), fnv1a(whole + "/")})
    for (std::size_t i = 0; i < each; ++i, hash /= digits.size())
      text += digits[hash % digits.size()];
  return text;
}

std::string worker_name(const DDPTask& task, int rank) {
  return fmt::format("{}-worker-{}", task_stem(task), rank);
}

int workers_of(const DDPTaskSpec& spec) { return spec.workers.value_or(1); }

bool checks(const DDPTaskSpec& spec) { return spec.selfCheck.enabled.value_or(true); }

std::vector<std::string> check_items(const DDPTaskSpec& spec) {
  if (!checks(spec)) return {};
  return spec.selfCheck.items.value_or(std::vector<std::string>{"network", "gpu", "storage"});
}

std::vector<std::string> blocking_items(const DDPTaskSpec& spec) {
  std::vector<std::string> items = check_items(spec);
  const bool blocks = spec.selfCheck.onFailure.empty() || spec.selfCheck.onFailure == "Block";
  if (blocks) return items;
  // Only a lost GPU stops the start of a fault-tolerant task.
  std::erase_if(items, [&spec](const std::string& item) {
    return item != "gpu" || !spec.faultTolerance.enabled;
  });
  return items;
}

int check_timeout(const DDPTaskSpec& spec) {
  return spec.selfCheck.timeoutSeconds.value_or(ddptask_check_timeout);
}

int retries_of(const DDPTaskSpec& spec) {
  return spec.faultTolerance.enabled ? spec.faultTolerance.maxRetries.value_or(ddptask_max_retries)
                                     : 0;
}

bool is_terminal(std::string_view now) {
  return now == phase::succeeded || now == phase::failed || now == phase::stopped;
}

}  // namespace ddptwin::controller::aistudio
